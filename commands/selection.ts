/** The buttons of a question about many decide on what the question was about: on anything else they ask again. */
import { createHash } from "node:crypto";
import type { CommandContext } from "../src/gateway/commands.js";

/** Names what a question is about, for its buttons: a press must not decide on anything else. */
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
