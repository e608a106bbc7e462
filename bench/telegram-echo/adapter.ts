/** Our adapter under a gateway that only replies, from memory: what the adapter itself costs. */
import { telegramConfig } from "../../adapters/telegram/config.js";
import { telegramOptions } from "../../adapters/telegram/options.js";
import { createTelegramAdapter } from "../../adapters/telegram/telegram.js";
import type { Accepted } from "../../src/domain/adapter.js";
import { addressOf } from "../../src/domain/event.js";
import { systemClock } from "../../src/lib/clock.js";
import { silentLogger } from "../../src/lib/logger.js";

const adapter = createTelegramAdapter(
  telegramOptions(telegramConfig.parse({}), { token: process.env.TOKEN ?? "", apiUrl: process.env.API_URL }),
);
const cursors = new Map<string, string>();
const MOST_AT_ONCE = 500;
let running = 0;
const waiting: (() => void)[] = [];
const OK: Accepted = { kind: "accepted", acknowledge: { kind: "none" } };
let nonce = 0;

await adapter.run(
  {
    gateway: {
      async accept(event) {
        if (event.kind !== "message") return OK;
        const address = addressOf(event);
        if (running >= MOST_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
        for (const part of adapter.encode({ text: event.message.text }, address, { plain: false })) {
          running++;
          const { signal } = new AbortController();
          void adapter.send({ kind: "create", address, part, nonce: `n${nonce++}` }, signal).finally(() => {
            running--;
            waiting.shift()?.();
          });
        }
        return OK;
      },
      complete: async () => [],
      commands: () => [],
      state: () => {},
    },
    cursors: {
      get: (key) => cursors.get(key),
      async set(key, value) {
        if (value === undefined) cursors.delete(key);
        else cursors.set(key, value);
      },
      list: (prefix) => [...cursors].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
    },
    clock: systemClock,
    logger: silentLogger,
  },
  new AbortController().signal,
);
