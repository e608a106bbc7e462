/** The accounts that the gateway's bots have. */
import type { PlatformName } from "../domain/chat/platform.js";
import type { Environment } from "./env.js";

/** The gateway's own account on each platform, as far as its token shows it. */
export type OwnAccounts = Readonly<Record<PlatformName, string | undefined>>;

/** Both platforms put the account's id in front of the token; Discord encodes it. */
export function ownAccounts({ DISCORD_TOKEN, TELEGRAM_TOKEN }: Tokens): OwnAccounts {
  const decoded = Buffer.from(DISCORD_TOKEN?.split(".")[0] ?? "", "base64").toString("latin1");
  const numbered = (text: string | undefined) => (text !== undefined && /^\d+$/.test(text) ? text : undefined);
  return { web: "web", discord: numbered(decoded), telegram: numbered(TELEGRAM_TOKEN?.split(":")[0]) };
}

type Tokens = Pick<Environment, "DISCORD_TOKEN" | "TELEGRAM_TOKEN">;
