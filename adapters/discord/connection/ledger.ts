/**
 * The adapter's cursors, written with delay and together. A cursor may lag behind the events on disk (a replay then brings
 * duplicates, which the inbox knows), never run ahead of them.
 *
 *   session:<shard>  what a restarted process needs for RESUME       bot           our ids, which a RESUME does not tell
 *   seen:<channel>   last message accepted there                     seen          the newest message accepted anywhere
 *   dm:<channel>     the person at the other end                     gap           a lost session: what must be caught up
 *   owed:<channel>   a catch-up that is not finished               forum:<channel>  where a send opens a thread
 *   guild:<channel>  for links to messages                         parent:<thread>  the channel of a thread
 *   name:<channel>   its name; that of a person, for a dm          owed:archive-of-<channel>  its closed threads must be listed
 */
import type { CursorStore } from "../../../src/domain/chat/adapter.js";
import type { Clock, Timer } from "../../../src/lib/time/clock.js";
import { isNewer } from "../snowflake.js";

/** Small, so that a replay repeats little. */
const FLUSH_EVERY_MS = 200;

export class Ledger {
  readonly #cursors: CursorStore;
  readonly #clock: Clock;
  readonly #onFailure: (error: unknown) => void;
  /** A function: written out when it is needed. */
  readonly #dirty = new Map<string, string | undefined | (() => string)>();
  /** The newest message by channel, of the messages that are no cursors yet: many come between two cursors. */
  readonly #seen = new Map<string, string>();
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;

  constructor(cursors: CursorStore, clock: Clock, onFailure: (error: unknown) => void) {
    this.#cursors = cursors;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** The latest value, written yet or not. */
  get(key: string): string | undefined {
    if (key.startsWith("seen")) this.#writeSeen();
    const noted = this.#dirty.get(key);
    if (noted !== undefined) return textOf(noted);
    return this.#dirty.has(key) ? undefined : this.#cursors.get(key);
  }

  list(prefix: string): { key: string; value: string }[] {
    this.#writeSeen();
    const entries = new Map(this.#cursors.list(prefix).map(({ key, value }) => [key, value]));
    for (const [key, value] of this.#dirty)
      if (key.startsWith(prefix)) value === undefined ? entries.delete(key) : entries.set(key, textOf(value));
    return [...entries].map(([key, value]) => ({ key, value }));
  }

  /** Notes an entry, which is written soon. */
  note(key: string, value: string | undefined | (() => string)): void {
    if (key.startsWith("seen")) this.#writeSeen(); // of earlier messages: they must not replace this value
    this.#dirty.set(key, value);
    this.#flushSoon();
  }

  /** Writes an entry at once. For facts that Discord does not send again after a crash. */
  noteNow(key: string, value: string | undefined | (() => string)): void {
    this.note(key, value);
    this.flush().catch(this.#onFailure);
  }

  /** A message of this channel is on disk. */
  noteSeen(channelId: string, messageId: string): void {
    const known = this.#seen.get(channelId);
    if (known !== undefined && !isNewer(messageId, known)) return;
    this.#seen.set(channelId, messageId);
    this.#flushSoon();
  }

  /** Resolves when everything noted before the call is on disk. */
  async flush(): Promise<void> {
    this.#writeSeen();
    while (this.#writing) await this.#writing;
    if (this.#dirty.size === 0) return;
    const batch = [...this.#dirty].map(([key, value]) => [key, value && textOf(value)] as const);
    for (const [key, text] of batch) this.#dirty.set(key, text); // a value noted meanwhile is another one
    this.#writing = Promise.all(batch.map(([key, text]) => this.#cursors.set(key, text))).then(() => {
      for (const [key, text] of batch) if (this.#dirty.get(key) === text) this.#dirty.delete(key);
    });
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  #flushSoon(): void {
    this.#timer ??= this.#clock.after(FLUSH_EVERY_MS, () => {
      this.#timer = undefined;
      this.flush().catch(this.#onFailure);
    });
  }

  /** Makes cursors of the messages that were seen. */
  #writeSeen(): void {
    if (this.#seen.size === 0) return;
    const seen = [...this.#seen];
    this.#seen.clear();
    for (const [channelId, messageId] of seen)
      for (const key of [`seen:${channelId}`, "seen"]) {
        const known = this.get(key);
        if (known === undefined || isNewer(messageId, known)) this.note(key, messageId);
      }
  }
}

const textOf = (value: string | (() => string)) => (typeof value === "string" ? value : value());
