/** The whole product in this process, with its web chat on a free port; can stop and start again on the same disk and port. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type App, startApp } from "../../src/app.js";
import { readEnvironment } from "../../src/config/env.js";
import { configSchema } from "../../src/config/schema.js";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { definedOf } from "../../src/lib/without-undefined.js";
import { until } from "../support/until.js";

export const OWNER = "the-token-of-the-owner-0001";
export const BOB = "the-token-of-bob-00000000001";

export interface RunningApp {
  readonly url: string;
  readonly app: App;
  /** Where its configuration stands. */
  readonly folder: string;
  stop(): Promise<void>;
  /** On the same disk and port; with changed sections of the configuration. */
  start(changes?: Record<string, unknown>): Promise<void>;
  /** Ends it for good and removes its files. */
  close(): Promise<void>;
  call(
    token: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all routes, read by the tests field by field
  body: any;
}

export async function runApp(
  config: Record<string, unknown> = {},
  variables: Record<string, string> = {},
  logger: Logger = silentLogger,
): Promise<RunningApp> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-http-"));
  let port = 0;
  let app: App | undefined;
  const need = () => {
    if (!app) throw new Error("the app is not running");
    return app;
  };
  const running: RunningApp = {
    folder,
    get url() {
      return need().url;
    },
    get app() {
      return need();
    },
    async start(changes = {}) {
      const { env } = readEnvironment({
        DATABASE_URL: `file:${join(folder, "test.db")}`,
        HOOKGATE_PORT: String(port),
        HOOKGATE_TOKEN: OWNER,
        BOB_TOKEN: BOB,
        ...variables,
      });
      const parsed = configSchema.parse({
        plugins: [resolve(import.meta.dirname, "page-plugin.mjs")],
        ...config,
        ...changes,
        web: {
          people: [{ id: "2", name: "Bob", token_env: "BOB_TOKEN" }],
          access: { dms: "everyone", chats: ["*"], mention: "always" },
          ...(config.web as object),
          ...(changes.web as object),
        },
      });
      app = await startApp(
        // Hooks of the configuration are read only with the file that they stand in.
        {
          config: parsed,
          file: config.hooks === undefined ? undefined : join(folder, "hookgate.yaml"),
          env,
          problems: [],
        },
        { version: "0.0.0", logger },
      );
      port = Number(new URL(app.url).port);
      await until(async () => (await fetch(`${need().url}/readyz`)).ok, "the app being ready");
    },
    async stop() {
      await app?.stop();
      app = undefined;
    },
    async close() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
    async call(token, method, path, body, headers = {}) {
      const response = await fetch(`${need().url}${path}`, {
        method,
        headers: definedOf({
          authorization: token === undefined ? undefined : `Bearer ${token}`,
          "content-type": body === undefined ? undefined : "application/json",
          ...headers,
        }),
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json");
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
  };
  try {
    await running.start();
  } catch (error) {
    await running.close();
    throw error;
  }
  return running;
}
