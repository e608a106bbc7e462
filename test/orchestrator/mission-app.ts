/** The whole product in this process with plans, runners that are real programs, and a plugin's hooks that a test writes. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type App, startApp } from "../../src/app.js";
import { loadConfig } from "../../src/config/load.js";
import { silentLogger } from "../../src/lib/logger.js";
import { definedOf } from "../../src/lib/without-undefined.js";
import { afterTest } from "../support/clean-up.js";
import { LeapClock } from "../support/leap-clock.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";

const TOKEN = "the-token-of-the-owner-0001";
const BOB = "the-token-of-bob-00000000001";

export interface MissionApp {
  readonly folder: string;
  readonly clock: LeapClock;
  readonly app: App;
  write(file: string, text: string): void;
  /** Its lines; none when it is not there. */
  lines(file: string): string[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** As the owner, or as Bob, who is an operator. */
  // biome-ignore lint/suspicious/noExplicitAny: data of all commands, read by the tests field by field
  command(line: string, by?: "owner" | "bob"): Promise<{ outcome: string; text: string; data: any }>;
  /** Of /api/v1. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  api(method: string, path: string, body?: unknown, by?: "owner" | "bob"): Promise<{ status: number; body: any }>;
  /** Begins a plan; the mission's id. */
  run(plan: string): Promise<string>;
  /** Resolves with what `/mission show` says when it is in one of these states. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  reaches(missionId: string, ...states: string[]): Promise<any>;
  /** Says something in the room `general`, and what stands there. */
  say(text: string): Promise<void>;
  room(): Promise<{ text: string }[]>;
  /** Stopped, and its folder gone: after each test by itself, unless it is kept. */
  remove(): Promise<void>;
}

/** `runners`: of orchestrator.runners. `plugin`: the body of `setup(api)` of a plugin. */
export async function missionApp(
  plans: Record<string, object>,
  {
    runners = {},
    plugin,
    config = {},
    orchestrator = {},
    startMs,
    start = true,
    keep = false,
  }: {
    runners?: Record<string, object>;
    plugin?: string;
    config?: object;
    /** Besides the runners. */
    orchestrator?: object;
    startMs?: number;
    start?: boolean;
    /** For all tests of a file. */
    keep?: boolean;
  } = {},
): Promise<MissionApp> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-missions-"));
  const clock = new LeapClock(startMs);
  let app: App | undefined;
  const need = () => {
    if (app === undefined) throw new Error("the app is not running");
    return app;
  };
  const call = async (method: string, path: string, body?: unknown, token = TOKEN) => {
    const answer = await fetch(`${need().url}${path}`, {
      method,
      headers: definedOf({
        authorization: `Bearer ${token}`,
        "content-type": body === undefined ? undefined : "application/json",
      }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    // biome-ignore lint/suspicious/noExplicitAny: answers of all routes, read by the tests field by field
    const read: any = text === "" ? undefined : JSON.parse(text);
    if (!answer.ok && read?.code === undefined && read?.error === undefined)
      throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return { ok: answer.ok, status: answer.status, body: read };
  };
  let said = 0;
  const live: MissionApp = {
    folder,
    clock,
    get app() {
      return need();
    },
    write(file, text) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    },
    lines: (file) => linesOf(join(folder, file)),
    async start() {
      const loaded = loadConfig({
        path: join(folder, "hookgate.yaml"),
        env: {
          DATABASE_URL: `file:${join(folder, "test.db")}`,
          HOOKGATE_PORT: "0",
          HOOKGATE_TOKEN: TOKEN,
          BOB_TOKEN: BOB,
          PATH: process.env.PATH,
        },
      });
      app = await startApp(loaded, { version: "0.0.0", logger: silentLogger, clock });
      await until(async () => (await fetch(`${need().url}/readyz`)).ok, "the app being ready");
    },
    async stop() {
      await app?.stop();
      app = undefined;
    },
    async command(line, by = "owner") {
      const { ok, body } = await call("POST", "/api/command", { line }, by === "bob" ? BOB : TOKEN);
      if (ok) return body;
      return { outcome: "error", text: JSON.stringify(body), data: body };
    },
    async api(method, path, body, by = "owner") {
      const { status, body: answered } = await call(method, `/api/v1${path}`, body, by === "bob" ? BOB : TOKEN);
      return { status, body: answered };
    },
    async run(plan) {
      const { outcome, data, text } = await live.command(`/mission run ${plan}`);
      if (outcome !== "done") throw new Error(text);
      return data.id;
    },
    reaches: (missionId, ...states) =>
      until(
        async () => {
          const { data } = await live.command(`/mission show ${missionId}`);
          return states.includes(data?.status) && data;
        },
        `the mission being ${states.join(" or ")}`,
      ),
    say: async (text) =>
      void (await call("POST", "/api/rooms/general/messages", { text, nonce: `n${Date.now()}-${said++}` })),
    async remove() {
      await live.stop();
      rmSync(folder, { recursive: true, force: true });
    },
    room: async () => (await call("GET", "/api/rooms/general/messages")).body.messages,
  };
  if (!keep) afterTest(() => live.remove());
  live.write(
    "hookgate.yaml",
    JSON.stringify({
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        people: [{ id: "2", name: "Bob", token_env: "BOB_TOKEN" }],
      },
      operators: { operator: ["web:2"] },
      orchestrator: { runners, ...orchestrator },
      plugins: plugin === undefined ? [] : ["./hooks-of-the-test.mjs"],
      outgoing: { allow: ["127.0.0.1"] },
      ...config,
    }),
  );
  if (plugin !== undefined)
    live.write("hooks-of-the-test.mjs", `export default { id: "of-the-test", async setup(api) {\n${plugin}\n} };\n`);
  for (const [name, plan] of Object.entries(plans)) live.write(`missions/${name}.json`, JSON.stringify(plan, null, 2));
  if (start) await live.start();
  return live;
}
