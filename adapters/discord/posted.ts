/**
 * The id in the message that Discord answers a post with, which is all that is read of it. To parse that message costs more than to
 * ask for it.
 */

/** Finds it when nothing nested stands before it, as a rule: what stands there is skipped name by name, so no other `id` is taken for it. */
export const POSTED = /^\{(?:"\w+":(?:"[^"\\]*(?:\\.[^"\\]*)*"|-?[\d.]+|true|false|null|\[\]),)*?"id":"(\d{1,20})"[,}]/;

/** A success whose answer was cut short, or is not Discord's: what was asked may have been done or not. */
export class UnreadableAnswer extends Error {
  constructor() {
    super("the answer holds no message");
    this.name = "UnreadableAnswer";
  }
}

/** For those in which it is not found. Throws an `UnreadableAnswer` when there is none. */
export function idIn(body: string): string {
  try {
    return idOf(JSON.parse(body));
  } catch {
    throw new UnreadableAnswer(); // how JSON.parse words it helps nobody
  }
}

/** The id of a message that Discord answered with. Throws an `UnreadableAnswer`. */
export function idOf(message: unknown): string {
  const id: unknown = typeof message === "object" && message !== null ? Reflect.get(message, "id") : undefined;
  if (typeof id === "string") return id;
  throw new UnreadableAnswer();
}
