/** What comes of a post. */

export interface PostAnswer {
  status: number;
  /** What the target's pattern found. */
  found: string | undefined;
  /** All of it, unless something was found. */
  body: string;
  /** Of those that the target says it reads; null when the answer has none of this name. */
  header(name: string): string | null;
}

/** No whole answer came. */
export class PostError extends Error {
  /** False: nothing reached the server, so it may be repeated. True: something did, or nobody knows. */
  readonly isWritten: boolean;
  /** Of Node or undici. */
  readonly code: string | undefined;

  constructor(message: string, isWritten: boolean, code?: string) {
    super(message);
    this.name = "PostError";
    this.isWritten = isWritten;
    this.code = code;
  }
}

/** Undici's errors name the host at most; several of them come as one without a message of its own. */
export function describeError(error: Error): string {
  const parts = error instanceof AggregateError ? error.errors.map((one: unknown) => Object(one).message) : [];
  const code = codeOf(error) ?? "";
  const text = error.message || parts.join("; ") || error.name;
  return code && !text.includes(code) ? `${text} (${code})` : text;
}

export function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What is kept of an answer's text. */
export function contentOf(
  status: number,
  text: string,
  pattern: RegExp | undefined,
): Pick<PostAnswer, "found" | "body"> {
  const found = pattern && status >= 200 && status < 300 ? pattern.exec(text)?.[1] : undefined;
  return { found, body: found === undefined ? text : "" };
}

/** A header's value, of names and values in turn; `name` in lower case. */
export function headerOf(headers: readonly (Buffer | string)[], name: string): string | null {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const key = headers[i] as Buffer | string;
    if (key.length === name.length && String(key).toLowerCase() === name) return String(headers[i + 1]);
  }
  return null;
}
