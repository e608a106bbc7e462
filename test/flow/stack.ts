/** The whole product on loopback: both fake platforms, the web chat, and the gateway as a child process with the flow plugin. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/server.js";
import { FakeTelegram } from "../fakes/telegram/server.js";
import { freePort, type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { discordPlatform } from "./discord-platform.js";
import type { FlowPlatform } from "./platform.js";
import { telegramPlatform } from "./telegram-platform.js";
import { webPlatform } from "./web-platform.js";

/** One run of one hook of the flow plugin. */
export interface Noted {
  hook: string;
  dispatchId: string;
  attempt: number;
  messageId?: string;
  /** Platform and chat of `messageId`, which is unique in its chat only. */
  chat?: string;
  text?: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of all points, read by the tests field by field
  payload?: any;
}

export interface Stack {
  gateway: GatewayProcess;
  discord: FakeDiscord;
  telegram: FakeTelegram;
  platforms: Record<"web" | "discord" | "telegram", FlowPlatform>;
  /** What the flow plugin's hooks ran, in order. */
  noted(hook?: string): Noted[];
  stop(): Promise<void>;
}

/** What is there before the gateway starts. */
export interface Around {
  port: number;
  discord: FakeDiscord;
  telegram: FakeTelegram;
}

export interface StackOptions {
  /** Merged into hookgate.yaml. */
  config?: Record<string, unknown> | ((around: Around) => Record<string, unknown>);
  plugins?: unknown[] | ((platforms: Stack["platforms"]) => unknown[]);
  /** Over the environment that the platforms need. */
  env?: Record<string, string>;
  /** What is online before the tests begin; all three unless said. */
  online?: readonly string[];
  bridgeTo?: (platforms: Stack["platforms"]) => unknown;
  /** False: only the given plugins; no other hook is enabled at any point. */
  withFlow?: boolean;
}

const ALL = ["web", "discord", "telegram"];

export interface Readiness {
  ready: boolean;
  platforms: Record<string, { state: string; reason?: string }>;
}

export async function readiness(url: string): Promise<Readiness> {
  return (await (await fetch(`${url}/readyz`)).json()) as Readiness;
}

/** Resolves when /readyz shows these platforms online. Rejects with the state of each, or with what a gateway that ended has printed. */
export async function allOnline(
  gateway: GatewayProcess,
  withinMs = 90_000,
  names: readonly string[] = ALL,
): Promise<void> {
  let last: unknown;
  await until(
    async () => {
      if (!gateway.running()) throw new Error(`the gateway ended:\n${gateway.output().slice(-4000)}`);
      last = await readiness(gateway.url).catch((error: unknown) => error);
      const { platforms = {} } = last as Partial<Readiness>;
      return names.every((name) => platforms[name]?.state === "online");
    },
    () => `${names.join(", ")} being online (${last instanceof Error ? last : JSON.stringify(last)})`,
    withinMs,
  );
}

/** A command by HTTP, as the holder of the console's token. */
export async function invoke(
  url: string,
  line: string,
  token = TOKEN,
): Promise<{ text: string; outcome?: string; data?: unknown }> {
  const answer = await fetch(`${url}/api/command`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ line }),
  });
  return (await answer.json()) as { text: string; outcome?: string; data?: unknown };
}

export const FLOW_PLUGIN = resolve(import.meta.dirname, "../fixtures/plugins/flow.mjs");

export async function startStack({
  config = {},
  plugins = [],
  env = {},
  online = ALL,
  bridgeTo,
  withFlow = true,
}: StackOptions = {}): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-flow-"));
  const log = join(folder, "runs.jsonl");
  const discord = await startFakeDiscord();
  const telegram = await new FakeTelegram().start();
  const platforms = { web: webPlatform(), discord: discordPlatform(discord), telegram: telegramPlatform(telegram) };
  const all = Object.values(platforms);
  const port = await freePort();
  const gateway = await gatewayProcess({
    folder,
    port,
    config: {
      operators: { owner: all.map(({ ownerRef }) => ownerRef) },
      ...Object.fromEntries(all.map(({ name, config: own }) => [name, own])),
      plugins: [
        ...(withFlow ? [{ module: FLOW_PLUGIN, critical: true, config: { log, bridge: bridgeTo?.(platforms) } }] : []),
        ...(typeof plugins === "function" ? plugins(platforms) : plugins),
      ],
      ...(typeof config === "function" ? config({ port, discord, telegram }) : config),
    },
    env: Object.assign({}, ...all.map((one) => one.env), env),
  });
  await gateway.start();
  await allOnline(gateway, 90_000, online);
  for (const platform of all) await platform.begin(gateway.url);
  return {
    gateway,
    discord,
    telegram,
    platforms,
    noted(hook) {
      const all = jsonLines<Noted>(log);
      return hook === undefined ? all : all.filter((one) => one.hook === hook);
    },
    async stop() {
      await gateway.kill();
      await discord.stop();
      await telegram.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
