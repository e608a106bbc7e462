/** The whole product in this process, on a folder of its own with a configuration and hook files that a test writes and changes. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type App, startApp } from "../../../src/app.js";
import { type LoadedConfig, loadConfig } from "../../../src/config/load.js";
import type { AutomationRun } from "../../../src/domain/automation.js";
import { type Logger, silentLogger } from "../../../src/lib/logger.js";
import type { Resolve } from "../../../src/lib/outgoing/connect.js";
import type { Clock } from "../../../src/lib/time/clock.js";
import { definedOf } from "../../../src/lib/without-undefined.js";
import { afterTest } from "../../support/clean-up.js";
import { until } from "../../support/until.js";

export const TOKEN = "the-token-of-the-owner-0001";

export interface LiveApp {
  readonly folder: string;
  readonly app: App;
  write(file: string, text: string): void;
  /** What a file of its folder says. */
  file(name: string): string;
  /** The configuration as it is written now. */
  read(): LoadedConfig;
  remove(file: string): void;
  start(env?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
  /** As the owner, at the API. */
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, body?: unknown): Promise<Record<string, unknown>>;
  /** A hook as the API shows it. */
  info(hookId: string): Promise<Record<string, unknown>>;
  /** A message of the owner in the room `general`. */
  say(text: string): Promise<void>;
  /** What stands in a room: `general`, or the owner's direct one. */
  room(id?: string): Promise<string[]>;
  /** Runs of a hook, oldest first. */
  runs(hookId: string): Promise<AutomationRun[]>;
  /** The newest run of a hook, when it has ended. */
  ended(hookId: string, count?: number): Promise<AutomationRun>;
  fire(hookId: string, changes?: Partial<Parameters<App["automations"]["fire"]>[0]>): Promise<AutomationRun>;
}

export async function liveApp(
  files: Record<string, string>,
  options: {
    env?: Record<string, string>;
    start?: boolean;
    mayBreak?: boolean;
    resolve?: Resolve;
    clock?: Clock;
    logger?: Logger;
  } = {},
): Promise<LiveApp> {
  const { env = {}, start = true, mayBreak = false, resolve, clock, logger = silentLogger } = options;
  const folder = mkdtempSync(join(tmpdir(), "hookgate-hooks-"));
  let app: App | undefined;
  const need = () => {
    if (app === undefined) throw new Error("the app is not running");
    return app;
  };
  let more: Record<string, string> = {};
  const reread = () =>
    loadConfig({
      path: join(folder, "hookgate.yaml"),
      env: {
        DATABASE_URL: `file:${join(folder, "test.db")}`,
        HOOKGATE_PORT: "0",
        HOOKGATE_TOKEN: TOKEN,
        PATH: process.env.PATH,
        ...env,
        ...more,
      },
    });
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${need().url}${path}`, {
      method,
      headers: definedOf({
        authorization: `Bearer ${TOKEN}`,
        "content-type": body === undefined ? undefined : "application/json",
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json() as Promise<Record<string, unknown>>;
  };
  let said = 0;
  const live: LiveApp = {
    folder,
    get app() {
      return need();
    },
    write(file, text) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      // Everybody in the room is listened to.
      const access = "\nweb: { access: { dms: everyone, chats: ['*'], mention: always } }\n";
      writeFileSync(join(folder, file), file === "hookgate.yaml" ? text + access : text);
    },
    remove: (file) => rmSync(join(folder, file)),
    async start(given = {}) {
      more = given;
      app = await startApp(reread(), {
        version: "0.0.0",
        logger,
        clock,
        reread,
        resolve,
      });
      await until(async () => (await fetch(`${need().url}/readyz`)).ok, "the app being ready");
      const broken = need().automations.broken();
      if (broken.length > 0 && !mayBreak) throw new Error(`broken hooks: ${JSON.stringify(broken, null, 2)}`);
    },
    async stop() {
      await app?.stop();
      app = undefined;
    },
    say: async (text) =>
      void (await call("POST", "/api/rooms/general/messages", { text, nonce: `n${Date.now()}-${said++}` })),
    async room(id = "general") {
      const { messages } = (await call("GET", `/api/rooms/${id}/messages`)) as { messages: { text: string }[] };
      return messages.map(({ text }) => text);
    },
    file: (name) => readFileSync(join(folder, name), "utf8"),
    read: reread,
    get: (path) => call("GET", path),
    post: (path, body = {}) => call("POST", path, body),
    info: (hookId) => call("GET", `/api/v1/hooks/${hookId}`),
    runs: async (hookId) => (await need().automations.runs.list({ hookId, limit: 1000 })).reverse(),
    async ended(hookId, count = 1) {
      return until(async () => {
        const ended = (await live.runs(hookId)).filter(({ endedAt }) => endedAt !== undefined);
        return ended.length >= count ? ended.at(-1) : undefined;
      }, `run ${count} of ${hookId} ending`);
    },
    fire: (hookId, changes = {}) =>
      need().automations.fire({
        hookId,
        payload: {},
        dryRun: false,
        reason: "fired by Ann",
        cause: { kind: "command", id: "c1", depth: 0 },
        signal: new AbortController().signal,
        ...changes,
      }),
  };
  afterTest(async () => {
    await live.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [file, text] of Object.entries(files)) live.write(file, text);
  if (start) await live.start();
  return live;
}
