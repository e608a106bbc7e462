/** The product as a process of its own with configured hooks, used as people use it: they write in the web chat and give commands. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AttemptRecord, AutomationRun } from "../../src/domain/automation.js";
import { definedOf } from "../../src/lib/without-undefined.js";
import { openSqlite } from "../../src/store/driver.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

export interface HookedGateway extends GatewayProcess {
  /** Writes into the direct conversation with the gateway. */
  say(text: string): Promise<void>;
  /** What the gateway said there, or in another room, oldest first. */
  said(room?: string): Promise<string[]>;
  /** Waits for something that it says. */
  hears(part: string, room?: string): Promise<string>;
  /** Gives a command as the owner. */
  command(line: string): Promise<{ outcome: string; text: string }>;
  /** What is on disk of a hook's runs, oldest first. */
  runs(hookId: string): StoredRun[];
  close(): Promise<void>;
}

export type StoredRun = Pick<AutomationRun, "id" | "status" | "attempt" | "statusReason"> & {
  attempts: AttemptRecord[];
};

export const DIRECT = "dm-1";

export async function hookedGateway(
  hooks: readonly Record<string, unknown>[],
  { config = {}, env = {} }: { config?: Record<string, unknown>; env?: Record<string, string> } = {},
): Promise<HookedGateway> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-hooked-"));
  const gateway = await gatewayProcess({
    folder,
    config: { plugins: [], hooks, outgoing: { allow: ["127.0.0.1"] }, automations: { lease: "2s" }, ...config },
    env,
  });
  let nonce = 0;

  async function api(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${gateway.url}/api${path}`, {
      method,
      headers: definedOf({
        authorization: `Bearer ${TOKEN}`,
        "content-type": body === undefined ? undefined : "application/json",
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async function said(room = DIRECT): Promise<string[]> {
    const { messages } = (await api("GET", `/rooms/${room}/messages`)) as {
      messages: { text: string; author: { id?: string } }[];
    };
    return messages.filter(({ author }) => author.id === undefined).map(({ text }) => text);
  }

  const hooked: HookedGateway = {
    ...gateway,
    async say(text) {
      await api("POST", `/rooms/${DIRECT}/messages`, { text, nonce: `words-${process.pid}-${++nonce}` });
    },
    said,
    hears: (part, room) =>
      until(async () => (await said(room)).find((text) => text.includes(part)), `"${part}" being said`),
    command: async (line) => (await api("POST", "/command", { line })) as { outcome: string; text: string },
    runs(hookId) {
      const database = openSqlite(join(folder, "data/hookgate.db"), { readonly: true });
      try {
        const rows = database
          .prepare("SELECT id, status, attempt, data FROM automation_runs WHERE hook_id = ? ORDER BY seq")
          .all(hookId) as { id: string; status: AutomationRun["status"]; attempt: number; data: string }[];
        return rows.map(({ data, ...row }) => ({ ...(JSON.parse(data) as StoredRun), ...row }));
      } finally {
        database.close();
      }
    },
    async close() {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return hooked;
}

/** Whether a process runs; one that has ended and whose parent has not looked (a zombie) does not. */
export function processRuns(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return stateOf(pid) !== "Z";
}

function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[0];
  } catch {
    return undefined; // not Linux, or gone
  }
}
