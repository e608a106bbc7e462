/**
 * Reads the records of packs as they were written before they had frames and shapes: each has all its own, after its length in four
 * bytes. They are read until retention has removed them.
 */
import type { DispatchRecord, Outcome, RunRecord } from "../../domain/journal.js";
import type { Header, Records, RunHeader } from "./records.js";
import type { ValueReader } from "./value-reader.js";

/** What is there of a run, beside what one searches by. */
const HAS_PLUGIN = 1;
const HAS_REASON = 2;
const HAS_ERROR = 4;
const HAS_DIFF = 8;
const HAS_ATTEMPT = 16;

export class FirstRecords implements Records {
  readonly length: number;
  readonly #in: ValueReader;
  /** Where each record begins. */
  readonly #starts: number[] = [];

  /** `from` stands where the first begins. */
  constructor(from: ValueReader, length: number) {
    this.length = length;
    this.#in = from;
    for (let at = from.at; this.#starts.length < length; ) {
      this.#starts.push(at + 4);
      at += 4 + from.bytes.readUInt32LE(at);
    }
  }

  header(index: number): Header {
    this.#goTo(index);
    return this.#readHeader();
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

  #goTo(index: number): void {
    this.#in.at = this.#starts[index] ?? 0;
  }
}
