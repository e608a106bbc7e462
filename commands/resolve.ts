/** Finds a hook or a hook point by the text that an operator typed; the error for a misspelled name suggests the nearest name. */
import type { HookInfo } from "../src/hooks/registration/registration.js";
import type { AnyPoint } from "../src/hooks/signatures.js";
import { HookgateError } from "../src/lib/errors.js";
import { missing, notFound } from "./answer.js";
import { sourceText } from "./automations/describe.js";
import type { CommandDeps, HookDesk } from "./deps.js";

export type Target = { kind: "hook"; hook: HookInfo; point: AnyPoint } | { kind: "point"; point: AnyPoint };

type Desks = Pick<CommandDeps, "registry" | "automations">;

export function resolveHook({ registry, automations }: Desks, id: unknown): HookInfo {
  const name = required(id, "the id of a hook", "id");
  const hook = registry.get(name);
  if (hook) return hook;
  needInForce(automations, name);
  if (findPoint(registry, name))
    throw new HookgateError({
      code: "BAD_USAGE",
      message: `"${name}" is a hook point, and not a hook.`,
      hint: `/hooks order ${name} lists its hooks.`,
    });
  throw notFound(
    "hook",
    name,
    registry.list().map((known) => known.id),
    "/hooks lists them all.",
    "id",
  );
}

/** A hook's id or a point's name; a hook of the same name goes first. `words`: other values of the option. */
export function resolveTarget(
  { registry, automations }: Desks,
  given: unknown,
  option = "id",
  words: readonly string[] = [],
): Target {
  const name = required(given, "the id of a hook or the name of a hook point", option);
  const hook = registry.get(name);
  if (hook) return { kind: "hook", hook, point: registry.point(hook.hook) };
  const point = findPoint(registry, name);
  if (point) return { kind: "point", point };
  needInForce(automations, name);
  const known = [...registry.list().map((one) => one.id), ...registry.points.map((one) => one.name)];
  throw notFound(
    "hook or hook point",
    name,
    [...known, ...words],
    `${words.length === 0 ? "" : `Write a hook, a hook point, or one of ${words.join(", ")}. `}/hooks lists the hooks. \`npx hookgate points\`, on the gateway's machine, lists the points.`,
    option,
  );
}

/** Throws for a broken hook that has a definition: the hook exists, and cannot run. */
function needInForce(automations: Desks["automations"], name: string): void {
  const broken = automations?.broken().find(({ id }) => id === name);
  if (broken === undefined) return;
  const [first] = broken.problems;
  const why = first && `${first.path === "" ? "" : `${first.path}: `}${first.message} (${sourceText(first)})`;
  throw new HookgateError({
    code: "HOOK_BROKEN",
    message: `The hook "${name}" is not in force, because its definition is broken${why ? `: ${why}` : "."}`,
    hint: `/hooks show ${name} shows everything that is wrong with it.`,
  });
}

export function isHookOrPoint({ registry }: Desks, name: string): boolean {
  return registry.get(name) !== undefined || registry.points.some((point) => point.name === name);
}

function findPoint(registry: HookDesk, name: string): AnyPoint | undefined {
  try {
    return registry.point(name);
  } catch (error) {
    if (error instanceof HookgateError && error.code === "HOOK_UNKNOWN") return undefined;
    throw error;
  }
}

function required(value: unknown, what: string, option: string): string {
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  throw missing(what, "/hooks lists the hooks.", option);
}

/** Families of points whose names do not start with a family. */
const FAMILIES: Readonly<Record<string, string>> = {
  message_received: "inbound",
  inbound_claim: "inbound",
  message_edited: "inbound",
  message_deleted: "inbound",
  reaction_added: "inbound",
  command_invoked: "inbound",
  before_dispatch: "outbound",
  message_sending: "outbound",
  message_sent: "outbound",
  delivery_failed: "outbound",
  hook_run_completed: "lifecycle",
  hook: "triggers",
  file: "triggers",
  folder: "triggers",
  config: "lifecycle",
  orchestrator: "lifecycle",
  task: "tasks",
  schedule: "tasks",
  mission: "missions",
  assessment: "quality",
};

/** `inbound` or `tasks` for the product's own points, the first word of others such as `quality:gate`, `plugin x` for a plugin's. */
export function familyOf(point: string): string {
  const [first = point, second] = point.split(/[:.]/);
  if (first === "plugin" && second) return `plugin ${second}`;
  return FAMILIES[first] ?? first;
}
