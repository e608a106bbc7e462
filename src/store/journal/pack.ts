/**
 * A pack: dispatches together, as packer.ts makes them. First four numbers of four bytes (see below), then the records, each
 * after its length, then the lengths of all texts in UTF-16, then the texts with a line break after each: as UTF-8, unless there is
 * half a character among them, which only UTF-16 can say.
 */
import type { DispatchRecord, Outcome, RunRecord } from "../../domain/journal.js";
import type { Header, Records, RunHeader } from "./records.js";
import { ValueReader } from "./value-reader.js";
import { ValueWriter } from "./value-writer.js";

/** The first number. (A segment of before begins with a bracket.) */
const UTF8 = 1;
const UTF16 = 2;
/** That, the number of records, the bytes of all records, the number of texts. */
const HEAD_BYTES = 16;

/** What is there of a run, beside what one searches by. */
export const HAS_PLUGIN = 1;
export const HAS_REASON = 2;
export const HAS_ERROR = 4;
export const HAS_DIFF = 8;
export const HAS_ATTEMPT = 16;

export function packOf(length: number, records: Uint8Array, texts: readonly string[]): Uint8Array {
  const lengths = new ValueWriter(texts.length * 2 + 64);
  for (const text of texts) lengths.count(text.length);
  const text = texts.join("\n");
  const encoding = text.isWellFormed() ? "utf8" : "utf16le";
  const textAt = HEAD_BYTES + records.length + lengths.at;
  // With memory of its own: it goes to another thread.
  const pack = Buffer.allocUnsafeSlow(textAt + Buffer.byteLength(text, encoding));
  pack.writeUInt32LE(encoding === "utf8" ? UTF8 : UTF16, 0);
  pack.writeUInt32LE(length, 4);
  pack.writeUInt32LE(records.length, 8);
  pack.writeUInt32LE(texts.length, 12);
  pack.set(records, HEAD_BYTES);
  pack.set(lengths.bytes.subarray(0, lengths.at), HEAD_BYTES + records.length);
  pack.write(text, textAt, encoding);
  return pack;
}

export function isPack(bytes: Uint8Array): boolean {
  return bytes[0] === UTF8 || bytes[0] === UTF16;
}

export class Pack implements Records {
  readonly bytes: Buffer;
  readonly length: number;
  /** All texts, with line breaks between them. */
  readonly text: string;
  readonly #in: ValueReader;
  readonly #recordsEnd: number;
  /** Where each text begins, and where one more would. */
  readonly #starts: Uint32Array;
  /** Those that were asked for. */
  readonly #texts: (string | undefined)[];
  readonly #headers: (Header | undefined)[];
  /** Where each record begins. */
  #records: Uint32Array | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.length = this.bytes.readUInt32LE(4);
    this.#recordsEnd = HEAD_BYTES + this.bytes.readUInt32LE(8);
    this.#starts = new Uint32Array(this.bytes.readUInt32LE(12) + 1);
    this.#texts = new Array(this.#starts.length - 1);
    this.#headers = new Array(this.length);
    this.#in = new ValueReader(this.bytes, this.#recordsEnd, (place) => this.#textAt(place));
    for (let i = 1; i < this.#starts.length; i++) this.#starts[i] = (this.#starts[i - 1] ?? 0) + this.#in.count() + 1;
    this.text = this.bytes.toString(this.bytes[0] === UTF8 ? "utf8" : "utf16le", this.#in.at);
  }

  /** The same with every text in it, keys included, as `change` gives it back. */
  withTexts(change: (text: string) => string): Pack {
    const texts = Array.from({ length: this.#starts.length - 1 }, (_, place) => change(this.#textAt(place)));
    return new Pack(packOf(this.length, this.bytes.subarray(HEAD_BYTES, this.#recordsEnd), texts));
  }

  header(index: number): Header {
    const known = this.#headers[index];
    if (known !== undefined) return known;
    this.#goTo(index);
    const header = this.#readHeader();
    this.#headers[index] = header;
    return header;
  }

  dispatch(index: number): DispatchRecord {
    this.#goTo(index);
    const from = this.#in;
    const { id, point, at, outcome, isDryRun, conversation, messageId, runs } = this.#readHeader();
    const model = from.value() as DispatchRecord["model"];
    const phase = from.value() as DispatchRecord["phase"];
    const latencyMs = from.latency();
    const payload = from.value();
    const cause = from.value() as DispatchRecord["cause"];
    const attempt = from.count();
    const result = from.value();
    const provenance = from.value() as DispatchRecord["provenance"];
    return {
      id,
      point,
      model,
      at,
      latencyMs,
      payload,
      attempt,
      dryRun: isDryRun,
      outcome,
      runs: runs.map((run) => this.#readRun(run, id, attempt)),
      ...(phase === undefined ? {} : { phase }),
      ...(cause === undefined ? {} : { cause }),
      ...(conversation === undefined ? {} : { conversation }),
      ...(messageId === undefined ? {} : { messageId }),
      ...(result === undefined ? {} : { result }),
      ...(provenance === undefined ? {} : { provenance }),
    };
  }

  #readHeader(): Header {
    const from = this.#in;
    const header: Header = {
      id: from.text(),
      point: from.text(),
      at: from.number(),
      outcome: from.text() as Outcome,
      isDryRun: from.count() === 1,
      conversation: from.optionalText(),
      messageId: from.optionalText(),
      runs: [],
    };
    for (let left = from.count(); left > 0; left--)
      header.runs.push({
        hookId: from.text(),
        position: from.count(),
        outcome: from.text() as Outcome,
        latencyMs: from.latency(),
        ownId: from.optionalText(),
      });
    return header;
  }

  #readRun({ hookId, position, outcome, latencyMs, ownId }: RunHeader, dispatchId: string, usual: number): RunRecord {
    const from = this.#in;
    const id = ownId ?? `${dispatchId}/${position}`;
    const run: RunRecord = { id, hookId, position, outcome, latencyMs, attempt: usual };
    const has = from.count();
    if (has & HAS_PLUGIN) run.pluginId = from.text();
    if (has & HAS_REASON) run.reason = from.text();
    if (has & HAS_ERROR) run.error = from.text();
    if (has & HAS_DIFF) run.diff = from.value();
    if (has & HAS_ATTEMPT) run.attempt = from.count();
    return run;
  }

  #textAt(place: number): string {
    const known = this.#texts[place];
    if (known !== undefined) return known;
    const text = this.text.slice(this.#starts[place], (this.#starts[place + 1] ?? 0) - 1);
    this.#texts[place] = text;
    return text;
  }

  #goTo(index: number): void {
    this.#records ??= this.#findRecords();
    this.#in.at = this.#records[index] ?? 0;
  }

  #findRecords(): Uint32Array {
    const found = new Uint32Array(this.length);
    for (let i = 0, at = HEAD_BYTES; i < found.length; i++) {
      found[i] = at + 4;
      at += 4 + this.bytes.readUInt32LE(at);
    }
    return found;
  }
}
