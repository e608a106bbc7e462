/** Limits how many runs are under way at once: over all hooks, and of each. Waiting runs start in order, as soon as there is room. */
import type { Definition } from "../definition/definition.js";
import { capRefusal, type Refusal } from "./refusal.js";

type Limits = Pick<Definition, "id" | "concurrency">;
type Waits = "not" | "for the cap" | "for both";

export interface Slot {
  kind: "slot";
  free(): void;
}

interface Waiter {
  limits: Limits;
  waits: Waits;
  settle(result: Slot | Refusal): void;
}

export class Slots {
  readonly #cap: () => number;
  readonly #running = new Map<string, number>();
  #total = 0;
  #waiters: Waiter[] = [];

  constructor(cap: () => number) {
    this.#cap = cap;
  }

  get total(): number {
    return this.#total;
  }

  running(hookId: string): number {
    return this.#running.get(hookId) ?? 0;
  }

  refusal(limits: Limits): Refusal | undefined {
    if (this.#total >= this.#cap()) return capRefusal(this.#running, this.#cap());
    return this.busy(limits);
  }

  /** The hook is busy with its own runs; other hooks do not count. */
  busy({ id, concurrency }: Limits): Refusal | undefined {
    const running = this.running(id);
    if (running >= concurrency)
      return { kind: "refused", gate: "concurrency", reason: `${running} of ${concurrency} running` };
    return undefined;
  }

  /** `onWait`: called when the run has to wait, with the refusal that keeps it. */
  take(
    limits: Limits,
    waits: Waits,
    signal: AbortSignal,
    onWait: (refusal: Refusal | undefined) => void,
  ): Promise<Slot | Refusal> {
    const result = this.#try(limits, waits);
    if (result !== undefined) return Promise.resolve(result);
    onWait(this.refusal(limits));
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        limits,
        waits,
        settle: (settled) => {
          signal.removeEventListener("abort", onAbort);
          resolve(settled);
        },
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.push(waiter);
    });
  }

  /** Undefined: wait. */
  #try(limits: Limits, waits: Waits): Slot | Refusal | undefined {
    const refusal = this.refusal(limits);
    if (refusal === undefined) return this.#occupy(limits.id);
    const isWaitedOut = waits === "for both" || (waits === "for the cap" && refusal.gate === "cap");
    return isWaitedOut ? undefined : refusal;
  }

  #occupy(id: string): Slot {
    this.#total++;
    this.#running.set(id, this.running(id) + 1);
    let isFree = false;
    return {
      kind: "slot",
      free: () => {
        if (isFree) return;
        isFree = true;
        this.#total--;
        const rest = this.running(id) - 1;
        if (rest === 0) this.#running.delete(id);
        else this.#running.set(id, rest);
        this.admit();
      },
    };
  }

  /** There is room, or may be more than before. */
  admit(): void {
    for (const waiter of [...this.#waiters]) {
      if (this.#total >= this.#cap()) return;
      const result = this.#try(waiter.limits, waiter.waits);
      if (result === undefined) continue;
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.settle(result);
    }
  }
}
