/**
 * Takes each frame of a shard as it comes. The shard itself sees only the frames that it needs for its connection, and no frame that
 * would make its handler stumble.
 */

import type { SessionInfo, WebSocketShard } from "@discordjs/ws";
import { GatewayDispatchEvents, type GatewayDispatchPayload, GatewayOpcodes } from "discord-api-types/v10";
import { HookgateError } from "../../../src/lib/errors.js";
import { isRecord } from "../../../src/lib/record.js";
import { pause } from "./pause.js";

export interface FrameEvents {
  sessionStarted(shardId: number, info: SessionInfo): void;
  /** Discord reported that the session has ended (op 9 false). */
  sessionEnded(shardId: number): void;
  /** A frame came in; malformed ones too. */
  frame(shardId: number, op: number): void;
  malformed(shardId: number, why: string): void;
  dispatch(shardId: number, payload: GatewayDispatchPayload): void;
  /** There are events before it: one that is not needed at once may wait unread. */
  mustWait(): boolean;
  unread(shardId: number, sequence: number, text: string): void;
  /** Nothing more should be heard for a while. */
  isTooMuch(): boolean;
}

export function tapFrames(shard: WebSocketShard, shardCount: number, events: FrameEvents): void {
  const handle = memberOf(shard, "onMessage");
  const unpack = memberOf(shard, "unpackMessage");
  let isOnline = false;

  /** Runs in the turn in which the frame came: frames after it may stay unread, and must not overtake it. Gives the frame for the shard. */
  const take = (payload: unknown): unknown => {
    const problem = problemOf(payload);
    if (problem !== undefined) {
      events.malformed(shard.id, problem);
      return undefined;
    }
    const { op } = payload as { op: number };
    events.frame(shard.id, op);
    if (op === GatewayOpcodes.InvalidSession && (payload as { d: boolean }).d === false) events.sessionEnded(shard.id);
    if (op === GatewayOpcodes.Hello) isOnline = false;
    if (op !== GatewayOpcodes.Dispatch) return payload;
    const dispatch = payload as GatewayDispatchPayload;
    if (dispatch.t === GatewayDispatchEvents.Ready) {
      const { session_id: sessionId, resume_gateway_url: resumeURL } = dispatch.d;
      events.sessionStarted(shard.id, { sessionId, resumeURL, shardCount, shardId: shard.id, sequence: dispatch.s });
    }
    events.dispatch(shard.id, dispatch);
    if (dispatch.t !== GatewayDispatchEvents.Ready && dispatch.t !== GatewayDispatchEvents.Resumed) return undefined;
    isOnline = true;
    return payload;
  };

  /** False when it has to be read. */
  const leaveUnread = (text: string): boolean => {
    const sequence = events.mustWait() ? sequenceOf(text) : undefined;
    if (sequence === undefined) return false;
    events.frame(shard.id, GatewayOpcodes.Dispatch);
    events.unread(shard.id, sequence, text);
    return true;
  };

  Reflect.set(shard, "onMessage", async (data: unknown, isBinary: boolean): Promise<void> => {
    const payload = typeof data !== "string" ? data : leaveUnread(data) ? undefined : take(parse(data));
    // Never before it is online: a RESUME that nothing answers costs the session.
    if (isOnline && events.isTooMuch()) pause(shard, events.isTooMuch);
    if (payload !== undefined) await handle(payload, isBinary);
  });
  // A binary frame is compressed; any other frame was read above.
  Reflect.set(shard, "unpackMessage", async (data: unknown, isBinary: boolean) =>
    isBinary ? take(await unpack(data, isBinary)) : data,
  );
}

function memberOf(shard: WebSocketShard, name: string): (...args: unknown[]) => unknown {
  const member: unknown = Reflect.get(shard, name);
  if (typeof member === "function") return (member as (...args: unknown[]) => unknown).bind(shard);
  throw new HookgateError({
    code: "DISCORD_LIBRARY",
    message: "this version of @discordjs/ws is not the one that the adapter was written for",
    hint: "Install the exact version of package.json (npm ci).",
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no gateway payload
  }
}

/** The start of a dispatch as Discord writes it. A frame that looks otherwise is read at once. */
const DISPATCH = /^\{"t":"([A-Z_]+)","s":(\d{1,15}),"op":0,"d":/;
/** The first two are about the connection; the third must be acknowledged in 3 seconds. */
const AT_ONCE: ReadonlySet<string | undefined> = new Set(["READY", "RESUMED", "INTERACTION_CREATE"]);

/** The place of an event in its session, when it may wait. */
function sequenceOf(text: string): number | undefined {
  const [, type, sequence] = DISPATCH.exec(text) ?? [];
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
