/**
 * Events from outside: proven to be their sender's, known to be new, and on disk before they are confirmed. The triggers decide what the
 * events start.
 */
import type { z } from "zod";
import type { IngestedEvent, IngestStore } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import type { NewPending } from "../../domain/pending.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { isSignedBy } from "../../lib/signing/webhook-signature.js";
import type { Clock } from "../../lib/time/clock.js";
import { changedNumber, jsonExcess } from "../../lib/validation/json-depth.js";
import { valueProblems } from "../../lib/validation/value-problem.js";
import { workOf } from "../triggers/ingested.js";
import type { EventConfig, EventsConfig } from "./config.js";
import { compileEventSchema } from "./event-schema.js";

export interface Incoming {
  name: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
  /** The cause of the run whose program sent it. Called for a proven sender only. */
  causeOf(): Promise<Cause | undefined>;
}

export interface EventLoad {
  name: string;
  waiting: number;
  maxWaiting: number;
  /** Since the start. */
  refused: number;
}

export interface IngestDeps {
  /** The events that the configuration has now. */
  events(): EventsConfig;
  /** Whether the event is declared and, because of a problem, not in force. */
  isBroken(name: string): boolean;
  secret(variable: string): string | undefined;
  store: Pick<IngestStore, "accept">;
  /** One more event is on disk, with this work. */
  stored(work: NewPending): void;
  /** How many events of this name wait. */
  waiting(name: string): number;
  /** Counts the answers that proven senders got, for the metrics. */
  answered(name: string, answer: "accepted" | "duplicate" | "refused"): void;
  clock: Clock;
  logger: Logger;
}

/** The tolerance that Standard Webhooks recommends. */
const TOLERANCE_MS = 5 * 60_000;

/** How often a refusal of one event is logged, at most: anybody can send any number. */
const LOG_EVERY_MS = 60_000;

export class Ingest {
  readonly #deps: IngestDeps;
  /** By event and problem: when a refusal was logged, and how many came since. */
  readonly #refusals = new Map<string, { at: number; more: number }>();
  /** By event: how many are being stored. */
  readonly #storing = new Map<string, number>();
  /** By event: how many were refused because too many wait. */
  readonly #refused = new Map<string, number>();
  readonly #schemas = new WeakMap<EventConfig, z.ZodType>();

  constructor(deps: IngestDeps) {
    this.#deps = deps;
  }

  /** The largest body that is taken. Throws EVENT_UNKNOWN. */
  maxBytes(name: string): number {
    return this.#find(name).max_bytes;
  }

  /**
   * Resolves when the event is on disk. Rejects with EVENT_UNKNOWN, EVENT_UNAVAILABLE, SIGNATURE_MISSING, SIGNATURE_STALE,
   * SIGNATURE_WRONG, BODY_INVALID, PAYLOAD_INVALID, EVENT_ID_REUSED, TOO_MANY_WAITING or the store's error.
   */
  async accept({ name, headers, body, causeOf }: Incoming): Promise<{ id: string; isDuplicate: boolean }> {
    const { secret, answered, clock } = this.#deps;
    const declared = this.#find(name);
    const text = readText(body);
    const id = this.#proven(name, headers, text, secretsOf(name, declared, secret));
    const payload = readPayload(text, this.#schemaOf(declared));
    // Only for a proven sender: it is looked for among the processes of the machine.
    const cause = await causeOf();
    // Senders choose their ids: one may use an id that another has used.
    const event = { id: `${name}:${id}`, name, payload, receivedAt: clock.now(), cause };
    const outcome = await this.#storeInRoom(event, declared.max_waiting);
    if (outcome === "reused") throw reused(id);
    answered(name, ANSWERS[outcome]);
    if (outcome === "full") throw this.#refuse(name, declared);
    return { id, isDuplicate: outcome === "repeated" };
  }

  /** Declared events of which some wait, or of which some were refused since the start because too many waited. */
  load(): EventLoad[] {
    const { events, waiting } = this.#deps;
    return Object.entries(events())
      .map(([name, { max_waiting }]) => ({
        name,
        waiting: waiting(name),
        maxWaiting: max_waiting,
        refused: this.#refused.get(name) ?? 0,
      }))
      .filter((one) => one.waiting + one.refused > 0);
  }

  #find(name: string): EventConfig {
    const { isBroken, events } = this.#deps;
    if (isBroken(name)) throw unavailable(name);
    return findDeclared(events(), name);
  }

  #schemaOf(event: EventConfig): z.ZodType | undefined {
    if (event.schema === undefined) return undefined;
    const schema = this.#schemas.get(event) ?? compileEventSchema(event.schema);
    this.#schemas.set(event, schema);
    return schema;
  }

  #proven(name: string, headers: Incoming["headers"], text: string, secrets: readonly string[]): string {
    try {
      return prove(headers, text, secrets, this.#deps.clock.now());
    } catch (error) {
      this.#logRefusal(name, error, "its sender is not proven");
      throw error;
    }
  }

  /** Events that are being stored count, too: many come at once. */
  async #storeInRoom(event: IngestedEvent, maxWaiting: number) {
    const { store, stored, waiting } = this.#deps;
    const { name } = event;
    const work = workOf(event);
    const before = this.#storing.get(name) ?? 0;
    const isFull = waiting(name) + before >= maxWaiting;
    this.#storing.set(name, before + 1);
    try {
      const outcome = await store.accept(event, [work], isFull);
      if (outcome === "new") stored(work);
      return outcome;
    } finally {
      this.#storing.set(name, (this.#storing.get(name) ?? 1) - 1);
    }
  }

  #refuse(name: string, { max_waiting }: EventConfig): HookgateError {
    this.#refused.set(name, (this.#refused.get(name) ?? 0) + 1);
    const error = tooManyWaiting(name, max_waiting);
    this.#logRefusal(name, error, "too many of its name wait");
    return error;
  }

  /** The sender is answered; the operator reads it here. */
  #logRefusal(name: string, error: unknown, why: string): void {
    const { clock, logger } = this.#deps;
    const known = this.#refusals.get(name + why);
    const now = clock.monotonic();
    if (known !== undefined && now - known.at < LOG_EVERY_MS) {
      known.more++;
      return;
    }
    this.#refusals.set(name + why, { at: now, more: 0 });
    const before = known?.more ?? 0;
    logger.warn({ event: name, error: errorMessage(error), before }, `an event was refused: ${why}`);
  }
}

const ANSWERS = { new: "accepted", repeated: "duplicate", full: "refused" } as const;

const RETRY_MS = 30_000;

function tooManyWaiting(name: string, max: number): HookgateError {
  return new HookgateError({
    code: "TOO_MANY_WAITING",
    message: `${max} events "${name}" wait to be handled, and no more are taken until one of them is handled`,
    hint: "This event was not stored. Send it again later, under the same id.",
    retryable: true,
    retryAfterMs: RETRY_MS,
  });
}

/** The second event would be lost without a report, as a repetition of the first one. */
function reused(id: string): HookgateError {
  return new HookgateError({
    code: "EVENT_ID_REUSED",
    message: `another event came under the id "${id}" before, with another body`,
    hint: "Give each event an id of its own in webhook-id, and send the same body when you repeat one.",
  });
}

function findDeclared(events: EventsConfig, name: string): EventConfig {
  const event = Object.hasOwn(events, name) ? events[name] : undefined;
  if (event) return event;
  // No similar name is suggested: the caller is not proven yet.
  throw new HookgateError({
    code: "EVENT_UNKNOWN",
    message: `there is no event "${name.slice(0, 64)}"`,
    hint: "Events are declared under events: in hookgate.yaml.",
  });
}

function secretsOf(name: string, { secret_env }: EventConfig, secret: IngestDeps["secret"]): string[] {
  const variables = typeof secret_env === "string" ? [secret_env] : secret_env;
  const secrets = variables.map(secret).filter((one) => one !== undefined && one !== "");
  if (secrets.length > 0) return secrets as string[];
  throw unavailable(name);
}

/** Senders try again; operators learn what is wrong. */
function unavailable(name: string): HookgateError {
  return new HookgateError({
    code: "EVENT_UNAVAILABLE",
    message: `the event "${name}" cannot be taken at the moment`,
    hint: "Its declaration or its secret is not right on the server: `npx hookgate check` there shows the problem.",
    retryable: true,
  });
}

/** The sender's id of the event, when the signature proves it and the time is now. */
function prove(headers: Incoming["headers"], body: string, secrets: readonly string[], now: number): string {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signature = headers["webhook-signature"];
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signature !== "string")
    throw new HookgateError({
      code: "SIGNATURE_MISSING",
      message: "expected the headers webhook-id, webhook-timestamp and webhook-signature",
      hint: "Events are signed as Standard Webhooks defines it: https://www.standardwebhooks.com",
    });
  if (!/^[\x21-\x7e]{1,256}$/.test(id) || !/^\d{1,12}$/.test(timestamp) || signature.length > 2_000)
    throw new HookgateError({ code: "SIGNATURE_WRONG", message: "the signature's headers cannot be read" });
  const at = Number(timestamp) * 1000;
  // The signature first: a caller without a secret learns nothing about our clock.
  if (!isSignedBy({ id, at, body }, signature, secrets))
    throw new HookgateError({ code: "SIGNATURE_WRONG", message: "the signature is not that of this event's secret" });
  if (Math.abs(now - at) > TOLERANCE_MS)
    throw new HookgateError({
      code: "SIGNATURE_STALE",
      message: "it was signed more than five minutes ago, or in the future",
      hint: "Sign every attempt again, and compare the clocks of both machines.",
    });
  return id;
}

function readText(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new HookgateError({ code: "BODY_INVALID", message: "the body is no UTF-8 text" });
  }
}

function readPayload(text: string, schema: z.ZodType | undefined): unknown {
  const excess = jsonExcess(text);
  if (excess !== undefined) throw new HookgateError({ code: "BODY_INVALID", message: `the body ${excess}` });
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    throw new HookgateError({ code: "BODY_INVALID", message: "the body is no JSON" });
  }
  const changed = changedNumber(text, payload);
  if (changed !== undefined) throw new HookgateError({ code: "PAYLOAD_INVALID", message: `the body ${changed}` });
  if (schema === undefined || schema.safeParse(payload).success) return payload;
  const problems = valueProblems(schema, payload).slice(0, 10);
  throw new HookgateError({
    code: "PAYLOAD_INVALID",
    message: `the body does not match the event's schema: ${problems.join("; ")}`,
  });
}
