/** Records that wait for the writer: in packs that are full, and in one that is being filled. */
import type { DispatchRecord, RunNames } from "../../domain/journal.js";
import { Pack } from "../../fast/pack/pack.js";
import { Packer } from "../../fast/pack/packer.js";
import { hasFailed } from "../../fast/pack/records.js";

const FULL_RECORDS = 1000;
const FULL_SIZE = 4 * 1024 * 1024;

export interface FullPack {
  length: number;
  pack: Uint8Array;
}

export class Waiting {
  /** Oldest first. */
  #full: FullPack[] = [];
  readonly #open = new Packer();

  #fullLength = 0;

  get length(): number {
    return this.#fullLength + this.#open.length;
  }

  /** The approximate size in memory. */
  get size(): number {
    return this.#full.reduce((sum, { pack }) => sum + pack.length, this.#open.size);
  }

  get hasFull(): boolean {
    return this.#full.length > 0;
  }

  /** True when the record filled a pack. */
  add(dispatch: DispatchRecord, names?: RunNames): boolean {
    this.#open.add(dispatch, names);
    if (!isFull(this.#open)) return false;
    this.#close(this.#open);
    return true;
  }

  /** The oldest pack, full or not; undefined when nothing waits. */
  take(): FullPack | undefined {
    if (this.#full.length === 0) this.#close(this.#open);
    const oldest = this.#full.shift();
    this.#fullLength -= oldest?.length ?? 0;
    return oldest;
  }

  /**
   * Keeps half of the records, the newer ones, and of the older ones those that failed, unless that would be all. Returns how many it
   * dropped.
   */
  halve(): number {
    this.#close(this.#open);
    const before = this.length;
    const all = this.#full;
    this.#keep(all, before >> 1, true);
    if (this.length === before) this.#keep(all, before >> 1, false);
    return before - this.length;
  }

  #keep(all: readonly FullPack[], older: number, withFailed: boolean): void {
    this.#full = [];
    this.#fullLength = 0;
    const kept = new Packer();
    let first = 0;
    for (const one of all) {
      if (first >= older) {
        this.#close(kept);
        this.#push(one);
      } else {
        const pack = new Pack(one.pack);
        for (let i = 0; i < pack.length; i++)
          if (first + i >= older || (withFailed && hasFailed(pack.header(i)))) kept.addAgain(pack.dispatch(i));
        if (isFull(kept)) this.#close(kept);
      }
      first += one.length;
    }
    this.#close(kept);
  }

  #close(packer: Packer): void {
    if (packer.length > 0) this.#push({ length: packer.length, pack: packer.take() });
  }

  #push(one: FullPack): void {
    this.#full.push(one);
    this.#fullLength += one.length;
  }
}

function isFull({ length, size }: Packer): boolean {
  return length >= FULL_RECORDS || size >= FULL_SIZE;
}
