/** Whether anything can be posted to a chat, as far as the gateway knows. */
import type { OwnAccounts } from "../../config/own-accounts.js";
import { addressProblem, parseAddress } from "../../domain/chat/address.js";
import { PLATFORMS, type PlatformName } from "../../domain/chat/platform.js";
import { nearest } from "../../lib/validation/nearest.js";

/** Why nothing can be posted there; undefined when it can, as far as is known. Only the web chat's rooms are known, see `webRooms`. */
export function chatProblem(
  text: string,
  on: readonly PlatformName[],
  rooms: ReadonlySet<string> | undefined,
  accounts: OwnAccounts,
): string | undefined {
  const [named = "", bot = "", room = ""] = text.split(":");
  const platform = PLATFORMS.find((known) => known === named);
  if (platform === undefined) return undefined;
  const account = accounts[platform];
  const at = parseAddress(text);
  const misnamed = at && addressProblem(at);
  if (misnamed !== undefined) return `${text} cannot be reached: ${misnamed}`;
  const isOff = !on.some((one) => one === platform);
  if (!isOff && account !== undefined && bot !== "" && bot !== account)
    return `${text} cannot be reached: the gateway's account on ${platform} is ${account}, not ${bot}`;
  if (platform !== "web" || rooms === undefined || rooms.has(room))
    return isOff ? `${text} cannot be reached: ${platform} is off` : undefined;
  const near = nearest(room, rooms);
  return `there is no room "${room}" in the web chat${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}
