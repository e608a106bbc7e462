/**
 * A Discord on loopback: REST and gateway, with real limits, errors and trouble on demand. Started in-process by tests, or
 * as a child process by `main.ts`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import busboy from "busboy";
import { Rules } from "../rules.js";
import type { Call } from "./calls.js";
import { type Fault, type FaultAction, isFor, RateLimits } from "./faults.js";
import { FakeGateway } from "./gateway.js";
import { People } from "./people.js";
import { answer, failed, isAuthFree, type RestAnswer, type RestContext, type RestRequest } from "./rest.js";
import { ChannelType, World } from "./world.js";

export const FAKE_TOKEN = "MTExMTExMTExMTExMTExMTEx.GfakeX.hookgate-fake-discord-token-0123456789";

export interface FakeDiscordOptions {
  port?: number;
  token?: string;
  heartbeatIntervalMs?: number;
  acknowledgeWithinMs?: number;
  tokenLifeMs?: number;
  /** Leave calls unrecorded (long benchmarks). */
  recordCalls?: boolean;
}

export class FakeDiscord {
  readonly token: string;
  readonly world = new World();
  readonly faults = new Rules<FaultAction, Fault>();
  readonly limits = new RateLimits();
  readonly calls: Call[] = [];
  readonly gateway: FakeGateway;
  /** What people do: say, edit, react, press, … */
  readonly people: People;
  /** A text channel, a thread under it, a forum, and a person, ready for use. */
  readonly channelId: string;
  readonly threadId: string;
  readonly forumId: string;
  readonly userId: string;
  readonly rest: RestContext;
  readonly #server: Server;
  readonly #recordCalls: boolean;
  /** Messages posted over REST since the start, recorded or not. */
  sends = 0;
  /** Called for every recorded call. */
  onCall: (call: Call) => void = () => {};

  constructor(options: FakeDiscordOptions = {}) {
    this.token = options.token ?? FAKE_TOKEN;
    this.#recordCalls = options.recordCalls ?? true;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 60_000;
    this.gateway = new FakeGateway(this.#server, this.world, this.token, options.heartbeatIntervalMs ?? 41_250);
    this.channelId = this.world.addChannel({ type: ChannelType.text, name: "general" }).id;
    this.threadId = this.world.addChannel({
      type: ChannelType.publicThread,
      name: "a thread",
      parentId: this.channelId,
    }).id;
    this.forumId = this.world.addChannel({ type: ChannelType.forum, name: "forum" }).id;
    this.userId = this.world.addUser({
      username: "ada",
      globalName: "Ada Lovelace",
      roleIds: [this.world.snowflake()],
    }).id;
    this.people = new People(this.world, this.gateway, this);
    this.rest = {
      world: this.world,
      gateway: this.gateway,
      acknowledgeWithinMs: options.acknowledgeWithinMs ?? 3000,
      tokenLifeMs: options.tokenLifeMs ?? 15 * 60_000,
      nonceLifeMs: 5 * 60_000,
      maxFileBytes: 10 * 1024 * 1024,
      sessionStartRemaining: 1000,
      isCdnEmpty: false,
      gatewayUrl: () => `ws://127.0.0.1:${this.port}/gateway`,
      onInteractionAnswer: (interaction, type, data) => this.people.answered(interaction, type, data),
    };
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.port}/api`;
  }

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", resolve);
    });
    this.gateway.resumeUrl = `ws://127.0.0.1:${this.port}/gateway`;
    return this;
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  fail(fault: Fault): void {
    this.faults.add(fault);
  }

  /** Calls of the kinds that make or change messages, failed ones included. */
  contentCalls(): Call[] {
    return this.calls.filter((call) => call.kind !== "other");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? "/", "http://fake");
      if (url.pathname.startsWith("/__control/")) return await this.#control(request, response, url);
      const path = url.pathname.replace(/^\/api(\/v\d+)?/, "");
      await this.#api(request, response, path, url.searchParams);
    } catch (error) {
      if (!response.headersSent) response.writeHead(500).end(JSON.stringify({ message: String(error), code: 0 }));
      else response.destroy();
    }
  }

  async #api(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams): Promise<void> {
    const method = request.method ?? "GET";
    const fault = this.faults.take(isFor(method, path, isMultipart(request)));
    if (fault?.kind === "drop-before") return void request.socket.destroy();
    const parsed = await readBody(request);
    const restRequest: RestRequest = { method, path, query, ...parsed };
    let result: RestAnswer;
    let headers: Record<string, string> = {};
    const limit = this.limits.take(`${method} ${path.replace(/\/messages\/.*/, "/messages/x")}`);
    if (!isAuthFree(path) && request.headers.authorization !== `Bot ${this.token}`)
      result = failed({ status: 401, code: 0, message: "401: Unauthorized" });
    else if (fault?.kind === "page") result = { status: fault.status, kind: "other" };
    else if (fault?.kind === "status") {
      result = { status: fault.status, kind: "other", body: fault.body ?? { message: "trouble", code: 0 } };
      headers = fault.headers ?? {};
    } else if (fault?.kind === "rate-limit") ({ result, headers } = tooMany(fault.retryAfterS, fault.scope));
    else if (limit.over)
      ({ result, headers } = tooMany(limit.over.retryAfterS, limit.over.isGlobal ? "global" : "user"));
    else {
      result = answer(this.rest, restRequest);
      headers = limit.headers;
    }
    if (result.kind === "send" && result.status < 300 && !result.deduplicated) this.sends++;
    this.#record(restRequest, result);
    if (fault?.kind === "drop-after") return void request.socket.destroy();
    if (fault?.kind === "page") {
      response.writeHead(fault.status, { "content-type": "text/html", ...fault.headers });
      return void response.end(`<html><title>${fault.status}</title></html>`);
    }
    if (fault?.kind === "garble") {
      response.writeHead(200, { "content-type": fault.contentType ?? "application/json" });
      return void response.end(fault.body);
    }
    if (fault?.kind === "slow") await new Promise((resolve) => setTimeout(resolve, fault.delayMs).unref());
    const text = result.body === undefined ? undefined : JSON.stringify(result.body);
    response.writeHead(result.status, {
      ...(text === undefined ? undefined : { "content-type": "application/json" }),
      ...headers,
    });
    response.end(text);
  }

  #record(request: RestRequest, result: RestAnswer): void {
    if (!this.#recordCalls) return;
    const call: Call = {
      at: Date.now(),
      method: request.method,
      path: request.path,
      kind: result.kind,
      body: request.json,
      files: request.files.map((file) => file.name),
      status: result.status,
      messageId: result.messageId,
      deduplicated: result.deduplicated || undefined,
    };
    this.calls.push(call);
    this.onCall(call);
  }

  /** `POST /__control/<people method | gateway method | fail | calls | …>` with a JSON array of arguments: for child processes. */
  async #control(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const name = url.pathname.slice("/__control/".length);
    const { json } = await readBody(request);
    const result = await this.control(name, Array.isArray(json) ? json : []);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result ?? null));
  }

  /** The same operations by name, for `main.ts` and for HTTP. */
  async control(name: string, args: unknown[]): Promise<unknown> {
    switch (name) {
      case "facts": {
        const { channelId, threadId, forumId, userId, apiUrl, token, world } = this;
        return { channelId, threadId, forumId, userId, apiUrl, token, botId: world.bot.id, guildId: world.guildId };
      }
      case "sends":
        return this.sends;
      case "calls":
        return this.calls;
      case "fail":
        return this.fail(args[0] as Fault);
      case "limits":
        return void Object.assign(this.limits, args[0]);
      case "behave":
        return void Object.assign(this.gateway.behaviour, args[0]);
      case "messages":
        return [...(this.world.channels.get(String(args[0]))?.messages.values() ?? [])];
      default: {
        const target = name in this.people ? this.people : this.gateway;
        const operation: unknown = Reflect.get(target, name);
        if (typeof operation !== "function") throw new Error(`no control operation ${name}`);
        return operation.apply(target, args);
      }
    }
  }
}

const isMultipart = ({ headers }: IncomingMessage) =>
  headers["content-type"]?.startsWith("multipart/form-data") === true;

function tooMany(retryAfterS: number, scope: "user" | "global" | "shared") {
  const result: RestAnswer = {
    status: 429,
    kind: "other",
    body: { message: "You are being rate limited.", retry_after: retryAfterS, global: scope === "global" },
  };
  const headers: Record<string, string> = {
    "retry-after": String(Math.ceil(retryAfterS)),
    "x-ratelimit-scope": scope,
    "x-ratelimit-reset-after": String(retryAfterS),
    ...(scope === "global"
      ? { "x-ratelimit-global": "true" }
      : { "x-ratelimit-bucket": "fakebucket", "x-ratelimit-limit": "5", "x-ratelimit-remaining": "0" }),
  };
  return { result, headers };
}

async function readBody(request: IncomingMessage): Promise<Pick<RestRequest, "body" | "json" | "files">> {
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("multipart/form-data")) return readMultipart(request);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const json: unknown = text === "" ? undefined : JSON.parse(text);
  return { json, body: isRecord(json) ? json : {}, files: [] };
}

function readMultipart(request: IncomingMessage): Promise<Pick<RestRequest, "body" | "json" | "files">> {
  return new Promise((resolve, reject) => {
    const files: RestRequest["files"] = [];
    let json: unknown;
    const parser = busboy({ headers: request.headers });
    parser.on("file", (_field, stream, info) => {
      const file = { name: info.filename ?? "file", sizeBytes: 0, mimeType: info.mimeType };
      files.push(file);
      stream.on("data", (chunk: Buffer) => {
        file.sizeBytes += chunk.length;
      });
    });
    parser.on("field", (name, value) => {
      if (name === "payload_json") json = JSON.parse(value);
    });
    parser.on("close", () => resolve({ json, body: isRecord(json) ? json : {}, files }));
    parser.on("error", reject);
    request.pipe(parser);
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A running fake. */
export async function startFakeDiscord(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
  return new FakeDiscord(options).start(options.port ?? 0);
}
