/** A start with thousands of configured hooks, and what they cost the points that they do not listen to. `npx tsx bench/many-hooks.ts [count]` */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApp } from "../src/app.js";
import { type LoadedConfig, loadConfig } from "../src/config/load.js";
import { silentLogger } from "../src/lib/logger.js";

const count = Number(process.argv[2] ?? 10_000);

function yaml(hooks: number): string {
  const lines = ["hooks:"];
  for (let i = 0; i < hooks; i++)
    lines.push(
      `  - id: hook-${i}`,
      "    on: message_sent",
      `    match: { chats: ["${i}"], when: 'payload.message.text.contains("${i % 100}")' }`,
      "    context:",
      "      - read_file: { path: notes.txt }",
      "    run:",
      '      shell: { command: [echo, "{{ event.message.text }} {{ steps[0].text }}"] }',
      "    cooldown: 1h",
    );
  return lines.join("\n");
}

interface Measured {
  readMs: number;
  startMs: number;
  /** CPU time of this process, all threads: what an idle machine would need at most. */
  cpuMs: number;
  /** What stays, after a collection (`--expose-gc`). */
  heapMb: number;
}

async function measure(hooks: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-bench-"));
  writeFileSync(join(folder, "hookgate.yaml"), hooks === 0 ? "{}" : yaml(hooks));
  const cpu = process.cpuUsage();
  const began = performance.now();
  let loaded: LoadedConfig | undefined = loadConfig({
    path: join(folder, "hookgate.yaml"),
    env: { DATABASE_URL: `file:${join(folder, "bench.db")}`, HOOKGATE_PORT: "0", PATH: process.env.PATH },
  });
  const read = performance.now();
  const starting = startApp(loaded, { version: "0.0.0", logger: silentLogger });
  loaded = undefined;
  const app = await starting;
  const ready = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  const broken = app.automations.broken();
  if (broken.length > 0 || app.automations.list().length !== hooks) throw new Error(JSON.stringify(broken[0]));
  globalThis.gc?.();
  const heapMb = process.memoryUsage().heapUsed / 1e6;
  await app.stop();
  rmSync(folder, { recursive: true, force: true });
  return { readMs: read - began, startMs: ready - read, cpuMs: (user + system) / 1000, heapMb };
}

await measure(0); // warms up
const none = await measure(0);
const many = await measure(count);
const round = (value: number) => Math.round(value);
process.stdout.write(
  `${count} hooks: read ${round(many.readMs)} ms, start ${round(many.startMs)} ms (none: ${round(none.readMs)} + ${round(none.startMs)}), processor time ${round(many.cpuMs)} ms (none: ${round(none.cpuMs)}), heap ${round(many.heapMb)} MB (none: ${round(none.heapMb)})\n`,
);
