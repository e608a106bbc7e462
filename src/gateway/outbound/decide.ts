/** Runs the hooks of a delivery, once: may it go, and as what? The decision is frozen by the caller, so that no retry runs them again. */

import type { OutboundMessage } from "../../domain/chat/message.js";
import { HOOKS_MAY_CRASH } from "../../domain/deliveries/letters.js";
import type { Delivery } from "../../domain/store.js";
import { isolate } from "../../fast/isolate.js";
import { HookFailedError, loggableError } from "../../hooks/errors.js";
import { errorMessage } from "../../lib/errors.js";
import { fireOptions, withTarget } from "./hook-target.js";
import type { Outbound } from "./sending.js";

export type Decision = { kind: "send"; message: OutboundMessage } | Withholding;

interface Withholding {
  kind: "suppressed" | "cancelled" | "held" | "dead";
  reason: string;
  /** The reason for the log, where `reason` has the words of a hook, which may quote the message. */
  logged?: string;
}

export async function decide(delivery: Delivery, message: OutboundMessage, out: Outbound): Promise<Decision> {
  if (delivery.skipsHooks) return { kind: "send", message };
  // Hooks of an earlier process were asked about it and never decided.
  const cutOffs = delivery.asked - out.stops.of(delivery.id);
  const wasCutOff = cutOffs > 0 && delivery.createdAt < out.startedAt;
  if (!wasCutOff || !hasHooks(out)) return askCounted(delivery, message, out);
  if (cutOffs >= MAX_ASKED) return { kind: "held", reason: neverDecided(cutOffs) };
  // Apart from all others: the next crash then counts for the one that may cause it.
  return out.decideSuspect(delivery.id, () => askCounted(delivery, message, out));
}

/**
 * Asks about a reply that is not stored yet. A hook that a crash cuts off is known by the attempt of its event, which is counted on disk.
 */
export function decideUnstored(delivery: Delivery, message: OutboundMessage, out: Outbound): Promise<Decision> {
  if (delivery.skipsHooks) return Promise.resolve({ kind: "send", message });
  if (hasHooks(out)) delivery.asked = 1;
  return askHooks(delivery, message, out);
}

/**
 * How often hooks may end the process while they decide about one delivery. After the first crash, the delivery is decided while no
 * message is handled (`decideSuspect`), so no message is taken for the cause.
 */
export const MAX_ASKED = 3;

const neverDecided = (times: number) =>
  `the gateway ended ${times} times while hooks decided about it: ${HOOKS_MAY_CRASH}`;

export const hasHooks = ({ registry }: Pick<Outbound, "registry">) =>
  registry.isHeard("before_dispatch") || registry.isHeard("message_sending");

/** Counted on disk before they are asked: a hook that a crash cuts off is called again, and knows it. */
async function askCounted(delivery: Delivery, message: OutboundMessage, out: Outbound): Promise<Decision> {
  if (hasHooks(out)) delivery.asked = await out.store.outbox.asking(delivery.id);
  return askHooks(delivery, message, out);
}

async function askHooks(delivery: Delivery, message: OutboundMessage, out: Outbound): Promise<Decision> {
  const { registry } = out;
  const attempt = Math.max(1, delivery.asked);
  out.stops.started(delivery.id, delivery.asked);
  try {
    const dispatch = await registry.claim(
      "before_dispatch",
      withTarget({ text: readableText(message) }, delivery, out),
      fireOptions(delivery, "before_dispatch", attempt),
    );
    if (dispatch.handled) return { kind: "suppressed", reason: why(dispatch.reason, dispatch.claimedBy) };
    const sending = await registry.modify(
      "message_sending",
      withTarget({ message: isolate(message) }, delivery, out),
      fireOptions(delivery, "message_sending", attempt),
    );
    if (sending.cancel) {
      const reason = typeof sending.cancel === "string" ? sending.cancel : "a hook cancelled it";
      return { kind: "cancelled", reason };
    }
    return { kind: "send", message: sending.message ?? message };
  } catch (error) {
    // Fail-closed means: not unguarded. An operator decides. Anything else (hooks that set each other off) will not get better.
    const kind = error instanceof HookFailedError ? "held" : "dead";
    return { kind, reason: errorMessage(error), logged: loggableError(error) };
  } finally {
    out.stops.forget(delivery.id);
  }
}

function why(reason: string | undefined, claimedBy: string | undefined): string {
  const by = claimedBy ? `suppressed by ${claimedBy}` : "suppressed by a hook";
  return reason ? `${by}: ${reason}` : by;
}

/** The text that before_dispatch compares: the text of the message, or the words of the card when there is no text. */
function readableText({ text, card }: OutboundMessage): string {
  if (text !== "" || !card) return text;
  return [card.title, card.text, ...(card.fields ?? []).map(({ name, value }) => `${name}: ${value}`)]
    .filter((line) => line !== undefined)
    .join("\n");
}
