/** The connections to one server. A post takes the one that was used last, or a new one, or waits for the next. */
import { type Ask, Connection } from "./connection.js";
import type { PostResult, PostTarget } from "./protocol.js";

const MOST = 256;
/** How late a time limit may be noticed. */
const LOOK_MS = 50;
/** A look this late was kept from its time. */
const LATE_MS = 1_000;
/** What no path may hold, least of all a line break, behind which a header would begin. */
const NOT_IN_PATH = /[^\x21-\x7e]/;
const NOT_IN_HEADER = /[^\x20-\x7e]/;

export class Connections {
  readonly #target: PostTarget;
  readonly #done: (result: PostResult) => void;
  readonly #server: URL;
  /** Of every request, from behind its path to the length of its body. */
  readonly #head: string;
  readonly #isHeadFit: boolean;
  readonly #all = new Set<Connection>();
  /** Those that are asked nothing; the one used last is last. */
  readonly #free: Connection[] = [];
  /** For more than `MOST`. */
  readonly #waiting: Ask[] = [];
  #session: Buffer | undefined;
  #looking: NodeJS.Timeout | undefined;
  #lookedAt = 0;

  constructor(target: PostTarget, done: (result: PostResult) => void) {
    this.#target = target;
    this.#done = done;
    this.#server = new URL(target.origin);
    this.#head = headOf(this.#server, target.headers);
    this.#isHeadFit = !Object.entries(target.headers)
      .flat()
      .some((text) => NOT_IN_HEADER.test(text));
  }

  post(id: number, path: string, body: string): void {
    if (!this.#isHeadFit) this.#done(unwritten(id, "a header has a character that no header may have"));
    else if (NOT_IN_PATH.test(path)) this.#done(unwritten(id, "the path has a character that no path may have"));
    else this.#give({ id, text: `POST ${path}${this.#head}${Buffer.byteLength(body)}\r\n\r\n${body}` });
  }

  /** Ends all. */
  close(): void {
    for (const { id } of this.#waiting.splice(0)) this.#done(unwritten(id, "the connection was closed"));
    for (const connection of this.#all) connection.close();
  }

  #give(ask: Ask): void {
    const free = this.#takeFree();
    if (free) free.ask(ask);
    else if (this.#all.size < MOST) this.#connect(ask);
    else this.#waiting.push(ask);
  }

  #takeFree(): Connection | undefined {
    const now = performance.now();
    for (let free = this.#free.pop(); free; free = this.#free.pop()) {
      if (!free.isStale(now)) return free;
      free.close();
    }
    return undefined;
  }

  #connect(ask: Ask): void {
    const options = {
      target: this.#target,
      server: this.#server,
      session: this.#session,
      done: this.#done,
      onFree: (connection: Connection) => this.#freed(connection),
      onClosed: (connection: Connection) => this.#closed(connection),
      onSession: (session: Buffer) => {
        this.#session = session;
      },
    };
    this.#all.add(new Connection(options, ask));
    if (this.#looking) return;
    this.#lookedAt = performance.now();
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  #freed(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) connection.ask(next);
    else this.#free.push(connection);
  }

  #closed(connection: Connection): void {
    this.#all.delete(connection);
    const place = this.#free.indexOf(connection);
    if (place >= 0) this.#free.splice(place, 1);
    const next = this.#waiting.shift();
    if (next) this.#connect(next);
    if (this.#all.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #look(): void {
    const now = performance.now();
    const lateMs = now - this.#lookedAt - LOOK_MS;
    this.#lookedAt = now;
    // This process was stopped: answers may be here, unread. Timers come before input.
    if (lateMs > LATE_MS) for (const connection of this.#all) connection.forgive(lateMs);
    else for (const connection of this.#all) connection.look(now);
  }
}

function headOf({ host }: URL, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return ` HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${lines.join("")}content-length: `;
}

function unwritten(id: number, error: string): PostResult {
  return { id, error, code: undefined, isWritten: false };
}
