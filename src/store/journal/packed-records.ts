/** Reads the records of a pack, as packer.ts writes them. */
import type { DispatchRecord, RunRecord } from "../../domain/journal.js";
import {
  type Frame,
  type FrameRun,
  HAS_ATTEMPT,
  HAS_CAUSE,
  HAS_CONVERSATION,
  HAS_DIFF,
  HAS_ERROR,
  HAS_MESSAGE_ID,
  HAS_OWN_ID,
  HAS_PROVENANCE,
  HAS_REASON,
  HAS_RESULT,
} from "./frame.js";
import { readGlossary } from "./glossary.js";
import type { Header, Records, RunHeader } from "./records.js";
import type { ValueReader } from "./value-reader.js";

export class PackedRecords implements Records {
  readonly length: number;
  readonly #in: ValueReader;
  readonly #starts: Uint32Array;
  readonly #frames: readonly Frame[];

  /** `from` stands where the glossary begins. */
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
    const { id, at, conversation, messageId, runs } = this.#readHeader(frame);
    const { point, model, phase, outcome, attempt, isDryRun, has } = frame;
    const latencyMs = from.latency();
    const payload = from.value();
    const cause = has & HAS_CAUSE ? (from.value() as DispatchRecord["cause"]) : undefined;
    const result = has & HAS_RESULT ? from.value() : undefined;
    const provenance = has & HAS_PROVENANCE ? (from.value() as DispatchRecord["provenance"]) : undefined;
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
      runs: frame.runs.map((run, i) => this.#readRun(run, runs[i] as RunHeader, id, attempt)),
      ...(phase === undefined ? {} : { phase }),
      ...(cause === undefined ? {} : { cause }),
      ...(conversation === undefined ? {} : { conversation }),
      ...(messageId === undefined ? {} : { messageId }),
      ...(result === undefined ? {} : { result }),
      ...(provenance === undefined ? {} : { provenance }),
    };
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

  #readRun(
    { hookId, pluginId, position, outcome, has }: FrameRun,
    { latencyMs, ownId }: RunHeader,
    dispatchId: string,
    usual: number,
  ): RunRecord {
    const from = this.#in;
    const run: RunRecord = {
      id: ownId ?? `${dispatchId}/${position}`,
      hookId,
      position,
      outcome,
      latencyMs,
      attempt: usual,
    };
    if (pluginId !== undefined) run.pluginId = pluginId;
    if (has & HAS_REASON) run.reason = from.text();
    if (has & HAS_ERROR) run.error = from.text();
    if (has & HAS_DIFF) run.diff = from.value();
    if (has & HAS_ATTEMPT) run.attempt = from.count();
    return run;
  }
}
