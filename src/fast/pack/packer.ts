/**
 * Puts dispatches together into packs: their values in bytes, the texts of all of them in one table (value-writer.ts), and their
 * common parts once (frame.ts, slot.ts). The searched columns of each record come first. Platforms' raw payloads are left out, and
 * nothing is ever too long.
 *
 * Benchmark: bench/fast.ts (pack).
 */
import type { DispatchRecord, RunNames, RunRecord } from "../../domain/journal.js";
import { errorMessage } from "../../lib/errors.js";
import { type Frame, type FrameRun, HAS_OWN_ID } from "./frame.js";
import { glossaryOf } from "./glossary.js";
import { packOf } from "./pack.js";
import { type PointMemory, Points } from "./points.js";
import { type Mark, ValueWriter } from "./value-writer.js";

/** Above this, long texts in a record are cut. */
const MAX_RECORD_CHARS = 256 * 1024;
const MAX_TEXT_CHARS = 8 * 1024;

export class Packer {
  readonly #out = new ValueWriter();
  /** The length of each record. */
  #lengths: number[] = [];
  #frames: Frame[] = [];
  #points = new Points();

  /** How many are in it. */
  get length(): number {
    return this.#lengths.length;
  }

  /** Bytes and characters so far. */
  get size(): number {
    return this.#out.at + this.#out.chars;
  }

  /** Stores the dispatch as it is now; later changes of its payload have no effect. `names`: see JournalPort. */
  add(dispatch: DispatchRecord, names?: RunNames): void {
    const out = this.#out;
    const mark = out.mark();
    const sizeBefore = this.size;
    try {
      this.#write(dispatch, names);
      if (this.size - sizeBefore > MAX_RECORD_CHARS) this.#writeCut(dispatch, names, mark);
    } catch (thrown) {
      // A payload with a cycle or a BigInt: the rest of the record is worth keeping.
      this.#backTo(mark);
      this.#writeRestOf(dispatch, thrown, names);
    }
    this.#lengths.push(out.at - mark.at);
  }

  /** Takes in one that was in a pack before: it is as short as it has to be. */
  addAgain(dispatch: DispatchRecord): void {
    const start = this.#out.at;
    this.#write(dispatch, undefined);
    this.#lengths.push(this.#out.at - start);
  }

  /** Gives the pack as one piece of memory of its own; then the packer is empty. */
  take(): Uint8Array {
    const out = this.#out;
    const glossary = glossaryOf(this.#lengths, this.#frames, out);
    const pack = packOf(this.length, [glossary, out.bytes.subarray(0, out.at)], out.texts);
    out.reset();
    this.#lengths = [];
    this.#frames = [];
    this.#points = new Points();
    return pack;
  }

  /** Leaves nothing of it when that cannot be written either. */
  #writeRestOf(dispatch: DispatchRecord, thrown: unknown, names: RunNames | undefined): void {
    const mark = this.#out.mark();
    try {
      this.#write(withoutValues(dispatch, `not recorded: ${errorMessage(thrown)}`), names);
    } catch (again) {
      this.#backTo(mark);
      throw again;
    }
  }

  #writeCut(dispatch: DispatchRecord, names: RunNames | undefined, mark: Mark): void {
    const out = this.#out;
    this.#backTo(mark);
    out.cut = shorten;
    try {
      this.#write(dispatch, names);
    } finally {
      out.cut = undefined;
      this.#points = new Points(); // which know the shortened texts as the long ones
    }
  }

  #backTo(mark: Mark): void {
    this.#out.backTo(mark);
    this.#points = new Points();
  }

  #write(dispatch: DispatchRecord, names: RunNames | undefined): void {
    const out = this.#out;
    const { at, conversation, messageId, cause, result, provenance, runs } = dispatch;
    const known = this.#points.of(dispatch.point);
    const place = known.placeOf(dispatch, names, this.#frames);
    const frame = this.#frames[place] as Frame;
    if (out.time === 0) out.time = at;
    out.count(place);
    out.count(out.newText(dispatch.id));
    out.number(at);
    if (conversation !== undefined) out.count(out.text(conversation));
    if (messageId !== undefined) out.count(out.text(messageId));
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as RunRecord;
      out.latency(run.latencyMs);
      if ((frame.runs[i] as FrameRun).has & HAS_OWN_ID) out.count(out.newText(run.id));
    }
    out.latency(dispatch.latencyMs);
    out.expectAgain(cause); // payloads of outgoing messages carry it as well
    out.withoutRaw(dispatch.payload, known.payload);
    if (cause !== undefined) out.value(cause, known.cause);
    out.expectAgain(result); // for a claim it is the value that the claiming run returned
    if (result !== undefined) out.value(result, known.result);
    if (provenance !== undefined) out.value(provenance, known.provenance);
    for (let i = 0; i < runs.length; i++) this.#writeRest(runs[i] as RunRecord, frame.attempt, known);
  }

  /** For most runs there is nothing beyond the frame. */
  #writeRest({ reason, error, diff, attempt, place }: RunRecord, usual: number, known: PointMemory): void {
    const out = this.#out;
    if (reason !== undefined) out.count(out.text(reason));
    if (error !== undefined) out.count(out.text(error));
    if (diff !== undefined) out.value(diff, known.diff);
    if (attempt !== usual) out.count(attempt);
    if (place !== undefined) out.count(out.text(place));
  }
}

/** The rest of a record whose values cannot be written. */
function withoutValues(dispatch: DispatchRecord, payload: string): DispatchRecord {
  const runs = dispatch.runs.map((run) => ({ ...run, diff: undefined }));
  return { ...dispatch, payload, result: undefined, provenance: undefined, runs } as DispatchRecord;
}

function shorten(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS)}… (${text.length - MAX_TEXT_CHARS} more characters)`;
}
