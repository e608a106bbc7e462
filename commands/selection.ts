/** The buttons of a question about many messages decide on those messages only: for other messages they ask again. */
import { createHash } from "node:crypto";
import type { CommandContext } from "../src/gateway/commands.js";

/** Names the subject of a question for its buttons: a press must not decide on anything else. */
export function selectionOf(ids: readonly string[]): string {
  return createHash("sha256")
    .update([...ids].sort().join(" "))
    .digest("hex")
    .slice(0, 12);
}

/** Others were meant when the question was asked. Not so where the command was typed. */
export function hasChanged({ options }: CommandContext, ids: readonly string[]): boolean {
  return typeof options.selection === "string" && options.selection !== selectionOf(ids);
}

/** Before a question that is asked again, or in place of one when nothing is left. */
export const changedText = (things: "messages" | "tasks") =>
  `The ${things} are not the same as when you were asked; nothing was done.`;
