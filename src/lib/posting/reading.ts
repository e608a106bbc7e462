/** What is read of a connection: the answer to one POST, piece by piece, as RFC 9112 has it. */
import { headerOf } from "./answer.js";

/** Characters of a head, of a chunk's first line, or of what stands behind the last chunk. */
const MOST_HEAD = 80 * 1024;
const STATUS = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/;
const NAME = /^[!#$%&'*+\-.^_`|~\w]+$/;
const NOT_IN_LINE = /[\0\r\n]/;
const CHUNK = /^([\da-f]{1,8})[ \t]*(?:;|$)/i;
const NOT_ASCII = /[^\0-\x7f]/;

export class Reading {
  status = 0;
  /** Names and values in turn. */
  headers: readonly string[] = [];
  isWhole = false;
  /** The server keeps the connection, and nothing came behind the answer. */
  mayAskAgain = false;
  /** What has come and was not read yet, a character for each byte. */
  #rest = "";
  #body = "";
  #isHeadRead = false;
  /** Bytes of the body that are still to come; undefined: to the end of the connection. */
  #missing: number | undefined = 0;
  #isChunked = false;

  get hasBegun(): boolean {
    return this.status > 0;
  }

  get text(): string {
    return NOT_ASCII.test(this.#body) ? Buffer.from(this.#body, "latin1").toString("utf8") : this.#body;
  }

  read(bytes: Buffer, length: number): Error | undefined {
    this.#rest += bytes.toString("latin1", 0, length);
    try {
      while (!this.#isHeadRead) if (!this.#readHead()) return undefined;
      if (this.#isChunked) this.#readChunks();
      else this.#readBody();
    } catch (error) {
      return error as Error;
    }
    if (this.isWhole && this.#rest !== "") this.mayAskAgain = false;
    return undefined;
  }

  /** Whether the end of the connection is its end. */
  endsHere(): boolean {
    this.isWhole ||= this.#isHeadRead && this.#missing === undefined && !this.#isChunked;
    return this.isWhole;
  }

  /** To be called when another may be asked for. */
  clear(): void {
    this.status = 0;
    this.isWhole = false;
    this.#isHeadRead = false;
    this.#body = "";
  }

  /** False: it is not all there. */
  #readHead(): boolean {
    const end = this.#find("\r\n\r\n");
    if (end < 0) return false;
    const lines = this.#rest.slice(0, end).split("\r\n");
    this.#rest = this.#rest.slice(end + 4);
    for (const line of lines) if (NOT_IN_LINE.test(line)) noHttp();
    const [, minor, status] = STATUS.exec(lines[0] as string) ?? noHttp();
    this.status = Number(status);
    if (this.status === 101) throw new Error("the server switched to another protocol");
    if (this.status < 200) return true; // it only informs
    const headers: string[] = [];
    for (let i = 1; i < lines.length; i++) {
      const line = lines[i] as string;
      const colon = line.indexOf(":");
      const name = line.slice(0, colon);
      if (colon < 0 || !NAME.test(name)) noHttp();
      headers.push(name, line.slice(colon + 1).trim());
    }
    this.headers = headers;
    this.#isHeadRead = true;
    this.#frame(minor === "1");
    return true;
  }

  #frame(isNew: boolean): void {
    const connection = headerOf(this.headers, "connection")?.toLowerCase() ?? "";
    this.mayAskAgain = isNew ? !connection.includes("close") : connection.includes("keep-alive");
    const coding = headerOf(this.headers, "transfer-encoding");
    const length = headerOf(this.headers, "content-length");
    const isEmpty = this.status === 204 || this.status === 304; // whatever its headers say
    this.#isChunked = !isEmpty && coding?.toLowerCase() === "chunked";
    if (isEmpty) this.#missing = 0;
    else if (coding !== null) this.#missing = undefined;
    else if (length === null) this.#missing = undefined;
    else if (/^\d{1,15}$/.test(length)) this.#missing = Number(length);
    else noHttp();
    if (this.#missing === undefined && !this.#isChunked) this.mayAskAgain = false;
  }

  #readBody(): void {
    const missing = this.#missing ?? Number.POSITIVE_INFINITY;
    const piece = this.#rest.length > missing ? this.#rest.slice(0, missing) : this.#rest;
    this.#rest = this.#rest.slice(piece.length);
    this.#body += piece;
    if (this.#missing === undefined) return;
    this.#missing -= piece.length;
    this.isWhole = this.#missing === 0;
  }

  #readChunks(): void {
    for (;;) {
      const end = this.#find("\r\n");
      if (end < 0) return;
      const size = Number.parseInt((CHUNK.exec(this.#rest.slice(0, end)) ?? noHttp())[1] as string, 16);
      if (size === 0) {
        const last = this.#find("\r\n\r\n", end);
        if (last < 0) return;
        this.#rest = this.#rest.slice(last + 4);
        this.isWhole = true;
        return;
      }
      const next = end + 2 + size;
      if (this.#rest.length < next + 2) return;
      if (!this.#rest.startsWith("\r\n", next)) noHttp();
      this.#body += this.#rest.slice(end + 2, next);
      this.#rest = this.#rest.slice(next + 2);
    }
  }

  /** Where this is in what was not read; -1: it has not come yet. */
  #find(text: string, from = 0): number {
    const place = this.#rest.indexOf(text, from);
    if ((place < 0 ? this.#rest.length : place) > MOST_HEAD) throw new Error("the answer has a head without end");
    return place;
  }
}

function noHttp(): never {
  throw new Error("what came back is no HTTP/1.1");
}
