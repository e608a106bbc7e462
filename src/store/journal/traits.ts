/**
 * The traits that a segment may have, as a Bloom filter: a search asks it before it reads the segment. A no is certain. It gives a wrong
 * yes about once in three hundred times, so segments that it lets through are searched properly. An index would be exact and cost more than
 * everything else that the journal does: it is written for every dispatch, and searched when a person asks.
 */
import { type DispatchFilter, rootOf } from "../../domain/journal.js";
import { type Header, isFailure } from "../../fast/pack/records.js";

const BITS_PER_TRAIT = 12;
const PROBES = 5;

/** All dispatches of a message or delivery have this trait in common, so that they are found together. */
export const idTrait = (id: string) => `i${rootOf(id)}`;
export const foreignRunTrait = (runId: string) => `r${runId}`;

/** The traits of the records of a segment. Most of them repeat; ids hardly do. */
export class Traits {
  readonly #ids: string[] = [];
  readonly #byKind: Record<RepeatedKind, Set<string>> = {
    p: new Set(),
    o: new Set(),
    c: new Set(),
    m: new Set(),
    h: new Set(),
    r: new Set(),
  };
  #hasFailed = false;

  add({ id, point, outcome, conversation, messageId, runs }: Header): void {
    const { p, o, c, m, h, r } = this.#byKind;
    this.#ids.push(rootOf(id));
    p.add(point);
    o.add(outcome);
    if (conversation !== undefined) c.add(conversation);
    if (messageId !== undefined) m.add(messageId);
    this.#hasFailed ||= isFailure(outcome);
    for (const { hookId, outcome: runOutcome, ownId } of runs) {
      h.add(hookId);
      if (ownId !== undefined) r.add(ownId);
      this.#hasFailed ||= isFailure(runOutcome);
    }
  }

  bloom(): Uint8Array {
    const kinds = Object.entries(this.#byKind);
    const count = kinds.reduce((sum, [, texts]) => sum + texts.size, this.#ids.length + 1);
    const bloom = new Uint8Array(Math.ceil((count * BITS_PER_TRAIT) / 8));
    for (const id of this.#ids) put(bloom, "i", id);
    for (const [kind, texts] of kinds) for (const text of texts) put(bloom, kind, text);
    if (this.#hasFailed) put(bloom, "f", "");
    return bloom;
  }
}

type RepeatedKind = "p" | "o" | "c" | "m" | "h" | "r";

/** A segment with a match for the filter has all of these traits. */
export function traitsOf({ hookId, point, conversation, messageId, of, outcome, failed }: DispatchFilter): string[] {
  const traits: string[] = [];
  if (hookId !== undefined) traits.push(`h${hookId}`);
  if (point !== undefined) traits.push(`p${point}`);
  if (conversation !== undefined) traits.push(`c${conversation}`);
  if (messageId !== undefined) traits.push(`m${messageId}`);
  if (of !== undefined) traits.push(idTrait(of));
  if (outcome !== undefined) traits.push(`o${outcome}`);
  if (failed) traits.push("f");
  return traits;
}

function put(bloom: Uint8Array, kind: string, text: string): void {
  const bits = bloom.length * 8;
  const { start, step } = probesOf(kind, text);
  for (let i = 0, at = start; i < PROBES; i++, at = (at + step) >>> 0) {
    const bit = at % bits;
    bloom[bit >> 3] = (bloom[bit >> 3] ?? 0) | (1 << (bit & 7));
  }
}

export function mayHold(bloom: Uint8Array, traits: readonly string[]): boolean {
  const bits = bloom.length * 8;
  for (const trait of traits) {
    const { start, step } = probesOf("", trait);
    for (let i = 0, at = start; i < PROBES; i++, at = (at + step) >>> 0) {
      const bit = at % bits;
      if (((bloom[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    }
  }
  return true;
}

const PRIME = 0x01000193;
const FIRST = 0x811c9dc5;
const SECOND = 0x9747b28c;

/** FNV-1a from two starts at once, of the kind (a letter, or none) and the text. */
function probesOf(kind: string, text: string): { start: number; step: number } {
  let start = FIRST;
  let step = SECOND;
  if (kind !== "") {
    start = Math.imul(start ^ kind.charCodeAt(0), PRIME);
    step = Math.imul(step ^ kind.charCodeAt(0), PRIME);
  }
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    start = Math.imul(start ^ code, PRIME);
    step = Math.imul(step ^ code, PRIME);
  }
  return { start: mixed(start), step: mixed(step) | 1 };
}

/** Mixes the bits, so that short texts that differ in their last character differ in all bits. */
function mixed(hash: number): number {
  const h = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}
