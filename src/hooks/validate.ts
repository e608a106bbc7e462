/** What is wrong with the registrations taken together; a load refuses to go on with any of it. */

import { BACKGROUND_KINDS } from "./contribution.js";
import type { Entry } from "./entry.js";
import { findCycles } from "./order.js";

export interface Problem {
  /** DEPENDENCY_MISSING | DEPENDENCY_ELSEWHERE | DEPENDENCY_CYCLE | NOT_VETOABLE | BACKGROUND_CAPABILITY */
  code: string;
  message: string;
  ids: readonly string[];
}

export function validateEntries(entries: readonly Entry[]): Problem[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const problems = entries.flatMap((entry) => [...dependencyProblems(entry, byId), ...policyProblems(entry)]);
  const places = groupByPlace(entries);
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
          message: `Hook "${entry.id}" is to run ${option} "${id}", which is not registered`,
          ids: [entry.id, id],
        });
      else if (placeOf(other) !== placeOf(entry))
        problems.push({
          code: "DEPENDENCY_ELSEWHERE",
          message: `Hook "${entry.id}" at ${placeOf(entry)} is to run ${option} "${id}", which is at ${placeOf(other)}`,
          ids: [entry.id, id],
        });
    }
  return problems;
}

function policyProblems({ id, point, phase, options, execution, capabilities }: Entry): Problem[] {
  const problems: Problem[] = [];
  if (options.execution === "blocking" && point.model !== "turn" && (!point.vetoable || phase === "after"))
    problems.push({
      code: "NOT_VETOABLE",
      message: `Hook "${id}" is blocking, but nothing can be vetoed at ${point.name}${phase === undefined ? "" : ` (${phase})`}`,
      ids: [id],
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
