/** Plugins on a real registry and a real store, loaded from files in a folder of their own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address } from "../../src/domain/chat/address.js";
import type { InboundMessage, OutboundMessage } from "../../src/domain/chat/message.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { type Clock, systemClock } from "../../src/lib/time/clock.js";
import { pluginsConfig } from "../../src/plugins/config.js";
import { createPlugins, type Plugins } from "../../src/plugins/plugins.js";
import { storeConfig } from "../../src/store/config.js";
import { openStore } from "../../src/store/open.js";
import { afterTest } from "../support/clean-up.js";

export interface Sent {
  at: Address;
  message: OutboundMessage;
  options: { cause: { kind: string; id: string; depth: number }; deliveryId?: string };
}

export interface PluginRig {
  folder: string;
  registry: HookRegistry;
  plugins: Plugins;
  sent: Sent[];
  logged: { level: string; message: string; facts: Record<string, unknown> }[];
  write(name: string, source: string): string;
  /** The first result of `inbound_claim` for a text. */
  claim(text: string): Promise<Record<string, unknown>>;
}

/** `files`: name → source. `entries`: as in the configuration; by default every file. */
export async function pluginRig(
  files: Record<string, string>,
  {
    entries = Object.keys(files),
    watch = false,
    clock = systemClock,
  }: { entries?: unknown[]; watch?: boolean; clock?: Clock } = {},
): Promise<PluginRig> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-plugins-"));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, source: string) => {
    const file = join(folder, name);
    writeFileSync(file, source);
    return file;
  };
  for (const [name, source] of Object.entries(files)) write(name, source);
  const { retention, dedup_for } = storeConfig.parse({});
  const store = await openStore({
    url: `file:${join(folder, "hookgate.db")}`,
    durability: "normal",
    retention: { ...retention, dedup_for },
    clock: systemClock,
    logger: silentLogger,
  });
  afterTest(() => store.close());
  const logged: PluginRig["logged"] = [];
  const logger = listeningLogger(logged);
  const registry = new HookRegistry({ logger });
  const sent: Sent[] = [];
  const send = async (at: Address, message: OutboundMessage, options: Sent["options"]) => {
    sent.push({ at, message, options });
    return options.deliveryId ?? "d_1";
  };
  const plugins = createPlugins({
    entries: pluginsConfig.parse(entries),
    baseDir: folder,
    registry,
    gateway: {
      send,
      edit: (id, message, options) => send({ platform: "edit", botId: "", chatId: id }, message, options),
    },
    keyValue: store.keyValue,
    clock,
    logger,
    watch,
  });
  afterTest(() => plugins.stop());
  return {
    folder,
    registry,
    plugins,
    sent,
    logged,
    write,
    claim: (text) => registry.fireClaiming("inbound_claim", { message: inbound(text), isAnswer: false }),
  };
}

export function listeningLogger(logged: PluginRig["logged"]): Logger {
  const at = (level: string) => (facts: object, message?: string) =>
    void logged.push({ level, message: message ?? "", facts: { ...facts } });
  const logger: Logger = {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => logger,
  };
  return logger;
}

export function inbound(text: string, facts: Partial<InboundMessage> = {}): InboundMessage {
  return {
    platform: "web",
    botId: "web",
    chatId: "room",
    userId: "7",
    text,
    attachments: [],
    isDm: false,
    isGroupMention: true,
    messageId: "1",
    isEdit: false,
    receivedAt: 0,
    ...facts,
  };
}

/** A plugin that answers every message with a word. */
export function answering(id: string, word: string, options = "{}"): string {
  return `export default { id: "${id}", setup(api) {
    api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "${word}" }), ${options});
  } };`;
}
