/** `send_message`: posts in a chat, where the definition allows it. It pings no one. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { type Address, formatAddress } from "../../../../domain/chat/address.js";
import type { ModelTool } from "../../../../domain/model.js";
import { conversationOf, HERE, placeOf } from "../../../outgoing/chat-address.js";
import type { RunContext } from "../../../run-context.js";
import type { AgentOptions } from "../options.js";

const args = z.strictObject({
  text: z.string().min(1).max(20_000).describe("Markdown."),
  to: z.string().max(500).optional().describe("One of the addresses that you were given; the first when absent."),
});

export function sendMessage(
  { send_to, max_messages }: AgentOptions,
  context: RunContext,
): ModelTool<z.output<typeof args>> {
  const { event, reach, cause, runId } = context;
  const places = (send_to.length > 0 ? send_to : [HERE])
    .map((text) => placeOf(text, event))
    .filter((place): place is Address => place !== undefined);
  const here = conversationOf(event);
  const names = places.map(formatAddress);
  let sent = 0;
  return {
    name: "send_message",
    description:
      names.length === 0
        ? "Sends a message to a chat. No address is open to this run, so that every call fails."
        : `Sends a message to a chat. Open to you: ${names.join(", ")}${here ? ` (the event is about ${formatAddress(here)})` : ""}.`,
    args,
    async run({ text, to }) {
      const name = to === undefined || to === HERE ? names[0] : to;
      const place = places[names.indexOf(name ?? "")];
      if (name === undefined || place === undefined)
        throw new Error(
          `this hook may not send there; expected ${names.length > 0 ? names.join(" or ") : "nothing: no address is open to it"}`,
        );
      if (sent >= max_messages)
        throw new Error(
          `this run has sent ${max_messages} of ${max_messages} messages (max_messages): nothing more is sent`,
        );
      sent++;
      // A run that is repeated after a crash sends the same words once.
      const words = createHash("sha256").update(text).digest("base64url").slice(0, 16);
      const delivery = await reach.send(
        place,
        { text },
        { cause: { ...cause, kind: "agent" }, once: `${runId}:${name}:${words}` },
      );
      return { to: name, delivery, state: "handed to the outbox; hooks may still withhold it" };
    },
  };
}
