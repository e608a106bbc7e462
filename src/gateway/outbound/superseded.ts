/**
 * An edit that a newer one of the same message follows need not be shown: streamed answers and progress coalesce here. Edits of one
 * message may wait in different queues; none is sent beside an older one, or after a newer one.
 */
import { mayHaveHidden, SUPERSEDED, SUPERSEDED_IN_DOUBT } from "../../domain/deliveries/given-up.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

const MAX_READ = 20;
const FOLLOWS: ReadonlySet<Delivery["status"]> = new Set(["waiting", "sending", "sent"]);

/** `superseded`: a newer change follows or was made. `later`: an older one is on the wire. */
export async function placeAmongChanges(
  delivery: Delivery,
  out: Outbound,
): Promise<"current" | "superseded" | "later"> {
  const { seq, targetId, conversation, operation } = delivery;
  if (targetId === undefined) return "current";
  const newest = await out.store.outbox.list({ targetId, limit: MAX_READ });
  const changes = newest.filter((other) => other.conversation === conversation);
  const queue = queueOf(delivery);
  // A change that was decided on goes first in its own queue.
  const isAhead = (other: Delivery) =>
    other.seq > seq && (delivery.status === "waiting" || other.status === "sent" || queueOf(other) !== queue);
  if (operation === "edit" && changes.some((other) => FOLLOWS.has(other.status) && isAhead(other))) return "superseded";
  const isOnWire = ({ parts }: Delivery) => parts.some((part) => part.status === "sending");
  return changes.some((other) => other.seq < seq && queueOf(other) !== queue && isOpen(other) && isOnWire(other))
    ? "later"
    : "current";
}

/** A newer edit of the same message is sent: its earlier texts that were given up must not be posted any more, and are not counted. */
export async function supersedeDead({ seq, targetId, operation }: Delivery, { store, clock }: Outbound): Promise<void> {
  if (operation !== "edit" || targetId === undefined) return;
  const { outbox } = store;
  const root = await outbox.get(targetId);
  const dead = await outbox.list({ targetId, status: "dead", limit: MAX_READ });
  const held = await outbox.list({ targetId, status: "held", limit: MAX_READ });
  const old = [...(root?.status === "dead" ? [root] : []), ...dead, ...held].filter(
    (other) => other.seq < seq && other.operation !== "delete",
  );
  for (const other of old) {
    const reason = mayHaveHidden(other) ? SUPERSEDED_IN_DOUBT : SUPERSEDED;
    await outbox.finish(other.id, "superseded", reason, clock.now());
  }
}

const isOpen = ({ status }: Delivery) => status === "sending";
