/** The outcome of handling an event. */
import type { NewPending } from "../../domain/pending.js";
import type { NewDelivery } from "../../domain/store.js";

export type Handling =
  | {
      kind: "settled";
      /** `command`, `claimed`, `denied`, `returned`, `forwarded`, `routed`, `unrouted`, `noted`, … */
      outcome: string;
      claimedBy?: string;
      /** The reason, where the outcome does not contain it. */
      reason?: string;
      deliveries: readonly NewDelivery[];
      /** The work that is still to be done about it. */
      pending?: readonly NewPending[];
      /** A command was asked for something that it could not do. */
      isFailed?: true;
    }
  /** A hook put it off. */
  | { kind: "deferred"; delayMs: number; by: string };

export function settled(outcome: string, deliveries: readonly NewDelivery[] = [], claimedBy?: string): Handling {
  return claimedBy === undefined
    ? { kind: "settled", outcome, deliveries }
    : { kind: "settled", outcome, deliveries, claimedBy };
}
