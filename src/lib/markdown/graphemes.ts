/** Where a text may be cut without breaking a character as people see it. */
import { once } from "../concurrency/on-first-use.js";

/** Clusters longer than this are cut between code points; no keyboard makes them. */
const CLUSTER_MAX = 256;
const segmenter = once(() => new Intl.Segmenter(undefined, { granularity: "grapheme" }));

/** The last boundary in (from, at]; a code point boundary when one cluster fills all of it. */
export function boundaryBefore(text: string, from: number, at: number): number {
  if (at >= text.length) return text.length;
  if (isSimple(text, at)) return at;
  const start = simpleBefore(text, from, at);
  let boundary = start;
  for (const { index } of segmenter().segment(text.slice(start, Math.min(text.length, at + CLUSTER_MAX)))) {
    if (start + index > at) break;
    boundary = start + index;
  }
  return boundary > from ? boundary : codePointBefore(text, from, at);
}

/** Both neighbours are Latin: nothing combines, and no Segmenter, which is slow, is needed. */
function isSimple(text: string, at: number): boolean {
  return text.charCodeAt(at - 1) < 0x300 && text.charCodeAt(at) < 0x300;
}

function simpleBefore(text: string, from: number, at: number): number {
  const earliest = Math.max(from, at - CLUSTER_MAX);
  for (let i = at - 1; i > earliest; i--) if (isSimple(text, i)) return i;
  return earliest === from ? from : codePointBefore(text, from, earliest);
}

function codePointBefore(text: string, from: number, at: number): number {
  const splitsPair = /[\uD800-\uDBFF]/.test(text[at - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[at] ?? "");
  if (!splitsPair) return at;
  return at - 1 > from ? at - 1 : at + 1;
}
