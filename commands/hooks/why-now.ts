/** `/hooks why HOOK` without a message: the record of the last firing of its point, then the present state. */
import { type DispatchFilter, type DispatchRecord, rootOf } from "../../src/domain/journal.js";
import { lostPoint } from "../../src/domain/lost-point.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { ExplainedCheck, Explanation } from "../../src/hooks/explain.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import type { RunningHook } from "../../src/hooks/running.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, word } from "../answer.js";
import { effectData, lastEffect } from "../automations/effect.js";
import { readableDispatch, readableRun } from "../automations/owner-only.js";
import { explainGates } from "../automations/why.js";
import type { CommandDeps } from "../deps.js";
import { switchesOf } from "../journey/audit.js";
import {
  backgroundText,
  cutOffAttempts,
  hasNotRun,
  hasStarted,
  isAttempt,
  isFiringAt,
  storedId,
} from "../journey/background.js";
import { unrecordedByKill } from "../journey/cut-off.js";
import { crashedAt, crashText, cutOffAfter, endingText } from "../journey/cut-off-points.js";
import { runningNowText, runningText } from "../journey/surroundings.js";
import { newestDispatches } from "../runs/newest-dispatches.js";
import { isByHand } from "../runs/payload.js";
import { outcomeText, unansweredText } from "../runs/show-dispatch.js";
import { ago, clockTime, code, count, plain } from "../show/text.js";
import { brokenText } from "./broken.js";
import { followText, outrankedText } from "./outranked.js";
import { cutOffHookText, type HookRow, lastOutcomeText, readHookRow, skipText, subjectOf } from "./rows.js";
import { stoppedUntil } from "./stopped.js";
import { checkLines, explain, nextButtons, runText } from "./why-message.js";
import { enabledLater, endedEarlier, enderOf, OWN_POINTS, offAfter, whyNoTurn } from "./why-not.js";

export const brokenOf = ({ automations }: CommandDeps, hookId: string) =>
  automations?.broken().find(({ id }) => id === hookId);

/** Why no platform that the hook matches can start it; undefined when one can. */
async function neverReported(deps: CommandDeps, { hook, match }: HookInfo): Promise<string | undefined> {
  const platforms = match?.platforms;
  if (platforms === undefined || platforms.length === 0) return undefined;
  const { adapters } = await deps.status();
  const matched = adapters.filter(({ platform }) => platforms.includes(platform));
  if (matched.length === 0) return `It matches ${platforms.join(", ")} only, and no such platform is switched on.`;
  if (!matched.every(({ neverReports }) => neverReports?.includes(hook))) return undefined;
  return `It matches ${matched.map(({ platform }) => platform).join(", ")} only, which never reports this to a bot: ${hook} does not fire there.`;
}

/**
 * The last time that the point fired by itself, else by hand. An attempt of a background run is a dispatch of that one hook only, and a
 * dry run is no firing. The phases of a point are dispatches of their own: with `phase`, only those of that phase.
 */
export async function lastOf(
  { store }: CommandDeps,
  filter: Omit<DispatchFilter, "limit" | "before">,
  phase?: HookInfo["phase"],
  isOther: (one: DispatchRecord) => boolean = () => false,
): Promise<DispatchRecord | undefined> {
  let byHand: DispatchRecord | undefined;
  for await (const one of newestDispatches(store.journal, filter)) {
    if (isAttempt(one) || one.dryRun || (phase !== undefined && one.phase !== phase)) continue;
    if (isByHand(one)) byHand ??= one;
    else if (!isOther(one)) return one;
  }
  return byHand;
}

/** A change that another watch found: each hook with files has its own. */
const isOfOtherWatch =
  (hookId: string) =>
  ({ payload }: DispatchRecord): boolean =>
    typeof payload === "object" && payload !== null && "watchId" in payload && payload.watchId !== hookId;

/** Another phase of the point may have fired later, or without this phase. */
function pointName({ registry }: CommandDeps, { hook, phase }: HookInfo): string {
  const isShared = registry.order(hook).some((one) => one.phase !== phase);
  return isShared && phase !== undefined ? `${code(hook)} (${phase})` : code(hook);
}

function pointText(point: string, last: DispatchRecord | undefined, isOff: boolean, now: number): string {
  if (isOff) return last ? ` ${point} last fired on record ${ago(last.at, now)}.` : "";
  return last ? ` ${point} last fired ${ago(last.at, now)}.` : ` ${point} has not fired either.`;
}

/** A time concerns one hook, so no other runs before it. */
const checksOf = ({ hook }: HookInfo, { checks }: Explanation): readonly ExplainedCheck[] =>
  OWN_POINTS.has(hook) ? checks.filter(({ check }) => check !== "order") : checks;

/** For a hook without a recorded run. */
function neverText({ alwaysSkipped, mayHaveRunFor }: HookRow): string {
  if (alwaysSkipped) return `It was ${skipText(alwaysSkipped)}`;
  if (mayHaveRunFor === undefined) return "It **never fired**";
  const text = cutOffHookText(mayHaveRunFor);
  return `${text[0]?.toUpperCase()}${text.slice(1)}`;
}

interface LastTime {
  at: number;
  ran: boolean;
  /** A run is on record, also a skipped one. */
  isRun: boolean;
  /** Why the end of the process cut it off; undefined when that did not happen. */
  interrupted?: string;
  /** The message, delivery or task of that run. */
  of?: string | undefined;
  /** The hook runs again when the point fires again for that message, delivery or task. */
  again?: boolean | undefined;
  /** The message, delivery or task that it ended the process for. */
  endedAt?: string | undefined;
  /** The end of the run, where it is more than that the run passed. */
  end?: string;
  /** Why it did not run then; undefined when it did, or when that is not known. */
  why: string | undefined;
  /** The cause that ended the dispatch before the hook's turn would end one now, too. */
  isKeptOff: boolean;
}

/** The record of the hook at that dispatch; its present state is no answer for that time. */
async function lastTime(
  deps: CommandDeps,
  context: CommandContext,
  hook: HookInfo,
  last: DispatchRecord,
): Promise<LastTime> {
  const { at } = last;
  const run = last.runs.find(({ hookId }) => hookId === hook.id);
  if (run === undefined) {
    const none = { at, ran: false, isRun: false };
    if (isByHand(last))
      return { ...none, why: `${code("/fire-hook")} fired it by hand, and for other hooks.`, isKeptOff: false };
    const ender = enderOf(last);
    const why = (await whyNoTurn(deps, hook, last)) ?? (await enabledSince(deps, hook, at));
    const isThere =
      ender !== undefined && ender.outcome !== "interrupted" && deps.registry.get(ender.hookId)?.enabled === true;
    return { ...none, why, isKeptOff: isThere && hook.enabled && why === endedEarlier(deps, last, hook) };
  }
  const found = run.outcome === "backgrounded" ? await deps.automations?.runs.get(run.id) : undefined;
  const stored = found && (await readableRun(deps, context, found));
  if (!hasNotRun(run, stored)) {
    const ran: LastTime = { at, ran: true, isRun: true, why: undefined, isKeptOff: false };
    const cutOff = { ...ran, of: subjectOf(last.id) };
    if (stored?.status === "interrupted") return { ...cutOff, interrupted: stored.statusReason ?? "" };
    if (run.outcome === "interrupted") return { ...cutOff, interrupted: run.reason ?? "" };
    const hasPassed = run.outcome === "passed" || stored?.status === "succeeded";
    return hasPassed ? ran : { ...ran, end: runText(deps, { run, stored }, deps.clock.now(), false) };
  }
  const skipped = stored === undefined ? run.reason : stored.statusReason;
  const isSkipped = run.outcome === "skipped" || stored?.status === "skipped";
  const why = run.unanswered
    ? unansweredText(run)
    : isSkipped
      ? `It was skipped${skipped ? `: ${plain(skipped)}` : ""}.`
      : backgroundText(deps, stored, deps.clock.now());
  return { at, ran: false, isRun: true, why, isKeptOff: false };
}

/** The hook was registered then, and is enabled since a later time. */
async function enabledSince(deps: CommandDeps, hook: HookInfo, at: number): Promise<string | undefined> {
  const { registeredAt, enabledAt } = deps.registry.explain(hook.id);
  if (enabledAt === undefined || enabledAt <= at || registeredAt > at) return undefined;
  const now = deps.clock.now();
  const by = enabledLater(await switchesOf(deps, hook.id), at, now);
  return `It was **disabled** then.${by || ` It was enabled ${ago(enabledAt, now)}.`}`;
}

/** A waiting run that was stored after the last recorded dispatch: a dispatch of a time is recorded when its run ends. */
async function waitsSince(
  deps: CommandDeps,
  hookId: string,
  recorded: LastTime | undefined,
): Promise<(LastTime & { waitingId: string }) | undefined> {
  const waiting = await deps.automations?.runs.newestWaiting(hookId);
  if (waiting === undefined || hasStarted(waiting) || waiting.createdAt <= (recorded?.at ?? 0)) return undefined;
  const why = backgroundText(deps, waiting, deps.clock.now());
  return { at: waiting.createdAt, ran: false, isRun: true, why, isKeptOff: false, waitingId: waiting.id };
}

/** The present state, where it differs from the state then or may differ. */
function nowText({ runs, waits, isManual }: Now): string {
  const byHand = isManual ? " when a person fires it" : "";
  return runs && waits ? `would **wait** ${waits}${byHand}` : `would ${runs ? "" : "**not** "}run${byHand}`;
}

interface Now {
  runs: boolean;
  /** The hook runs, and not at once: `for its turn`. */
  waits: string | undefined;
  /** Nothing but `/fire-hook` runs it. */
  isManual: boolean;
}

interface Then {
  /** When it was disabled after that. */
  off: string | undefined;
  /** Another hook is enabled there, so firings are on record. */
  isRecorded: boolean;
  /** The end of the process cut off a later firing. */
  isFollowed: boolean;
  now: number;
}

/** The state then, and the state now. */
function headline(
  { id }: HookInfo,
  named: string,
  then: LastTime | undefined,
  { off, isRecorded, isFollowed, now, ...state }: Now & Then,
): string {
  if (off !== undefined) {
    const before =
      then && ` Before that, it ${then.ran ? "ran" : "did not run"} for the last one (${ago(then.at, now)}).`;
    return `${code(id)} did **not** run for any ${named} ${off}${isRecorded ? "" : "; what fires while no hook is enabled there is not recorded"}.${before ?? ""} Now it ${nowText(state)}.`;
  }
  if (then === undefined) return `${code(id)} ${nowText(state)}.`;
  const point = `for the last ${named}${isFollowed ? " on record" : ""}`;
  if (then.interrupted !== undefined) {
    const at = then.of === undefined ? point : `at ${named} for ${code(then.of)}`;
    return interruptedText(id, at, then, state);
  }
  if (then.ran) return `${code(id)} ran ${point}${state.runs && !state.waits ? "" : `, and ${nowText(state)} now`}.`;
  const why = then.why === undefined ? "" : ` ${then.why}`;
  return `${code(id)} did **not** run ${point}.${why}${then.isKeptOff ? "" : ` Now it ${nowText(state)}.`}`;
}

function interruptedText(id: string, point: string, { interrupted = "", of, again }: LastTime, state: Now): string {
  const started = `${code(id)} started ${point}, and was **interrupted**${interrupted === "" ? "" : `: ${plain(interrupted)}`}.`;
  return `${started} ${again ? `It runs again when ${code(of ?? "")} is handled again` : `Now it ${nowText(state)}`}.`;
}

/** Nothing is recorded of a dispatch that did not come to its end, but for the rows of configured hooks and of runs in the background. */
const STARTED_BEFORE =
  "The gateway started this dispatch before, and it did not end: whether the hook ran then is not known.";

/** The text about the attempts before the one that runs now. */
async function cutOffBefore({ automations }: CommandDeps, running: RunningHook | undefined) {
  const run = running && running.attempt > 1 ? await automations?.runs.get(storedId(running.runId)) : undefined;
  const text = run && cutOffAttempts(run);
  return text && `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

interface Before {
  running: RunningHook | undefined;
  /** The attempts of the same run before it. */
  earlier: string | undefined;
  instead: string | undefined;
  now: number;
}

/** When it fired last, and how that ended. */
function firedText(row: HookRow, { running, earlier, instead, now }: Before): string | undefined {
  const { lastFiredAt, unended } = row;
  const before = unended?.before;
  const wasCutOff = before?.outcome === "interrupted";
  const beforeText =
    before &&
    `Before that, it last fired ${ago(before.at, now)}: ${before.outcome === undefined ? "**interrupted**" : ((wasCutOff ? undefined : instead) ?? outcomeText(before.outcome))}.`;
  if (running !== undefined && (unended !== undefined || lastFiredAt === undefined))
    return earlier || (beforeText ?? (running.attempt > 1 ? STARTED_BEFORE : "It has not run before."));
  if (lastFiredAt === undefined) return undefined;
  const outcome = unended === undefined && instead ? `: ${instead}` : lastOutcomeText(row, ": ");
  const hasFailed = unended === undefined && (row.lastOutcome === "failed" || row.lastOutcome === "timed_out");
  const next = hasFailed ? ` ${code(`/runs ${word(row.id)}`)} shows why.` : "";
  return `It last fired ${ago(lastFiredAt, now)}${outcome}.${next}${beforeText ? ` ${beforeText}` : ""}`;
}

/** A run after the last recorded dispatch, whose own dispatch is not on record because of the end of the process. */
function cutOffSince(row: HookRow, recorded: LastTime | undefined): LastTime | undefined {
  const { unended, isOfStoredRun, lastFiredAt = 0 } = row;
  if (lastFiredAt <= (recorded?.at ?? 0)) return undefined;
  const ran: LastTime = { at: lastFiredAt, ran: true, isRun: true, why: undefined, isKeptOff: false };
  if (unended?.kind === "interrupted") {
    const { reason = "", of, again, endedAt } = unended;
    return { ...ran, interrupted: reason, of, again, endedAt };
  }
  return isOfStoredRun && unended === undefined ? ran : undefined;
}

/**
 * The later firing at the point that the end of the process cut off; where nothing is on record, the dispatch that is asked again after a
 * crash.
 */
async function cutAfter(deps: CommandDeps, { hook, phase }: HookInfo, then: LastTime | undefined) {
  if (then !== undefined) return cutOffAfter(deps, hook, then.at, phase, then.endedAt);
  const crashed = (await crashedAt(hook, deps, { phase })).at(-1);
  return crashed && crashText(crashed, deps);
}

/** Hooks that the message waits for: a dispatch is recorded at its end, so the last recorded one is an earlier one. */
function firingNow(deps: CommandDeps, { hook }: HookInfo): string | undefined {
  const open = deps.registry.running().filter(isFiringAt(hook));
  return open.length === 0
    ? undefined
    : `${code(hook)} is firing now, and is recorded at its end: ${runningText(open)}.`;
}

const MAX_WAITING = 100;

/** The stored runs that wait, beside the one that is shown already: one that is under way, or the waiting one with this id. */
async function waitingText(
  { automations }: CommandDeps,
  { id: hookId, enabled }: HookInfo,
  told: { isUnderWay: boolean; waitingId: string | undefined },
): Promise<string | undefined> {
  const all = (await automations?.runs.brief({ hookId, status: "backgrounded", limit: MAX_WAITING })) ?? [];
  const waiting = all.filter(({ id }) => id !== told.waitingId).length;
  if (waiting === 0) return undefined;
  const [wait, their, are] = waiting === 1 ? ["waits", "its", "is"] : ["wait", "their", "are"];
  const end = enabled ? "" : `, and ${are} skipped then, because the hook is disabled`;
  const isMore = told.isUnderWay || waiting < all.length;
  return `${all.length === MAX_WAITING ? "At least " : ""}${count(waiting, isMore ? "more run" : "run")} ${wait} for ${their} turn${end}. ${code("/runs queued")} lists what waits.`;
}

export async function explainNow(deps: CommandDeps, context: CommandContext, hook: HookInfo): Promise<CommandAnswer> {
  const { row, remark } = await readHookRow(deps, hook);
  // A trigger fires for one hook alone: its firings for another hook prove nothing about this one.
  const trigger = deps.automations?.get(hook.id)?.trigger;
  const isOwn = trigger !== undefined && (OWN_POINTS.has(hook.hook) || trigger.kind === "files");
  const own = isOwn ? { hookId: hook.id } : undefined;
  const isOther = trigger?.kind === "files" ? isOfOtherWatch(hook.id) : undefined;
  const found = await lastOf(deps, { ...own, point: hook.hook }, hook.phase, isOther);
  const point = pointName(deps, hook);
  const last = found && (await readableDispatch(deps, context, found));
  const explanation = explain(deps, hook, last);
  const gates = await explainGates(deps, hook);
  const problems = deps.automations?.problems().filter(({ hookId }) => hookId === hook.id) ?? [];
  const unreported = await neverReported(deps, hook);
  const stuck = unreported === undefined ? problems : [...problems, { hookId: hook.id, message: unreported }];
  const lostAt = deps.plugins && lostPoint(hook.hook, deps.plugins());
  const unreached = deps.whyUnreached?.(hook.id);
  const broken = brokenOf(deps, hook.id);
  const now = deps.clock.now();
  const onRecord = last && (await lastTime(deps, context, hook, last));
  const waiting = await waitsSince(deps, hook.id, onRecord);
  const recorded = waiting ?? onRecord;
  const then = cutOffSince(row, recorded) ?? recorded;
  const off = await offAfter(deps, hook, then);
  const cut = off === undefined ? await cutAfter(deps, hook, then) : undefined;
  const isRecorded =
    !isOwn && deps.registry.order(hook.hook, hook.phase).some(({ id, enabled }) => enabled && id !== hook.id);
  const ending = row.unended?.endedAt === undefined ? await endingText(deps, hook.id) : undefined;
  const isStuck = stuck.length > 0 || lostAt !== undefined || unreached !== undefined;
  const runs = explanation.runs && gates?.refusal === undefined && !isStuck && then?.isKeptOff !== true;
  const waits = gates?.wait?.until;
  const running = deps.registry.running().find(({ hookId }) => hookId === hook.id);
  const effect = await lastEffect(deps, context, hook.id);
  const lost = last === undefined && off === undefined ? unrecordedByKill(deps, hook.hook) : undefined;
  const fired =
    firedText(row, { running, earlier: await cutOffBefore(deps, running), instead: effect?.instead, now }) ??
    (lost && row.neverFired ? `No run of ${code(hook.id)} is recorded. ${lost}` : undefined) ??
    `${neverText(row)}.${isOwn || cut !== undefined || (last === undefined && row.mayHaveRunFor !== undefined) ? "" : pointText(point, last, off !== undefined, now)}`;
  const plugin = deps.plugins?.().find(({ hooks }) => hooks.includes(hook.id));
  const next = deps.automations?.next().find(({ hookId }) => hookId === hook.id);
  const stopped = next && stoppedUntil(deps, next);
  const isManual = trigger?.kind === "manual";
  const outranked = outrankedText(deps, hook);
  return answer({
    text: [
      running
        ? `${code(hook.id)} ${runningNowText(running)} (${code(rootOf(running.dispatchId))}).`
        : headline(hook, point, then, { runs, waits, isManual, off, isRecorded, isFollowed: cut !== undefined, now }),
      await waitingText(deps, hook, {
        isUnderWay: running !== undefined,
        waitingId: running
          ? undefined
          : (waiting?.waitingId ?? last?.runs.find(({ hookId }) => hookId === hook.id)?.id),
      }),
      !running && cut,
      !running && then?.end,
      !running && firingNow(deps, hook),
      [
        ...stuck.map(({ message }) => `✗ trigger: ${plain(message)}`),
        ...(lostAt === undefined ? [] : [`✗ point: ${plain(lostAt)}`]),
        ...(unreached === undefined ? [] : [`✗ ${plain(unreached)}`]),
        checkLines(checksOf(hook, explanation)),
      ].join("\n"),
      outranked && `It was ${outranked}. ${followText(hook.id, hook.enabled)}`,
      !hook.enabled &&
        deps.switches?.configured(hook.id) === false &&
        `${code(`overrides: { ${hook.id}: { enabled: false } }`)} in the configuration disables it.`,
      ...(gates?.text ?? []),
      plugin?.reason !== undefined && `⚠ plugin ${code(plugin.id ?? plugin.module)}: ${plain(plugin.reason)}`,
      broken && `⚠ The latest version is broken and not in force: ${brokenText(broken, deps.automations)}`,
      fired,
      ending !== cut && ending && `⚠ ${ending}`,
      next &&
        hook.enabled &&
        (stopped !== undefined
          ? `Its times before ${clockTime(stopped, now)} UTC (in ${formatDuration(stopped - now)}) are skipped: ${code(`/hooks enable ${hook.id}`)} closes its breaker.`
          : next.at <= now
            ? "It is due now."
            : `It is due next at ${clockTime(next.at, now)} UTC (in ${formatDuration(next.at - now)}).`),
      isManual && `It runs only when a person fires it: ${code(`/fire-hook ${hook.id} live=true`)}.`,
      running && effect?.of !== undefined && `Its last run that ended was for ${code(effect.of)}:`,
      effect?.text,
      remark && `⚠ ${plain(remark)}`,
    ],
    data: {
      id: hook.id,
      runs,
      checks: explanation.checks,
      stuck: stuck.length === 0 ? undefined : stuck,
      gate: gates?.refusal,
      waits: gates?.wait,
      lastFiredAt: row.lastFiredAt,
      lastDispatchId: last?.id,
      ...effectData(effect),
    },
    buttons: [nextButtons(hook, last)],
  });
}
