/**
 * What a segment may hold, as a Bloom filter: a search asks it before it reads the segment. It says no for certain, and a wrong
 * yes about once in three hundred times, so what it lets through is looked at properly. An index would say it exactly and cost
 * more than everything else that the journal does: it is written for every dispatch, and searched when a person asks.
 */
import type { DispatchFilter } from "../../domain/journal.js";
import { type Header, isFailure } from "./records.js";

const BITS_PER_TRAIT = 12;
const PROBES = 5;

export const idTrait = (id: string) => `i${id}`;
export const foreignRunTrait = (runId: string) => `r${runId}`;

/** Of one record, for the filter of its segment. Many repeat, so they are gathered in a set first. */
export function addTraits(traits: Set<string>, { id, point, outcome, conversation, messageId, runs }: Header): void {
  traits.add(idTrait(id));
  traits.add(`p${point}`);
  traits.add(`o${outcome}`);
  if (conversation !== undefined) traits.add(`c${conversation}`);
  if (messageId !== undefined) traits.add(`m${messageId}`);
  let failed = isFailure(outcome);
  for (const { hookId, outcome: runOutcome, ownId } of runs) {
    traits.add(`h${hookId}`);
    if (ownId !== undefined) traits.add(foreignRunTrait(ownId));
    failed ||= isFailure(runOutcome);
  }
  if (failed) traits.add("f");
}

/** All of them are in a segment that holds what the filter looks for. */
export function traitsOf({ hookId, point, conversation, messageId, outcome, failed }: DispatchFilter): string[] {
  const traits: string[] = [];
  if (hookId !== undefined) traits.push(`h${hookId}`);
  if (point !== undefined) traits.push(`p${point}`);
  if (conversation !== undefined) traits.push(`c${conversation}`);
  if (messageId !== undefined) traits.push(`m${messageId}`);
  if (outcome !== undefined) traits.push(`o${outcome}`);
  if (failed) traits.push("f");
  return traits;
}

export function bloomOf(traits: ReadonlySet<string>): Uint8Array {
  const bloom = new Uint8Array(Math.ceil((traits.size * BITS_PER_TRAIT) / 8));
  const bits = bloom.length * 8;
  for (const trait of traits) {
    const step = hash(trait, SECOND) | 1;
    for (let i = 0, at = hash(trait, FIRST); i < PROBES; i++, at = (at + step) >>> 0) {
      const bit = at % bits;
      bloom[bit >> 3] = (bloom[bit >> 3] ?? 0) | (1 << (bit & 7));
    }
  }
  return bloom;
}

export function mayHold(bloom: Uint8Array, traits: readonly string[]): boolean {
  const bits = bloom.length * 8;
  for (const trait of traits) {
    const step = hash(trait, SECOND) | 1;
    for (let i = 0, at = hash(trait, FIRST); i < PROBES; i++, at = (at + step) >>> 0) {
      const bit = at % bits;
      if (((bloom[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    }
  }
  return true;
}

const FIRST = 0x811c9dc5;
const SECOND = 0x9747b28c;

/** FNV-1a, and a last mix so that short texts that differ in their last character differ in all bits. */
function hash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 15), 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}
