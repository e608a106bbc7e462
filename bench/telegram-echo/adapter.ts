/** Our Telegram adapter, only replying. */
import { telegramConfig } from "../../adapters/telegram/config.js";
import { telegramOptions } from "../../adapters/telegram/options.js";
import { createTelegramAdapter } from "../../adapters/telegram/telegram.js";
import { runEcho } from "../echo-adapter.js";

const { TOKEN: token = "", API_URL: apiUrl } = process.env;
await runEcho(createTelegramAdapter(telegramOptions(telegramConfig.parse({}), { token, apiUrl })));
