/** The memory of a pack's writer for each point that it has seen in the pack. Benchmark: bench/fast.ts (pack). */
import type { DispatchRecord, RunNames } from "../../domain/journal.js";
import { type Frame, frameOf, isFrameOf } from "./frame.js";
import { Slot } from "./slot.js";

/** Frames of a point. Further ones are not compared: where hooks differ from record to record, so do frames. */
const MAX_FRAMES = 8;

/** The places of the values of a point's records. */
export class PointMemory {
  readonly point: string;
  readonly payload = new Slot();
  readonly cause = new Slot();
  readonly result = new Slot();
  readonly provenance = new Slot();
  readonly diff = new Slot();
  /** Places in the list of frames, the one that fitted last at the front. */
  readonly #recent: number[] = [];

  constructor(point: string) {
    this.point = point;
  }

  /** The place of its frame among those of the pack, where it is put if it is new. */
  placeOf(dispatch: DispatchRecord, names: RunNames | undefined, frames: Frame[]): number {
    const recent = this.#recent;
    for (let i = 0; i < recent.length; i++) {
      const place = recent[i] as number;
      if (!isFrameOf(frames[place] as Frame, dispatch, names)) continue;
      if (i > 0) {
        recent[i] = recent[0] as number;
        recent[0] = place;
      }
      return place;
    }
    const place = frames.push(frameOf(dispatch, names)) - 1;
    recent.unshift(place);
    if (recent.length > MAX_FRAMES) recent.pop();
    return place;
  }
}

export class Points {
  #known = new Map<string, PointMemory>();
  #last: PointMemory | undefined;

  of(point: string): PointMemory {
    if (this.#last?.point === point) return this.#last;
    let memory = this.#known.get(point);
    if (memory === undefined) {
      memory = new PointMemory(point);
      this.#known.set(point, memory);
    }
    this.#last = memory;
    return memory;
  }
}
