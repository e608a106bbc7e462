/** Checks a definition whose form is right against what exists: hook points, events, payload fields, secrets, models. */
import { basename, dirname, join } from "node:path";
import { DUE_POINT } from "../../domain/automation.js";
import { orchestratorShutdown } from "../../hooks/catalogue/orchestration.js";
import type { LifecyclePhase } from "../../hooks/point.js";
import { ALIASES, resolveAlias } from "../../hooks/registration/aliases.js";
import { payloadSchema } from "../../hooks/registration/payload-schema.js";
import type { Execution } from "../../hooks/registration/registration.js";
import type { AnyPoint } from "../../hooks/signatures.js";
import { whyNoKey } from "../../lib/signing/webhook-signature.js";
import type { JsonSchema } from "../../lib/validation/json-schema.js";
import { valueAt } from "../../lib/validation/parse-all.js";
import { type Issue, suggestion } from "../../lib/validation/schema-issues.js";
import { isWebAddress } from "../../lib/web-address.js";
import type { ChatRef } from "../handler.js";
import { HERE } from "../outgoing/chat-address.js";
import { hasLogin, LOGIN_IN_URL } from "../outgoing/fields.js";
import { eventName } from "../triggers/event-point.js";
import { type Selection, selectionOf } from "../triggers/watch/selection.js";
import { buildDefinition, optional, type Used } from "./build-definition.js";
import { checkEffects, checkPolicies, isWaitedFor } from "./check-effects.js";
import { matchOf } from "./check-match.js";
import { compileTemplates } from "./check-templates.js";
import type { Definition, Place, Trigger } from "./definition.js";
import { hasConversation, namesConversation } from "./has-conversation.js";
import type { Parsed, ParsedBody } from "./parse.js";
import type { DefinitionForm } from "./schema.js";

/** The points, events, models and other things that a definition may name. */
export interface Surroundings {
  readonly points: ReadonlyMap<string, AnyPoint>;
  /** Names under `events:`. */
  readonly events: readonly string[];
  /** The reasons of events that are not in force. */
  readonly brokenEvents?: ReadonlyMap<string, string>;
  /** An environment variable. */
  secret(name: string): string | undefined;
  /** The gateway's own files, whose changes start no hook. */
  readonly ownFiles?: OwnFiles;
  /** Names under `models:`. */
  readonly models: readonly string[];
  /** The model that is asked when none is named. */
  readonly defaultModel?: string | undefined;
  /** The models without a price. */
  readonly unpriced?: readonly string[];
  /** The hook that is in force under an id. Absent: none is yet. */
  readonly inForce?: ((id: string) => Definition | undefined) | undefined;
}

interface OwnFiles {
  includes(path: string): boolean;
  /** The gateway's own files in the folder of its database, by their real paths. */
  readonly besideDatabase: readonly string[];
}

export type Checked = { issues: Issue[] } | { definition: Definition };

/** Every issue at once. */
export function checkDefinition(
  form: DefinitionForm,
  { body, unsure }: Pick<Parsed, "body" | "unsure">,
  raw: unknown,
  where: { place: Place; folder: string },
  around: Surroundings,
): Checked {
  const issues: Issue[] = [];
  const used = usedBy(body);
  const secrets = [...new Set(used.flatMap(({ needs, options }) => needs.secrets?.(options) ?? []))];
  checkSecrets(secrets, around, issues);
  checkKeys(body.run?.handler.signingSecrets?.(body.run.options) ?? [], around, issues);
  checkAddresses([...new Set(used.flatMap(({ needs, options }) => needs.addresses?.(options) ?? []))], around, issues);
  checkModel(body.run, around, issues);
  // Where the start of the hook is not known, nothing is known of payloads and phases.
  if (unsure.has("on") || unsure.has("trigger") || unsure.has("phase")) return { issues };
  const trigger = triggerOf(form, issues);
  checkWatched(trigger, where.folder, around.ownFiles, issues);
  const point = trigger && pointOf(trigger, around, issues);
  if (trigger === undefined || point === undefined) return { issues };
  const phase = phaseOf(form, trigger, point, issues);
  const execution = executionOf(form, trigger, point, phase, issues);
  checkDecides(body.run, execution, point, phase, issues);
  checkActs(body.run, execution, issues);
  const payload = payloadSchema(point);
  const match = matchOf(form, raw, trigger, point, issues);
  const chats = body.run?.handler.chats?.(body.run.options) ?? [];
  const notified = (form.notify?.to ?? []).map((text, index) => ({ path: ["notify", "to", index], text }));
  const named = chats.map(({ path, text }) => ({ path: ["run", body.run?.handler.name ?? "", ...path], text }));
  checkConversation([...named, ...notified], trigger, point, payload, raw, issues);
  const checked = { form, raw, body, trigger, point, phase, execution };
  if (!unsure.has("execution") && !unsure.has("on_failure") && !unsure.has("fallback")) checkPolicies(checked, issues);
  if (!unsure.has("execution") && !unsure.has("timeout")) checkEffects(checked, issues);
  const compiled = compileTemplates(body, point, form.match?.access, issues);
  if (issues.length > 0 || unsure.size > 0 || compiled === undefined) return { issues };
  const found = { match, compiled, used, secrets, chats, hasHere: hasConversation(payload) };
  return { definition: buildDefinition(checked, found, where) };
}

/** The steps and the handler, in the order in which they run. */
function usedBy({ context, run }: ParsedBody): Used[] {
  return [
    ...context.flatMap((one) => (one === undefined ? [] : [{ needs: one.step, options: one.options }])),
    ...(run === undefined ? [] : [{ needs: run.handler, options: run.options }]),
  ];
}

function triggerOf({ on, trigger, phase }: DefinitionForm, issues: Issue[]): Trigger | undefined {
  if (on !== undefined && trigger !== undefined)
    issues.push({
      path: ["trigger"],
      message: "on and trigger cannot be used together: one of them starts the hook",
      ofKey: true,
    });
  else if (on !== undefined) return { kind: "on", hook: on, ...optional("phase", phase) };
  else if (trigger === undefined)
    issues.push({ path: [], message: "nothing starts it: expected `on:` with a hook point, or `trigger:`" });
  return trigger;
}

function pointOf(
  trigger: Trigger,
  { points, events, brokenEvents }: Surroundings,
  issues: Issue[],
): AnyPoint | undefined {
  const wanted = pointName(trigger);
  const found = points.get(wanted) ?? points.get(resolveAlias(wanted).hook);
  if (trigger.kind !== "on" && trigger.kind !== "event")
    return found ?? missing(["trigger"], `there is no hook point ${wanted}`);
  const path = trigger.kind === "on" ? ["on"] : ["trigger", "event"];
  const event = /^event:(.*)$/.exec(wanted)?.[1];
  const brokenEvent = event === undefined ? undefined : brokenEvents?.get(event);
  if (brokenEvent !== undefined) return missing(path, `the event "${event}" is broken: correct ${brokenEvent}`);
  if (event !== undefined && !events.includes(event))
    return missing(
      path,
      `no configuration declares the event "${event}": name it under \`events:\`${suggestion(event, events)}`,
    );
  if (wanted === DUE_POINT) return missing(path, `${DUE_POINT} is no point for others: use \`trigger:\``);
  const aliases = Object.entries(ALIASES).flatMap(([alias, { hook }]) => (points.has(hook) ? [alias] : []));
  return found ?? missing(path, `there is no hook point "${wanted}"${near(wanted, [...points.keys(), ...aliases])}`);

  function missing(at: (string | number)[], message: string): undefined {
    issues.push({ path: at, message });
  }
}

/**
 * Refuses a watch of a whole machine: its files change all the time and exceed any limit. Files that the gateway itself writes start no
 * hook.
 */
function checkWatched(
  trigger: Trigger | undefined,
  folder: string,
  ownFiles: OwnFiles | undefined,
  issues: Issue[],
): void {
  if (trigger?.kind !== "files") return;
  const selections = trigger.paths.map((pattern) => selectionOf(pattern, trigger.ignore, folder));
  if (ownFiles && selections.every((selection) => isOwnOnly(selection, ownFiles)))
    issues.push({
      path: ["trigger", "files", "paths"],
      message:
        "names only files of the gateway itself (its database, uploads, .env), and their changes start no hook: name other files",
    });
  trigger.paths.forEach((pattern, index) => {
    const { root, depth } = selectionOf(pattern, trigger.ignore, folder);
    if (root !== dirname(root) || depth !== Number.POSITIVE_INFINITY) return;
    const message = `"${pattern}" is every file of this machine, so it cannot be watched: name a folder, such as ./in`;
    issues.push({ path: ["trigger", "files", "paths", index], message });
  });
}

/**
 * True only beyond doubt: it names such a file, a place among the uploads, or by their ending the files that SQLite keeps beside the
 * database.
 */
function isOwnOnly({ pattern, root, selects }: Selection, { includes, besideDatabase }: OwnFiles): boolean {
  if (includes(root)) return true;
  return (
    /-(wal|shm|journal)$/.test(pattern) &&
    besideDatabase.some((path) => includes(join(root, basename(path))) && selects(join(root, basename(path))))
  );
}

/** The nearest only: there are too many to list. */
function near(name: string, known: readonly string[]): string {
  const offered = suggestion(name, known);
  return offered.startsWith(" (did") ? offered : "; `npx hookgate points` lists them";
}

function pointName(trigger: Trigger): string {
  switch (trigger.kind) {
    case "on":
      return trigger.hook;
    case "event":
      return eventName(trigger.event);
    case "files":
      return trigger.as === "folder" ? "folder.changed" : "file.changed";
    case "every":
    case "cron":
    case "at":
    case "manual":
      return DUE_POINT;
  }
}

function phaseOf(form: DefinitionForm, trigger: Trigger, point: AnyPoint, issues: Issue[]): LifecyclePhase | undefined {
  if (point.model !== "lifecycle") {
    if (form.phase !== undefined)
      issues.push({ path: ["phase"], message: `${point.name} is a ${point.model} point and has no phases` });
    return undefined;
  }
  const implied = trigger.kind === "on" ? resolveAlias(trigger.hook).phase : undefined;
  const phase = form.phase ?? implied ?? (point.phases.length === 1 ? point.phases[0] : undefined);
  if (phase === undefined)
    issues.push({ path: ["on"], message: `${point.name} has two phases: set \`phase: before\` or \`phase: after\`` });
  else if (!point.phases.includes(phase) || (implied !== undefined && phase !== implied))
    issues.push({ path: ["phase"], message: `${form.on} fires ${implied ?? point.phases.join(" and ")} only` });
  else if (point.isSync && phase === "before")
    issues.push({
      path: ["on"],
      message: `${point.name} does not wait for its \`before\` hooks, so this hook would never run: write \`phase: after\`, or a plugin with a handler that is not async`,
    });
  return phase;
}

function executionOf(
  form: DefinitionForm,
  trigger: Trigger,
  point: AnyPoint,
  phase: LifecyclePhase | undefined,
  issues: Issue[],
): Execution {
  const canVeto = point.vetoable && phase !== "after";
  const isStop = point.name === orchestratorShutdown.name;
  const execution = form.execution ?? (canVeto ? "blocking" : isStop ? "deadline" : "background");
  if (trigger.kind !== "on" && isWaitedFor(execution))
    issues.push({
      path: ["execution"],
      message: `a hook with a trigger always runs in the background: expected background, got ${execution}`,
    });
  else if (point.name === DUE_POINT && execution !== "background")
    issues.push({
      path: ["execution"],
      message: `a hook that time or a person starts runs in the background, got ${execution}`,
    });
  else if (isStop && !isWaitedFor(execution))
    issues.push({
      path: ["execution"],
      message: `the gateway ends after ${point.name}, so a hook that nothing waits for may run at the next start only: expected deadline, got ${execution}`,
    });
  else if (execution === "blocking" && !canVeto)
    issues.push({
      path: ["execution"],
      message: `nothing can be vetoed at ${point.name}${phase === undefined ? "" : ` (${phase})`}: expected deadline, fire_and_record or background`,
    });
  return execution;
}

function checkSecrets(secrets: readonly string[], around: Surroundings, issues: Issue[]): void {
  for (const name of secrets)
    if (around.secret(name) === undefined)
      issues.push({
        path: [],
        message: `the environment variable ${name} is missing: set it. Without it, the hook as it is written here is not in force`,
      });
}

function checkKeys(names: readonly string[], around: Surroundings, issues: Issue[]): void {
  for (const name of names) {
    const secret = around.secret(name);
    const why = secret === undefined ? undefined : whyNoKey(secret);
    if (why !== undefined) issues.push({ path: [], message: `the environment variable ${name} signs nothing: ${why}` });
  }
}

/** The value is a secret, so no message shows it. */
function checkAddresses(names: readonly string[], around: Surroundings, issues: Issue[]): void {
  for (const name of names) {
    const value = around.secret(name);
    if (value === undefined || (isWebAddress(value) && !hasLogin(value))) continue;
    const message = isWebAddress(value)
      ? `the environment variable ${name} holds an address with a login: ${LOGIN_IN_URL}`
      : `the environment variable ${name} holds no address: expected one that starts with https: or http:`;
    issues.push({ path: [], message });
  }
}

/** `here` means the conversation that the event is about; an event that is about none has no here. */
function checkConversation(
  chats: readonly ChatRef[],
  trigger: Trigger,
  point: AnyPoint,
  payload: JsonSchema,
  raw: unknown,
  issues: Issue[],
): void {
  const what = trigger.kind === "on" || trigger.kind === "event" ? point.name : `a hook with trigger ${trigger.kind}`;
  for (const { path, text } of chats) {
    if (text !== HERE) continue;
    const setting = path.findLast((key) => typeof key === "string");
    const isList = setting === "send_to" || path[0] === "notify";
    const example = `${setting}: ${isList ? '["web:web:general"]' : '"web:web:general"'}`;
    if (!hasConversation(payload))
      issues.push({
        path,
        message: `${what} is about no conversation, so there is no "here": name a chat, such as ${example}`,
      });
    // The sender may name a chat all the same, which the author of `here` knows.
    else if (point.name.startsWith(eventName("")) && !namesConversation(payload) && valueAt(raw, path) === undefined)
      issues.push({
        path,
        message: `no chat is named, and the schema of ${point.name} has none: name a chat, such as ${example}, or write ${setting}: here when the sender of the event gives platform, botId and chatId`,
      });
  }
}

/** A run that can do nothing looks like a success, and the decision that it was meant to make is lost. */
function checkActs(run: ParsedBody["run"], execution: Execution, issues: Issue[]): void {
  if (run === undefined) return;
  const found = run.handler.idle?.(run.options, isWaitedFor(execution));
  if (found !== undefined) issues.push({ path: ["run", run.handler.name, ...found.path], message: found.message });
}

/** A decision that has no effect makes every run fail. */
function checkDecides(
  run: ParsedBody["run"],
  execution: Execution,
  { name, model }: AnyPoint,
  phase: LifecyclePhase | undefined,
  issues: Issue[],
): void {
  const setting = run?.handler.decides?.(run.options);
  if (run === undefined || setting === undefined) return;
  const isOver = model === "void" || phase === "after";
  if (isWaitedFor(execution) && !isOver) return;
  const why = isOver
    ? `nothing can be decided at ${name}${phase === undefined ? "" : ` (${phase})`}`
    : `nothing waits for a hook that is ${execution}`;
  const path = ["run", run.handler.name, setting];
  issues.push({ path, message: `${why}, so a decision has no effect: remove \`${setting}\`` });
}

function checkModel(run: ParsedBody["run"], { models, defaultModel, unpriced }: Surroundings, issues: Issue[]): void {
  if (run === undefined) return;
  if (run.handler.needsModel?.(run.options) && defaultModel === undefined && models.length !== 1) {
    const message =
      models.length === 0
        ? "no model is configured: name one under models.available in hookgate.yaml"
        : `several models are configured and none is the default: set models.default to one of ${models.join(", ")}`;
    issues.push({ path: ["run", run.handler.name], message });
  }
  const model = run.handler.model?.(run.options);
  const asked = model ?? defaultModel ?? "";
  if (run.handler.needsPrice?.(run.options) && unpriced?.includes(asked))
    issues.push({
      path: ["run", run.handler.name, "max_cost_usd"],
      message: `a cost limit needs a price, and the model "${asked}" has none: set models.available.${asked}.price`,
    });
  if (model === undefined || models.includes(model)) return;
  issues.push({ path: ["run"], message: `there is no model "${model}" under \`models:\`${suggestion(model, models)}` });
}
