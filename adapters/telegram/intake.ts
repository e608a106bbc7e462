/** Brings an update to the inbox: decode, accept, acknowledge. Polls and webhook calls both use it. */
import { z } from "zod";
import type { Accepted, CursorStore, GatewayPort } from "../../src/domain/chat/adapter.js";
import { dmName } from "../../src/domain/chat/dm-name.js";
import { InFlight } from "../../src/lib/concurrency/in-flight.js";
import { errorMessage } from "../../src/lib/errors.js";
import type { Logger } from "../../src/lib/logger.js";
import { backoffMs } from "../../src/lib/time/backoff.js";
import { type Clock, wait } from "../../src/lib/time/clock.js";
import type { Caller } from "./caller.js";
import type { Self } from "./decode/self.js";
import { type Decoded, decodeUpdate } from "./decode/update.js";
import { describeFailure, isPassing, readFailure, retryAfterOf } from "./errors.js";

/** How much of a malformed update is logged. */
const SHAPE_DEPTH = 4;
const SHOWN_MAX = 500;
const MAX_TITLES = 5_000;
/** Telegram takes the answer to a press for about fifteen seconds. */
const ACKNOWLEDGE_WITHIN_MS = 12_000;
const ACKNOWLEDGE_PAUSE = { firstMs: 500, maxMs: 4_000 };
const TITLE_KEY = "title:";
const person = z.object({ id: z.number(), first_name: z.string().optional(), last_name: z.string().optional() });
const titled = z.object({
  message: z.object({ chat: person.extend({ title: z.string().optional() }), from: person.optional() }),
});

export interface IntakeContext {
  self: Self;
  gateway: GatewayPort;
  caller: Caller;
  cursors: CursorStore;
  clock: Clock;
  logger: Logger;
  /** Aborts when the connection ends: no acknowledgement is tried again. */
  signal: AbortSignal;
}

export class Intake {
  readonly #context: IntakeContext;
  readonly #underWay = new InFlight();
  /** Titles of groups and `direct messages with Ann`, by chat id, in order of insertion. */
  readonly #titles = new Map<string, string>();
  /** Private chats of people who wrote in a group, the last ones: a person may have no private chat with the bot yet. */
  readonly #people = new Map<string, string>();

  constructor(context: IntakeContext) {
    this.#context = context;
    for (const { key, value } of context.cursors.list(TITLE_KEY)) this.#titles.set(key.slice(TITLE_KEY.length), value);
  }

  /**
   * Resolves when everything in the update is on disk, or when there is nothing to store; rejects when the store cannot
   * take it. The gateway sees events in the order of these calls.
   */
  take(update: unknown): Promise<unknown> {
    const { self, gateway, clock, logger } = this.#context;
    this.learnTitle(update);
    const decoded = decodeSafely(update, self, clock.now());
    if (decoded.kind === "malformed") {
      logger.warn(
        { why: decoded.why, update: shapeOf(update) },
        "an update of Telegram was not understood; it is skipped",
      );
      return Promise.resolve();
    }
    const { events, callbackId } = decoded;
    const [only] = events;
    const stored =
      only && events.length === 1
        ? gateway.accept(only)
        : Promise.all(events.map((event) => gateway.accept(event))).then(() => undefined);
    const tracked = this.#track(stored);
    if (callbackId === undefined) return tracked;
    return tracked.then((accepted) => this.#acknowledge(callbackId, accepted));
  }

  /** The title of a group, or whose direct messages they are, where something was sent; kept over restarts. */
  titleOf(chatId: string): string | undefined {
    return this.#titles.get(chatId) ?? this.#people.get(chatId);
  }

  /** Learns the title from an update that has a `message` with its `chat`. */
  learnTitle(update: unknown): void {
    const { data } = titled.safeParse(update);
    if (data === undefined) return;
    const { chat, from } = data.message;
    if (from !== undefined && from.id !== chat.id) this.#learnPerson(from);
    const { id } = chat;
    const title = chat.title ?? directWith(chat);
    if (!title) return;
    if (this.#titles.get(String(id)) === title) return;
    this.#keepTitle(String(id), title);
    const [oldest] = this.#titles.keys();
    if (oldest !== undefined && this.#titles.size > MAX_TITLES) this.#keepTitle(oldest);
  }

  #learnPerson(one: z.infer<typeof person>): void {
    const title = directWith(one);
    if (title === undefined || this.#people.get(String(one.id)) === title) return;
    this.#people.set(String(one.id), title);
    const [oldest] = this.#people.keys();
    if (oldest !== undefined && this.#people.size > MAX_TITLES) this.#people.delete(oldest);
  }

  #keepTitle(chatId: string, title?: string): void {
    if (title === undefined) this.#titles.delete(chatId);
    else this.#titles.set(chatId, title);
    const { cursors, logger } = this.#context;
    void cursors
      .set(`${TITLE_KEY}${chatId}`, title)
      .catch((error: unknown) => logger.debug({ error: errorMessage(error) }, "the title of a chat was not kept"));
  }

  /** Resolves when nothing is being stored or acknowledged. */
  drain(): Promise<void> {
    return this.#underWay.allEnded();
  }

  /** Takes the spinner off a pressed button, unless words that do so follow through the outbox. Late or repeated acknowledgements are refused by Telegram and do no harm. */
  #acknowledge(callbackId: string, accepted: Accepted | undefined): void {
    const { logger } = this.#context;
    if (accepted?.acknowledge.kind === "notice") return;
    if (accepted?.kind === "duplicate") logger.debug({ callbackId }, "a press came again");
    void this.#track(this.#stopSpinner(callbackId));
  }

  /** Again while Telegram is in trouble or limits requests: until then the button looks as if nothing happened. */
  async #stopSpinner(callbackId: string): Promise<void> {
    const { caller, clock, logger, signal } = this.#context;
    const startedMs = clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      try {
        await caller.call("answerCallbackQuery", { callback_query_id: callbackId });
        return;
      } catch (thrown) {
        const failure = readFailure(thrown);
        const facts = { callbackId, error: describeFailure(failure) };
        const pauseMs = retryAfterOf(failure) ?? backoffMs(ACKNOWLEDGE_PAUSE, attempt);
        if (!isPassing(failure))
          return logger.debug(facts, "Telegram no longer accepts an answer to this button press");
        if (signal.aborted || clock.monotonic() - startedMs + pauseMs > ACKNOWLEDGE_WITHIN_MS)
          return logger.warn(facts, "a press could not be acknowledged; its button keeps spinning for a while");
        await wait(clock, pauseMs, signal).catch(() => {}); // the next call sees the abort
      }
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    void this.#underWay.add(work);
    return work;
  }
}

function directWith({ first_name, last_name }: z.infer<typeof person>): string | undefined {
  const name = [first_name, last_name].filter(Boolean).join(" ");
  return name === "" ? undefined : dmName(name);
}

/** A fault of ours in one update must not hold up all that come after it. */
function decodeSafely(update: unknown, self: Self, now: number): Decoded {
  try {
    return decodeUpdate(update, self, now);
  } catch (thrown) {
    return { kind: "malformed", why: errorMessage(thrown) };
  }
}

function shapeOf(update: unknown): string {
  const text = JSON.stringify(fieldsOf(update, 0)) ?? typeof update;
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** Names and types of fields, without values: people wrote the values. */
function fieldsOf(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  if (depth >= SHAPE_DEPTH) return "…";
  if (Array.isArray(value)) return value.slice(0, 1).map((one) => fieldsOf(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, fieldsOf(field, depth + 1)]));
}
