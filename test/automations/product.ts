/** The running product with hooks of its configuration: events go in signed over HTTP, runs are read from its disk. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import type { AttemptRecord, AutomationRunStatus } from "../../src/domain/automation.js";
import { openSqlite } from "../../src/store/driver.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

export const EVENT_SECRET = `whsec_${Buffer.from("the secret of the events of a test").toString("base64")}`;
export const ROOM = "web:web:general";

export interface StoredRun {
  id: string;
  status: AutomationRunStatus;
  attempt: number;
  statusReason?: string;
  attempts: AttemptRecord[];
}

export interface Message {
  id: number;
  text: string;
  threadId?: string;
  editedAt?: number;
  html?: string;
}

export interface Product extends GatewayProcess {
  /** Sends a signed event `name`; the id of what was accepted. */
  event(payload: Record<string, unknown>, options?: { name?: string; id?: string }): Promise<string>;
  say(text: string): Promise<void>;
  /** Of a room, `general` unless said. */
  messages(room?: string): Promise<Message[]>;
  /** Oldest first. */
  runs(hookId: string): StoredRun[];
  /** Resolves with the hook's runs when as many have ended. */
  ended(hookId: string, count?: number): Promise<StoredRun[]>;
  close(): Promise<void>;
}

/** `config.events` are declared for you: one a hook that is triggered by an event. */
export async function startProduct(
  config: { hooks: Record<string, unknown>[] } & Record<string, unknown>,
  env: Record<string, string> = {},
  /** Writes what the configuration names. */
  prepare: (folder: string) => void = () => {},
): Promise<Product> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-hooks-"));
  prepare(folder);
  const names = config.hooks.flatMap(({ trigger }) =>
    typeof trigger === "object" && trigger !== null && "event" in trigger ? [String(trigger.event)] : [],
  );
  const events = Object.fromEntries(names.map((name) => [name, { secret_env: "EVENT_SECRET" }]));
  const gateway = await gatewayProcess({
    folder,
    config: {
      web: { access: { dms: "everyone", chats: ["*"], mention: "always" } },
      events,
      ...config,
    },
    env: { EVENT_SECRET, ...env },
  });
  let sent = 0;
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

  const product: Product = {
    ...gateway,
    async event(payload, { name = names[0] ?? "", id = `msg_${++sent}_${Date.now()}` } = {}) {
      const body = JSON.stringify(payload);
      const at = new Date();
      const response = await fetch(`${gateway.url}/ingest/${name}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "webhook-id": id,
          "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
          "webhook-signature": new Webhook(EVENT_SECRET).sign(id, at, body),
        },
        body,
      });
      if (!response.ok) throw new Error(`the event was refused: ${response.status} ${await response.text()}`);
      return id;
    },
    async say(text) {
      const response = await fetch(`${gateway.url}/api/rooms/general/messages`, {
        method: "POST",
        headers,
        body: JSON.stringify({ text, nonce: `nonce-${++sent}-${Date.now()}` }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    },
    async messages(room = "general") {
      const response = await fetch(`${gateway.url}/api/rooms/${room}/messages`, { headers });
      return ((await response.json()) as { messages: Message[] }).messages;
    },
    runs(hookId) {
      const database = openSqlite(join(folder, "data/hookgate.db"), { readonly: true });
      try {
        return database
          .prepare<[string], { id: string; status: AutomationRunStatus; attempt: number; data: string }>(
            "SELECT id, status, attempt, data FROM automation_runs WHERE hook_id = ? ORDER BY seq",
          )
          .all(hookId)
          .map(({ data, ...run }) => ({ ...(JSON.parse(data) as Pick<StoredRun, "attempts">), ...run }));
      } finally {
        database.close();
      }
    },
    ended: (hookId, count = 1) =>
      until(() => {
        const runs = product.runs(hookId).filter(({ status }) => !OPEN.has(status));
        return runs.length >= count && runs;
      }, `${count} ended runs of ${hookId}`),
    async close() {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await gateway.start();
  await gateway.ready();
  if (gateway.output().includes("hook broken")) throw new Error(gateway.output());
  return product;
}

const OPEN: ReadonlySet<AutomationRunStatus> = new Set(["queued", "running", "backgrounded"]);
