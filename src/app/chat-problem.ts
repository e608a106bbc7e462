/** Whether anything can be posted to a chat, as far as the gateway knows. */
import type { Environment } from "../config/env.js";
import { addressProblem, parseAddress } from "../domain/address.js";
import { PLATFORMS, type PlatformName } from "../domain/platform.js";
import { nearest } from "../lib/nearest.js";

/** The gateway's own account on each platform, as far as its token tells. */
export type Accounts = Readonly<Record<PlatformName, string | undefined>>;

/** Both platforms put the account's id in front of the token; Discord encodes it. */
export function accountsOf({ DISCORD_TOKEN, TELEGRAM_TOKEN }: Tokens): Accounts {
  const decoded = Buffer.from(DISCORD_TOKEN?.split(".")[0] ?? "", "base64").toString("latin1");
  const numbered = (text: string | undefined) => (text !== undefined && /^\d+$/.test(text) ? text : undefined);
  return { web: "web", discord: numbered(decoded), telegram: numbered(TELEGRAM_TOKEN?.split(":")[0]) };
}

type Tokens = Pick<Environment, "DISCORD_TOKEN" | "TELEGRAM_TOKEN">;

/** Why nothing can be posted there; undefined when it can, as far as one knows. Only the web chat's rooms are known, see `webRooms`. */
export function chatProblem(
  text: string,
  on: readonly PlatformName[],
  rooms: ReadonlySet<string> | undefined,
  accounts: Accounts,
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
