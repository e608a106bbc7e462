/** What is said between those who post and the thread that does it for them. */

/** A server and what all posts to it have in common. */
export interface PostTarget {
  /** `https://host:port` */
  origin: string;
  headers: Record<string, string>;
  /** For the answer to begin, and for each piece of it to come. */
  timeoutMs: number;
  connectTimeoutMs: number;
  /** Names of headers of the answer that are read, in lower case. */
  readHeaders: readonly string[];
  /** All that is read of the answer to a success is the first group of this, when it is found. */
  readBody?: RegExp;
}

/** Lists of plain values are the cheapest to hand over: an object's names are written and read again for each one. */
type Plain = number | string | boolean;

export type ToThread =
  | { kind: "open"; target: number; facts: PostTarget }
  /** Id, path and body in turn. */
  | { kind: "posts"; target: number; list: (number | string)[] }
  | { kind: "close"; target: number };

export type PostResult =
  /** `headers`: in the order of `readHeaders`. */
  | { id: number; status: number; headers: readonly (string | null)[]; found: string | undefined; body: string }
  /** `isWritten` false: nothing reached the server. */
  | { id: number; error: string; code: string | undefined; isWritten: boolean };

export type FromThread =
  | { kind: "ready" }
  /** As `addResult` writes them. */
  | { kind: "results"; list: Plain[] };

/** For a list of results: five values each. A failure has no status; a header that is not there is an empty one. */
export function addResult(list: Plain[], result: PostResult): void {
  if ("error" in result) list.push(result.id, 0, result.isWritten, result.error, result.code ?? "");
  else
    list.push(
      result.id,
      result.status,
      result.found !== undefined,
      result.found ?? result.body,
      joined(result.headers),
    );
}

export function readResults(list: readonly Plain[]): PostResult[] {
  const results: PostResult[] = [];
  for (let at = 0; at < list.length; at += 5) {
    const [id, status, flag, text, rest] = list.slice(at, at + 5) as [number, number, boolean, string, string];
    if (status === 0) results.push({ id, error: text, code: rest || undefined, isWritten: flag });
    else results.push({ id, status, headers: parted(rest), found: flag ? text : undefined, body: flag ? "" : text });
  }
  return results;
}

const NONE: readonly null[] = [];
/** No header's value holds one. */
const BETWEEN = "\n";

function joined(headers: readonly (string | null)[]): string {
  return headers.some((value) => value !== null) ? headers.join(BETWEEN) : "";
}

function parted(text: string): readonly (string | null)[] {
  return text === "" ? NONE : text.split(BETWEEN).map((value) => value || null);
}
