/**
 * The session of one shard with Discord, and how far its events are on disk. RESUME and heartbeats name the last event up to
 * which every event is durable, so that Discord replays the others.
 */
import { createHash } from "node:crypto";
import type { SessionInfo } from "@discordjs/ws";
import { z } from "zod";
import { InFlight } from "../../../src/lib/concurrency/in-flight.js";
import type { Ledger } from "./ledger.js";

/** More events are never on their way to the disk: hearing stops long before. */
const MAX_UNSTORED = 200_000;

const stored = z.object({
  resumeURL: z.string(),
  sessionId: z.string(),
  shardCount: z.number(),
  sequence: z.number(),
  /** Whose session it is; see `accountMark`. */
  account: z.string(),
  /** The session's server does not answer: the session is not resumed. */
  isGivenUp: z.boolean(),
});
type Stored = z.infer<typeof stored>;

interface Entry {
  s: number;
  isDone: boolean;
  channelId: string | undefined;
  messageId: string | undefined;
}

export class Session {
  readonly #ledger: Ledger;
  readonly #key: string;
  readonly #shardId: number;
  readonly #account: string;
  #info: Stored | undefined;
  /** Nothing of this session was noted yet. */
  #isNew = false;
  /** Events that started and that the watermark has not passed yet, in order. */
  #entries: Entry[] = [];
  #head = 0;
  #highest = 0;
  readonly #underWay = new InFlight();

  /** `account`: a stored session of another account, or of another server, is not resumed. */
  constructor(ledger: Ledger, shardId: number, account: string) {
    this.#ledger = ledger;
    this.#shardId = shardId;
    this.#account = account;
    this.#key = `session:${shardId}`;
    this.#info = parseStored(ledger.get(this.#key));
    if (this.#info?.isGivenUp) this.#info = undefined;
    // A RESUME there would hand this token to a server that it is not for.
    if (this.#info && this.#info.account !== account) this.#info = undefined;
    this.#highest = this.#info?.sequence ?? 0;
  }

  get id(): string | undefined {
    return this.#info?.sessionId;
  }

  /** For the socket: the session to resume, at its durable sequence. */
  info(): SessionInfo | null {
    if (!this.#info) return null;
    const { resumeURL, sessionId, shardCount, sequence } = this.#info;
    return { resumeURL, sessionId, shardCount, sequence, shardId: this.#shardId };
  }

  /** Discord began a new session. It is stored with its first durable event, not before. */
  start(info: SessionInfo): void {
    if (info.sessionId === this.#info?.sessionId) return; // the socket's own count of the sequence: ours is the durable one
    const { resumeURL, sessionId, shardCount } = info;
    this.#info = { resumeURL, sessionId, shardCount, sequence: 0, account: this.#account, isGivenUp: false };
    this.#isNew = true;
    this.#entries = [];
    this.#head = 0;
    this.#highest = 0;
  }

  /** Discord ended the session. */
  drop(): void {
    this.#info = undefined;
  }

  /** The session is not resumed any more, not in a later run either: missed messages are read over REST. */
  giveUp(): void {
    if (!this.#info) return;
    this.#info.isGivenUp = true;
    this.#store();
    this.#info = undefined;
  }

  /** Takes an event in. Undefined when this process has it already: a replay or a duplicate frame. */
  add(s: number): Entry | undefined {
    if (s <= this.#highest) return undefined;
    this.#highest = s;
    const entry: Entry = { s, isDone: false, channelId: undefined, messageId: undefined };
    this.#entries.push(entry);
    this.#underWay.start();
    return entry;
  }

  get isOverfull(): boolean {
    return this.#entries.length - this.#head > MAX_UNSTORED;
  }

  /** The event is on disk, or needs no place there. */
  end(entry: Entry): void {
    entry.isDone = true;
    this.#advance();
    this.#underWay.end();
  }

  /** The event is not on disk and will not be in this run: nothing after it counts as durable either. */
  abandon(): void {
    this.#underWay.end();
  }

  /** Resolves when every event that started has ended or was abandoned. */
  allEnded(): Promise<void> {
    return this.#underWay.allEnded();
  }

  #advance(): void {
    let passed: Entry | undefined;
    for (let next = this.#entries[this.#head]; next?.isDone; next = this.#entries[this.#head]) {
      passed = next;
      this.#head++;
      if (next.channelId !== undefined && next.messageId !== undefined)
        this.#ledger.noteSeen(next.channelId, next.messageId);
    }
    if (!passed) return;
    if (this.#head === this.#entries.length || this.#head > 1024) {
      this.#entries.splice(0, this.#head);
      this.#head = 0;
    }
    if (this.#info && passed.s > this.#info.sequence) {
      this.#info.sequence = passed.s;
      this.#store();
    }
  }

  /** Called for every event; written out seldom. The note is of this session, even when another has started before it is written. */
  #store(): void {
    const info = this.#info;
    const text = info && (() => JSON.stringify(info));
    if (this.#isNew) this.#ledger.noteNow(this.#key, text);
    else this.#ledger.note(this.#key, text);
    this.#isNew = false;
  }
}

export type SessionEntry = Entry;

/** Tells accounts and servers apart without naming the token. */
export function accountMark({ token, apiUrl = "" }: { token: string; apiUrl?: string }): string {
  return createHash("sha256").update(`${apiUrl}\n${token}`).digest("base64url");
}

function parseStored(text: string | undefined): Stored | undefined {
  if (text === undefined) return undefined;
  try {
    return stored.parse(JSON.parse(text));
  } catch {
    return undefined; // of another version, or cut short: a new session is always possible
  }
}
