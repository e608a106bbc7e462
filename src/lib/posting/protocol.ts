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
}

export type ToThread =
  | { kind: "open"; target: number; facts: PostTarget }
  /** Id, path and body in turn: a list of plain values is the cheapest to hand over. */
  | { kind: "posts"; target: number; list: (number | string)[] }
  | { kind: "close"; target: number };

export type PostResult =
  /** `headers`: in the order of `readHeaders`. */
  | { id: number; status: number; headers: (string | null)[]; body: string }
  /** `isWritten` false: nothing reached the server. */
  | { id: number; error: string; code?: string; isWritten: boolean };

export type FromThread = { kind: "ready" } | { kind: "results"; results: PostResult[] };
