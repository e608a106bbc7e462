/**
 * A word instead of silence, in direct messages only: to people with a role when no hook claimed their message, and once to a person
 * without a role, who cannot know what this account is.
 */
import type { Operator } from "../../domain/identity.js";
import type { InboundMessage } from "../../domain/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { note } from "./answer-command.js";
import type { LaneRow } from "./lanes.js";
import type { Inbound } from "./receiving.js";

/** People who were told once; plugins share the store, and their ids cannot begin so. */
const SCOPE = "@introduced";

/** What is answered to a message that nothing else answered. */
export async function unanswered(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<NewDelivery[]> {
  if (!message.isDm || !inbound.config.unanswered_note) return [];
  if (operator.role !== undefined)
    return [note(row, message, undefined, "No hook answered. `/hooks why last` shows why.", inbound)];
  return introduced(row, message, inbound);
}

/** Once per person: the note is stored before it is sent, so a crash in between loses it rather than repeating it. */
export async function introduced(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<NewDelivery[]> {
  if (!message.isDm || !inbound.config.unanswered_note) return [];
  const { keyValue } = inbound.store;
  const person = `${message.platform}:${message.userId}`;
  const deliveryId = `d_m${row.id}a`;
  const known = await keyValue.get(SCOPE, person);
  // The same message, handled again after a crash, introduces again under the same delivery id.
  if (known !== undefined && known !== deliveryId) return [];
  await keyValue.set(SCOPE, person, deliveryId);
  const name = inbound.adapters.name(message.platform) ?? "Hookgate";
  const text = `I am ${name}, an automatic account. I answer people who have a role here, and you have none. To ask for one, send \`/whoami\` and pass the answer on to the person who runs me.`;
  return [note(row, message, undefined, text, inbound)];
}
