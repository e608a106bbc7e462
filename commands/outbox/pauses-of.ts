/** The pauses that keep a delivery from being sent for a while: those of its chat, its bot account or its platform. */
import { type Address, parseAddress } from "../../src/domain/chat/address.js";
import { type Delivery, isUnderWay, type Pause } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, code } from "../show/text.js";
import { conversationText } from "../who.js";

export async function pausesOf(deps: CommandDeps, delivery: Delivery): Promise<Pause[]> {
  if (!isUnderWay(delivery)) return [];
  const pauses = holding((await deps.status()).pauses, delivery.address, deps.clock.now());
  // A deletion needs no place in the minute of a group.
  return delivery.operation === "delete" ? pauses.filter(({ isOwnLimit }) => !isOwnLimit) : pauses;
}

/** The pauses that keep a chat from being sent to; the one that ends last comes first. */
export function holding(pauses: readonly Pause[], at: Address, now: number): Pause[] {
  return pauses
    .filter(({ key, until, isPutOff }) => until > now && !isPutOff && holds(key, at)) // what a hook put off keeps nothing from being sent
    .sort((a, b) => b.until - a.until);
}

/** ` It waits until 14:03:12 UTC, because General is paused: /pauses.`; empty when nothing keeps it. Markdown. */
export async function waitText(deps: CommandDeps, id: string): Promise<string> {
  const delivery = await deps.store.outbox.get(id);
  const [pause] = delivery ? await pausesOf(deps, delivery) : [];
  if (pause === undefined) return "";
  return ` It waits until ${clockTime(pause.until, deps.clock.now())} UTC, because ${conversationText(deps, pause.key)} is paused: ${code("/pauses")}.`;
}

/** A pause is of a platform, of a bot account, or of a chat with all its threads. */
function holds(key: string, { platform, botId, chatId }: Address): boolean {
  const of = parseAddress(key);
  return of === undefined
    ? key === platform || key === `${platform}:${botId}`
    : of.platform === platform && of.botId === botId && of.chatId === chatId;
}
