/** The ways a delivery ends without a request, or with none that posted it; and who is notified. */
import type { ConversationSight } from "../../domain/alerts/sla.js";
import { saysInDoubt } from "../../domain/deliveries/given-up.js";
import type { Delivery } from "../../domain/store.js";
import { showEnd } from "./notices/answer-notices.js";
import { notifyAsker } from "./notices/notify-asker.js";
import { reportFailed } from "./notices/report-failed.js";
import type { Outbound, Then } from "./sending.js";

type Ending = "held" | "suppressed" | "cancelled" | "superseded" | "dead" | "sent";

/**
 * Settles it under this status. `delivery_failed` fires for deliveries that were given up or cancelled; a held one is not given up.
 * `logged`: the reason for the log, where `reason` has the words of a hook. `sight`: its meaning for SLA clocks.
 */
export async function finish(
  delivery: Delivery,
  ending: Ending,
  reason: string,
  out: Outbound,
  { logged = reason, sight }: { logged?: string | undefined; sight?: ConversationSight | undefined } = {},
): Promise<Then> {
  const isGivenUp = ending === "dead" || ending === "held";
  const status = delivery.isCourtesy && isGivenUp ? "cancelled" : ending;
  // The person whose words it passes on, such as an operator who answered a customer through a copy, has to know its end. An operator
  // discards held deliveries.
  if (status !== "superseded" && delivery.status !== "held") await showEnd(delivery, status, reason, out);
  const now = out.clock.now();
  // Without any answer, a person who ran a command does not know whether it was done, and Discord shows "thinking…" for ever.
  const { cause, answers } = delivery;
  const isAnswer = answers !== undefined && (cause.kind === "command" || (cause.kind === "reply" && status === "dead"));
  const isUnknown = status === "held" && saysInDoubt(reason);
  // The person of a discarded delivery was notified when it was held.
  if ((status === "dead" || isUnknown) && isAnswer && delivery.status !== "held")
    await notifyAsker(delivery, status, reason, out);
  const hasFailed = status === "dead" || status === "cancelled";
  const hasHooks = hasFailed && out.registry.isHeard("delivery_failed");
  await out.store.outbox.finish(delivery.id, status, reason, now, hasHooks, sight);
  if (sight) out.watch?.seen(sight);
  out.observe.deliverySettled?.(delivery.address.platform, status, now - delivery.createdAt, delivery.cause);
  if (status === "held" || status === "dead")
    out.logger.warn(
      { delivery: delivery.id, conversation: delivery.conversation, status, reason: logged },
      "delivery not sent",
    );
  if (hasFailed) reportFailed(delivery, reason, out);
  return "next";
}
