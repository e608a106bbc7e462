/** What came of handling an event. */
import type { NewPending } from "../../domain/pending.js";
import type { NewDelivery } from "../../domain/store.js";

export type Handling =
  | {
      kind: "settled";
      /** `command`, `claimed`, `denied`, `returned`, `forwarded`, `routed`, `unrouted`, `noted`, … */
      outcome: string;
      claimedBy?: string;
      /** Why, where the outcome does not say it all. */
      reason?: string;
      deliveries: readonly NewDelivery[];
      /** What is still to be done about it. */
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
