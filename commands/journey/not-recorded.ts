/** A dispatch is recorded at its end: texts about an id that the journal does not have. */
import { isHandId, rootOf } from "../../src/domain/journal.js";
import { word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { begunAt } from "../show/begun.js";
import { ago, clip, code } from "../show/text.js";
import { runningText } from "./surroundings.js";

export interface Work {
  kind: "task" | "mission";
  id: string;
}

/** How the orchestrator forms the ids of dispatches: `t_…:4:done:task:complete`, `assess_t_…_1_run`, `m_…_execute_0`. */
const OF_WORK: readonly (readonly [RegExp, Work["kind"]])[] = [
  [/^(t_[^:/]+)[:/]/, "task"],
  [/^assess_(t_\w+?)_\d+_(?:run|complete)/, "task"],
  [/^(m_[0-9a-z]+)[_:/]/, "mission"],
];

/** The task or mission that the dispatch is of; undefined for any other id. */
export function workOf(dispatchId: string): Work | undefined {
  for (const [form, kind] of OF_WORK) {
    const [, id] = form.exec(dispatchId) ?? [];
    if (id !== undefined) return { kind, id };
  }
  return undefined;
}

export async function hasWork({ tasks, missions }: CommandDeps, { kind, id }: Work): Promise<boolean> {
  if (kind === "task") return (await tasks?.store.get(id)) !== undefined;
  // Its `get` rejects an unknown id.
  return (await missions?.get(id).catch(() => undefined)) !== undefined;
}

export const showOf = ({ kind, id }: Work): string => `/${kind} show ${word(clip(id, 80))}`;

export const noWorkText = ({ kind, id }: Work): string =>
  `There is no ${kind} ${code(clip(id, 80))}: it never existed, or it was deleted after the retention.`;

/** Sentences, in Markdown; undefined when nothing is known of it. */
export async function notRecordedText(deps: CommandDeps, id: string): Promise<string | undefined> {
  const shown = code(clip(id, 80));
  const running = deps.registry
    .running()
    .filter(({ runId, dispatchId }) => runId === id || dispatchId === id || rootOf(dispatchId) === id);
  if (running.length > 0) return `${shown} has not ended: ${runningText(running)}. It is recorded at its end.`;
  const work = workOf(id);
  if (work !== undefined)
    return [
      `${shown} is the id of a dispatch of the ${work.kind} ${code(work.id)}, and no such dispatch is on record: the end of the process cut it off, no hook was enabled there, it did not happen, or its record was deleted after the retention. Whether a hook ran in it is **not known**.`,
      (await hasWork(deps, work)) ? `${code(showOf(work))} shows the ${work.kind}.` : noWorkText(work),
    ].join(" ");
  if (!isHandId(id)) return undefined;
  const at = await begunAt(deps, rootOf(id));
  if (at === undefined)
    return `${shown} is the id of a firing by hand, and no such firing is on record: the gateway ended before it did, or its record was deleted after the retention.`;
  return `${shown} was fired by hand ${ago(at, deps.clock.now())}, and is not on record: the gateway ended before it did, or its record was deleted after the retention. How far it came is **not known**.`;
}
