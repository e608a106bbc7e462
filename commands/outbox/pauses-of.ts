/** What keeps a delivery from being sent for a while: pauses of its chat, its bot account or its platform. */
import { parseAddress } from "../../src/domain/address.js";
import { type Delivery, isUnderWay, type Pause } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";

export async function pausesOf(deps: CommandDeps, delivery: Delivery): Promise<Pause[]> {
  if (!isUnderWay(delivery)) return [];
  const now = deps.clock.now();
  const { pauses } = await deps.status();
  // A message that a hook put off keeps nothing from being sent.
  return pauses.filter(({ key, until, isPutOff }) => until > now && !isPutOff && holds(key, delivery.address));
}

/** A pause is of a platform, of a bot account, or of a chat with all its threads. */
function holds(key: string, { platform, botId, chatId }: Delivery["address"]): boolean {
  const of = parseAddress(key);
  return of === undefined
    ? key === platform || key === `${platform}:${botId}`
    : of.platform === platform && of.botId === botId && of.chatId === chatId;
}
