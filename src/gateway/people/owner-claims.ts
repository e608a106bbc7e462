/**
 * The first owner on a platform, created from chat: the person who runs the gateway reads a one-time code in the terminal and writes
 * `/claim CODE` to the bot. Claimed owners are stored and hold after a restart, beside those in the configuration.
 */
import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import type { KeyValueStore } from "../../domain/store.js";
import type { Clock } from "../../lib/time/clock.js";

export interface ClaimedOwner {
  /** `platform:user id`, as under `operators:`. */
  person: string;
  name?: string;
  /** When it was claimed (ms since the epoch). */
  at: number;
}

/**
 * `no-code`: no code is valid now. `void`: too many wrong attempts of all people. `limited`: too many of this person; nothing was
 * compared.
 */
export type ClaimResult = "claimed" | "wrong" | "limited" | "void" | "no-code";

/** A plugin id cannot start so: plugins share the store of key-value pairs. */
const SCOPE = "@owners";
/** Without letters and digits that look alike. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH = 8;
/** Per person and hour, so that a stranger's attempts do not void the code for others. */
const MAX_OF_PERSON = 5;
const PERSON_WINDOW_MS = 3_600_000;
/** Wrong codes of all people. Guessing one of 2^40 codes in a thousand attempts is hopeless. */
const MAX_WRONG_ATTEMPTS = 1_000;

export class OwnerClaims {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  readonly #owners = new Map<string, ClaimedOwner>();
  #code: string | undefined;
  /** The conversation that asked for it in chat, and is shown it. */
  #shownIn: string | undefined;
  #wrongAttempts = 0;
  #isVoid = false;
  /** At most `MAX_WRONG_ATTEMPTS` entries. */
  readonly #wrongBy = new Map<string, { count: number; since: number }>();

  private constructor(store: KeyValueStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  static async load(store: KeyValueStore, clock: Clock): Promise<OwnerClaims> {
    const claims = new OwnerClaims(store, clock);
    for (const { key, value } of await store.list(SCOPE, "")) claims.#owners.set(key, value as ClaimedOwner);
    return claims;
  }

  /** By `platform:user id`; changes as owners are claimed and removed. */
  get owners(): ReadonlyMap<string, ClaimedOwner> {
    return this.#owners;
  }

  get hasCode(): boolean {
    return this.#code !== undefined;
  }

  /** A new code; the one before is void. `shownIn`: the formatted address where it was asked for, whose reader may read it. */
  newCode(shownIn?: string): string {
    const letters = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]);
    this.#code = letters.join("");
    this.#shownIn = shownIn;
    this.#wrongAttempts = 0;
    this.#isVoid = false;
    this.#wrongBy.clear();
    return this.#code;
  }

  /** Stores the person as an owner when the code is right; the code is used up by that. Upper and lower case and hyphens do not matter. */
  async claim(person: string, name: string | undefined, typed: string): Promise<ClaimResult> {
    if (this.#code === undefined) return this.#isVoid ? "void" : "no-code";
    const wrong = this.#wrongOf(person);
    if (wrong.count >= MAX_OF_PERSON) return "limited";
    if (!isSame(codeIn(typed), this.#code)) {
      this.#wrongBy.set(person, { ...wrong, count: wrong.count + 1 });
      this.#wrongAttempts++;
      if (this.#wrongAttempts < MAX_WRONG_ATTEMPTS) return "wrong";
      this.#code = undefined;
      this.#isVoid = true;
      return "void";
    }
    this.#code = undefined;
    const owner: ClaimedOwner = { person, name, at: this.#clock.now() };
    await this.#store.set(SCOPE, person, owner);
    this.#owners.set(person, owner);
    return "claimed";
  }

  /** Other people could read the typed text: a code that it shows, also with a slip or two, is void from now on. True when it was. */
  expose(typed: string): boolean {
    if (this.#code === undefined || !isClose(codeIn(typed), this.#code)) return false;
    this.#code = undefined;
    return true;
  }

  /** Whether the code is in a text as it is, or a word of the text is the code with a slip or two. */
  find(text: string): "exact" | "close" | undefined {
    const code = this.#code;
    if (code === undefined) return undefined;
    if (codeIn(text).includes(code)) return "exact";
    return text.split(/[^a-z0-9-]+/i).some((word) => isClose(codeIn(word), code)) ? "close" : undefined;
  }

  /**
   * This was written, or is sent, where others read it (`where`: a formatted address): a code in it is void from now on. True when there
   * was one.
   */
  overheard(text: string, where?: string): boolean {
    if (where !== undefined && where === this.#shownIn) return false;
    if (this.find(text) === undefined) return false;
    this.#code = undefined;
    return true;
  }

  #wrongOf(person: string): { count: number; since: number } {
    const now = this.#clock.now();
    const known = this.#wrongBy.get(person);
    return known && Math.abs(now - known.since) < PERSON_WINDOW_MS ? known : { count: 0, since: now };
  }

  /** False when the person is no claimed owner. */
  async remove(person: string): Promise<boolean> {
    if (!this.#owners.delete(person)) return false;
    await this.#store.delete(SCOPE, person);
    return true;
  }
}

const codeIn = (typed: string) => typed.replace(/[\s-]/g, "").toUpperCase();

/** A code is void when a guess matches all but this many of its letters: a reader of that guess would have few codes left to try. */
const SLIP = 2;

function isClose(typed: string, code: string): boolean {
  let [start, end] = [0, 0];
  while (start < CODE_LENGTH && typed[start] === code[start]) start++;
  while (end < CODE_LENGTH && typed.at(-1 - end) === code.at(-1 - end)) end++;
  return start + end >= CODE_LENGTH - SLIP;
}

function isSame(typed: string, code: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(typed), hash(code));
}
