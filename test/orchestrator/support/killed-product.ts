/** The product with runners and the guard plugin, as a process that a test kills and starts again. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Task } from "../../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../../src/domain/orchestrator/task-store.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../../support/gateway-process.js";
import { linesOf } from "../../support/lines.js";
import { until } from "../../support/until.js";
import { GUARD_PLUGIN } from "./guard-plugin.js";

const started: GatewayProcess[] = [];

/** After the last test of a file: tests share processes. */
export async function removeAll(): Promise<void> {
  for (const gateway of started.splice(0)) {
    await gateway.kill();
    rmSync(gateway.folder, { recursive: true, force: true });
  }
}

export async function start(
  runners: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-task-kill-"));
  writeFileSync(join(folder, "plugin.mjs"), GUARD_PLUGIN);
  const gateway = await gatewayProcess({
    folder,
    config: { plugins: ["./plugin.mjs"], orchestrator: { tick: "200ms", lease: "2s", runners, ...more } },
    env: { DATABASE_URL: "file:test.db" },
  });
  started.push(gateway);
  await again(gateway);
  return gateway;
}

export async function again(gateway: GatewayProcess): Promise<void> {
  await gateway.start();
  await gateway.ready();
}

interface Said {
  outcome: string;
  text: string;
  data?: Record<string, unknown>;
}

export async function command({ url }: GatewayProcess, line: string): Promise<Said> {
  const answer = await fetch(`${url}/api/command`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ line }),
  });
  return (await answer.json()) as Said;
}

export async function add(gateway: GatewayProcess, line: string): Promise<string> {
  const said = await command(gateway, line);
  if (typeof said.data?.id !== "string") throw new Error(said.text);
  return said.data.id;
}

export type Shown = Task & { history: TaskEvent[] };
export const show = async (gateway: GatewayProcess, id: string) =>
  (await command(gateway, `/task show ${id}`)).data as unknown as Shown;

export async function ends(gateway: GatewayProcess, id: string): Promise<Shown> {
  return until(async () => {
    const task = await show(gateway, id);
    return ["done", "failed", "blocked"].includes(task.status) ? task : undefined;
  }, `the end of ${id}`);
}

export const lines = ({ folder }: GatewayProcess, file: string) => linesOf(join(folder, file));
export const gone = (gateway: GatewayProcess) => until(() => !gateway.running(), "the gateway being gone");
