/** Finds the problems of the registrations taken together. */

import { nearest } from "../../lib/validation/nearest.js";
import { BACKGROUND_KINDS } from "../contribution.js";
import { type Entry, isAwaited, runsInOrder } from "./entry.js";
import { findCycles, needsOf, orderEntries } from "./order.js";

export interface Problem {
  /**
   * DEPENDENCY_MISSING | DEPENDENCY_ELSEWHERE | DEPENDENCY_CYCLE | NOT_VETOABLE | BACKGROUND_CAPABILITY | MAY_BE_OVERRULED |
   * NOT_WAITED_FOR | SEES_ORIGINAL
   */
  code: string;
  message: string;
  ids: readonly string[];
  /** A load reports it and goes on. */
  isWarning?: true;
}

export const isError = ({ isWarning }: Problem): boolean => isWarning !== true;

/** `after` or `before` names a hook that is not there, or not at that point: the hook can run, without that order. */
export const isDangling = ({ code }: Problem): boolean =>
  code === "DEPENDENCY_MISSING" || code === "DEPENDENCY_ELSEWHERE";

/** True when the problem keeps a hook out of force. A dangling name does not: work does not lose its guard because another hook is gone. */
export const isUnfit = (problem: Problem): boolean => isError(problem) && !isDangling(problem);

export function validateEntries(entries: readonly Entry[]): Problem[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const problems = entries.flatMap((entry) => [...dependencyProblems(entry, byId), ...policyProblems(entry)]);
  const places = groupByPlace(entries);
  for (const group of places.values()) problems.push(...overrulings(group));
  for (const group of places.values())
    for (const ids of findCycles(group))
      problems.push({
        code: "DEPENDENCY_CYCLE",
        message: `These hooks wait for each other: ${[...ids, ids[0]].join(" → ")}`,
        ids,
      });
  return problems;
}

const placeOf = ({ point, phase }: Entry) => (phase === undefined ? point.name : `${point.name} (${phase})`);

function groupByPlace(entries: readonly Entry[]): Map<string, Entry[]> {
  const places = new Map<string, Entry[]>();
  for (const entry of entries) {
    const place = placeOf(entry);
    const group = places.get(place);
    if (group === undefined) places.set(place, [entry]);
    else group.push(entry);
  }
  return places;
}

function dependencyProblems(entry: Entry, byId: Map<string, Entry>): Problem[] {
  const problems: Problem[] = [];
  for (const option of ["after", "before"] as const)
    for (const id of entry.options[option] ?? []) {
      const other = byId.get(id);
      if (other === undefined)
        problems.push({
          code: "DEPENDENCY_MISSING",
          message: `${nameOf(entry)} is to run ${option} "${id}", which is not registered${meant(id, entry, byId)}`,
          ids: [entry.id, id],
        });
      else if (placeOf(other) !== placeOf(entry))
        problems.push({
          code: "DEPENDENCY_ELSEWHERE",
          message: `${nameOf(entry)} at ${placeOf(entry)} is to run ${option} "${id}", which is at ${placeOf(other)}`,
          ids: [entry.id, id],
        });
    }
  return problems;
}

/** `after` and `before` that order the starts alone, where the author of the hook may count on more. */
export function unawaitedEntries(entries: readonly Entry[]): Problem[] {
  return [...needsOf(entries.filter(({ enabled }) => enabled))].flatMap(([entry, needs]) =>
    [...needs]
      .filter((first) => placeOf(first) === placeOf(entry) && !isAwaited(first))
      .map((first) => unawaited(first, entry)),
  );
}

function unawaited(first: Entry, second: Entry): Problem {
  const isOrdered = runsInOrder(first);
  const why = isOrdered ? `"${first.id}" is ${first.execution}` : `the hooks at ${placeOf(first)} run at once`;
  const wait = isOrdered ? `set \`execution: blocking\` for "${first.id}", or put` : "put";
  return {
    code: "NOT_WAITED_FOR",
    message: `${nameOf(second)} starts after "${first.id}" and does not wait for its end, because ${why}. If it needs what "${first.id}" does, ${wait} both into one hook, as steps.`,
    ids: [second.id, first.id],
    isWarning: true,
  };
}

/** With the line that registers it, where that is known. */
const nameOf = ({ id, place }: Entry) => `Hook "${id}"${place === undefined ? "" : ` (${place})`}`;

/** The hook at the same point whose id, or whose name within its plugin, is nearest. */
function meant(name: string, entry: Entry, byId: Map<string, Entry>): string {
  const peers = [...byId.values()].filter((other) => other !== entry && placeOf(other) === placeOf(entry));
  const byName = new Map(
    peers.map(({ id, pluginId }) => [pluginId === undefined ? id : id.slice(pluginId.length + 1), id]),
  );
  const ids = peers.map(({ id }) => id);
  const near = nearest(name, ids) ?? byName.get(nearest(name, byName.keys()) ?? "");
  return near === undefined ? "" : ` (did you mean "${near}"?)`;
}

/** Two hooks that may set the same field, the later of which does not see what the earlier one sets. */
function overrulings(group: readonly Entry[]): Problem[] {
  if (group[0]?.point.model !== "modifying") return [];
  return orderEntries(group.filter((entry) => entry.enabled && isAwaited(entry))).flatMap((entry, index, order) => {
    const earlier = entry.seesMerged ? [] : order.slice(0, index).filter((other) => mayMeet(entry, other));
    if (earlier.length === 0) return [];
    const ids = earlier.map(({ id }) => id);
    const message = `Hook "${entry.id}" does not see what ${ids.map((id) => `"${id}"`).join(", ")} set${ids.length === 1 ? "s" : ""} at ${entry.point.name} (sees: original). Where both set the same field, the value of "${entry.id}" is lost. Set \`sees: merged\`.`;
    return [{ code: "MAY_BE_OVERRULED", message, ids: [entry.id, ...ids], isWarning: true as const }];
  });
}

/** False when their matchers name different platforms, so that no payload reaches both. */
function mayMeet({ options }: Entry, { options: other }: Entry): boolean {
  const [mine, theirs] = [options.match?.platforms, other.match?.platforms];
  return mine === undefined || theirs === undefined || mine.some((name) => theirs.includes(name));
}

function policyProblems(entry: Entry): Problem[] {
  const { id, point, phase, options, execution, capabilities } = entry;
  const problems: Problem[] = [];
  if (options.execution === "blocking" && point.model !== "turn" && (!point.vetoable || phase === "after"))
    problems.push({
      code: "NOT_VETOABLE",
      message: `${nameOf(entry)}: execution: nothing can be vetoed at ${placeOf(entry)}, so it cannot be blocking: remove \`execution\``,
      ids: [id],
    });
  if (execution === "background" && options.sees === "merged")
    problems.push({
      code: "SEES_ORIGINAL",
      message: `${nameOf(entry)} runs in the background, so it gets the payload as it was before other hooks changed it: \`sees: merged\` has no effect. Set \`execution: fire_and_record\` if it must see their changes, or remove \`sees\`.`,
      ids: [id],
      isWarning: true,
    });
  const beyond = execution === "background" ? [...capabilities].filter((kind) => !BACKGROUND_KINDS.includes(kind)) : [];
  if (beyond.length > 0)
    problems.push({
      code: "BACKGROUND_CAPABILITY",
      message: `Hook "${id}" runs in the background and may contribute only ${BACKGROUND_KINDS.join(", ")}; it declares ${beyond.join(", ")}`,
      ids: [id],
    });
  return problems;
}
