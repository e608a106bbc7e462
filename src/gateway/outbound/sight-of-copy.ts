/** Shows what hooks did with the copy of a message: that decides which words of it alerts may quote. For SLA clocks. */
import type { ConversationSight } from "../../domain/alerts/sla.js";
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

const WITHHELD = "(withheld by a hook)";

/** `held`: an operator may still release it. */
export function sightOfWithheld(copy: Delivery, ending: string, out: Outbound): ConversationSight | undefined {
  if (ending === "dead") return undefined;
  return sightOfCopy(copy, ending === "held" && copy.operation === "send" ? "held" : "withheld", WITHHELD, out);
}

/** `message`: the message that the copy shows now. */
export const sightOfReleased = (copy: Delivery, message: OutboundMessage | undefined, out: Outbound) =>
  sightOfCopy(copy, "released", withoutAuthor(message?.text ?? ""), out);

function sightOfCopy(
  { id, round, mirrors }: Delivery,
  copy: ConversationSight["copy"],
  text: string,
  { watch, moves, clock }: Outbound,
): ConversationSight | undefined {
  if (!mirrors || !watch?.isWanted()) return undefined;
  const address = moves.current(mirrors.address);
  const { messageId } = mirrors;
  return { id: `${id}:${copy}:${round}`, kind: "edited", address, messageId, at: clock.now(), text, copy };
}

/** Removes the author's name that a copy starts with. */
const withoutAuthor = (text: string) => text.replace(/^\*\*(?:\\.|[^*\\])+\*\*[^:\n]*:\s?/, "");
