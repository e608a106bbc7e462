/** A dispatch is recorded at its end: what is known of an id that the journal does not have. */
import { rootOf } from "../../src/domain/journal.js";
import { begunAt } from "../begun.js";
import type { CommandDeps } from "../deps.js";
import { isHandId } from "../payload.js";
import { ago, clip, code } from "../text.js";
import { runningText } from "./surroundings.js";

/** Sentences, in Markdown; undefined when nothing is known of it. */
export async function notRecordedText(deps: CommandDeps, id: string): Promise<string | undefined> {
  const shown = code(clip(id, 80));
  const running = deps.registry
    .running()
    .filter(({ runId, dispatchId }) => runId === id || dispatchId === id || rootOf(dispatchId) === id);
  if (running.length > 0) return `${shown} has not ended: ${runningText(running)}. It is recorded at its end.`;
  if (!isHandId(id)) return undefined;
  const at = await begunAt(deps, rootOf(id));
  if (at === undefined)
    return `${shown} is the id of a firing by hand, and no such firing is on record: the gateway ended before it did, or its record was deleted after the retention.`;
  return `${shown} was fired by hand ${ago(at, deps.clock.now())}, and is not on record: the gateway ended before it did, or its record was deleted after the retention. How far it came is **not known**.`;
}
