/** What comes of a post. */

export interface PostAnswer {
  status: number;
  /** The text under the name that the target says it reads, when the request succeeded. */
  field: string | undefined;
  /** Empty when there is a `field`. */
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

/** The text under a name in a JSON object, of which nothing else is wanted. Undefined when it is not there. */
export function fieldOf(body: string, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const field: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
    return typeof field === "string" ? field : undefined;
  } catch {
    return undefined; // the reader of the whole body says what is wrong with it
  }
}

/** What is kept of an answer's text. */
export function contentOf(status: number, text: string, name: string | undefined): Pick<PostAnswer, "field" | "body"> {
  const field = name !== undefined && status >= 200 && status < 300 ? fieldOf(text, name) : undefined;
  return { field, body: field === undefined ? text : "" };
}

/** A header's value, of names and values in turn; `name` in lower case. */
export function headerOf(headers: readonly Buffer[], name: string): string | null {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const key = headers[i] as Buffer;
    if (key.length === name.length && key.toString("latin1").toLowerCase() === name) return String(headers[i + 1]);
  }
  return null;
}
