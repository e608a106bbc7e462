/**
 * @discordjs/ws with four things that it lacks:
 *  - events in the order in which they came: its own handling of READY takes longer than that of what follows, which overtakes it;
 *  - a malformed frame is reported and skipped: its handler is not awaited, so an exception in it would end the process;
 *  - the end of a session is told apart from a broken connection: it forgets the session for both;
 *  - closing really ends it, also half-way through a connect.
 *
 * That needs two members of the shard that its types call private. The package is pinned exactly, and a missing member is
 * refused at connect.
 */
import type { REST } from "@discordjs/rest";
import {
  type IShardingStrategy,
  managerToFetchingStrategyOptions,
  type SessionInfo,
  SimpleContextFetchingStrategy,
  WebSocketManager,
  WebSocketShard,
  type WebSocketShardDestroyOptions,
  WebSocketShardEvents,
} from "@discordjs/ws";
import { GatewayDispatchEvents, type GatewayDispatchPayload, GatewayOpcodes } from "discord-api-types/v10";
import { HookgateError } from "../../src/lib/errors.js";

export interface SocketEvents {
  /** The session to resume. */
  session(shardId: number): SessionInfo | null;
  sessionStarted(shardId: number, info: SessionInfo): void;
  /** Discord said that the session is over (op 9 false). */
  sessionEnded(shardId: number): void;
  /** A frame came in; malformed ones too. */
  frame(shardId: number, op: number): void;
  malformed(shardId: number, why: string): void;
  dispatch(shardId: number, payload: GatewayDispatchPayload): void;
  /** There are events before it: one that is not needed at once may wait unread. */
  isWaiting(): boolean;
  unread(shardId: number, sequence: number, text: string): void;
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

export function openSocket(options: { token: string; intents: number; rest: REST }, events: SocketEvents): Socket {
  const shards = new Map<number, WebSocketShard>();
  let isClosed = false;
  const open: SocketEvents = {
    ...events,
    // What still comes in while closing is not begun: it is replayed to the next connection.
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
    ...options,
    // The caller's own watch decides; these only end what it has given up on.
    helloTimeout: null,
    readyTimeout: null,
    handshakeTimeout: 10_000,
    // After closing, a reconnect that was on its way stops here for good.
    retrieveSessionInfo: (shardId) => (isClosed ? new Promise<never>(() => {}) : events.session(shardId)),
    updateSessionInfo: () => {}, // its sequence runs ahead of what is on disk; the events below keep ours
    buildStrategy: (owner) => tappedStrategy(owner, shards, open),
  });
  manager.on(WebSocketShardEvents.Ready, ({ shardId }) => events.online(shardId));
  manager.on(WebSocketShardEvents.Resumed, ({ shardId }) => events.online(shardId));
  manager.on(WebSocketShardEvents.Closed, ({ code, shardId }) => {
    if (!isClosed) events.closed(shardId, code);
  });
  manager.on(WebSocketShardEvents.Error, () => {}); // each is followed by Closed with its code, which is what we act on

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

/** What SimpleShardingStrategy does, with every shard tapped. */
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

/** Takes every frame as it is parsed. The shard itself sees only what it needs for its connection. */
function tapFrames(shard: WebSocketShard, shardCount: number, events: SocketEvents): void {
  const unpack: unknown = Reflect.get(shard, "unpackMessage");
  if (typeof unpack !== "function")
    throw new HookgateError({
      code: "DISCORD_LIBRARY",
      message: "this version of @discordjs/ws is not the one that the adapter was written for",
      hint: "Install the exact version of package.json (npm ci).",
    });
  const tapped = async (data: unknown, isBinary: boolean): Promise<unknown> => {
    const sequence = events.isWaiting() ? sequenceOf(data) : undefined;
    if (sequence !== undefined) {
      events.frame(shard.id, GatewayOpcodes.Dispatch);
      events.unread(shard.id, sequence, data as string);
      return null;
    }
    // Read in the same turn: what comes after it may be taken unread at once, and must not overtake it.
    const payload: unknown = typeof data === "string" ? parse(data) : await unpack.call(shard, data, isBinary);
    const problem = problemOf(payload);
    if (problem !== undefined) {
      events.malformed(shard.id, problem);
      return null; // the shard ignores it
    }
    const { op } = payload as { op: number };
    events.frame(shard.id, op);
    if (op === GatewayOpcodes.InvalidSession && (payload as { d: boolean }).d === false) events.sessionEnded(shard.id);
    if (op !== GatewayOpcodes.Dispatch) return payload;
    const dispatch = payload as GatewayDispatchPayload;
    if (dispatch.t === GatewayDispatchEvents.Ready) {
      const { session_id: sessionId, resume_gateway_url: resumeURL } = dispatch.d;
      events.sessionStarted(shard.id, { sessionId, resumeURL, shardCount, shardId: shard.id, sequence: dispatch.s });
    }
    events.dispatch(shard.id, dispatch);
    return dispatch.t === GatewayDispatchEvents.Ready || dispatch.t === GatewayDispatchEvents.Resumed ? payload : null;
  };
  Reflect.set(shard, "unpackMessage", tapped);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no gateway payload
  }
}

/** As Discord writes a dispatch. One that looks otherwise is read at once. */
const DISPATCH = /^\{"t":"([A-Z_]+)","s":(\d{1,15}),"op":0,"d":/;
/** The first two are about the connection; the third must be acknowledged in 3 seconds. */
const AT_ONCE: ReadonlySet<string | undefined> = new Set(["READY", "RESUMED", "INTERACTION_CREATE"]);

/** The place of an event in its session, when it may wait. */
function sequenceOf(data: unknown): number | undefined {
  if (typeof data !== "string") return undefined;
  const [, type, sequence] = DISPATCH.exec(data) ?? [];
  return sequence === undefined || AT_ONCE.has(type) ? undefined : Number(sequence);
}

/** Why the shard's own handler would stumble over this frame. */
function problemOf(payload: unknown): string | undefined {
  if (!isRecord(payload) || typeof payload.op !== "number") return "a frame that is no gateway payload";
  const { op, d, s, t } = payload;
  switch (op) {
    case GatewayOpcodes.Dispatch: {
      if (typeof t !== "string" || typeof s !== "number") return "a dispatch without type or sequence";
      if (t !== "READY") return undefined;
      const isReady = isRecord(d) && typeof d.session_id === "string" && typeof d.resume_gateway_url === "string";
      return isReady ? undefined : "a READY without a session";
    }
    case GatewayOpcodes.InvalidSession:
      return typeof d === "boolean" ? undefined : "an op 9 that is neither true nor false";
    case GatewayOpcodes.Hello:
      return isRecord(d) && typeof d.heartbeat_interval === "number" && d.heartbeat_interval > 0
        ? undefined
        : "a HELLO without a heartbeat interval";
    default:
      return undefined;
  }
}

/** A connection that is still opening is left alone by the shard's destroy; it would keep the process alive. */
function cutOff(shard: WebSocketShard): void {
  const connection: unknown = Reflect.get(shard, "connection");
  if (!isRecord(connection) || typeof connection.terminate !== "function") return;
  connection.onerror = () => {}; // being cut off while opening is an error event
  connection.terminate();
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
