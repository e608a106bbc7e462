/**
 * A start with thousands of configured hooks, and what they cost the points that they do not listen to. `npx tsx bench/many-hooks.ts [count]`.
 * Exits 1 when they cost too much.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { startApp } from "../src/app.js";
import { readHooks } from "../src/automations/definition/read-hooks.js";
import { install } from "../src/automations/install.js";
import { type LoadedConfig, loadConfig } from "../src/config/load.js";
import { type Catalogue, catalogue } from "../src/hooks/catalogue/index.js";
import { HookRegistry } from "../src/hooks/registry.js";
import { silentLogger } from "../src/lib/logger.js";
import { parseYaml } from "../src/lib/validation/yaml-source.js";

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
  /** The heap after a collection (`--expose-gc`). */
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

const text = yaml(count);
const around = {
  points: new Map(catalogue.map((point) => [point.name, point])),
  events: [],
  secret: () => "a secret",
  models: [],
};

/** A registry with all of them. */
function crowdedRegistry(): HookRegistry {
  const source = parseYaml(text);
  const { hooks } = source.value as { hooks: unknown[] };
  const registry = new HookRegistry({ logger: silentLogger });
  const found = readHooks({ file: "/nowhere/hookgate.yaml", hooks, placeOf: source.placeOf }, around);
  const { broken } = install(registry, new Map(), found, () => Promise.reject(new Error("not fired")));
  if (broken.length > 0 || registry.size !== count) throw new Error(JSON.stringify(broken[0]));
  return registry;
}

function timed<T>(run: () => T): { ms: number; value: T } {
  const startedAt = performance.now();
  const value = run();
  return { ms: performance.now() - startedAt, value };
}

// The best of several rounds is the one that nothing else disturbed.
let loading = Number.POSITIVE_INFINITY;
let crowded = new HookRegistry({ logger: silentLogger });
for (let n = 0; n < 3; n++) {
  const read = timed(() => parse(text));
  const loaded = timed(crowdedRegistry);
  crowded = loaded.value;
  loading = Math.min(loading, loaded.ms / read.ms);
}
report("checked and registered, beside reading their YAML", loading, 4);

const empty = new HookRegistry({ logger: silentLogger });
for (const registry of [crowded, empty]) registry.registerVoid("message_received", () => {});
const example = catalogue.find(({ name }) => name === "message_received")?.example as Parameters<
  HookRegistry<Catalogue>["fireVoid"]
>[1];
const cost = async (registry: HookRegistry) => {
  const startedAt = performance.now();
  for (let i = 0; i < 5_000; i++) await registry.fireVoid("message_received", example as never);
  return performance.now() - startedAt;
};
const best = { crowded: Number.POSITIVE_INFINITY, empty: Number.POSITIVE_INFINITY };
for (let n = 0; n < 10; n++) {
  best.empty = Math.min(best.empty, await cost(empty));
  best.crowded = Math.min(best.crowded, await cost(crowded));
}
// A cost that grew with the hooks would be a thousandfold.
report("a point that they do not listen to, beside one in an empty registry", best.crowded / best.empty, 3);

function report(what: string, ratio: number, most: number): void {
  console.log(`${what}: ${ratio.toFixed(2)} times, at most ${most}`);
  if (ratio > most) process.exitCode = 1;
}
