/**
 * Writes JSON values as bytes, with their texts in a table beside them, each text once, and the keys of objects as shapes. The
 * records of a message repeat themselves (keys, ids, the message in every dispatch), so this is shorter than JSON by three
 * quarters, and quicker to write.
 *
 * A value starts with a number: a tag in its lowest bits, and above them the content for the tag. It is given with the slot of its
 * place (slot.ts), which makes no difference to the value that is read back.
 *
 * Benchmark: bench/fast.ts (pack).
 */
import type { Slot } from "./slot.js";
import {
  ABSENT,
  AGAIN,
  FALSE,
  INTEGER,
  LARGEST_INTEGER,
  LIST,
  MAX_SHAPES,
  NEAR,
  NULL,
  NUMBER,
  OBJECT,
  SHAPED,
  TEXT,
  TRUE,
} from "./value-tags.js";

/** The most bytes that one step writes without checking for room. */
const ROOM = 32;
/** Deeper values are looked at for cycles. */
const TRUSTED_DEPTH = 64;
const KNOWN_TO_END = Number.NEGATIVE_INFINITY;

/** The position to return to when a record is given up half written. */
export interface Mark {
  at: number;
  texts: number;
  chars: number;
  shapes: number;
}

export class ValueWriter {
  /** The bytes written so far end at `at`. */
  bytes: Uint8Array;
  at = 0;
  texts: string[] = [];
  /** Characters of all texts. */
  chars = 0;
  /** The places of the keys of each shape. */
  shapes: (readonly number[])[] = [];
  /** The last time written: large numbers are mostly times, and near to it. */
  time = 0;
  /** Changes each text before it is written. */
  cut: ((text: string) => string) | undefined = undefined;
  #known = new Map<string, number>();
  /** The value that is expected again, and where it was written; -1 before it was. */
  #once: object | undefined;
  #onceAt = -1;
  #view: DataView;

  constructor(room = 64 * 1024) {
    const bytes = new Uint8Array(room);
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }

  reset(): void {
    this.at = 0;
    this.texts = [];
    this.chars = 0;
    this.shapes = [];
    this.time = 0;
    this.#known = new Map(); // one that is cleared refers to all that was in it: see transient-map.ts
  }

  mark(): Mark {
    return { at: this.at, texts: this.texts.length, chars: this.chars, shapes: this.shapes.length };
  }

  /** Goes back to a mark. The memory of slots is wrong after this. */
  backTo({ at, texts, chars, shapes }: Mark): void {
    this.at = at;
    this.chars = chars;
    this.texts.length = texts;
    this.shapes.length = shapes;
    for (const [text, place] of this.#known) if (place >= texts) this.#known.delete(text);
  }

  /** A whole number from 0 to 2³¹, in seven bits a byte. */
  count(value: number): void {
    if (this.at + ROOM > this.bytes.length) this.#grow();
    let rest = value;
    while (rest > 127) {
      this.bytes[this.at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.bytes[this.at++] = rest;
  }

  /** The place of a text in the table. */
  text(given: string): number {
    const text = this.cut === undefined ? given : this.cut(given);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const place = this.newText(text);
    this.#known.set(text, place);
    return place;
  }

  /**
   * The place of a text that will hardly come again. A plugin without types may pass a value that is no text, and then only that value is
   * wrong.
   */
  newText(text: string): number {
    const kept = typeof text === "string" ? text : String(text);
    this.chars += kept.length;
    return this.texts.push(kept) - 1;
  }

  number(value: number): void {
    if (value >= 0 && value <= LARGEST_INTEGER && Math.floor(value) === value) this.count(value * 8 + INTEGER);
    else if (Number.isSafeInteger(value)) this.#largeInteger(value);
    else if (Number.isFinite(value)) this.#double(value);
    else this.count(NULL);
  }

  /** To microseconds mostly, and then as a whole number of them. */
  latency(ms: number): void {
    const us = Math.round(ms * 1000);
    if (us >= 0 && us <= LARGEST_INTEGER && us / 1000 === ms) this.count(us * 8 + INTEGER);
    else this.#double(ms);
  }

  /** Announces a value that comes more than once, by itself or inside a value, and does not change in between: it is written once. */
  expectAgain(value: unknown): void {
    this.#once = typeof value === "object" && value !== null ? value : undefined;
    this.#onceAt = -1;
  }

  value(value: unknown, slot: Slot, depth = 0): void {
    if (typeof value === "string") this.#textIn(slot, value);
    else if (typeof value === "number") this.number(value);
    else if (typeof value === "boolean") this.count(value ? TRUE : FALSE);
    else if (value === null) this.count(NULL);
    else if (typeof value === "object") {
      if (value === this.#once) this.#onceOnly(value, slot, depth);
      else this.#structure(value, slot, depth, false);
    } else if (typeof value === "bigint") throw new TypeError("a BigInt is no JSON");
    else this.count(ABSENT);
  }

  /** `raw` is a platform's own payload, in the message itself or in a message or event inside. It is left out. */
  withoutRaw(value: unknown, slot: Slot, depth = 0): void {
    if (typeof value === "object" && value !== null) this.#structure(value, slot, depth, true);
    else this.value(value, slot, depth);
  }

  #onceOnly(value: object, slot: Slot, depth: number): void {
    const start = this.at;
    if (this.#onceAt >= 0) {
      this.count(AGAIN);
      this.count(start - this.#onceAt);
      return;
    }
    this.#structure(value, slot, depth, false);
    this.#onceAt = start;
  }

  /** Drops the bytes written from `start` on. */
  #restart(start: number): void {
    this.at = start;
    if (this.#onceAt >= start) this.#onceAt = -1;
  }

  #textIn(slot: Slot, text: string): void {
    if (text !== slot.text) {
      slot.written = this.text(text) * 8 + TEXT;
      slot.text = text;
    }
    this.count(slot.written);
  }

  #structure(value: object, slot: Slot, depth: number, mayHaveRaw: boolean): void {
    if (depth > TRUSTED_DEPTH) this.#asJson(value, slot, mayHaveRaw);
    else if (Array.isArray(value)) this.#list(value, slot, depth);
    else if (!isPlain(value)) this.#asJson(value, slot, mayHaveRaw);
    else if (slot.inside.isTable) this.#table(value, slot, depth, mayHaveRaw);
    else this.#shaped(value, slot, depth, mayHaveRaw);
  }

  #list(list: readonly unknown[], slot: Slot, depth: number): void {
    this.count(list.length * 8 + LIST);
    for (let i = 0; i < list.length; i++) this.value(list[i], slot, depth + 1);
  }

  #shaped(object: Record<string, unknown>, at: Slot, depth: number, mayHaveRaw: boolean): void {
    if (this.at + ROOM > this.bytes.length) this.#grow();
    const start = this.at;
    this.at += 2; // its shape is known at its end
    let slot = at.inside;
    for (const key in object) {
      const part = object[key];
      if (part === undefined || (mayHaveRaw && key === "raw")) continue;
      if (typeof part === "function") {
        if (key !== "toJSON") continue;
        this.#restart(start);
        this.#asJson(object, at, mayHaveRaw);
        return;
      }
      const next = slot.after(key) ?? slot.branch(key, this.text(key));
      if (next === undefined) {
        this.#asTable(object, start, at, depth, mayHaveRaw);
        return;
      }
      slot = next;
      if (typeof part === "string") this.#textIn(slot, part);
      else this.#part(key, part, slot, depth, mayHaveRaw);
    }
    if (slot.shape < 0 && this.shapes.length === MAX_SHAPES) {
      this.#asTable(object, start, at, depth, mayHaveRaw);
      return;
    }
    if (slot.shape < 0) slot.shape = this.shapes.push(slot.keys()) - 1;
    const begin = slot.shape * 8 + SHAPED;
    this.bytes[start] = (begin & 127) | 128;
    this.bytes[start + 1] = begin >>> 7;
  }

  /** Writes the object again as a table, from its start, and all later objects at this place as tables. */
  #asTable(object: Record<string, unknown>, start: number, at: Slot, depth: number, mayHaveRaw: boolean): void {
    at.inside.isTable = true;
    this.#restart(start);
    this.#table(object, at, depth, mayHaveRaw);
  }

  /** Writes an object with its keys. All values of such an object look alike. */
  #table(object: Record<string, unknown>, at: Slot, depth: number, mayHaveRaw: boolean): void {
    const start = this.at;
    this.count(OBJECT);
    for (const key in object) {
      const part = object[key];
      if (part === undefined || (mayHaveRaw && key === "raw")) continue;
      if (typeof part === "function") {
        if (key !== "toJSON") continue;
        this.#restart(start);
        this.#asJson(object, at, mayHaveRaw);
        return;
      }
      this.count(this.text(key) + 1);
      this.#part(key, part, at.inside, depth, mayHaveRaw);
    }
    this.count(0);
  }

  #part(key: string, part: unknown, slot: Slot, depth: number, mayHaveRaw: boolean): void {
    if (mayHaveRaw && (key === "message" || key === "event" || key === "original"))
      this.withoutRaw(part, slot, depth + 1);
    else this.value(part, slot, depth + 1);
  }

  /** Writes dates, instances of classes, and values that may have no end as JSON.stringify understands them. Throws for a cycle. */
  #asJson(value: object, slot: Slot, mayHaveRaw: boolean): void {
    const json = JSON.stringify(value);
    const plain: unknown = json === undefined ? undefined : JSON.parse(json);
    if (mayHaveRaw) this.withoutRaw(plain, slot, KNOWN_TO_END);
    else this.value(plain, slot, KNOWN_TO_END);
  }

  #largeInteger(value: number): void {
    const difference = value - this.time;
    if (Math.abs(difference) * 2 > LARGEST_INTEGER) this.#double(value);
    else this.count((difference < 0 ? -difference * 2 - 1 : difference * 2) * 8 + NEAR);
  }

  #double(value: number): void {
    this.count(NUMBER);
    if (this.at + ROOM > this.bytes.length) this.#grow();
    this.#view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  #grow(): void {
    const larger = new Uint8Array(this.bytes.length * 2);
    larger.set(this.bytes);
    this.bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Whether JSON writes the object key by key, unless it has a way of its own (`toJSON`). */
function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
