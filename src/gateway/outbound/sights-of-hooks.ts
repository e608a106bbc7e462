/** What a hook's own message means to the conversation it goes to: one of us has spoken. For SLA clocks. */
import type { ConversationSight } from "../../domain/sla.js";
import type { NewDelivery } from "../../domain/store.js";

/** None for what only one person sees, for changes of what was said, and for what is not of a hook. */
export function sightsOfHooks(
  { id, address, operation, cause, visibleTo }: NewDelivery,
  now: number,
): readonly ConversationSight[] {
  const isOfHook = cause.kind === "hook" || cause.kind === "agent";
  if (!isOfHook || operation !== "send" || visibleTo !== undefined) return [];
  return [{ id: `h${id}`, kind: "said", address, messageId: id, at: now, byHook: true }];
}
