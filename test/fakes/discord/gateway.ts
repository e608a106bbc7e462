/** The fake's gateway v10 socket: sessions that outlive their connection, replay on RESUME, and every way it can misbehave. */
import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import type { World } from "./world.js";

const Intent = {
  guilds: 1,
  guildMessages: 512,
  reactions: 1024,
  dms: 4096,
  dmReactions: 8192,
  content: 32768,
} as const;

export interface Frame {
  op: number;
  d: unknown;
  s: number | null;
  t: string | null;
}

interface Session {
  id: string;
  intents: number;
  seq: number;
  /** Everything dispatched, by seq; what a RESUME replays. */
  log: { s: number; text: string }[];
  socket?: WebSocket;
}

export interface GatewayBehaviour {
  /** READY comes without the guild's channels; `tellGuild` tells them. */
  lateGuild: boolean;
  /** A new connection gets no HELLO. */
  noHello: boolean;
  /** RESUME is taken, and nothing answers. */
  noResumed: boolean;
  /** Heartbeats are not acknowledged. */
  noAck: boolean;
  /** New connections are closed at once. */
  refuse: boolean;
  /** Privileged intents that the "developer portal" allows. */
  messageContentAllowed: boolean;
}

export interface DispatchScope {
  isDm: boolean;
  needs: "guilds" | "messages" | "reactions" | "always";
}

export class FakeGateway {
  readonly behaviour: GatewayBehaviour = {
    noHello: false,
    noResumed: false,
    noAck: false,
    refuse: false,
    lateGuild: false,
    messageContentAllowed: true,
  };
  /** What clients did: identified, resumed, with which seq. */
  readonly log: {
    kind: "identify" | "resume" | "resumed" | "invalid" | "heartbeat" | "close";
    seq?: number | null;
    replayed?: number;
    code?: number;
  }[] = [];
  readonly sessions = new Map<string, Session>();
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<WebSocket>();
  readonly #world: World;
  readonly #token: string;
  readonly #heartbeatIntervalMs: number;
  /** How many events a session keeps for RESUME. */
  replayLimit = 100_000;

  constructor(server: Server, world: World, token: string, heartbeatIntervalMs: number) {
    this.#world = world;
    this.#token = token;
    this.#heartbeatIntervalMs = heartbeatIntervalMs;
    this.#server = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) => {
      if (!request.url?.startsWith("/gateway") || this.behaviour.refuse) socket.destroy();
      else this.#server.handleUpgrade(request, socket, head, (ws) => this.#connected(ws));
    });
  }

  get connected(): number {
    return [...this.sessions.values()].filter((session) => session.socket).length;
  }

  /** Bytes of writes that clients have not read to the end, beyond what the system's buffers hold. */
  get unsent(): number {
    return [...this.#sockets].reduce((sum, socket) => sum + socket.bufferedAmount, 0);
  }

  /** Gives an event to every session that asked for it; a session without a connection gets it on RESUME. */
  dispatch(type: string, data: unknown, scope: DispatchScope): void {
    for (const session of this.sessions.values()) {
      if (!wants(session.intents, scope)) continue;
      const visible =
        scope.needs === "messages" && !(session.intents & Intent.content) ? withoutContent(data, scope) : data;
      this.#give(session, type, visible);
    }
  }

  #give(session: Session, type: string, data: unknown): void {
    const s = ++session.seq;
    const text = JSON.stringify({ t: type, s, op: 0, d: data });
    session.log.push({ s, text });
    if (session.log.length > this.replayLimit * 1.2) session.log.splice(0, session.log.length - this.replayLimit);
    session.socket?.send(text);
  }

  /** Any text as a frame, on every connection. */
  sendRaw(text: string): void {
    for (const socket of this.#sockets) socket.send(text);
  }

  /** Gives the last `count` dispatches again, with their old sequence numbers. */
  repeatLast(count: number): void {
    for (const session of this.sessions.values())
      for (const { text } of session.log.slice(-count)) session.socket?.send(text);
  }

  /** Cuts every connection without a close frame. Sessions live on. */
  drop(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  /** Op 7. */
  askReconnect(): void {
    this.sendRaw(JSON.stringify({ op: 7, d: null, s: null, t: null }));
  }

  /** Op 9; `false` also forgets the sessions. */
  invalidate(isResumable: boolean): void {
    this.sendRaw(JSON.stringify({ op: 9, d: isResumable, s: null, t: null }));
    if (!isResumable) this.forgetSessions();
  }

  /** A RESUME will be answered with op 9 false. */
  forgetSessions(): void {
    this.sessions.clear();
  }

  closeAll(code: number): void {
    if (code === 1000 || code === 1001 || code === 4007 || code === 4009) this.forgetSessions();
    for (const socket of this.#sockets) socket.close(code);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #connected(socket: WebSocket): void {
    this.#sockets.add(socket);
    let session: Session | undefined;
    socket.on("close", (code) => {
      this.#sockets.delete(socket);
      this.log.push({ kind: "close", code });
      if (session?.socket === socket) delete session.socket;
      // https://discord.com/developers/docs/events/gateway#connection-lifecycle: 1000 and 1001 end the session.
      if (session && (code === 1000 || code === 1001)) this.sessions.delete(session.id);
    });
    socket.on("error", () => {}); // a reset connection is what some tests ask for
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.op === 1) this.#heartbeat(socket, frame);
      else if (frame.op === 2) session = this.#identify(socket, frame) ?? session;
      else if (frame.op === 6) session = this.#resume(socket, frame) ?? session;
      else if (frame.op !== 3 && frame.op !== 4) socket.close(4001, "Unknown opcode");
    });
    if (!this.behaviour.noHello) send(socket, 10, { heartbeat_interval: this.#heartbeatIntervalMs });
  }

  #heartbeat(socket: WebSocket, frame: Frame): void {
    this.log.push({ kind: "heartbeat", seq: frame.d as number | null });
    if (!this.behaviour.noAck) send(socket, 11, null);
  }

  #identify(socket: WebSocket, frame: Frame): Session | undefined {
    const { token, intents } = frame.d as { token: string; intents: number };
    this.log.push({ kind: "identify" });
    if (token !== this.#token) return closeWith(socket, 4004, "Authentication failed.");
    if (intents & Intent.content && !this.behaviour.messageContentAllowed)
      return closeWith(socket, 4014, "Disallowed intent(s).");
    const session: Session = { id: randomBytes(16).toString("hex"), intents, seq: 0, log: [], socket };
    this.sessions.set(session.id, session);
    const { bot, applicationId, guildId } = this.#world;
    this.#give(session, "READY", {
      v: 10,
      user: { ...this.#world.userPayload(bot), bot: true },
      guilds: [{ id: guildId, unavailable: true }],
      session_id: session.id,
      resume_gateway_url: this.resumeUrl,
      application: { id: applicationId, flags: 0 },
      private_channels: [],
      shard: [0, 1],
    });
    if (!this.behaviour.lateGuild) this.#give(session, "GUILD_CREATE", this.#world.guildPayload());
    return session;
  }

  /** The guild that `lateGuild` kept back. */
  tellGuild(): void {
    for (const session of this.sessions.values()) this.#give(session, "GUILD_CREATE", this.#world.guildPayload());
  }

  resumeUrl = "";

  #resume(socket: WebSocket, frame: Frame): Session | undefined {
    const { token, session_id, seq } = frame.d as { token: string; session_id: string; seq: number };
    this.log.push({ kind: "resume", seq });
    if (token !== this.#token) return closeWith(socket, 4004, "Authentication failed.");
    if (this.behaviour.noResumed) return undefined;
    const session = this.sessions.get(session_id);
    const oldest = session?.log[0]?.s ?? 1;
    if (!session || seq + 1 < oldest) {
      this.log.push({ kind: "invalid" });
      send(socket, 9, false);
      return undefined;
    }
    if (seq > session.seq) return closeWith(socket, 4007, "Invalid seq.");
    if (session.socket !== socket) session.socket?.terminate();
    const missed = session.log.filter((entry) => entry.s > seq);
    for (const { text } of missed) socket.send(text);
    session.socket = socket;
    this.#give(session, "RESUMED", {});
    this.log.push({ kind: "resumed", seq, replayed: missed.length });
    return session;
  }
}

function send(socket: WebSocket, op: number, d: unknown): void {
  socket.send(JSON.stringify({ op, d, s: null, t: null }));
}

function closeWith(socket: WebSocket, code: number, reason: string): undefined {
  socket.close(code, reason);
  return undefined;
}

function wants(intents: number, scope: DispatchScope): boolean {
  switch (scope.needs) {
    case "always":
      return true;
    case "guilds":
      return (intents & Intent.guilds) !== 0;
    case "messages":
      return (intents & (scope.isDm ? Intent.dms : Intent.guildMessages)) !== 0;
    case "reactions":
      return (intents & (scope.isDm ? Intent.dmReactions : Intent.reactions)) !== 0;
  }
}

/** Without the privileged intent, content comes in DMs and mentions only. */
function withoutContent(data: unknown, scope: DispatchScope): unknown {
  if (scope.isDm || typeof data !== "object" || data === null || !("content" in data)) return data;
  const mentions = "mentions" in data && Array.isArray(data.mentions) ? data.mentions : [];
  return mentions.length > 0 ? data : { ...data, content: "", attachments: [], embeds: [], components: [] };
}
