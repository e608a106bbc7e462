/** Our Discord adapter, only replying. */
import { discordConfig } from "../../adapters/discord/config.js";
import { createDiscordAdapter } from "../../adapters/discord/discord.js";
import { discordOptions } from "../../adapters/discord/options.js";
import { runEcho } from "../echo-adapter.js";

const config = discordConfig.parse({ requests_per_second: 1_000_000 });
const { TOKEN: token = "", API_URL } = process.env;
await runEcho(createDiscordAdapter(discordOptions(config, { token, apiUrl: `${API_URL}/api` })));
