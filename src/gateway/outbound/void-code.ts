/** An owner code in a message that goes out (a copy, a quote in a card): others read it there, so it is void before the message is sent. */
import type { OutboundMessage } from "../../domain/chat/message.js";
import type { Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

/** The conversation that asked for the code may be shown it. */
export function voidSentCode(
  { id, conversation }: Delivery,
  message: OutboundMessage,
  { claims, logger }: Pick<Outbound, "claims" | "logger">,
): void {
  if (!claims?.hasCode || !textsIn(message).some((text) => claims.overheard(text, conversation))) return;
  logger.warn(
    { delivery: id, conversation },
    "a message with an owner code in it is sent, so the code is void: `npx hookgate claim` prints a new one",
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
