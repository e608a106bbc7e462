/**
 * The id in the message that Discord answers a post with, which is all that is read of it. To parse that message costs more than to
 * ask for it.
 */

/** Finds it when nothing nested stands before it, as a rule: what stands there is skipped name by name, so no other `id` is taken for it. */
export const POSTED = /^\{(?:"\w+":(?:"[^"\\]*(?:\\.[^"\\]*)*"|-?[\d.]+|true|false|null|\[\]),)*?"id":"(\d{1,20})"[,}]/;

/** For those in which it is not found. Throws when there is none. */
export function idIn(body: string): string {
  const message: unknown = JSON.parse(body);
  const id: unknown = typeof message === "object" && message !== null ? Reflect.get(message, "id") : undefined;
  if (typeof id === "string") return id;
  throw new Error("the answer holds no message");
}
