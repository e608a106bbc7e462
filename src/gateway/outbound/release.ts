/** Sends a delivery after all that is held or dead, because an operator decided so. */
import { DELETED_BEFORE, heldWith } from "../../domain/deliveries/given-up.js";
import { queueOf } from "../../domain/deliveries/outbox-queue.js";
import type { Delivery } from "../../domain/store.js";
import { goesWith } from "./corrected-with.js";
import { showEnd } from "./notices/answer-notices.js";
import { reportSent } from "./notices/report-sent.js";
import { isOriginalDeleted } from "./retract.js";
import type { Outbound } from "./sending.js";
import { sightOfReleased } from "./sight-of-copy.js";

/** Far more than are ever made. */
const HELD_EDITS = 100;

/** Edits and deletions that are held because this delivery is, newest first: an operator's decision about it is a decision about them. */
export async function changesHeldWith(deliveryId: string, { store }: Outbound): Promise<Delivery[]> {
  const { targetId = deliveryId } = (await store.outbox.get(deliveryId)) ?? {};
  const held = await store.outbox.list({ status: "held", targetId, limit: HELD_EDITS });
  return held.filter(({ reason }) => reason === heldWith(deliveryId));
}

/** `confirmed`: an ambiguous part did arrive. False when there is nothing to release. */
export async function release(deliveryId: string, confirmed: boolean, out: Outbound): Promise<boolean> {
  const { store, registry, clock, config } = out;
  const now = clock.now();
  const changes = await changesHeldWith(deliveryId, out);
  const before = await store.outbox.get(deliveryId);
  const shown = changes[0]?.message ?? before?.frozen ?? before?.message;
  const sight = before?.status === "held" ? sightOfReleased(before, shown, out) : undefined;
  // Bounded again: later messages of its chat wait behind it.
  const options = { expiresAt: now + config.ttl, confirmed, hasHooks: registry.isHeard("message_sent"), sight };
  const isLetter = before?.status === "held" || before?.status === "dead";
  const isTakenBack =
    changes.some(({ operation }) => operation === "delete") || (isLetter && (await isOriginalDeleted(before, out)));
  const isDeleted = !confirmed && isTakenBack;
  if (isDeleted) await store.outbox.finish(deliveryId, "cancelled", DELETED_BEFORE, now);
  else if (!(await store.outbox.release(deliveryId, now, options))) return false;
  else if (isTakenBack) await store.outbox.cancelRest(deliveryId, DELETED_BEFORE, now, false);
  if (sight && !isDeleted) out.watch?.seen(sight);
  const delivery = await store.outbox.get(deliveryId);
  if (!delivery) return true;
  if (isDeleted) await showEnd(delivery, "cancelled", DELETED_BEFORE, out);
  const [newest] = changes;
  // Hooks decide about the message that is sent, not about its earlier text.
  const isCorrected =
    !confirmed &&
    newest?.message !== undefined &&
    (await store.outbox.correct(deliveryId, {
      message: { replyToId: delivery.message?.replyToId, ...newest.message },
      lostFiles: newest.lostFiles,
    }));
  if (delivery.status === "sent") {
    await showEnd(delivery, "sent", "", out);
    await reportSent(delivery, out);
  }
  // Nothing is left to correct: each correction ends as the message does.
  for (const { id, operation } of changes.reverse())
    if (isDeleted && operation === "edit") await store.outbox.finish(id, "cancelled", DELETED_BEFORE, now);
    else if (isCorrected) await store.outbox.finish(id, "superseded", goesWith(deliveryId), now);
    else await release(id, false, out);
  out.wake(queueOf(delivery));
  return true;
}
