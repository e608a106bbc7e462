/** A running Telegram adapter against the fake, with a gateway port that records and can hold, refuse or recognise events. */
import { onTestFinished } from "vitest";
import { type TelegramConfig, telegramConfig } from "../../../adapters/telegram/config.js";
import { telegramOptions } from "../../../adapters/telegram/options.js";
import { createTelegramAdapter, type TelegramAdapter } from "../../../adapters/telegram/telegram.js";
import type {
  Accepted,
  Acknowledgement,
  AdapterState,
  CursorStore,
  GatewayPort,
  SendOperation,
} from "../../../src/domain/chat/adapter.js";
import type { Address } from "../../../src/domain/chat/address.js";
import type { CommandSpec } from "../../../src/domain/chat/command.js";
import { addressOf, type InboundEvent } from "../../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import type { Logger } from "../../../src/lib/logger.js";
import { parseDestinations } from "../../../src/lib/outgoing/destinations.js";
import { type Clock, systemClock } from "../../../src/lib/time/clock.js";
import { type FakeTelegram, type FakeTelegramOptions, startFakeTelegram } from "../../fakes/telegram/server.js";
import { MemoryCursors } from "../../support/memory-cursors.js";
import { until } from "../../support/until.js";

export const COMMANDS: CommandSpec[] = [
  { name: "hooks", summary: "Lists the hooks", options: [], role: "viewer" },
  { name: "fire-hook", summary: "Fires a hook", options: [], role: "operator" },
];

/** Stands where the gateway stands: keeps what is accepted, by the same key as the inbox. */
export class Recorder implements GatewayPort {
  readonly pauses: { askedMs: number; reason: string }[] = [];

  pause(askedMs: number, reason: string): void {
    this.pauses.push({ askedMs, reason });
  }

  paused(): undefined {
    return undefined;
  }

  readonly events: InboundEvent[] = [];
  readonly states: AdapterState[] = [];
  commandTable: CommandSpec[] = COMMANDS;
  /** Awaited before an event counts as stored. */
  hold: ((event: InboundEvent) => Promise<void>) | undefined;
  acknowledge: Acknowledgement = { kind: "none" };
  readonly #seen = new Set<string>();

  async accept(event: InboundEvent): Promise<Accepted> {
    const { acknowledge } = this;
    await this.hold?.(event);
    const { platform, botId, chatId } = addressOf(event);
    const key = `${platform}:${botId}:${chatId}:${event.eventId}`;
    if (this.#seen.has(key)) return { kind: "duplicate", acknowledge };
    this.#seen.add(key);
    this.events.push(event);
    return { kind: "accepted", acknowledge };
  }
  async complete() {
    return [];
  }
  commands() {
    return this.commandTable;
  }
  state(state: AdapterState) {
    this.states.push(state);
  }
  get phase() {
    return this.states.at(-1)?.phase;
  }
}

/** Keeps every line, as a log would print it. */
export function recordingLogger(lines: string[]): Logger {
  const line = (level: string) => (facts: object, message?: string) =>
    void lines.push(
      `${level} ${message ?? ""} ${JSON.stringify(facts, (_, value) => (value instanceof Error ? `${value.stack}` : value))}`,
    );
  const logger: Logger = {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: () => logger,
  };
  return logger;
}

export interface Running {
  fake: FakeTelegram;
  adapter: TelegramAdapter;
  gateway: Recorder;
  cursors: CursorStore;
  lines: string[];
  at: Address;
  /** What `run` settled with; pending while it runs. */
  ended: Promise<"stopped" | Error>;
  stop(): Promise<"stopped" | Error>;
  /** The next events, once there are `count` of them. */
  events(count: number): Promise<InboundEvent[]>;
  send(operation: SendOperation): ReturnType<TelegramAdapter["send"]>;
  /** Encodes and posts every part; resolves with the results. */
  say(message: OutboundMessage, at?: Partial<Address>): Promise<Awaited<ReturnType<TelegramAdapter["send"]>>[]>;
}

export interface Setup {
  config?: Partial<Parameters<typeof telegramConfig.parse>[0] & object>;
  fake?: FakeTelegram;
  fakeOptions?: FakeTelegramOptions;
  gateway?: Recorder;
  cursors?: CursorStore;
  clock?: Clock;
  token?: string;
  apiUrl?: string;
  secret?: string;
  /** Where attachments may be fetched besides public addresses. */
  outgoing?: string[];
  /** How long the server of a file may send nothing. */
  fileSilenceMs?: number;
  /** Do not wait for it to be online. */
  isTroubled?: boolean;
}

export async function newFake(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  const fake = await startFakeTelegram(options);
  onTestFinished(() => fake.stop());
  return fake;
}

export async function startAdapter(setup: Setup = {}): Promise<Running> {
  const fake = setup.fake ?? (await newFake(setup.fakeOptions));
  const config: TelegramConfig = telegramConfig.parse({ request_timeout: "2s", ...setup.config });
  const options = telegramOptions(config, {
    token: setup.token ?? fake.token,
    apiUrl: setup.apiUrl ?? fake.apiUrl,
    webhookSecret: setup.secret,
    outgoing: parseDestinations(setup.outgoing ?? []),
  });
  const { fileSilenceMs = options.fileSilenceMs } = setup;
  const adapter = createTelegramAdapter({ ...options, fileSilenceMs });
  const gateway = setup.gateway ?? new Recorder();
  const cursors = setup.cursors ?? new MemoryCursors();
  const lines: string[] = [];
  const stopping = new AbortController();
  const context = { gateway, cursors, clock: setup.clock ?? systemClock, logger: recordingLogger(lines) };
  const ended = adapter.run(context, stopping.signal).then(
    () => "stopped" as const,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  const stop = () => {
    stopping.abort();
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  if (!setup.isTroubled) await until(() => gateway.phase === "online", "the adapter being online");
  const at: Address = { platform: "telegram", botId: String(fake.world.bot.id), chatId: String(fake.chatId) };
  const send = (operation: SendOperation) => adapter.send(operation, new AbortController().signal);
  return {
    fake,
    adapter,
    gateway,
    cursors,
    lines,
    at,
    ended,
    stop,
    send,
    async events(count) {
      await until(() => gateway.events.length >= count, `${count} events`);
      return gateway.events;
    },
    async say(message, where = {}) {
      const address = { ...at, ...where };
      const results = [];
      for (const part of adapter.encode(message, address, { plain: false }))
        results.push(await send({ kind: "create", address, part, nonce: "n" }));
      return results;
    },
  };
}

/** A gate that a test opens. */
export function gate(): { wait: Promise<void>; open(): void } {
  let open = () => {};
  const wait = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { wait, open };
}
