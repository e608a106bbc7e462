/** The whole product in this process with runners and hooks that a test gives, used by commands; and what is on disk of its tasks. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, startApp } from "../../../src/app.js";
import { loadConfig } from "../../../src/config/load.js";
import type { Task, TaskStatus } from "../../../src/domain/orchestrator/task.js";
import type { TaskEvent } from "../../../src/domain/orchestrator/task-store.js";
import { type Logger, silentLogger } from "../../../src/lib/logger.js";
import type { Clock } from "../../../src/lib/time/clock.js";
import { definedOf } from "../../../src/lib/without-undefined.js";
import { afterTest } from "../../support/clean-up.js";
import { until } from "../../support/until.js";

export const OWNER_TOKEN = "the-token-of-the-owner-0001";
export const WORKER_TOKEN = "the-token-of-the-worker-0002";

export interface Said {
  outcome: string;
  text: string;
  data: Record<string, unknown>;
}

export interface Posted {
  id: string;
  text: string;
  card?: { title?: string; text?: string; fields?: { name: string; value: string }[] };
  buttons?: { label: string; token?: string; action?: string }[][];
  raw: Record<string, unknown>;
}

export interface TaskedApp {
  readonly folder: string;
  readonly app: App;
  start(): Promise<void>;
  stop(): Promise<void>;
  command(line: string, token?: string): Promise<Said>;
  /** Adds a task and gives its id; throws with what was said when there is none. */
  add(line: string): Promise<string>;
  task(id: string): Promise<Task & { history: TaskEvent[] }>;
  /** Waits for a state. */
  becomes(id: string, status: TaskStatus, withinMs?: number): Promise<Task & { history: TaskEvent[] }>;
  api(method: string, path: string, body?: unknown, token?: string): Promise<unknown>;
  room(id: string, token?: string): Promise<Posted[]>;
}

export interface TaskedOptions {
  orchestrator?: Record<string, unknown>;
  config?: Record<string, unknown>;
  env?: Record<string, string>;
  clock?: Clock;
  logger?: Logger;
  /** A plugin, as the text of an ES module. */
  plugin?: string;
}

export async function taskedApp({
  orchestrator = {},
  config = {},
  env = {},
  clock,
  logger = silentLogger,
  plugin,
}: TaskedOptions): Promise<TaskedApp> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-tasks-"));
  if (plugin !== undefined) writeFileSync(join(folder, "plugin.mjs"), plugin);
  const people = [{ id: "2", name: "Will", token_env: "WORKER_TOKEN" }];
  writeFileSync(
    join(folder, "hookgate.yaml"),
    JSON.stringify({
      outgoing: { allow: ["127.0.0.1"] },
      web: { people, access: { dms: "everyone", chats: ["*"], mention: "always" } },
      orchestrator,
      plugins: plugin === undefined ? undefined : [{ module: "./plugin.mjs" }],
      ...config,
    }),
  );
  let app: App | undefined;
  const need = () => {
    if (app === undefined) throw new Error("the app is not running");
    return app;
  };
  const tasked: TaskedApp = {
    folder,
    get app() {
      return need();
    },
    async start() {
      const loaded = loadConfig({
        path: join(folder, "hookgate.yaml"),
        env: {
          DATABASE_URL: `file:${join(folder, "test.db")}`,
          HOOKGATE_PORT: "0",
          HOOKGATE_TOKEN: OWNER_TOKEN,
          WORKER_TOKEN,
          PATH: process.env.PATH,
          ...env,
        },
      });
      app = await startApp(loaded, {
        version: "0.0.0",
        logger,
        clock,
      });
      await until(async () => (await fetch(`${need().url}/readyz`)).ok, "the app being ready");
      const broken = app.automations.broken();
      if (broken.length > 0) throw new Error(`broken hooks: ${JSON.stringify(broken, null, 2)}`);
    },
    async stop() {
      await app?.stop();
      app = undefined;
    },
    async api(method, path, body, token = OWNER_TOKEN) {
      const answer = await fetch(`${need().url}/api${path}`, {
        method,
        headers: definedOf({
          authorization: `Bearer ${token}`,
          "content-type": body === undefined ? undefined : "application/json",
        }),
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text);
    },
    command: async (line, token) => (await tasked.api("POST", "/command", { line }, token)) as Said,
    async add(line) {
      const said = await tasked.command(line);
      if (typeof said.data?.id !== "string") throw new Error(`no task was added: ${said.text}`);
      return said.data.id;
    },
    async task(id) {
      const said = await tasked.command(`/task show ${id}`);
      if (said.outcome !== "done") throw new Error(said.text);
      return said.data as unknown as Task & { history: TaskEvent[] };
    },
    async becomes(id, status, withinMs = 25_000) {
      let last: Awaited<ReturnType<TaskedApp["task"]>> | undefined;
      return until(
        async () => {
          last = await tasked.task(id);
          return last.status === status ? last : undefined;
        },
        `task ${id} becoming ${status}`,
        withinMs,
      ).catch((error: Error) => {
        throw new Error(`${error.message}; it is ${JSON.stringify(last, null, 1)}`);
      });
    },
    async room(id, token) {
      const { messages } = (await tasked.api("GET", `/rooms/${id}/messages`, undefined, token)) as {
        messages: Record<string, unknown>[];
      };
      return messages.map((raw) => ({ ...(raw as unknown as Posted), raw }));
    },
  };
  afterTest(async () => {
    await tasked.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await tasked.start();
  return tasked;
}

/** The ways that a task went, as `from>to`. */
export const waysOf = ({ history }: { history: TaskEvent[] }) =>
  history.filter(({ kind }) => kind === "transition").map(({ from, to }) => `${from}>${to}`);
