/** The option `action` of a command that does several things: each with a line of its own in completion, `/help` and the docs. */
import type { OptionSpec } from "../src/domain/command.js";

/** `actions`: name → what it does. */
export function actionOption(actions: Readonly<Record<string, string>>, fallback: string): OptionSpec {
  return {
    name: "action",
    summary: `Action (default: ${fallback})`,
    type: "string",
    choices: Object.keys(actions),
    choiceSummaries: actions,
  };
}
