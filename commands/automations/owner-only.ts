/**
 * Hooks that run programs: only an owner fires or enables them, or sees the output of their programs, also in the words of a failure. Hooks
 * that give work to a runner: a person who may not give it tasks does not fire or enable them.
 */
import type { AttemptRecord, AutomationRun } from "../../src/domain/automation.js";
import type { About } from "../../src/domain/chat/hearing.js";
import { hasRole, type Role } from "../../src/domain/chat/identity.js";
import { DELETED_BEFORE, WITHDRAWN_BY } from "../../src/domain/deliveries/given-up.js";
import { type DispatchRecord, namedBy, type RunRecord } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";
import { maySeeReasons, REASON_WITHHELD, withoutReasons } from "../hooks/hook-reasons.js";
import type { ListedDispatch } from "../runs/show-dispatch.js";
import type { Reading } from "./show-run.js";

/** The person who reads. */
type Reader = Pick<CommandContext, "operator">;

export function isOwnerOnly({ automations }: CommandDeps, hookId: string): boolean {
  return automations?.get(hookId)?.ownerOnly === true;
}

/** Throws a refusal unless the operator may run these hooks. A dry run gives work to no person and no runner. */
export function needForRunning(
  deps: CommandDeps,
  context: CommandContext,
  hookIds: readonly string[],
  dryRun = false,
): void {
  const named = (id: string) => (hookIds.length === 1 ? "This hook" : `The hook ${id}`);
  const id = hookIds.find((one) => isOwnerOnly(deps, one));
  if (id !== undefined)
    context.need("owner", `${named(id)} runs a program, so only an owner may fire, test or enable it.`);
  if (dryRun) return;
  for (const one of hookIds)
    for (const { name, role } of givenWork(deps, one))
      context.need(role, `${named(one)} gives a task to ${name}, and the role for that is ${role}.`);
}

/** Whether the operator may fire these hooks live, by the rules of `needForRunning`: only these operators see a button for it. */
export function mayFireLive(deps: CommandDeps, { operator }: CommandContext, hookIds: readonly string[]): boolean {
  const roles = hookIds.flatMap((id): Role[] => [
    ...(isOwnerOnly(deps, id) ? ["owner" as const] : []),
    ...givenWork(deps, id).map(({ role }) => role),
  ]);
  return hasRole(operator.role, "operator") && roles.every((role) => hasRole(operator.role, role));
}

/** The assignees to whom the hook gives work, with the role that this takes. A name that an event brings may be that of any runner. */
function givenWork({ automations, tasks }: CommandDeps, hookId: string) {
  const assignees = automations?.get(hookId)?.assignees ?? [];
  if (tasks === undefined) return [];
  return assignees.flatMap((name) => name ?? tasks.assignees()).map((name) => ({ name, role: tasks.roleFor(name) }));
}

/** Only owners see the output of programs. A hook that is gone from its file may have run programs. */
export function maySeeOutput(deps: CommandDeps, { operator }: Reader, hookId: string): boolean {
  if (hasRole(operator.role, "owner")) return true;
  return deps.automations?.get(hookId) !== undefined && !isOwnerOnly(deps, hookId);
}

/**
 * Steps, prompts and outputs hold people's words from any chat, in forms that no mask finds: admins reveal them; those of programs, owners.
 */
export function mayReveal(deps: CommandDeps, { operator }: CommandContext, hookId: string): boolean {
  return hasRole(operator.role, revealRole(deps, hookId));
}

/** Throws a refusal unless the operator may. */
export function needForReveal(deps: CommandDeps, context: CommandContext, hookId: string): void {
  const role = revealRole(deps, hookId);
  if (role === "owner") context.need(role, "This hook runs a program, so only an owner may see what it printed.");
  else context.need(role);
}

function revealRole(deps: CommandDeps, hookId: string): "admin" | "owner" {
  return deps.automations?.get(hookId) === undefined || isOwnerOnly(deps, hookId) ? "owner" : "admin";
}

/** Before anything is shown: a reveal that cannot be recorded does not happen. */
export async function recordReveal({ store, clock }: CommandDeps, { operator }: CommandContext, target: string) {
  await store.audit.record({ at: clock.now(), operator, action: "reveal", target, outcome: "done" });
}

/** Text in place of parts that are not for the reader. */
export const HIDDEN = "for owners only";

/** Text in place of the content of a step, a prompt or an output. */
function hiddenText(deps: CommandDeps, hookId: string): string {
  return `for ${revealRole(deps, hookId)}s: \`reveal=true\`, which is recorded`;
}

/** How this reader may see runs of the hook. */
export function readingOf(deps: CommandDeps, context: CommandContext, hookId: string, isOpen: boolean): Reading {
  return { isOpen, showsErrors: maySeeOutput(deps, context, hookId), hidden: hiddenText(deps, hookId) };
}

/**
 * Text in place of the errors and reasons of a hook of an operator or a plugin that the reader may not see; undefined where the reader may.
 * They may quote the input of the hook, in forms that no mask finds.
 */
async function withheldOf(deps: CommandDeps, context: Reader, of: About): Promise<string | undefined> {
  const role = await deps.roleToHear(of);
  // To viewers, too, it names who may see it.
  if (!hasRole("operator", role))
    return hasRole(context.operator.role, role) ? undefined : `for ${role}s: ${MAY_QUOTE}`;
  return maySeeReasons(context) ? undefined : REASON_WITHHELD;
}

const MAY_QUOTE = "it may quote the runner of a task, or the answer to a command";

/** As `withheldOf`, for errors. Errors of hooks in files may also have the output of a program. */
const withheldErrors = (deps: CommandDeps, context: Reader, hookId: string, withheld: string | undefined) =>
  isOfPlugin(deps, hookId) || maySeeOutput(deps, context, hookId) ? withheld : HIDDEN;

/**
 * The run as the reader may see it: all readers see that it failed, but not the error. `ofPayload`: text in place of its reasons and
 * errors, when they may quote a payload that the reader chose and may not have revealed.
 */
export async function readableRun(
  deps: CommandDeps,
  context: CommandContext,
  whole: AutomationRun,
  ofPayload?: string,
): Promise<AutomationRun> {
  const withheld = (await withheldOf(deps, context, aboutRun(whole))) ?? ofPayload;
  // A payload may have the reason with which a hook before it cancelled. In payloads that others named, every text is masked.
  const isOurs = namedBy(whole.event ?? "") === "us";
  const shown = isOurs ? { ...whole, payload: withoutReasons(whole.payload, withheld) } : whole;
  const run = withheld === undefined ? shown : withoutBlockReason(shown, withheld);
  const ofErrors = withheldErrors(deps, context, run.hookId, withheld);
  if (ofErrors === undefined) return run;
  const isAboutFailure = run.status === "failed" || run.status === "timed_out" || run.status === "queued";
  return {
    ...run,
    statusReason: run.statusReason !== undefined && isAboutFailure ? ofErrors : run.statusReason,
    attempts: run.attempts.map((attempt) => readableAttempt(attempt, ofErrors)),
  };
}

/** The subject of a run: its steps and output may quote the payload of the dispatch. */
export function aboutRun({ id, dispatchId = id, cause, payload }: AutomationRun): About {
  return { id: dispatchId, cause, payload };
}

function withoutBlockReason(run: AutomationRun, withheld: string): AutomationRun {
  const attempts = run.attempts.map((one) => (one.status === "blocked" ? { ...one, error: withheld } : one));
  return run.status === "blocked" ? { ...run, statusReason: withheld, attempts } : { ...run, attempts };
}

/** The product itself gives the reason of a skip and of an overruled result. */
const PRODUCT_REASONS: ReadonlySet<string> = new Set(["skipped", "overruled"]);

function readableAttempt(attempt: AttemptRecord, withheld: string): AttemptRecord {
  const isFailure = attempt.status === "failed" || attempt.status === "timed_out";
  const hide = <T extends { error?: string }>(one: T): T =>
    one.error === undefined ? one : { ...one, error: withheld };
  const shown: AttemptRecord = { ...(isFailure ? hide(attempt) : attempt), steps: attempt.steps.map(hide) };
  if (attempt.toolCalls !== undefined) shown.toolCalls = attempt.toolCalls.map(hide);
  return shown;
}

/** The dispatch as the reader may see it. */
export async function readableDispatch(
  deps: CommandDeps,
  context: CommandContext,
  dispatch: DispatchRecord,
): Promise<DispatchRecord> {
  const whole = { ...dispatch };
  const withheld = await withheldOf(deps, context, whole);
  const runs = whole.runs.map((run) => readableRunRecord(deps, context, run, withheld));
  const shown = { ...whole, runs, payload: readablePayload(deps, context, whole, withheld) };
  if (whole.result !== undefined) shown.result = withoutReasons(whole.result, withheld);
  return shown;
}

/** A dispatch of a list as the reader may see it. */
export async function listedDispatch(
  deps: CommandDeps,
  context: CommandContext,
  dispatch: DispatchRecord,
): Promise<ListedDispatch> {
  const { payload, result: _, ...rest } = dispatch;
  const withheld = await withheldOf(deps, context, { ...rest, payload });
  return { ...rest, runs: rest.runs.map((run) => readableRunRecord(deps, context, run, withheld)) };
}

function readablePayload(
  deps: CommandDeps,
  context: CommandContext,
  { point, payload }: DispatchRecord,
  withheld: string | undefined,
): unknown {
  const shown = withoutReasons(payload, withheld);
  if (point !== "delivery_failed" || typeof shown !== "object" || shown === null || !("error" in shown)) return shown;
  const { error } = shown;
  return typeof error === "string"
    ? { ...shown, error: readableReason(deps, context, "held", error, withheld) }
    : shown;
}

function readableRunRecord(
  deps: CommandDeps,
  context: CommandContext,
  { place, ...run }: RunRecord,
  withheld: string | undefined,
): RunRecord {
  const maySeePlace = hasRole(context.operator.role, "admin");
  const isOwn = run.pluginId === undefined && isOwnHook(deps, run.hookId);
  const ofErrors = run.pluginId !== undefined ? withheld : withheldErrors(deps, context, run.hookId, withheld);
  const isErrorHidden = run.error !== undefined && !isOwn && ofErrors !== undefined;
  const isReasonHidden =
    run.reason !== undefined && !isOwn && withheld !== undefined && !PRODUCT_REASONS.has(run.outcome);
  const shown = { ...(isReasonHidden ? { ...run, reason: withheld } : run) };
  if (shown.diff !== undefined) shown.diff = withoutReasons(shown.diff, withheld);
  if (isErrorHidden) return { ...shown, error: ofErrors };
  return maySeePlace && place !== undefined ? { ...shown, place } : shown;
}

const FAIL_CLOSED = /^(Hook "([^"]+)" (?:failed|was not called) at \S+ and is fail-closed: )/;
const OF_GATE = /^(?:breaker|cooldown|rate): /;

/** The end of a message as the reader may see it. Its reason may come from a hook that blocks, or from one that failed. */
export async function readableEnd<T extends { status: string; reason?: string; error?: string }>(
  deps: CommandDeps,
  context: Reader,
  end: T,
  of: About,
): Promise<T> {
  const { reason, error } = end;
  if (reason === undefined && error === undefined) return end;
  const withheld = await withheldOf(deps, context, of);
  const shown = { ...end };
  if (reason !== undefined) shown.reason = readableReason(deps, context, end.status, reason, withheld);
  if (error !== undefined) shown.error = readableReason(deps, context, end.status, error, withheld);
  return shown;
}

/** A delivery or a message of the inbox as the reader may see it. */
export function readableLetter<T extends Delivery | InboxRow>(
  deps: CommandDeps,
  context: CommandContext,
  letter: T,
): Promise<T> {
  const of = "cause" in letter ? { id: letter.id, cause: letter.cause } : { id: `m${letter.id}` };
  return readableEnd(deps, context, letter, of);
}

function readableReason(
  deps: CommandDeps,
  context: Reader,
  status: string,
  reason: string,
  withheld: string | undefined,
): string {
  const [, head, failed = ""] = FAIL_CLOSED.exec(reason) ?? [];
  if (head !== undefined) {
    // The gateway itself words the refusal of a gate.
    if (isOwnHook(deps, failed) || OF_GATE.test(reason.slice(head.length))) return reason;
    const ofErrors = withheldErrors(deps, context, failed, withheld);
    return ofErrors === undefined ? reason : `${head}${ofErrors}`;
  }
  if (withheld === undefined) return reason;
  const [by] = /^suppressed by [^:]+(?=: )/.exec(reason) ?? [];
  if (by !== undefined) return `${by} (${withheld})`;
  const isOurs = reason === "a hook cancelled it" || reason === DELETED_BEFORE || reason.startsWith(WITHDRAWN_BY);
  const isOfHook = status === "cancelled" && !isOurs;
  return isOfHook ? withheld : reason;
}

/** A hook of the gateway itself: its texts quote no other person. */
function isOwnHook(deps: CommandDeps, hookId: string): boolean {
  const hook = deps.registry.get(hookId);
  return hook !== undefined && hook.pluginId === undefined && deps.automations?.get(hookId) === undefined;
}

function isOfPlugin({ registry }: CommandDeps, hookId: string): boolean {
  return registry.get(hookId)?.pluginId !== undefined;
}
