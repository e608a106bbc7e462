/**
 * @discordjs/ws with four things that it lacks:
 *  - events in the order in which they came: its own handling of READY takes longer than that of later events, which overtake it;
 *  - a malformed frame is reported and skipped: its handler is not awaited, so an exception in it would end the process;
 *  - the end of a session is distinguished from a broken connection: it forgets the session for both;
 *  - closing really ends it, also half-way through a connect.
 *
 * These need members of the shard that its types call private (`frames.ts`). The package is pinned exactly, and a missing member is
 * refused at connect.
 */

import {
  type CreateWebSocketManagerOptions,
  type IShardingStrategy,
  managerToFetchingStrategyOptions,
  type SessionInfo,
  SimpleContextFetchingStrategy,
  WebSocketManager,
  WebSocketShard,
  type WebSocketShardDestroyOptions,
  WebSocketShardEvents,
} from "@discordjs/ws";
import { isRecord } from "../../../src/lib/record.js";
import type { Caller } from "../caller.js";
import { type FrameEvents, tapFrames } from "./frames.js";

export interface SocketEvents extends FrameEvents {
  /** The session to resume. */
  session(shardId: number): SessionInfo | null;
  /** READY or RESUMED. */
  online(shardId: number): void;
  closed(shardId: number, code: number): void;
}

export interface Socket {
  /** Resolves when every shard is online. May stay pending for ever: the caller keeps the watch. */
  connect(): Promise<void>;
  /** Ends every connection so that the session can be resumed later. */
  close(): Promise<void>;
}

/** Anything but 1000 and 1001, which would end the session. https://discord.com/developers/docs/events/gateway#initiating-a-disconnect */
const KEEP_SESSION = 4000;
/** A peer that does not answer our close frame is cut off after this. */
const CLOSE_WITHIN_MS = 1000;

export function openSocket(options: { token: string; intents: number; caller: Caller }, events: SocketEvents): Socket {
  const shards = new Map<number, WebSocketShard>();
  let isClosed = false;
  const open: SocketEvents = {
    ...events,
    // Events that still come in while closing are not started: Discord replays them to the next connection.
    dispatch: (shardId, payload) => {
      if (!isClosed) events.dispatch(shardId, payload);
    },
    unread: (shardId, sequence, text) => {
      if (!isClosed) events.unread(shardId, sequence, text);
    },
    sessionStarted: (shardId, info) => {
      if (!isClosed) events.sessionStarted(shardId, info);
    },
  };
  const manager = new WebSocketManager({
    token: options.token,
    intents: options.intents,
    // All that it asks for is `GET /gateway/bot`.
    rest: { get: options.caller.get } as unknown as CreateWebSocketManagerOptions["rest"],
    // The caller's own watch decides; these only end a connection that it has given up on.
    helloTimeout: null,
    readyTimeout: null,
    handshakeTimeout: 10_000,
    // After closing, a reconnect that was on its way stops here for good.
    retrieveSessionInfo: (shardId) => (isClosed ? new Promise<never>(() => {}) : events.session(shardId)),
    updateSessionInfo: () => {}, // its sequence runs ahead of the events on disk; the events below keep ours
    buildStrategy: (owner) => tappedStrategy(owner, shards, open),
  });
  manager.on(WebSocketShardEvents.Ready, ({ shardId }) => events.online(shardId));
  manager.on(WebSocketShardEvents.Resumed, ({ shardId }) => events.online(shardId));
  manager.on(WebSocketShardEvents.Closed, ({ code, shardId }) => {
    if (!isClosed) events.closed(shardId, code);
  });
  manager.on(WebSocketShardEvents.Error, () => {}); // each is followed by Closed with its code, and we act on that

  return {
    connect: () => manager.connect(),
    async close() {
      isClosed = true;
      const gone = Promise.allSettled([...shards.values()].map((shard) => shard.destroy({ code: KEEP_SESSION })));
      const limit = new Promise((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS).unref());
      await Promise.race([gone, limit]);
      for (const shard of shards.values()) cutOff(shard);
    },
  };
}

/** Does the same as SimpleShardingStrategy, with every shard tapped. */
function tappedStrategy(
  manager: WebSocketManager,
  shards: Map<number, WebSocketShard>,
  events: SocketEvents,
): IShardingStrategy {
  return {
    async spawn(ids) {
      const options = await managerToFetchingStrategyOptions(manager);
      for (const id of ids) {
        const shard = new WebSocketShard(new SimpleContextFetchingStrategy(manager, options), id);
        tapFrames(shard, options.shardCount, events);
        shard.on(WebSocketShardEvents.Ready, (payload) =>
          manager.emit(WebSocketShardEvents.Ready, { ...payload, shardId: id }),
        );
        shard.on(WebSocketShardEvents.Resumed, () => manager.emit(WebSocketShardEvents.Resumed, { shardId: id }));
        shard.on(WebSocketShardEvents.Closed, (payload) =>
          manager.emit(WebSocketShardEvents.Closed, { ...payload, shardId: id }),
        );
        shard.on(WebSocketShardEvents.Error, (payload) =>
          manager.emit(WebSocketShardEvents.Error, { ...payload, shardId: id }),
        );
        shards.set(id, shard);
      }
    },
    async connect() {
      await Promise.all([...shards.values()].map((shard) => shard.connect()));
    },
    async destroy(options?: Omit<WebSocketShardDestroyOptions, "recover">) {
      await Promise.all([...shards.values()].map((shard) => shard.destroy(options)));
      shards.clear();
    },
    async send(shardId, payload) {
      await shards.get(shardId)?.send(payload);
    },
    async fetchStatus() {
      throw new Error("not used");
    },
  };
}

/** A connection that is still opening is left alone by the shard's destroy; it would keep the process alive. */
function cutOff(shard: WebSocketShard): void {
  const connection: unknown = Reflect.get(shard, "connection");
  if (!isRecord(connection) || typeof connection.terminate !== "function") return;
  connection.onerror = () => {}; // being cut off while opening is an error event
  connection.terminate();
}
