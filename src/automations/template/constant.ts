/** A template that reads nothing of the run prints the same each time: what that is, is known when it is loaded. */
import { errorMessage } from "../../lib/errors.js";
import { isBlank } from "../../lib/markdown/clean.js";
import { plainEngine } from "./engine.js";

/** At most one sentence. */
export function constantProblem(source: string): string[] {
  try {
    if (!isBlank(String(plainEngine().parseAndRenderSync(source)))) return [];
    return ["it always prints nothing: write a text, or a name such as {{ event.… }}, or remove this setting"];
  } catch (error) {
    return [`it fails at every run: ${errorMessage(error).split("\n")[0]}`];
  }
}
