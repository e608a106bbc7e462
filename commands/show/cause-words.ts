/** The cause of a run or a dispatch, by the names that people know: a hook is named by its id, and not by its run alone. */
import type { Cause } from "../../src/domain/journal.js";
import type { CommandDeps } from "../deps.js";
import { code } from "./text.js";

/** Markdown: `hook x (run r_1)`, `message m5`. */
export async function causeWords(
  { automations, store }: CommandDeps,
  { kind, id }: Pick<Cause, "kind" | "id">,
): Promise<string> {
  if (kind !== "hook" && kind !== "agent") return `${kind} ${code(id)}`;
  const hookId =
    (await automations?.runs.get(id))?.hookId ??
    (await store.journal.getByRun(id))?.runs.find((run) => run.id === id)?.hookId;
  if (hookId !== undefined) return `${kind} ${code(hookId)} (run ${code(id)})`;
  if (/^(m\d+|d_[^:/]+)$/.test(id)) return `a hook of a plugin, for ${code(id)}`;
  // Work that a plugin's hook set off may name the dispatch of the hook alone.
  const dispatch = await store.journal.get(id);
  if (dispatch === undefined) return `${kind} ${code(id)}`;
  const ran = [...new Set(dispatch.runs.filter(({ outcome }) => outcome !== "skipped").map((run) => run.hookId))];
  return ran.length === 1
    ? `${kind} ${code(ran[0] ?? "")} (${code(id)})`
    : `a hook at ${code(dispatch.point)} (${code(id)})`;
}
