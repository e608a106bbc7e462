/** A gateway on the real store and registry, over loopback platforms; it can be stopped, or cut off as a crash would. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessConfig } from "../../src/domain/chat/access.js";
import type { Accepted, Adapter } from "../../src/domain/chat/adapter.js";
import { formatAddress } from "../../src/domain/chat/address.js";
import type { InboundEvent, InteractionRef } from "../../src/domain/chat/event.js";
import type { InboundMessage } from "../../src/domain/chat/message.js";
import type { DispatchRecord } from "../../src/domain/journal.js";
import type { InboxRow, Store } from "../../src/domain/store.js";
import type { Command } from "../../src/gateway/commands.js";
import { gatewayConfig, operatorsConfig } from "../../src/gateway/config.js";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway/gateway.js";
import { MovedChats } from "../../src/gateway/moved-chats.js";
import { OwnerClaims } from "../../src/gateway/people/owner-claims.js";
import type { Route } from "../../src/gateway/routes.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { type Clock, systemClock } from "../../src/lib/time/clock.js";
import { Pending } from "../../src/pending/pending.js";
import { storeConfig } from "../../src/store/config.js";
import type { Disk } from "../../src/store/database-file/wal-sync.js";
import { openStore } from "../../src/store/open.js";
import { afterTest } from "../support/clean-up.js";
import { ManualClock } from "../support/manual-clock.js";
import { until } from "../support/until.js";
import { LoopbackAdapter, LoopbackPlatform } from "./loopback-adapter.js";

export interface RigOptions {
  gateway?: Record<string, unknown>;
  operators?: Record<string, unknown>;
  /** By platform. */
  access?: Record<string, Record<string, unknown>>;
  commands?: readonly Command[];
  routes?: ReadonlyMap<string, Route>;
  platforms?: readonly LoopbackPlatform[];
  /** Of real platforms, after those. */
  others?: readonly Adapter[];
  hooks?: (registry: HookRegistry) => void;
  allowedPlugins?: (conversation: string) => readonly string[] | undefined;
  /** Continue on this file. */
  file?: string;
  disk?: Disk;
  clock?: Clock;
  logger?: Logger;
  observe?: GatewayOptions["observe"];
  keepFile?: GatewayOptions["keepFile"];
  beforeSending?: NonNullable<GatewayOptions["beforeSending"]>;
  /** Who is told what is seen of conversations, on the rig's own store. */
  watch?: (parts: { store: Store; registry: HookRegistry }) => GatewayOptions["watch"];
  beforeStart?: (rig: Rig) => void;
}

export interface Rig {
  gateway: Gateway;
  registry: HookRegistry;
  store: Store;
  clock: ManualClock;
  file: string;
  platform: LoopbackPlatform;
  adapter: LoopbackAdapter;
  adapters: LoopbackAdapter[];
  /** No code is valid until a test asks for one. */
  claims: OwnerClaims;
  /** Dispatches as they were recorded. */
  dispatches: DispatchRecord[];
  /** Somebody writes. Resolves when the gateway has it on disk. */
  say(text: string, facts?: Partial<InboundMessage>): Promise<Accepted>;
  receive(event: InboundEvent): Promise<Accepted>;
  /** The row of a message, once it is done or dead. */
  settled(eventId: string, chatId?: string): Promise<InboxRow>;
  /** Resolves when nothing is waiting or under way in either queue. */
  idle(withinMs?: number): Promise<void>;
  stop(): Promise<void>;
  /** As a crash: nothing is drained, nothing is told. */
  crash(): Promise<void>;
}

let nextMessage = 1;

export function messageOf(text: string, facts: Partial<InboundMessage> = {}): InboundMessage {
  return {
    platform: "loop",
    botId: "bot",
    chatId: "room",
    userId: "7",
    displayName: "Ada",
    text,
    attachments: [],
    isDm: false,
    isGroupMention: true,
    messageId: String(nextMessage++),
    isEdit: false,
    receivedAt: 0,
    ...facts,
  };
}

export function interaction(facts: Partial<InteractionRef> = {}): InteractionRef {
  return { id: "i1", token: "t1", expiresAt: Number.MAX_SAFE_INTEGER, isPrivate: false, ...facts };
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const file = options.file ?? join(newFolder(), "hookgate.db");
  const clock = options.clock ?? new ManualClock();
  const logger = options.logger ?? silentLogger;
  const { retention, dedup_for, durability } = storeConfig.parse({});
  // The store's own waits (a lock, the journal's worker) are real; the times that it stores are the gateway's.
  const store = await openStore({
    url: `file:${file}`,
    durability,
    retention: { ...retention, dedup_for },
    clock: systemClock,
    logger,
    disk: options.disk,
  });
  const dispatches: DispatchRecord[] = [];
  const moves = new MovedChats(store.cursors("gateway"));
  const registry = new HookRegistry({
    journal: { record: (dispatch) => void dispatches.push(dispatch) },
    clock,
    logger,
    allowedPlugins: options.allowedPlugins,
    formerChats: (at) => moves.former(at),
  });
  options.hooks?.(registry);
  const platforms = options.platforms ?? [new LoopbackPlatform()];
  const adapters = platforms.map((platform) => new LoopbackAdapter(platform));
  const { others = [] } = options;
  const access = Object.fromEntries(
    [...platforms.map(({ name }) => name), ...others.map(({ platform }) => platform)].map((name) => [
      name,
      accessConfig.parse(options.access?.[name] ?? { dms: "everyone", chats: ["*"], mention: "required" }),
    ]),
  );
  const claims = await OwnerClaims.load(store.keyValue, clock);
  const gateway = createGateway({
    store,
    moves,
    registry,
    pending: new Pending({ store: store.pending, clock, logger }),
    adapters: [...adapters, ...others],
    commands: options.commands ?? [],
    config: {
      gateway: gatewayConfig.parse(options.gateway ?? {}),
      operators: operatorsConfig.parse(options.operators ?? { owner: ["loop:1"], viewer: ["loop:3"] }),
      access,
    },
    clock,
    logger,
    routes: options.routes,
    observe: options.observe,
    keepFile: options.keepFile,
    beforeSending: options.beforeSending,
    claims,
    ...watching(options.watch?.({ store, registry })),
  });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await store.close();
  };
  const receive = (event: InboundEvent) => {
    const name = "message" in event ? event.message.platform : event.address.platform;
    const adapter = adapters.find((one) => one.platform === name) ?? adapters[0];
    if (!adapter) throw new Error("no adapter");
    return adapter.receive(event);
  };
  const rig: Rig = {
    gateway,
    registry,
    store,
    clock: clock as ManualClock,
    file,
    platform: platforms[0] as LoopbackPlatform,
    adapter: adapters[0] as LoopbackAdapter,
    adapters,
    claims,
    dispatches,
    receive,
    say(text, facts = {}) {
      const message = messageOf(text, facts);
      return receive({ kind: "message", eventId: message.messageId, message });
    },
    settled: (eventId, chatId = "room") =>
      until(async () => {
        const row = await store.inbox.find({ platform: "loop", botId: "bot", chatId }, eventId);
        return row && (row.status === "done" || row.status === "dead") ? row : undefined;
      }, `event ${eventId} is settled`),
    idle: (withinMs) =>
      until(
        async () => {
          const { inbox, outbox, lanes, sending } = await gateway.status();
          const open = inbox.waiting + inbox.running + inbox.deferred + outbox.waiting + outbox.sending;
          return open + lanes.active + lanes.waiting + sending.active + sending.waiting === 0;
        },
        "both queues are empty",
        withinMs,
      ).then(() => undefined),
    async stop() {
      await gateway.stop();
      await close();
    },
    crash: close,
  };
  afterTest(() => rig.crash());
  options.beforeStart?.(rig);
  await gateway.start();
  await until(
    async () => (await gateway.status()).adapters.every(({ phase }) => phase !== "connecting" && phase !== "off"),
    "adapters are up",
  );
  return rig;
}

const watching = (watch: GatewayOptions["watch"]) => (watch ? { watch } : {});

/** The next process on the same file, after a crash or a stop. */
export async function restart(rig: Rig, options: RigOptions = {}): Promise<Rig> {
  await rig.crash();
  return startRig({ file: rig.file, clock: rig.clock, platforms: [rig.platform], ...options });
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-gateway-"));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const room = formatAddress({ platform: "loop", botId: "bot", chatId: "room" });
