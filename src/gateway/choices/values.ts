/** The values of a command's options, list by list: for completion while a person types, and for a person who left one out. */
import { stateWord } from "../../domain/alerts/alert.js";
import { auditedNames } from "../../domain/chat/audited-names.js";
import type { Choice, ChoiceList, OptionSpec, OptionValue } from "../../domain/chat/command.js";
import type { Operator } from "../../domain/chat/identity.js";
import { type GateState, isGateOpen, type Mission, OPEN_MISSION_STATUSES } from "../../domain/orchestrator/mission.js";
import { OPEN_TASK_STATUSES, type Task } from "../../domain/orchestrator/task.js";
import { isPossible, offeredStatuses } from "../../domain/orchestrator/task-actions.js";
import type { Deps } from "../deps.js";
import type { CommandTable } from "../inbound/parse-command.js";
import { LETTERS, letters } from "./letters.js";
import { titled } from "./titled.js";

const NEWEST = 100;

export interface Asking {
  operator: Operator;
  /** The other options of the line. */
  given: Readonly<Record<string, OptionValue>>;
  /** The only ids that lists of tasks and missions have then. */
  named?: readonly string[] | undefined;
}

/** The list that an option's values come from, given the line so far. */
export function listOf({ complete, completeFor }: OptionSpec, given: Asking["given"]): ChoiceList | undefined {
  const { action } = given;
  return (typeof action === "string" ? completeFor?.[action] : undefined) ?? complete;
}

export async function valuesOf(
  list: ChoiceList,
  { operator, given, named }: Asking,
  commands: CommandTable,
  { registry, store, offers }: Deps,
): Promise<Choice[]> {
  // Without a role one is shown one's own tasks, and nothing else.
  if (operator.role === undefined && list !== "tasks-to-act-on") return [];
  const hooks = () => registry.list().map(({ id, hook }) => ({ name: `${id} · ${hook}`, value: id }));
  const points = () => registry.points.map((point) => same(point.name));
  switch (list) {
    case "words":
      return [];
    case "hooks":
      return hooks();
    case "points":
      return points();
    case "hooks-and-points":
      return [...hooks(), ...points()];
    case "hooks-and-people":
      return [...hooks(), ...(await auditedPeople(store))];
    case "commands":
      return commands.all.map(({ name, summary }) => ({ name: `${name}: ${summary}`, value: name }));
    case "plans":
      return offers.plans();
    case "assignees":
      return [{ name: "yourself", value: "me" }, ...offers.assignees()];
    case "rotas":
      return offers.rotas();
    case "policies":
      return offers.policies();
    case "tasks":
      return taskChoices(await tasksNamed(named, store, () => store.tasks.list({ limit: NEWEST })), offers);
    case "open-tasks":
      return taskChoices(await store.tasks.list({ status: OPEN_TASK_STATUSES, limit: NEWEST }), offers);
    case "tasks-to-act-on":
      return taskChoices(await tasksNamed(named, store, () => tasksToActOn(operator, given.action, store)), offers);
    case "missions":
    case "open-missions":
      return (await missionsToOffer(list, { named, action: given.action }, store)).map(missionChoice);
    case "gates":
      return gatesOf(await store.missions.rows.list({ status: OPEN_MISSION_STATUSES, limit: NEWEST }), given.mission);
    case "schedules":
      return (await store.missions.schedules.list()).map(({ id, planId, expression, paused }) => ({
        name: `${id} · ${planId} at ${expression}${paused === undefined ? "" : " · paused"}`,
        value: id,
      }));
    case "silences":
      return (await store.alerts.silences())
        .filter(({ endedAt }) => endedAt === undefined)
        .map(({ id, matchers, comment }) => ({
          name: `${titled(matchers.join(" "))} · ${titled(comment)} · ${id}`,
          value: id,
        }));
    case "alerts":
      return (await store.alerts.list({ open: true, limit: NEWEST })).map(({ id, state, signal }) => ({
        name: `${titled(signal.title)} · ${stateWord({ state, signal })} · ${id}`,
        value: id,
      }));
    case "clocks":
    case "conversations":
      return (await store.sla.list({ state: "open", limit: NEWEST }))
        .filter(({ entity }) => list === "clocks" || entity.type === "conversation")
        .map(({ id, policyId, entity }) => ({ name: `${titled(entity.title)} · ${policyId} · ${id}`, value: id }));
    case "runs":
      // `/hooks why HOOK message`: runs of that hook.
      return runChoices(typeof given.id === "string" && registry.get(given.id) ? { hookId: given.id } : {}, store);
    case "deliveries":
    case "deliveries-to-release":
    case "letters-to-retry":
    case "letters-to-purge":
      return letters(LETTERS[list], { store, offers });
  }
}

const words = (status: string) => status.replaceAll("_", " ");
export const same = (value: string): Choice => ({ name: value, value });

async function tasksNamed(
  ids: readonly string[] | undefined,
  { tasks }: Deps["store"],
  otherwise: () => Promise<Task[]>,
): Promise<Task[]> {
  if (ids === undefined) return otherwise();
  return (await Promise.all(ids.map((id) => tasks.get(id)))).filter((task) => task !== undefined);
}

/** The tasks that this person may see and for which the action is possible; the person's own come first. */
async function tasksToActOn(
  { role, platform, userId }: Operator,
  action: OptionValue | undefined,
  { tasks }: Deps["store"],
): Promise<Task[]> {
  const ref = `person:${platform}:${userId}`;
  const found = await tasks.list({ status: offeredStatuses(action), limit: NEWEST });
  const fit = found.filter((task) => isPossible(task, String(action), ref));
  const own = fit.filter(({ owner }) => owner === ref);
  return role === undefined ? own : [...own, ...fit.filter(({ owner }) => owner !== ref)];
}

/** Tasks with the same title differ by the person or runner that has them. */
function taskChoices(tasks: readonly Task[], { personName }: Deps["offers"]): Choice[] {
  const shown = (title: string) => titled(title).toLowerCase();
  const amounts = new Map<string, number>();
  for (const { title } of tasks) amounts.set(shown(title), (amounts.get(shown(title)) ?? 0) + 1);
  return tasks.map(({ id, title, status, owner, assignTo }) => {
    const ref = (owner ?? assignTo).replace(/^person:/, "");
    const who = (amounts.get(shown(title)) ?? 0) > 1 ? ` · ${titled(personName(ref) ?? assignTo)}` : "";
    return { name: `${titled(title)}${who} · ${words(status)} · ${id}`, value: id };
  });
}

/** Runs of configured hooks, and those that the journal has of all hooks: of one hook when one is given. */
async function runChoices(of: { hookId?: string }, { automation, journal }: Deps["store"]): Promise<Choice[]> {
  const configured = await automation.runs.brief({ ...of, limit: NEWEST });
  const dispatches = await journal.list({ ...of, limit: NEWEST });
  const isOf = ({ hookId }: { hookId: string }) => of.hookId === undefined || hookId === of.hookId;
  return [
    same("last"),
    ...configured.map(({ id, hookId, status }) => ({ name: `${id} · ${hookId} · ${words(status)}`, value: id })),
    ...dispatches.flatMap(({ point, runs }) =>
      runs
        .filter(isOf)
        .map((run) => ({ name: `${run.id} · ${run.hookId} at ${point} · ${words(run.outcome)}`, value: run.id })),
    ),
  ];
}

const missionChoice = ({ id, title, status }: Mission): Choice => ({
  name: `${titled(title)} · ${status} · ${id}`,
  value: id,
});

/** People who did something of late, by their names. */
async function auditedPeople(store: Deps["store"]): Promise<Choice[]> {
  return [...(await auditedNames(store))].map(([value, name]) => ({
    name: name === "" ? value : `${name} · ${value}`,
    value,
  }));
}

/** Those of the ids that are given, else those for which the action is possible. */
async function missionsToOffer(
  list: "missions" | "open-missions",
  { named, action }: { named: readonly string[] | undefined; action: OptionValue | undefined },
  { missions }: Deps["store"],
): Promise<Mission[]> {
  if (named !== undefined)
    return (await Promise.all(named.map((id) => missions.rows.get(id)))).flatMap((row) => (row ? [row.mission] : []));
  const status = list === "open-missions" ? { status: OPEN_MISSION_STATUSES } : {};
  const found = await missions.rows.list({ ...status, limit: NEWEST });
  if (action === "retry") return found.filter(({ hold }) => hold !== undefined);
  return action === "release" ? found.filter(({ gates }) => gates.some(isShut)) : found;
}

const isShut = (gate: GateState): boolean => gate.verdict !== undefined && !isGateOpen(gate);

/** The shut gates of the mission that the line names, by its plan the newest one; else of all. */
function gatesOf(missions: readonly Mission[], named: OptionValue | undefined): Choice[] {
  const meant = missions.find(({ id, planId }) => id === named || planId === named);
  const some = named === undefined ? missions : meant === undefined ? [] : [meant];
  return some.flatMap(({ title, gates }) =>
    gates.filter(isShut).map((gate) => ({ name: `${gate.name} · ${titled(title)}`, value: gate.name })),
  );
}
