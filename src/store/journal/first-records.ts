/**
 * Reads the records of packs as they were written before they had frames and shapes: each has all its own, after its length in four
 * bytes. They are read until retention has removed them.
 */
import type { DispatchRecord, Outcome } from "../../domain/journal.js";
import { type Header, type Records, readRun, recordOf } from "./records.js";
import type { ValueReader } from "./value-reader.js";

/** Of what a run has; the rest is as in frames. */
const HAS_PLUGIN = 1;

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
    const header = this.#readHeader();
    const rest = {
      model: from.value() as DispatchRecord["model"],
      phase: from.value() as DispatchRecord["phase"],
      latencyMs: from.latency(),
      payload: from.value(),
      cause: from.value() as DispatchRecord["cause"],
      attempt: from.count(),
      result: from.value(),
      provenance: from.value() as DispatchRecord["provenance"],
    };
    const dispatch = { id: header.id, attempt: rest.attempt };
    const runs = header.runs.map((run) => {
      const has = from.count();
      return readRun(run, has & HAS_PLUGIN ? from.text() : undefined, has, dispatch, from);
    });
    return recordOf(header, rest, runs);
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

  #goTo(index: number): void {
    this.#in.at = this.#starts[index] ?? 0;
  }
}
