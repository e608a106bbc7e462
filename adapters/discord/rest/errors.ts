/** The errors of requests to Discord. A request that got no answer fails with an `ExchangeError` instead. */

/** The code of an answer that is not Discord's own. */
export const NOT_DISCORDS = "not Discord's";

/** A status from 300 to 499: Discord refuses, or a server between Discord and us answers in its place. */
export class Refusal extends Error {
  readonly status: number;
  /** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
  readonly code: number | typeof NOT_DISCORDS;
  readonly rawError: Readonly<Record<string, unknown>>;

  constructor(status: number, rawError: Record<string, unknown>) {
    const { message, code, errors } = rawError;
    // Discord redirects no request.
    const isOwn = status >= 400 && typeof message === "string" && typeof code === "number";
    super([isOwn ? message : `HTTP ${status}`, ...(isOwn ? fieldErrors(errors) : [])].join("\n"));
    this.name = "Refusal";
    this.status = status;
    this.code = isOwn ? code : NOT_DISCORDS;
    this.rawError = rawError;
  }
}

/** A status of 500 and above: it may have been done. */
export class ServerFault extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`Discord answered ${status}`);
    this.name = "ServerFault";
    this.status = status;
  }
}

/** A limit is met, known before the request or reported by its answer (HTTP 429). */
export class Limited extends Error {
  readonly afterMs: number;
  /** The time that Discord's answer named, when that is longer. */
  readonly askedMs: number;
  readonly isGlobal: boolean;
  /** Discord was asked, and answered so. False: the limit was known, so no request was made. */
  readonly wasAsked: boolean;

  constructor(message: string, facts: { afterMs: number; askedMs?: number; isGlobal: boolean; wasAsked: boolean }) {
    super(message);
    this.name = "Limited";
    this.afterMs = Math.max(1, Math.ceil(facts.afterMs));
    this.askedMs = Math.max(this.afterMs, facts.askedMs ?? 0);
    this.isGlobal = facts.isGlobal;
    this.wasAsked = facts.wasAsked;
  }
}

/** The gateway's own limit: Discord was not asked, and limits nothing. */
export class OwnLimit extends Limited {
  constructor(perSecond: number, afterMs: number) {
    const limit = `${perSecond} requests a second (discord.requests_per_second)`;
    super(`waits for the gateway's own limit of ${limit}`, { afterMs, isGlobal: true, wasAsked: false });
    this.name = "OwnLimit";
  }
}

/** A success whose answer was cut short, or is not Discord's: Discord may or may not have done what was requested. */
export class UnreadableAnswer extends Error {
  constructor() {
    super("the answer holds no message");
    this.name = "UnreadableAnswer";
  }
}

/** The id in Discord's answer. Throws an `UnreadableAnswer`. */
export function idOf(answer: unknown): string {
  const id: unknown = typeof answer === "object" && answer !== null ? Reflect.get(answer, "id") : undefined;
  if (typeof id === "string") return id;
  throw new UnreadableAnswer();
}

/** Which fields of a form are wrong, and why. https://discord.com/developers/docs/reference#error-messages */
function fieldErrors(errors: unknown, path = ""): string[] {
  if (typeof errors !== "object" || errors === null) return typeof errors === "string" ? [errors] : [];
  return Object.entries(errors).flatMap(([key, inner]) => {
    if (key !== "_errors") return fieldErrors(inner, nested(path, key));
    return [inner].flat().map((one: unknown) => `${path}[${Object(one).code}]: ${Object(one).message}`);
  });
}

function nested(path: string, key: string): string {
  if (path === "") return key;
  return /^\d+$/.test(key) ? `${path}[${key}]` : `${path}.${key}`;
}
