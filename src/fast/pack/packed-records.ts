/** Reads the records of a pack, as packer.ts writes them. Benchmark: bench/fast.ts (pack). */
import type { DispatchRecord } from "../../domain/journal.js";
import {
  type Frame,
  HAS_CAUSE,
  HAS_CONVERSATION,
  HAS_MESSAGE_ID,
  HAS_OWN_ID,
  HAS_PROVENANCE,
  HAS_RESULT,
} from "./frame.js";
import { readGlossary } from "./glossary.js";
import { type Header, type RunHeader, readRun, recordOf } from "./records.js";
import type { ValueReader } from "./value-reader.js";

export class PackedRecords {
  readonly length: number;
  readonly #in: ValueReader;
  readonly #starts: Uint32Array;
  readonly #frames: readonly Frame[];

  /** `from` is at the start of the glossary. */
  constructor(from: ValueReader, length: number) {
    const { starts, frames } = readGlossary(from, length);
    this.length = length;
    this.#in = from;
    this.#starts = starts;
    this.#frames = frames;
  }

  header(index: number): Header {
    return this.#readHeader(this.#goTo(index));
  }

  dispatch(index: number): DispatchRecord {
    const from = this.#in;
    const frame = this.#goTo(index);
    const { model, phase, attempt, has } = frame;
    const header = this.#readHeader(frame);
    const latencyMs = from.latency();
    const payloadAt = from.at;
    from.skip();
    const rest = {
      model,
      phase: phase as DispatchRecord["phase"],
      latencyMs,
      readPayload: () => {
        from.at = payloadAt;
        return from.value();
      },
      attempt,
      cause: has & HAS_CAUSE ? (from.value() as DispatchRecord["cause"]) : undefined,
      result: has & HAS_RESULT ? from.value() : undefined,
      provenance: has & HAS_PROVENANCE ? (from.value() as DispatchRecord["provenance"]) : undefined,
    };
    const dispatch = { id: header.id, attempt };
    const runs = frame.runs.map((run, i) =>
      readRun(header.runs[i] as RunHeader, run.pluginId, run.has, dispatch, from),
    );
    return recordOf(header, rest, runs);
  }

  #goTo(index: number): Frame {
    this.#in.at = this.#starts[index] ?? 0;
    return this.#frames[this.#in.count()] as Frame;
  }

  #readHeader({ point, outcome, isDryRun, has, runs }: Frame): Header {
    const from = this.#in;
    return {
      id: from.text(),
      point,
      at: from.number(),
      outcome,
      isDryRun,
      conversation: has & HAS_CONVERSATION ? from.text() : undefined,
      messageId: has & HAS_MESSAGE_ID ? from.text() : undefined,
      runs: runs.map((run) => ({
        hookId: run.hookId,
        position: run.position,
        outcome: run.outcome,
        latencyMs: from.latency(),
        ownId: run.has & HAS_OWN_ID ? from.text() : undefined,
      })),
    };
  }
}
