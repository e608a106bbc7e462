/** Shows a hook's own message to the conversation that it goes to, once it is sent: one of us has spoken. For SLA clocks. */
import type { ConversationSight } from "../../domain/alerts/sla.js";
import type { NewDelivery, Store } from "../../domain/store.js";

/**
 * The message answers everything that had come in when it was accepted. Undefined for a message that only one person sees, for changes of
 * messages, and for a delivery that is not of a hook.
 */
export async function sightOfHook(
  delivery: NewDelivery,
  now: number,
  { inbox }: Pick<Store, "inbox">,
): Promise<ConversationSight | undefined> {
  const { id, address, operation, cause, visibleTo } = delivery;
  const isOfHook = cause.kind === "hook" || cause.kind === "agent";
  if (!isOfHook || operation !== "send" || visibleTo !== undefined) return undefined;
  const inboxId = await inbox.lastId();
  return { id: `h${id}`, kind: "said", address, messageId: id, at: now, byHook: true, inboxId };
}
