/** What is read of a connection: the answer to one request, piece by piece. */
import { StringDecoder } from "node:string_decoder";
import { HTTPParser } from "http-parser-js";

export class Reading {
  status = 0;
  /** Names and values in turn. */
  headers: readonly string[] = [];
  text = "";
  isWhole = false;
  /** The server keeps the connection, and nothing came behind the answer. */
  mayAskAgain = false;
  readonly #parser = new HTTPParser(HTTPParser.RESPONSE) as InstanceType<typeof HTTPParser> & { offset: number };
  readonly #decoder = new StringDecoder("utf8");
  #end = 0;

  constructor() {
    const parser = this.#parser;
    parser[HTTPParser.kOnHeadersComplete] = ({ statusCode, headers, shouldKeepAlive }) => {
      if (this.isWhole) return; // of another answer, which nobody asked for
      this.status = statusCode;
      this.headers = headers;
      this.mayAskAgain = shouldKeepAlive;
    };
    parser[HTTPParser.kOnBody] = (piece) => {
      if (!this.isWhole) this.text += this.#decoder.write(piece);
    };
    parser[HTTPParser.kOnMessageComplete] = () => {
      if (this.isWhole) return;
      this.isWhole = this.status >= 200; // informational ones (1xx) come before the answer itself
      this.#end = parser.offset;
    };
  }

  get hasBegun(): boolean {
    return this.status > 0;
  }

  read(bytes: Buffer, length: number): Error | undefined {
    const read = this.#parser.execute(bytes, 0, length);
    if (read instanceof Error) return read;
    if (this.isWhole && this.#end !== length) this.mayAskAgain = false;
    return undefined;
  }

  /** Whether the end of the connection is its end. */
  endsHere(): boolean {
    return this.#parser.finish() === undefined && this.isWhole;
  }

  clear(): void {
    this.status = 0;
    this.text = "";
    this.isWhole = false;
    this.#decoder.end();
  }
}
