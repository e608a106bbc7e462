/** Corrections of a held message that an operator released: the message itself has their text, and how they end follows from it. */
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

/** Far more than a person makes. */
export const MAX_CORRECTIONS = 100;

/**
 * Why such a correction is not sent as an edit: true however its message ends. Stored as the reason of the correction, and compared:
 * rows of earlier versions have these words. A new wording must still recognise the old one.
 */
export const goesWith = (messageId: string): string => `${messageId} has its text now`;

/**
 * Why the correction was not sent as an edit, once its message was sent. Stored and compared, as `goesWith`: a new wording must still
 * recognise the old one.
 */
const SENT_WITH_CORRECTION = "the message was sent with a correction";

/** The corrections of this message, or of this correction when it posts the message. */
export async function correctedWith({ id, targetId = id, round }: Delivery, { store }: Outbound): Promise<Delivery[]> {
  if (round === 1) return [];
  const edits = await store.outbox.list({ targetId, status: "superseded", limit: MAX_CORRECTIONS });
  return edits.filter(({ reason }) => reason === goesWith(id) || reason === SENT_WITH_CORRECTION);
}

/** Ends its corrections as the message ends. A message that is held or dead may still be sent. */
export async function endCorrections(message: Delivery, ending: string, out: Outbound): Promise<void> {
  const { outbox } = out.store;
  const now = out.clock.now();
  for (const { id } of await correctedWith(message, out))
    if (ending === "sent") await outbox.finish(id, "superseded", SENT_WITH_CORRECTION, now);
    else if (ending === "cancelled" || ending === "suppressed")
      await outbox.finish(id, "cancelled", `${goesWith(message.id)}, and was ${ending}`, now);
}
