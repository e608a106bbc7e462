/** One connection to a server, made by the first post and kept for others. It is asked one at a time, over HTTP/1.1. */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { codeOf, contentOf, describeError, headerOf } from "./answer.js";
import type { PostResult, PostTarget } from "./protocol.js";
import { Reading } from "./reading.js";

/** A request as it is written. */
export interface Ask {
  readonly id: number;
  readonly text: string;
}

export interface ConnectionOptions {
  target: PostTarget;
  server: URL;
  /** Of an earlier connection: with it, most of what makes a line secure need not be done again. */
  session: Buffer | undefined;
  /** What came of an ask; called once for each. */
  done(result: PostResult): void;
  /** Called after `done` when it may be asked again. */
  onFree(connection: Connection): void;
  /** Called once, after `done`. */
  onClosed(connection: Connection): void;
  onSession(session: Buffer): void;
}

/** A server that says nothing about it keeps a quiet connection for longer than this. */
const KEPT_MS = 4_000;
const KEPT_AT_MOST_MS = 600_000;
/** So long before a server ends a connection it is not asked any more: what is under way to it then may have been done or not. */
const MARGIN_MS = 1_000;
const PIECE_BYTES = 16_384;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #reading = new Reading();
  /** What has no answer yet. */
  #ask: Ask | undefined;
  #isOpen = false;
  #isClosed = false;
  /** When something happened last, on the clock of `performance`. */
  #movedAt = performance.now();
  #keptMs = KEPT_MS;

  constructor(options: ConnectionOptions, first: Ask) {
    this.#options = options;
    this.#ask = first;
    this.#socket = open(options, (length, bytes) => this.#read(bytes, length));
    this.#socket.once(options.server.protocol === "https:" ? "secureConnect" : "connect", () => {
      this.#isOpen = true;
      if (this.#ask) this.ask(this.#ask);
    });
    this.#socket.on("session", options.onSession);
    this.#socket.on("error", (error) => this.#close(error));
    this.#socket.on("end", () => this.#ended());
    this.#socket.on("close", () => this.#ended());
  }

  /** To be called when it is free. */
  ask(ask: Ask): void {
    this.#ask = ask;
    this.#movedAt = performance.now();
    this.#socket.write(ask.text);
  }

  /** Whether its server may be about to end it. */
  isStale(now: number): boolean {
    return now - this.#movedAt >= this.#keptMs;
  }

  /** For so long nothing could be read: that time does not count for what it is asked. */
  forgive(ms: number): void {
    if (this.#ask) this.#movedAt += ms;
  }

  /** Ends it when it has waited for too long. */
  look(now: number): void {
    const { connectTimeoutMs, timeoutMs } = this.#options.target;
    const quietMs = now - this.#movedAt;
    if (!this.#isOpen) {
      if (quietMs >= connectTimeoutMs) this.#close(new Error(`no connection within ${connectTimeoutMs} ms`));
    } else if (this.#ask) {
      const what = this.#reading.hasBegun ? "the answer stopped for" : "no answer within";
      if (quietMs >= timeoutMs) this.#close(new Error(`${what} ${timeoutMs} ms`));
    } else if (this.isStale(now)) this.close();
  }

  close(): void {
    this.#close(new Error("the connection was closed"));
  }

  /** True: go on reading. The bytes are others afterwards. */
  #read(bytes: Buffer, length: number): boolean {
    if (this.#isClosed) return false;
    this.#movedAt = performance.now();
    const error = this.#ask ? this.#reading.read(bytes, length) : new Error("an answer to nothing");
    if (error) this.#close(error);
    else if (this.#reading.isWhole) this.#answered();
    return !this.#isClosed;
  }

  #answered(): void {
    const { status, headers, text, mayAskAgain } = this.#reading;
    const { id } = this.#ask as Ask;
    const { target, done, onFree } = this.#options;
    this.#ask = undefined;
    done({
      id,
      status,
      headers: target.readHeaders.map(headerIn(headers)),
      ...contentOf(status, text, target.readBody),
    });
    this.#keptMs = keptMs(headers);
    if (mayAskAgain && this.#keptMs > 0) {
      this.#reading.clear();
      onFree(this);
    } else this.close();
  }

  /** The server has said all it will. */
  #ended(): void {
    if (this.#ask && this.#reading.endsHere()) this.#answered();
    this.#close(new Error("the server ended the connection before it had answered"));
  }

  #close(error: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    const ask = this.#ask;
    this.#ask = undefined;
    const { done, onClosed } = this.#options;
    if (ask) done({ id: ask.id, error: describeError(error), code: codeOf(error), isWritten: this.#isOpen });
    onClosed(this);
  }
}

function open({ server, session }: ConnectionOptions, onPiece: (length: number, bytes: Buffer) => boolean): Socket {
  const isSecure = server.protocol === "https:";
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const line = {
    host,
    port: Number(server.port) || (isSecure ? 443 : 80),
    noDelay: true,
    keepAlive: true,
    onread: { buffer: Buffer.allocUnsafeSlow(PIECE_BYTES), callback: onPiece },
  };
  if (!isSecure) return connect(line);
  return connectSecurely({
    ...line,
    ALPNProtocols: ["http/1.1"],
    servername: isIP(host) ? undefined : host,
    session,
  });
}

const headerIn = (headers: readonly string[]) => (name: string) => headerOf(headers, name);

/** For how long the server lets the connection be quiet. */
function keptMs(headers: readonly string[]): number {
  const told = headerOf(headers, "keep-alive");
  const seconds = told === null ? undefined : /\btimeout=(\d+)/i.exec(told)?.[1];
  return seconds === undefined ? KEPT_MS : Math.min(Number(seconds) * 1000 - MARGIN_MS, KEPT_AT_MOST_MS);
}
