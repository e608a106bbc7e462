/** Our adapter under a gateway that only replies, from memory: what the adapter itself costs. */
import { discordConfig } from "../../adapters/discord/config.ts";
import { createDiscordAdapter } from "../../adapters/discord/discord.ts";
import { discordOptions } from "../../adapters/discord/options.ts";
import { addressOf } from "../../src/domain/event.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";

const config = discordConfig.parse({ requests_per_second: 1_000_000 });
const adapter = createDiscordAdapter(
  discordOptions(config, { token: process.env.TOKEN, apiUrl: `${process.env.API_URL}/api` }),
);
const cursors = new Map();
const { signal } = new AbortController();
const OK = { kind: "accepted", acknowledge: { kind: "none" } };
let nonce = 0;

await adapter.run(
  {
    gateway: {
      async accept(event) {
        if (event.kind !== "message") return OK;
        const address = addressOf(event);
        for (const part of adapter.encode({ text: event.message.text }, address, { plain: false }))
          void adapter.send({ kind: "create", address, part, nonce: `n${nonce++}` }, signal);
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
  signal,
);
