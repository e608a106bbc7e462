/** What a hook's own message means to the conversation it goes to, once it is sent: one of us has spoken. For SLA clocks. */
import type { ConversationSight } from "../../domain/alerts/sla.js";
import type { NewDelivery, Store } from "../../domain/store.js";

/** It answers what had come in when it was accepted. None for what only one person sees, for changes of what was said, and for what is not of a hook. */
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
