/** What a hook's own message means to the conversation it goes to, once it is sent: one of us has spoken. For SLA clocks. */
import type { ConversationSight } from "../../domain/sla.js";
import type { NewDelivery } from "../../domain/store.js";

/** None for what only one person sees, for changes of what was said, and for what is not of a hook. */
export function sightOfHook(delivery: NewDelivery, now: number): ConversationSight | undefined {
  const { id, address, operation, cause, visibleTo } = delivery;
  const isOfHook = cause.kind === "hook" || cause.kind === "agent";
  if (!isOfHook || operation !== "send" || visibleTo !== undefined) return undefined;
  return { id: `h${id}`, kind: "said", address, messageId: id, at: now, byHook: true };
}
