/** One of our adapters under a gateway that only replies, from memory: what the adapter itself costs. */
import type { Accepted, Adapter, CursorStore } from "../src/domain/chat/adapter.js";
import { addressOf } from "../src/domain/chat/event.js";
import { silentLogger } from "../src/lib/logger.js";
import { systemClock } from "../src/lib/time/clock.js";

const OK: Accepted = { kind: "accepted", acknowledge: { kind: "none" } };
const MOST_AT_ONCE = 500;

/** Never ends: the benchmark kills the process. */
export async function runEcho(adapter: Adapter): Promise<void> {
  let running = 0;
  const waiting: (() => void)[] = [];
  let nonce = 0;
  const { signal } = new AbortController();
  await adapter.run(
    {
      gateway: {
        pause: () => undefined,
        paused: () => undefined,
        async accept(event) {
          if (event.kind !== "message") return OK;
          const address = addressOf(event);
          if (running >= MOST_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
          for (const part of adapter.encode({ text: event.message.text }, address, { plain: false })) {
            running++;
            const { signal: own } = new AbortController();
            void adapter.send({ kind: "create", address, part, nonce: `n${nonce++}` }, own).finally(() => {
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
      cursors: memoryCursors(),
      clock: systemClock,
      logger: silentLogger,
    },
    signal,
  );
}

function memoryCursors(): CursorStore {
  const cursors = new Map<string, string>();
  return {
    get: (key) => cursors.get(key),
    async set(key, value) {
      if (value === undefined) cursors.delete(key);
      else cursors.set(key, value);
    },
    list: (prefix) => [...cursors].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
  };
}
