/** The id in the message that Discord answers a post with. */

/** A success whose answer was cut short, or is not Discord's: what was asked may have been done or not. */
export class UnreadableAnswer extends Error {
  constructor() {
    super("the answer holds no message");
    this.name = "UnreadableAnswer";
  }
}

/** The same of its text. */
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
