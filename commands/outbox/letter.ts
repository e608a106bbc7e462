/** What `/outbox` is about: a delivery by its id, or an inbox row written `m12` (as in the ids of its dispatches). */
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import { HookgateError } from "../../src/lib/errors.js";
import { badUsage } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { clip } from "../text.js";

export type Letter = { kind: "delivery"; delivery: Delivery } | { kind: "inbox"; row: InboxRow };

export async function findLetter({ store }: CommandDeps, given: unknown): Promise<Letter> {
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "")
    throw badUsage("Missing: the id of a delivery, or m12 for an inbox message.", "/outbox list shows them.");
  const [, inboxId] = /^m(\d{1,15})$/.exec(id) ?? [];
  if (inboxId !== undefined) {
    const row = await store.inbox.get(Number(inboxId));
    if (row) return { kind: "inbox", row };
  } else {
    const delivery = await store.outbox.get(id);
    if (delivery) return { kind: "delivery", delivery };
  }
  throw new HookgateError({
    code: "NOT_FOUND",
    message: `There is no ${inboxId === undefined ? "delivery" : "inbox message"} "${clip(id, 80)}".`,
    hint: "/outbox list shows what waits for an operator; settled ones are deleted after the retention.",
  });
}

/** A part was written to the wire and no answer came: it may have been posted. */
export function isAmbiguous(delivery: Delivery): boolean {
  return delivery.status === "held" && delivery.parts.some((part) => part.status === "sending");
}
