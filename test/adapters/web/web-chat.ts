/** A web chat on a real store, with the inbox of that store behind its gateway port. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WebPerson, WebPort } from "../../../adapters/web/port.js";
import { createWebAdapter, type WebAdapter } from "../../../adapters/web/web.js";
import type { Acknowledgement, AdapterState, SendOperation, SendResult } from "../../../src/domain/chat/adapter.js";
import { formatAddress } from "../../../src/domain/chat/address.js";
import { addressOf, type InboundEvent } from "../../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../../src/domain/chat/message.js";
import type { Store } from "../../../src/domain/store.js";
import { HookgateError } from "../../../src/lib/errors.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { parseDestinations } from "../../../src/lib/outgoing/destinations.js";
import { storeConfig } from "../../../src/store/config.js";
import { openStore } from "../../../src/store/open.js";
import { ManualClock } from "../../support/manual-clock.js";

export const ada: WebPerson = { id: "1", name: "Ada" };
export const bob: WebPerson = { id: "2", name: "Bob" };

export interface WebChat {
  adapter: WebAdapter;
  port: WebPort;
  store: Store;
  clock: ManualClock;
  /** Accepted for the first time, in order. */
  events: InboundEvent[];
  /** How often the gateway was offered something, duplicates included. */
  offered(): number;
  states: AdapterState[];
  /** What accept answers an action with. */
  acknowledge: Acknowledgement;
  /** While true the gateway cannot take anything. */
  gatewayFails: boolean;
  /** Ends it without a word, as a crash does: nothing is saved, nothing waited for. Starts it again on the same disk. */
  crash(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  post(message: OutboundMessage, more?: Partial<Extract<SendOperation, { kind: "create" }>>): Promise<SendResult>;
}

export async function openWebChat(): Promise<WebChat & { close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-web-"));
  const clock = new ManualClock();
  const { durability, retention, dedup_for } = storeConfig.parse({});
  const store = await openStore({
    url: `file:${join(folder, "test.db")}`,
    durability,
    retention: { ...retention, dedup_for },
    clock,
    logger: silentLogger,
  });
  let ending = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let offered = 0;
  let nonces = 0;
  /** Raised by a crash: what an earlier life still does is nobody's any more. */
  let life = 0;

  const chat: WebChat & { close(): Promise<void> } = {
    adapter: make(),
    get port() {
      return chat.adapter.port;
    },
    store,
    clock,
    events: [],
    offered: () => offered,
    states: [],
    acknowledge: { kind: "none" },
    gatewayFails: false,
    async start() {
      ending = new AbortController();
      const mine = ++life;
      const before = chat.states.length;
      const cursors = store.cursors("web");
      running = chat.adapter.run(
        {
          clock,
          logger: silentLogger,
          cursors: { ...cursors, set: async (key, value) => (mine === life ? cursors.set(key, value) : undefined) },
          gateway: {
            pause: () => undefined,
            paused: () => undefined,
            async accept(event) {
              offered++;
              if (chat.gatewayFails)
                throw new HookgateError({ code: "STORE_FULL", message: "the disk is full", retryable: true });
              const { duplicate } = await store.inbox.accept(
                event,
                formatAddress(addressOf(event)),
                clock.now(),
                false,
              );
              if (!duplicate) chat.events.push(event);
              return { kind: duplicate ? "duplicate" : "accepted", acknowledge: chat.acknowledge };
            },
            complete: async ({ typed }) => [{ name: `${typed}…`, value: typed }],
            commands: () => [{ name: "help", summary: "What one can do", options: [], role: "anyone" }],
            state: (state) => void chat.states.push(state),
          },
        },
        ending.signal,
      );
      while (!chat.states.slice(before).some(({ phase }) => phase === "online"))
        await Promise.race([running, new Promise((resolve) => setImmediate(resolve))]);
    },
    async stop() {
      ending.abort();
      await running;
    },
    async crash() {
      life++;
      ending.abort();
      chat.gatewayFails = false;
      await running;
      chat.adapter = make();
      await chat.start();
    },
    post: (message, more = {}) => {
      const address = { platform: "web", botId: "web", chatId: "general" };
      const [part] = chat.adapter.encode(message, address, { plain: false });
      if (!part) throw new Error("no part");
      return chat.adapter.send(
        { kind: "create", address, part, nonce: `n${++nonces}`, ...more },
        new AbortController().signal,
      );
    },
    async close() {
      await chat.stop();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  function make(): WebAdapter {
    return createWebAdapter({
      chat: store.web,
      name: "Hookgate",
      rooms: [{ id: "general", name: "General" }],
      maxText: 1000,
      files: {
        allow: parseDestinations(["127.0.0.1"]),
        maxBytes: 100,
        keep: async (bytes) => `data:;base64,${Buffer.from(bytes).toString("base64")}`,
      },
    });
  }

  await chat.start();
  return chat;
}
