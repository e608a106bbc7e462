/**
 * A pack: many dispatches together. First four numbers of four bytes (see below), then the bytes of packer.ts: the common parts of the
 * records (glossary.ts) and the records; then the lengths of all texts in UTF-16, then the texts with a line break after each: as
 * UTF-8, unless there is half a character among them, which only UTF-16 can hold.
 *
 * Benchmark: bench/fast.ts (pack).
 */
import type { DispatchRecord } from "../../domain/journal.js";
import { PackedRecords } from "./packed-records.js";
import type { Header } from "./records.js";
import { ValueReader } from "./value-reader.js";
import { ValueWriter } from "./value-writer.js";

/** The first number: how texts are written. */
const UTF8 = 1;
const UTF16 = 2;
/** That, the number of records, the bytes up to the lengths of texts, the number of texts. */
const HEAD_BYTES = 16;

/** `parts`: the bytes before the texts. */
export function packOf(length: number, parts: readonly Uint8Array[], texts: readonly string[]): Uint8Array {
  const lengths = new ValueWriter(texts.length * 2 + 64);
  for (const text of texts) lengths.count(text.length);
  const text = texts.join("\n");
  const isUtf8 = text.isWellFormed();
  const encoding = isUtf8 ? "utf8" : "utf16le";
  const lengthsAt = parts.reduce((at, part) => at + part.length, HEAD_BYTES);
  const textAt = lengthsAt + lengths.at;
  // The pack has memory of its own: it goes to another thread.
  const pack = Buffer.allocUnsafeSlow(textAt + Buffer.byteLength(text, encoding));
  pack.writeUInt32LE(isUtf8 ? UTF8 : UTF16, 0);
  pack.writeUInt32LE(length, 4);
  pack.writeUInt32LE(lengthsAt - HEAD_BYTES, 8);
  pack.writeUInt32LE(texts.length, 12);
  let at = HEAD_BYTES;
  for (const part of parts) {
    pack.set(part, at);
    at += part.length;
  }
  pack.set(lengths.bytes.subarray(0, lengths.at), lengthsAt);
  pack.write(text, textAt, encoding);
  return pack;
}

export class Pack {
  readonly bytes: Buffer;
  readonly length: number;
  /** All texts, with line breaks between them. */
  readonly text: string;
  readonly #lengthsAt: number;
  /** The start of each text, and of one more after the last. */
  readonly #starts: Uint32Array;
  /** The texts that were asked for. */
  readonly #texts: (string | undefined)[];
  readonly #headers: (Header | undefined)[];
  readonly #records: PackedRecords;

  constructor(given: Uint8Array) {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
    const isUtf8 = bytes.readUInt32LE(0) === UTF8;
    this.bytes = bytes;
    this.length = bytes.readUInt32LE(4);
    this.#lengthsAt = HEAD_BYTES + bytes.readUInt32LE(8);
    this.#starts = new Uint32Array(bytes.readUInt32LE(12) + 1);
    this.#texts = new Array(this.#starts.length - 1);
    this.#headers = new Array(this.length);
    const from = new ValueReader(bytes, this.#lengthsAt, (place) => this.#textAt(place));
    for (let i = 1; i < this.#starts.length; i++) this.#starts[i] = (this.#starts[i - 1] ?? 0) + from.count() + 1;
    this.text = bytes.toString(isUtf8 ? "utf8" : "utf16le", from.at);
    from.at = HEAD_BYTES;
    this.#records = new PackedRecords(from, this.length);
  }

  /** A copy of the pack with every text, keys included, replaced by the result of `change`. */
  withTexts(change: (text: string) => string): Pack {
    const texts = Array.from({ length: this.#starts.length - 1 }, (_, place) => change(this.#textAt(place)));
    return new Pack(packOf(this.length, [this.bytes.subarray(HEAD_BYTES, this.#lengthsAt)], texts));
  }

  header(index: number): Header {
    const known = this.#headers[index];
    if (known !== undefined) return known;
    const header = this.#records.header(index);
    this.#headers[index] = header;
    return header;
  }

  dispatch(index: number): DispatchRecord {
    return this.#records.dispatch(index);
  }

  #textAt(place: number): string {
    const known = this.#texts[place];
    if (known !== undefined) return known;
    const text = this.text.slice(this.#starts[place], (this.#starts[place + 1] ?? 0) - 1);
    this.#texts[place] = text;
    return text;
  }
}
