/**
 * A word instead of silence. In direct messages: to people with a role when no hook claimed their message, and once to a person without a
 * role, who cannot know what this account is. In rooms: to operators who mentioned the gateway.
 */
import { formatAddress } from "../../domain/address.js";
import { isUnfinished } from "../../domain/automation.js";
import { hasRole, type Operator } from "../../domain/identity.js";
import { rootOf } from "../../domain/journal.js";
import type { InboundMessage } from "../../domain/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { note, orOpenly } from "./answer-command.js";
import type { LaneRow } from "./lanes.js";
import { causeId, type Inbound, messageAddress } from "./receiving.js";

/** People who were told once; plugins share the store, and their ids cannot begin so. */
const SCOPE = "@introduced";

/** A message is handled soon after its hooks started, so its runs and their deliveries are among the newest. */
const RECENT = 100;

/** When operators were told in a room, by its address. */
const ROOMS = "@unanswered";
const ROOM_PAUSE_MS = 3_600_000;

/** What is answered to a message that nothing else answered. */
export async function unanswered(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<NewDelivery[]> {
  if (!inbound.config.unanswered_note || (await isAnsweredByRun(row, message, inbound))) return [];
  if (!message.isDm) return inRoom(row, message, operator, inbound);
  if (operator.role !== undefined)
    return [note(row, message, undefined, "No hook answered. `/hooks why last` shows why.", inbound)];
  return introduced(row, message, inbound);
}

/** A hook in the background claims nothing, and still answers: it may be at work, or have posted in the conversation. */
async function isAnsweredByRun(row: LaneRow, message: InboundMessage, { store }: Inbound): Promise<boolean> {
  const recent = await store.automation.runs.list({ limit: RECENT });
  const started = recent.filter(({ dispatchId }) => dispatchId !== undefined && rootOf(dispatchId) === causeId(row));
  if (started.length === 0 || started.some(({ status }) => isUnfinished(status))) return started.length > 0;
  const runs = new Set(started.map(({ id }) => id));
  const posted = await store.outbox.list({ conversation: formatAddress(messageAddress(message)), limit: RECENT });
  return posted.some(({ cause }) => cause.kind === "hook" && runs.has(cause.id));
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

/** An operator who mentions the gateway in a room and meets silence: a private note, once per hour and room. */
async function inRoom(
  row: LaneRow,
  message: InboundMessage,
  { role }: Operator,
  inbound: Inbound,
): Promise<NewDelivery[]> {
  if (!message.isGroupMention || !hasRole(role, "operator")) return [];
  const { keyValue } = inbound.store;
  const { platform, botId, chatId } = message;
  const room = formatAddress({ platform, botId, chatId });
  const known = (await keyValue.get(ROOMS, room)) as { rowId: number; at: number } | undefined;
  const now = inbound.clock.now();
  // The same message, handled again after a crash, is answered again under the same delivery id.
  if (known && known.rowId !== row.id && Math.abs(now - known.at) < ROOM_PAUSE_MS) return [];
  await keyValue.set(ROOMS, room, { rowId: row.id, at: now });
  // The note may arrive in a direct message, where `last` is another message: so it names this one.
  const text = `No hook answered your message in the room. \`/hooks why m${row.id}\` shows why.`;
  const told = note(row, message, undefined, text, inbound);
  return [orOpenly(told, message, messageAddress(message), inbound, text)];
}
