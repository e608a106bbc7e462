/** Gives every button with an action its token, so that a press finds its way back, after a restart too. */
import type { Button, OutboundMessage } from "../../domain/message.js";
import type { ActionToken, Delivery } from "../../domain/store.js";
import type { Outbound } from "./sending.js";

export function attachTokens(
  delivery: Delivery,
  message: OutboundMessage,
  out: Outbound,
): { message: OutboundMessage; tokens: ActionToken[] } {
  if (!message.buttons?.length) return { message, tokens: [] };
  const tokens: ActionToken[] = [];
  const expiresAt = out.clock.now() + out.config.button_life;
  const deliveryId = delivery.id;
  const buttons = message.buttons.map((row) =>
    row.map((button): Button => {
      const { token: _, ...bare } = button;
      if (!bare.action || bare.url) return bare;
      if (bare.action.kind === "command") out.checkLine(bare.action.line, delivery);
      const token = out.tokens.make();
      tokens.push({ token, deliveryId, action: bare.action, expiresAt });
      return { ...bare, token };
    }),
  );
  return { message: { ...message, buttons }, tokens };
}
