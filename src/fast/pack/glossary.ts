/** The common parts of a pack's records, and the length of each record. Written before the records. Benchmark: bench/fast.ts (pack). */
import { type Frame, readFrame, writeFrame } from "./frame.js";
import type { ValueReader } from "./value-reader.js";
import { ValueWriter } from "./value-writer.js";

/** `out`: the records. More texts may come to its table. */
export function glossaryOf(lengths: readonly number[], frames: readonly Frame[], out: ValueWriter): Uint8Array {
  const glossary = new ValueWriter(lengths.length * 2 + 1024);
  glossary.number(out.time);
  for (const length of lengths) glossary.count(length);
  glossary.count(out.shapes.length);
  for (const keys of out.shapes) {
    glossary.count(keys.length);
    for (const key of keys) glossary.count(key);
  }
  glossary.count(frames.length);
  for (const frame of frames) writeFrame(frame, glossary, out);
  return glossary.bytes.subarray(0, glossary.at);
}

/** Sets the time and the shapes of the reader. Gives the start of each record, and the frames. */
export function readGlossary(from: ValueReader, length: number): { starts: Uint32Array; frames: Frame[] } {
  from.time = from.number();
  const starts = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) starts[i + 1] = (starts[i] ?? 0) + from.count();
  for (let left = from.count(); left > 0; left--)
    from.shapes.push(Array.from({ length: from.count() }, () => from.count()));
  const frames = Array.from({ length: from.count() }, () => readFrame(from));
  for (let i = 0; i < length; i++) starts[i] = (starts[i] ?? 0) + from.at;
  return { starts, frames };
}
