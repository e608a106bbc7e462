/**
 * A Telegram Bot API on loopback, with real limits, refusals and trouble on demand. Started in-process by tests, or as a
 * child process by `main.ts`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Rules } from "../rules.js";
import { type Call, carriesContent, kindOf, Refused } from "./calls.js";
import { type Fault, type FaultAction, type FloodLimits, Floods, isFor, tooMany } from "./faults.js";
import { METHODS, type MethodContext, type Request, type Upload } from "./methods.js";
import { readMultipart } from "./multipart.js";
import { People } from "./people.js";
import { Updates } from "./updates.js";
import { World } from "./world.js";

export const FAKE_TOKEN = "7654321:AAFakeTelegramTokenForHookgateTests01";

export interface FakeTelegramOptions {
  port?: number;
  token?: string;
  username?: string;
  /** Keep no calls (long benchmarks). */
  recordCalls?: boolean;
  /** The id of the first update; Telegram's own begin anywhere. */
  firstUpdateId?: number;
  limits?: FloodLimits;
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
  messageIds: number[];
}

export class FakeTelegram {
  readonly token: string;
  readonly world: World;
  readonly updates: Updates;
  readonly faults = new Rules<FaultAction, Fault>();
  readonly floods = new Floods();
  readonly calls: Call[] = [];
  /** What people do: say, edit, react, press, … */
  readonly people: People;
  /** A supergroup, a basic group, a forum with a topic, and a person, ready for use. */
  readonly chatId: number;
  readonly groupId: number;
  readonly forumId: number;
  readonly topicId: number;
  readonly userId: number;
  /** Successful sends since the start, recorded or not. */
  sends = 0;
  onCall: (call: Call) => void = () => {};
  readonly #context: MethodContext;
  readonly #server: Server;
  readonly #recordCalls: boolean;

  constructor(options: FakeTelegramOptions = {}) {
    this.token = options.token ?? FAKE_TOKEN;
    this.#recordCalls = options.recordCalls ?? true;
    this.floods.limits = options.limits ?? {};
    this.world = new World(Number(this.token.split(":")[0]), options.username ?? "HookgateBot");
    this.updates = new Updates(options.firstUpdateId ?? 500_000_001);
    this.userId = this.world.addUser({ firstName: "Ada", username: "ada_lovelace" }).id;
    this.chatId = this.world.addChat({ type: "supergroup", title: "The group" }).id;
    this.groupId = this.world.addChat({ type: "group", title: "A small group" }).id;
    const forum = this.world.addChat({ type: "supergroup", title: "The forum", isForum: true });
    this.forumId = forum.id;
    this.topicId = this.world.addTopic(forum, "A topic");
    this.#context = { world: this.world, updates: this.updates, floods: this.floods, callbacks: new Map() };
    this.people = new People(this.world, this.updates, this.#context.callbacks, this);
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 60_000;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", resolve);
    });
    return this;
  }

  async stop(): Promise<void> {
    this.updates.stop();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  fail(fault: Fault): void {
    this.faults.add(fault);
  }

  /** Calls that make or change messages, refused ones included. */
  contentCalls(): Call[] {
    return this.calls.filter((call) => call.kind !== "other" && call.kind !== "poll");
  }

  /** Calls of one method. */
  callsOf(method: string): Call[] {
    return this.calls.filter((call) => call.method.toLowerCase() === method.toLowerCase());
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = request.url ?? "/";
      if (url.startsWith("/__control/")) return await this.#control(request, response, url);
      const match = /^\/(file\/)?bot([^/]+)\/([^?]*)/.exec(url);
      if (!match) return reply(response, 404, { ok: false, error_code: 404, description: "Not Found" });
      const [, isFile, token, rest] = match;
      if (token !== this.token) {
        request.resume();
        const [code, description] = /^\d+:[\w-]{30,}$/.test(token ?? "") ? [401, "Unauthorized"] : [404, "Not Found"];
        return reply(response, code, { ok: false, error_code: code, description });
      }
      if (isFile) return this.#download(response, rest ?? "");
      await this.#api(request, response, rest ?? "");
    } catch (error) {
      if (response.headersSent || response.destroyed) return void response.destroy();
      reply(response, 500, { ok: false, error_code: 500, description: `Internal Server Error: ${String(error)}` });
    }
  }

  /** A fault of the method `download` leaves it without an answer. */
  #download(response: ServerResponse, path: string): void {
    if (this.faults.take(({ method }) => method === "download")) return;
    for (const file of this.world.files.values())
      if (file.file_path === path)
        return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(file.bytes);
    reply(response, 404, { ok: false, error_code: 404, description: "Not Found" });
  }

  async #api(request: IncomingMessage, response: ServerResponse, method: string): Promise<void> {
    const body = await readBody(request);
    const fault = this.faults.take(isFor(method, body.payload.chat_id));
    if (fault?.kind === "drop-before") return void request.socket.destroy();
    const asked = { method, ...body };
    const answer = await this.#answer(asked, fault, response);
    this.#record(asked, answer);
    if (fault?.kind === "drop-after") return void request.socket.destroy();
    if (fault?.kind === "hang") return;
    if (fault?.kind === "proxy-error") {
      response.writeHead(fault.status, { "content-type": "text/html" });
      return void response.end(`<html><head><title>${fault.status}</title></head></html>`);
    }
    if (fault?.kind === "garble") {
      response.writeHead(fault.status ?? 200, { "content-type": "application/json" });
      return void response.end(fault.body);
    }
    if (fault?.kind === "slow") await new Promise((resolve) => setTimeout(resolve, fault.delayMs).unref());
    reply(response, answer.status, answer.body);
  }

  async #answer(request: Request, fault: FaultAction | undefined, response: ServerResponse): Promise<Answer> {
    try {
      if (fault?.kind === "refuse") throw new Refused(fault.status, fault.description, fault.parameters);
      if (fault?.kind === "rate-limit") throw tooMany(fault.retryAfterS);
      if (fault?.kind === "proxy-error" && !fault.isProcessed) throw new Refused(fault.status, "proxy error");
      const name = request.method.toLowerCase();
      if (name === "getupdates") {
        const updates = await this.updates.getUpdates(request.payload, (drop) => response.on("close", drop));
        return { status: 200, body: { ok: true, result: updates }, messageIds: [] };
      }
      const method = METHODS[name];
      if (!method) throw new Refused(404, "Not Found: method not found");
      const { result, messageIds } = method(this.#context, request);
      if (name.startsWith("send")) this.sends++;
      return { status: 200, body: { ok: true, result }, messageIds };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { status, message, parameters } = error;
      return {
        status,
        body: { ok: false, error_code: status, description: message, parameters },
        messageIds: [],
      };
    }
  }

  #record(request: Request, answer: Answer): void {
    if (!this.#recordCalls) return;
    const { description } = answer.body;
    const call: Call = {
      at: Date.now(),
      method: request.method,
      kind: kindOf(request.method),
      payload: request.payload,
      files: request.uploads.map(({ field, name, sizeBytes }) => ({ field, name, sizeBytes })),
      status: answer.status,
      description: typeof description === "string" ? description : undefined,
      messageIds: answer.messageIds,
    };
    this.calls.push(call);
    this.onCall(call);
  }

  /** `POST /__control/<people method | fail | calls | …>` with a JSON array of arguments: for child processes. */
  async #control(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const { list } = await readBody(request);
    const result = await this.control(url.slice("/__control/".length), list);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result ?? null));
  }

  /** The same operations by name. */
  async control(name: string, args: unknown[]): Promise<unknown> {
    switch (name) {
      case "facts": {
        const { chatId, groupId, forumId, topicId, userId, apiUrl, token, world } = this;
        return { chatId, groupId, forumId, topicId, userId, apiUrl, token, bot: world.bot };
      }
      case "calls":
        return this.calls;
      case "content-calls":
        return this.calls.filter(carriesContent);
      case "counts": {
        const { confirmed, handedOver, pending } = this.updates;
        return { sends: this.sends, confirmed, handedOver, pending: pending.length, floodHits: this.floods.hits };
      }
      case "fail":
        return this.fail(args[0] as Fault);
      case "heal":
        return this.faults.clear();
      case "limits":
        return void Object.assign(this.floods.limits, args[0]);
      case "add-user":
        return this.world.addUser(Object(args[0]) as { id?: number });
      case "messages":
        return [...(this.world.chats.get(Number(args[0]))?.messages.values() ?? [])];
      default: {
        const operation: unknown = Reflect.get(this.people, name);
        if (typeof operation !== "function") throw new Error(`no control operation ${name}`);
        return operation.apply(this.people, args);
      }
    }
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

interface Body {
  payload: Record<string, unknown>;
  list: unknown[];
  uploads: Upload[];
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const boundary = /^multipart\/form-data;\s*boundary="?([^";]+)"?/.exec(request.headers["content-type"] ?? "")?.[1];
  if (boundary !== undefined) return { ...readMultipart(bytes, boundary), list: [] };
  const text = bytes.toString("utf8");
  const query = Object.fromEntries(new URLSearchParams((request.url ?? "").split("?")[1] ?? ""));
  const json: unknown = text === "" ? {} : JSON.parse(text);
  return Array.isArray(json)
    ? { payload: query, list: json, uploads: [] }
    : { payload: { ...query, ...Object(json) }, list: [], uploads: [] };
}

/** A running fake. */
export async function startFakeTelegram(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  return new FakeTelegram(options).start(options.port ?? 0);
}
