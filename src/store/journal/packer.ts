/**
 * Puts dispatches together into packs: what they say in bytes, and the texts of all of them in one table (value-writer.ts).
 * Of each record what one searches by comes first; its length stands before it, so that the rest can be passed over.
 * Platforms' raw payloads are left out, and nothing is ever too long.
 */
import type { DispatchRecord, RunNames, RunRecord } from "../../domain/journal.js";
import { errorMessage } from "../../lib/errors.js";
import { HAS_ATTEMPT, HAS_DIFF, HAS_ERROR, HAS_PLUGIN, HAS_REASON, packOf } from "./pack.js";
import { ValueWriter } from "./value-writer.js";

/** Above this, long texts in a record are cut. */
const MAX_RECORD_CHARS = 256 * 1024;
const MAX_TEXT_CHARS = 8 * 1024;

export class Packer {
  readonly #out = new ValueWriter();
  /** How many are in it. */
  length = 0;

  /** Bytes and characters so far. */
  get size(): number {
    return this.#out.at + this.#out.chars;
  }

  /** Takes in what the dispatch says now, whatever becomes of its payload. `names`: see JournalPort. */
  add(dispatch: DispatchRecord, names?: RunNames): void {
    const out = this.#out;
    const mark = out.mark();
    const sizeBefore = this.size;
    try {
      this.#write(dispatch, names);
      if (this.size - sizeBefore > MAX_RECORD_CHARS) {
        out.backTo(mark);
        out.cut = shorten;
        this.#write(dispatch, names);
      }
    } catch (thrown) {
      // A payload with a cycle or a BigInt: the rest of the record is worth keeping.
      out.backTo(mark);
      this.#writeRestOf(dispatch, thrown, names);
    } finally {
      out.cut = undefined;
    }
    this.length++;
  }

  /** Takes in one that was in a pack before: it is as short as it has to be. */
  addAgain(dispatch: DispatchRecord): void {
    this.#write(dispatch, undefined);
    this.length++;
  }

  /** All of it as one piece of memory of its own; then it is empty. */
  take(): Uint8Array {
    const out = this.#out;
    const pack = packOf(this.length, out.bytes.subarray(0, out.at), out.texts);
    out.reset();
    this.length = 0;
    return pack;
  }

  /** Leaves nothing of it when that cannot be written either. */
  #writeRestOf(dispatch: DispatchRecord, thrown: unknown, names: RunNames | undefined): void {
    const mark = this.#out.mark();
    try {
      this.#write(withoutValues(dispatch, `not recorded: ${errorMessage(thrown)}`), names);
    } catch (again) {
      this.#out.backTo(mark);
      throw again;
    }
  }

  #write(dispatch: DispatchRecord, names: RunNames | undefined): void {
    const out = this.#out;
    const { id, conversation, messageId, attempt, runs } = dispatch;
    const start = out.begin();
    out.count(out.newText(id));
    out.count(out.text(dispatch.point));
    out.number(dispatch.at);
    out.count(out.text(dispatch.outcome));
    out.count(dispatch.dryRun ? 1 : 0);
    out.count(conversation === undefined ? 0 : out.text(conversation) + 1);
    out.count(messageId === undefined ? 0 : out.text(messageId) + 1);
    out.count(runs.length);
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as RunRecord;
      out.count(out.text(run.hookId));
      out.count(run.position);
      out.count(out.text(run.outcome));
      out.latency(run.latencyMs);
      out.count(names === "usual" || run.id === `${id}/${run.position}` ? 0 : out.newText(run.id) + 1);
    }
    out.value(dispatch.model);
    out.value(dispatch.phase);
    out.latency(dispatch.latencyMs);
    out.withoutRaw(dispatch.payload);
    out.value(dispatch.cause);
    out.count(attempt);
    out.value(dispatch.result);
    out.value(dispatch.provenance);
    for (let i = 0; i < runs.length; i++) this.#writeRest(runs[i] as RunRecord, attempt);
    out.end(start);
  }

  /** Of most runs there is no more to say than whose they are. */
  #writeRest({ pluginId, reason, error, diff, attempt }: RunRecord, usual: number): void {
    const out = this.#out;
    const has =
      (pluginId === undefined ? 0 : HAS_PLUGIN) |
      (reason === undefined ? 0 : HAS_REASON) |
      (error === undefined ? 0 : HAS_ERROR) |
      (diff === undefined ? 0 : HAS_DIFF) |
      (attempt === usual ? 0 : HAS_ATTEMPT);
    out.count(has);
    if (pluginId !== undefined) out.count(out.text(pluginId));
    if (reason !== undefined) out.count(out.text(reason));
    if (error !== undefined) out.count(out.text(error));
    if (diff !== undefined) out.value(diff);
    if (attempt !== usual) out.count(attempt);
  }
}

/** What is left of a record whose values cannot be written. */
function withoutValues(dispatch: DispatchRecord, payload: string): DispatchRecord {
  const runs = dispatch.runs.map((run) => ({ ...run, diff: undefined }));
  return { ...dispatch, payload, result: undefined, provenance: undefined, runs } as DispatchRecord;
}

function shorten(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS)}… (${text.length - MAX_TEXT_CHARS} more characters)`;
}
