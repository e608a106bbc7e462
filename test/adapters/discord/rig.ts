/** The Discord adapter on the fake server, with a gateway that records what comes in and remembers what it has seen. */
import { createDiscordAdapter } from "../../../adapters/discord/discord.js";
import type { DiscordOptions } from "../../../adapters/discord/options.js";
import type {
  Accepted,
  Acknowledgement,
  Adapter,
  AdapterState,
  EncodedPart,
  GatewayPort,
  SendOperation,
  SendResult,
} from "../../../src/domain/chat/adapter.js";
import type { Choice, CommandSpec, CompletionQuery } from "../../../src/domain/chat/command.js";
import { addressOf, type InboundEvent, type InteractionRef } from "../../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import type { Logger } from "../../../src/lib/logger.js";
import { PUBLIC_ONLY } from "../../../src/lib/outgoing/destinations.js";
import { type Clock, systemClock } from "../../../src/lib/time/clock.js";
import type { FakeDiscord } from "../../fakes/discord/server.js";
import { MemoryCursors } from "../../support/memory-cursors.js";
import { until } from "../../support/until.js";

/** An inbox in memory: unique by chat and event id; what is stored survives the adapter. */
export class RecordingGateway implements GatewayPort {
  readonly stored: InboundEvent[] = [];
  readonly states: AdapterState[] = [];
  readonly completions: CompletionQuery[] = [];
  readonly #seen = new Set<string>();
  duplicates = 0;
  /** Every event handed over, duplicates included. */
  handedOver = 0;
  table: CommandSpec[] = [];
  choices: Choice[] = [];
  acknowledge: (event: InboundEvent) => Acknowledgement = (event) =>
    event.kind === "command"
      ? { kind: "defer", isPrivate: false }
      : { kind: event.kind === "action" ? "defer-update" : "none" };
  /** Awaited before anything is stored. */
  beforeStore: (event: InboundEvent) => Promise<void> | undefined = () => undefined;

  freshLink: GatewayPort["freshLink"];

  async accept(event: InboundEvent): Promise<Accepted> {
    this.handedOver++;
    await this.beforeStore(event);
    const acknowledge = this.acknowledge(event);
    const key = `${addressOf(event).chatId}/${event.eventId}`;
    if (this.#seen.has(key)) {
      this.duplicates++;
      return { kind: "duplicate", acknowledge };
    }
    this.#seen.add(key);
    this.stored.push(event);
    return { kind: "accepted", acknowledge };
  }

  clock: Clock = systemClock;
  pauses: { until: number; reason: string }[] = [];

  pause = (askedMs: number, reason: string): void => {
    this.pauses.push({ until: this.clock.now() + askedMs, reason });
  };

  paused(): { leftMs: number; reason: string } | undefined {
    const now = this.clock.now();
    const lasting = this.pauses.find(({ until }) => until > now);
    return lasting && { leftMs: lasting.until - now, reason: lasting.reason };
  }

  async complete(query: CompletionQuery): Promise<Choice[]> {
    this.completions.push(query);
    return this.choices;
  }

  commands(): readonly CommandSpec[] {
    return this.table;
  }

  state(state: AdapterState): void {
    this.states.push(state);
  }

  get phase(): string | undefined {
    return this.states.at(-1)?.phase;
  }

  /** The texts of stored messages, in order. */
  get texts(): string[] {
    return this.stored.flatMap((event) => (event.kind === "message" ? [event.message.text] : []));
  }
}

/** Keeps every line, to be searched for what must or must not be there. */
export class RecordingLogger implements Logger {
  readonly lines: string[] = [];
  readonly #keep = (facts: object, message?: string) => void this.lines.push(JSON.stringify({ ...facts, message }));
  debug = this.#keep;
  info = this.#keep;
  warn = this.#keep;
  error = this.#keep;
  child(): Logger {
    return this;
  }
}

export interface Rig {
  fake: FakeDiscord;
  adapter: Adapter;
  gateway: RecordingGateway;
  cursors: MemoryCursors;
  logger: RecordingLogger;
  /** Settles when `run` does. */
  ended: Promise<{ error?: unknown }>;
  stop(): Promise<void>;
  /** Encodes and sends every part; the last result. */
  say(
    message: OutboundMessage,
    extra?: { chatId?: string; nonce?: string; interaction?: InteractionRef & { first: boolean } },
  ): Promise<SendResult>;
  send(operation: SendOperation): Promise<SendResult>;
  encode(message: OutboundMessage, plain?: boolean): EncodedPart[];
}

export interface RigOptions {
  gateway?: RecordingGateway;
  cursors?: MemoryCursors;
  clock?: Clock;
  options?: Partial<DiscordOptions>;
  /** Do not wait until it is online. */
  isOnlineAwaited?: boolean;
}

let nonces = 0;

export async function startRig(fake: FakeDiscord, given: RigOptions = {}): Promise<Rig> {
  const gateway = given.gateway ?? new RecordingGateway();
  const cursors = given.cursors ?? new MemoryCursors();
  const logger = new RecordingLogger();
  const adapter = createDiscordAdapter({
    token: fake.token,
    apiUrl: fake.apiUrl,
    isMessageContentWanted: true,
    isCommandRegistrationWanted: true,
    connectTimeoutMs: 10_000,
    requestTimeoutMs: 5000,
    uploadTimeoutMs: 5000,
    requestsPerSecond: 10_000,
    maxInvalidRequests: 1000,
    outgoing: PUBLIC_ONLY,
    catchUp: { maxAgeMs: 24 * 3_600_000, maxMessages: 1000 },
    ...given.options,
  });
  const controller = new AbortController();
  const states = gateway.states.length;
  const clock = given.clock ?? systemClock;
  gateway.clock = clock;
  const ended = adapter.run({ gateway, cursors, clock, logger }, controller.signal).then(
    () => ({}),
    (error: unknown) => ({ error }),
  );
  const address = { platform: "discord", botId: fake.world.bot.id, chatId: fake.channelId };
  const rig: Rig = {
    fake,
    adapter,
    gateway,
    cursors,
    logger,
    ended,
    async stop() {
      controller.abort();
      await ended;
    },
    encode: (message, plain = false) => adapter.encode(message, address, { plain }),
    send: (operation) => adapter.send(operation, AbortSignal.timeout(20_000)),
    async say(message, extra = {}) {
      let result: SendResult = { kind: "permanent", error: "no part" };
      for (const part of rig.encode(message))
        result = await rig.send({
          kind: "create",
          address: { ...address, chatId: extra.chatId ?? address.chatId },
          part,
          nonce: extra.nonce ?? `n${nonces++}`,
          interaction: extra.interaction,
        });
      return result;
    },
  };
  if (given.isOnlineAwaited !== false)
    await until(() => gateway.states.slice(states).some((state) => state.phase === "online"), "online");
  return rig;
}
