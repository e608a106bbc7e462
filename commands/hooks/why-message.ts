/** Why a hook ran or did not run for one message: the journal has the runs; the path of the message shows why other hooks did not run. */

import type { AutomationRun } from "../../src/domain/automation.js";
import type { Button } from "../../src/domain/chat/message.js";
import { madeBy } from "../../src/domain/deliveries/fates.js";
import { type DispatchRecord, type RunRecord, rootOf } from "../../src/domain/journal.js";
import { parseSkipReason } from "../../src/domain/skip-reason.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { CrashedDispatch } from "../../src/hooks/attempts.js";
import type { ExplainedCheck, Explanation } from "../../src/hooks/explain.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton, word } from "../answer.js";
import { effectData, effectOf, effectsOf, insteadIn } from "../automations/effect.js";
import type { CommandDeps } from "../deps.js";
import { switchesOf } from "../journey/audit.js";
import {
  backgroundText,
  hasNotRun,
  isAttempt,
  isFiringAt,
  isJournalled,
  isOfBackground,
  skippedLater,
} from "../journey/background.js";
import {
  cutOffRunText,
  cutOffsOf,
  cutOffText,
  mayBeKilled,
  unrecordedByKill,
  unrecordedText,
} from "../journey/cut-off.js";
import { crashedAt, crashText, idsOf } from "../journey/cut-off-points.js";
import { type Journey, POINT_OF_CHANGE, posterOf } from "../journey/find.js";
import { endings } from "../journey/journal-lines.js";
import { isLedTo, lostText, unlinkedText } from "../journey/led-to.js";
import { isPutOff } from "../journey/put-off.js";
import { runningNowText, runningText } from "../journey/surroundings.js";
import { claimerOf, cutOffsAt, lostAt, whyNotReached } from "../journey/why-not-reached.js";
import { nextStepButtons, nextStepText } from "../outbox/letter.js";
import {
  dispatchLine,
  errorText,
  failedRun,
  hasFailed,
  runOutcomeText,
  unansweredText,
  usedFallback,
} from "../runs/show-dispatch.js";
import { ago, code, count, plain } from "../show/text.js";
import {
  disabledReason,
  enabledLater,
  endedEarlier,
  wasRegistered,
  whyNoTurn,
  whyNotForLastChange,
} from "./why-not.js";

/** Runs shown; `--json` has all. */
const MAX_RUNS = 5;

/** Points that messages pass: in a chat its last message is meant when none is named. */
export const OF_MESSAGES: ReadonlySet<string> = new Set([
  "message_received",
  "inbound_claim",
  "before_dispatch",
  "message_sending",
  "message_sent",
  "delivery_failed",
]);

export async function explainMessage(
  deps: CommandDeps,
  context: CommandContext,
  hook: HookInfo,
  journey: Journey,
): Promise<CommandAnswer> {
  const here = journey.dispatches.filter(
    ({ point, phase }) => point === hook.hook && (hook.phase === undefined || phase === hook.phase),
  );
  if (journey.running.some(({ hookId }) => hookId === hook.id)) return notKnownYet(hook, journey);
  const ran = runsOf(hook.id, here, journey);
  const own = startedAt(hook, ran, journey);
  const crashes = await crashedAt(hook.hook, deps, { ids: idsOf(journey), phase: hook.phase });
  const crashed = crashes.at(-1);
  const ending = crashes.find(({ endedBy }) => endedBy?.hookId === hook.id);
  if (ran.length > 0) {
    const remarks = [
      own && cutOffRunText(own),
      crashed && crashText(crashed, deps, " again"),
      await whyGone(deps, hook, ran),
      await whyNotAgain(deps, hook, journey, ran),
      await whyNotLater(deps, hook, here, ran),
      await whyNotForLastChange(deps, hook, journey, ran),
      ...(await effectsOf(deps, context, ran)),
    ];
    return showRuns(deps, hook.id, journey, ran, nextButtons(hook, ran.at(-1)?.dispatch), remarks);
  }
  const made = await makerOf(deps, hook.id, journey);
  if (made) return madeIt(deps, context, hook, journey, made);
  const dispatch = here.filter((one) => !isAttempt(one)).at(-1);
  const cutOffs = cutOffsAt(hook.hook, journey);
  const reason =
    lostAt(hook.hook, journey) ??
    (cutOffs > 0
      ? cutOffText(cutOffs)
      : (unrecordedText(deps, hook.hook, journey) ?? (crashed && crashText(crashed, deps))));
  if (own) return cutOff(deps, hook, journey, { cutOffs, reason, own });
  const isEnding = crashed !== undefined && crashed === ending && cutOffs === 0;
  if (ending) return cutOff(deps, hook, journey, { cutOffs, reason: isEnding ? undefined : reason, ending });
  if (hook.enabled && isOpenAt(deps, hook, journey, dispatch)) return notKnownYet(hook, journey);
  if (reason !== undefined) return cutOff(deps, hook, journey, { cutOffs, reason });
  if (dispatch) return didNotRun(deps, hook, journey, dispatch);
  return isLedTo(hook.hook) ? noneLedTo(deps, hook, journey) : didNotFire(deps, hook, journey);
}

/** A hook that was removed since, or is not in force: its runs are on record. `state`: which of both, in a sentence that comes first. */
export async function explainGone(
  deps: CommandDeps,
  context: CommandContext,
  hookId: string,
  journey: Journey,
  state?: string,
): Promise<CommandAnswer | undefined> {
  const ran = runsOf(hookId, journey.dispatches, journey);
  const own = journey.unrecorded.findLast((run) => run.hookId === hookId && !isEndJournalled(run, ran));
  const last = ran.at(-1)?.dispatch ?? own;
  if (last === undefined) return undefined;
  const button = commandButton("The dispatch", `/run ${word(last.id)}`);
  const remarks = [state, own && cutOffRunText(own), ...(await effectsOf(deps, context, ran))];
  return showRuns(deps, hookId, journey, ran, [button], remarks);
}

/** The run of the hook at the point that is on record while the dispatch is not; `ran`: the runs in the journal. */
function startedAt(hook: HookInfo, ran: readonly RanIn[], { unrecorded }: Journey): AutomationRun | undefined {
  return unrecorded.findLast(
    (run) =>
      run.hookId === hook.id &&
      run.event === hook.hook &&
      (hook.phase === undefined || run.phase === hook.phase) &&
      !isEndJournalled(run, ran),
  );
}

/** The journal has the attempt that ended the run, with more facts than the run itself. */
const isEndJournalled = ({ id, attempt }: AutomationRun, ran: readonly RanIn[]) =>
  ran.some(({ dispatch }) => dispatch.id === `${id}:${attempt}`);

interface RanIn {
  dispatch: DispatchRecord;
  run: RunRecord;
  /** The stored run of a background hook, while the store has it. */
  stored: AutomationRun | undefined;
}

const runsOf = (id: string, dispatches: readonly DispatchRecord[], { stored }: Journey): RanIn[] =>
  dispatches.flatMap((dispatch) =>
    dispatch.runs
      .filter((run) => run.hookId === id && !isJournalled(run, stored.get(run.id), dispatches))
      .map((run) => ({ dispatch, run, stored: stored.get(run.id) })),
  );

/** Who disabled a hook whose background run was dropped because of that. */
async function whyGone(deps: CommandDeps, hook: HookInfo, ran: readonly RanIn[]): Promise<string | undefined> {
  const stored = ran.at(-1)?.stored;
  if (stored?.endedAt === undefined || parseSkipReason(stored.statusReason).by !== "gone") return undefined;
  return disabledReason(deps, hook, await switchesOf(deps, hook.id), stored.endedAt);
}

/** Why it did not run when the message that it had put off was offered for the last time. */
async function whyNotAgain(
  deps: CommandDeps,
  hook: HookInfo,
  { row, dispatches }: Journey,
  ran: readonly RanIn[],
): Promise<string | undefined> {
  const last = ran.at(-1);
  if (last === undefined || !isPutOff(last.run) || row?.status !== "done" || row.settledAt === undefined)
    return undefined;
  const [, round = "1"] = /:inbound_claim(?::(\d+))?$/.exec(last.dispatch.id) ?? [];
  if (Number(round) >= row.round) return undefined;
  const offered = dispatches.find(({ id }) => id === `m${row.id}:inbound_claim:${row.round}`);
  const switches = await switchesOf(deps, hook.id);
  const reason =
    disabledReason(deps, hook, switches, row.settledAt) ?? (offered && endedEarlier(deps, offered, hook, row));
  return `The message was offered to the hooks again, and this hook did not run then.${reason === undefined ? "" : ` ${reason}`}`;
}

/** Why the hook did not run when its point fired for the same message again, as after a release. */
async function whyNotLater(
  deps: CommandDeps,
  hook: HookInfo,
  here: readonly DispatchRecord[],
  ran: readonly RanIn[],
): Promise<string | undefined> {
  const last = ran.at(-1)?.dispatch;
  const later = here.findLast(
    (one) => last !== undefined && one.at > last.at && rootOf(one.id) === rootOf(last.id) && !isAttempt(one),
  );
  if (later === undefined || later.runs.some(({ hookId }) => hookId === hook.id)) return undefined;
  const reason = await whyNoTurn(deps, hook, later);
  return `${code(hook.hook)} fired again for it, ${ago(later.at, deps.clock.now())}, and it did **not** run then.${reason === undefined ? "" : ` ${reason}`}`;
}

/** Its point is firing now, or may fire yet, for a message or a delivery that hooks are at work on. */
function isOpenAt(
  { registry }: CommandDeps,
  hook: HookInfo,
  { row, running }: Journey,
  recorded: DispatchRecord | undefined,
): boolean {
  if (running.some(isFiringAt(hook.hook))) return true;
  const awaited = running.filter(
    ({ hookId, dispatchId }) => !isOfBackground(dispatchId) && registry.get(hookId)?.execution !== "fire_and_record",
  );
  if (recorded !== undefined || !(OF_MESSAGES.has(hook.hook) || isLedTo(hook.hook))) return false;
  return row?.status === "running" || awaited.length > 0;
}

/** A dispatch is recorded at its end: until then it is not known which hooks had their turn. */
function notKnownYet(hook: HookInfo, { id, asked, running }: Journey): CommandAnswer {
  const own = running.find(({ hookId }) => hookId === hook.id);
  const why = running.some(isFiringAt(hook.hook))
    ? `${code(hook.hook)} is firing now, and is recorded when all its hooks have ended`
    : "the message is being handled now";
  return answer({
    text: [
      own
        ? `${code(hook.id)} and ${code(id)}: It ${runningNowText(own)}.`
        : `Whether ${code(hook.id)} runs for ${code(id)} is not known yet: ${why}.`,
      !own && running.length > 0 && `${runningText(running)}.`,
    ],
    data: {
      id: hook.id,
      message: asked,
      found: true,
      pending: true,
      running: running.map(({ hookId, runId, forMs }) => ({ hookId, runId, forMs })),
    },
    buttons: [[commandButton("Ask again", `/hooks why ${word(hook.id)} ${word(id)}`)], nextButtons(hook, undefined)],
  });
}

/**
 * The end of the process cut off the firing, so its runs for the message are not recorded. A configured hook has a row of its own (`own`).
 */
async function cutOff(
  deps: CommandDeps,
  hook: HookInfo,
  journey: Journey,
  {
    cutOffs,
    reason,
    own: run,
    ending,
  }: { cutOffs: number; reason: string | undefined; own?: AutomationRun; ending?: CrashedDispatch },
): Promise<CommandAnswer> {
  const { id, asked, row, dispatches } = journey;
  const hasClaimed = hook.hook === "inbound_claim" && row !== undefined && claimerOf(row) === hook.id;
  const switches = await switchesOf(deps, hook.id);
  const [last] = switches;
  const wasDisabled = last?.enabled === false && row !== undefined && last.at <= row.receivedAt;
  return answer({
    text: [
      run
        ? `${code(hook.id)} and ${code(id)}: ${cutOffRunText(run)}`
        : ending
          ? crashText(ending, deps)
          : hasClaimed
            ? `${code(hook.id)} **ran** for ${code(id)}.`
            : wasDisabled
              ? `${code(hook.id)} did **not** run for ${code(id)}. ${disabledReason(deps, hook, switches, row.receivedAt)}`
              : `Whether ${code(hook.id)} ran for ${code(id)} is **not known**.`,
      reason,
      whyNotReached(hook.hook, journey, deps.clock.now()),
    ],
    data: {
      id: hook.id,
      message: asked,
      found: true,
      ran: run ? run.status !== "skipped" : hasClaimed || ending ? true : wasDisabled ? false : undefined,
      runs: run && [{ runId: run.id, status: run.status }],
      cutOffs,
      reason,
      points: dispatches.map(({ point }) => point),
    },
    buttons: [nextButtons(hook, dispatches.at(-1))],
  });
}

interface Made {
  /** Markdown: the kind of the delivery, and the run that made it. */
  text: string;
  run: AutomationRun | undefined;
}

/** How far runs are read back for the run of a delivery that the outbox does not have any more. */
const MAX_MAKERS = 500;

/** The named message is a delivery that the hook itself handed to the outbox. */
async function makerOf(
  { automations }: CommandDeps,
  hookId: string,
  { own, origin, gone, id }: Journey,
): Promise<Made | undefined> {
  if (own !== undefined) {
    if (origin?.hookId !== hookId) return undefined;
    return { text: origin.text, run: await automations?.runs.get(own.cause.id) };
  }
  if (!gone.some((one) => one.id === rootOf(id))) return undefined;
  const runs = (await automations?.runs.list({ hookId, limit: MAX_MAKERS })) ?? [];
  const run = runs.find((one) => madeBy(one).some((made) => made.id === rootOf(id)));
  return run && { text: `run ${code(run.id)} (${plain(run.reason)})`, run };
}

async function madeIt(
  deps: CommandDeps,
  context: CommandContext,
  hook: HookInfo,
  { id, asked, own, dispatches }: Journey,
  { text, run }: Made,
): Promise<CommandAnswer> {
  const isSent = own?.status === "sent";
  const effect = run && (await effectOf(deps, context, run));
  return answer({
    text: [
      `${code(hook.id)} **${isSent ? "sent" : "made"} this ${own?.operation === "edit" ? "edit" : "message"}** (${code(id)}): ${text}.`,
      effect?.text,
    ],
    data: { id: hook.id, message: asked, found: true, ran: true, sent: isSent, ...effectData(effect) },
    buttons: [nextButtons(hook, dispatches.at(-1))],
  });
}

async function showRuns(
  deps: CommandDeps,
  hookId: string,
  { id, asked, row, deliveries, dispatches, stored }: Journey,
  ran: readonly RanIn[],
  buttons: readonly Button[],
  remarks: readonly (string | undefined)[],
): Promise<CommandAnswer> {
  const now = deps.clock.now();
  const shown = await Promise.all(
    ran.slice(-MAX_RUNS).map(async (one) => ({ one, instead: await insteadIn(deps, one.dispatch, one.run) })),
  );
  const posted = ({ dispatch }: RanIn) => {
    const post = row && deliveries.find((one) => one.id === rootOf(dispatch.id));
    const poster = post && posterOf(post, dispatches);
    if (poster) return ` · for ${code(post.id)}, which ${poster} posted because of the message`;
    return post?.operation === "edit" ? ` · for the edit ${code(post.id)}` : "";
  };
  return answer({
    text: [
      `${code(hookId)} and ${code(id)}:`,
      ...remarks,
      ...shown.map(
        ({ one, instead }) =>
          `${withFollowed(runText(deps, one, now, isPassedOver(one, row, dispatches), instead), followedText(one, row, deliveries))}\n${dispatchLine(one.dispatch, now, skippedLater(one.dispatch, stored))}${posted(one)}`,
      ),
      ran.length > MAX_RUNS && `${count(ran.length - MAX_RUNS, "earlier run")} left out.`,
    ],
    data: {
      id: hookId,
      message: asked,
      found: true,
      ran: ran.some(({ run, stored }) => !hasNotRun(run, stored)),
      runs: ran.map(({ dispatch, run, stored }) => ({
        dispatchId: dispatch.id,
        outcome: run.outcome,
        status: stored?.status,
        reason: stored?.statusReason ?? run.reason,
        error: run.error,
      })),
    },
    buttons: [[...nextStepButtons(deliveries), ...buttons]],
  });
}

/** The reason of a run may have no end of its own. */
const withFollowed = (ran: string, followed: string): string =>
  followed === "" || /[.!?…]$/.test(ran) ? `${ran}${followed}` : `${ran}.${followed}`;

/** The effect of the hook's failure policy on a run without a result. */
function followedText({ dispatch, run }: RanIn, row: InboxRow | undefined, deliveries: readonly Delivery[]): string {
  if (usedFallback(dispatch, run)) return ` Its ${code("fallback")} was used instead.`;
  if (run.unanswered && run.outcome === "skipped")
    return " It is fail-open, so what it was asked about went on without it.";
  const isNotCalled = run.unanswered || run.outcome === "skipped";
  const root = rootOf(dispatch.id);
  const delivery = deliveries.find(({ id }) => id === root);
  const step = delivery && nextStepText(delivery);
  const next = step === undefined ? "" : ` ${step[0]?.toUpperCase()}${step.slice(1)}.`;
  if (!isNotCalled) {
    const hasEnded = step !== undefined && hasFailed(run) && failedRun(dispatch) !== undefined;
    return hasEnded ? ` ${code(root)} is **${delivery?.status}** now.${next}` : "";
  }
  if (failedRun(dispatch)?.id !== run.id) return "";
  const status = delivery?.status ?? (row && `m${row.id}` === root ? (row.outcome ?? row.status) : undefined);
  return ` It is fail-closed, so ${code(dispatch.point)} failed.${status === undefined ? "" : ` ${code(root)} is **${status}** now.${next}`}`;
}

/** The hook put the message off once too often, so the message went on without the hook. */
function isPassedOver({ dispatch }: RanIn, row: InboxRow | undefined, dispatches: readonly DispatchRecord[]): boolean {
  const last = dispatches.findLast(({ point }) => point === "inbound_claim");
  return row?.status === "done" && dispatch.id === last?.id;
}

/** `instead`: in place of the outcome of a run that succeeded. */
export function runText(
  deps: CommandDeps,
  { run, stored }: Omit<RanIn, "dispatch">,
  now: number,
  isLast: boolean,
  instead?: string,
): string {
  if (run.unanswered) return unansweredText(run);
  if (run.outcome === "backgrounded") return backgroundText(deps, stored, now, instead);
  const why = [run.reason && plain(run.reason), run.error && errorText(run)].filter(
    (text) => text !== undefined && text !== "",
  );
  const verb =
    run.outcome === "skipped"
      ? "It was skipped"
      : isPutOff(run)
        ? isLast
          ? `It would have put the message off more often than ${code("gateway.max_deferrals")} allows, and the message went on as if no hook had claimed it`
          : "It put the message off"
        : run.outcome === "interrupted"
          ? `It started, and was **interrupted** after ${formatDuration(run.latencyMs)}`
          : `It ran, ${instead ?? runOutcomeText(run)}, ${formatDuration(run.latencyMs)}`;
  return `${verb}${why.length > 0 ? `: ${why.join(" · ")}` : "."}`;
}

/** The point fired without it. */
async function didNotRun(
  deps: CommandDeps,
  hook: HookInfo,
  { id, asked, row, dispatches, stored }: Journey,
  dispatch: DispatchRecord,
): Promise<CommandAnswer> {
  const now = deps.clock.now();
  const reason = await whyNoTurn(deps, hook, dispatch, row);
  const switches = reason === undefined ? await switchesOf(deps, hook.id) : [];
  const wasThere = reason === undefined && (await wasRegistered(deps, hook, dispatch)) === "yes";
  const explanation = explain(deps, hook, dispatch);
  return answer({
    text: [
      `${code(hook.id)} did **not** run for ${code(id)}, though ${code(hook.hook)} fired.`,
      reason,
      !reason && `By its state now:\n${checkLines(explanation.checks)}`,
      !reason &&
        explanation.runs &&
        `By its state now it would run: it was ${wasThere ? "" : "registered or "}enabled later.${enabledLater(switches, dispatch.at, now)}`,
      dispatchLine(dispatch, now, skippedLater(dispatch, stored)),
      row &&
        rootOf(dispatch.id) === `m${row.id}` &&
        cutOffsOf(row) > 0 &&
        `That is the last attempt. Whether ${code(hook.id)} ran before it is **not known**. ${cutOffText(cutOffsOf(row))}`,
    ],
    data: {
      id: hook.id,
      message: asked,
      found: true,
      ran: false,
      fired: true,
      reason,
      checks: explanation.checks,
      points: dispatches.map(({ point }) => point),
    },
    buttons: [nextButtons(hook, dispatch)],
  });
}

/** The point did not fire: the message did not come so far, or no hook was enabled there. */
async function didNotFire(deps: CommandDeps, hook: HookInfo, journey: Journey): Promise<CommandAnswer> {
  const { id, asked, row, own, dispatches, deliveries } = journey;
  const now = deps.clock.now();
  const change = journey.changes.findLast(({ event }) => POINT_OF_CHANGE[event.kind] === hook.hook);
  const isOpen = [row, change, ...deliveries].some((one) => one !== undefined && one.settledAt === undefined);
  const at = (change ?? row)?.receivedAt ?? own?.createdAt ?? dispatches[0]?.at ?? now;
  const notReached = whyNotReached(hook.hook, journey, now);
  const switches = notReached === undefined ? await switchesOf(deps, hook.id) : [];
  const reason = notReached ?? disabledReason(deps, hook, switches, at);
  const fired = [...new Set(dispatches.map(({ point }) => point))];
  const isKnown = row !== undefined || own !== undefined;
  const recorded = isKnown ? undefined : endings(dispatches);
  const mayBeLost = isKnown && reason === undefined && mayBeKilled(deps, hook.hook, at);
  const lost = mayBeLost ? (unrecordedByKill(deps, hook.hook) ?? "") : undefined;
  return answer({
    text: [
      lost !== undefined
        ? `Whether ${code(hook.id)} ran for ${code(id)} is **not known**: no hook was enabled at ${code(hook.hook)}, or the gateway was killed before it was recorded. ${lost}`.trim()
        : `${code(hook.id)} did **not** run for ${code(id)}${isOpen ? " yet" : ""}: ${code(hook.hook)} did not fire${notReached === undefined && isKnown ? ", because no hook was enabled there" : ""}.`,
      reason,
      reason === undefined &&
        lost === undefined &&
        isKnown &&
        hook.enabled &&
        `${code(hook.id)} is enabled now, so it was added or enabled later${at < deps.about.startedAt ? " (the gateway has been restarted since)" : ""}.${enabledLater(switches, at, now)}`,
      recorded,
      fired.length > 0 && `Recorded for this message: ${fired.map(code).join(", ")}.`,
    ],
    data: {
      id: hook.id,
      message: asked,
      found: true,
      ran: lost === undefined ? false : undefined,
      fired: lost === undefined ? false : undefined,
      reason: reason ?? lost,
      checks: deps.registry.explain(hook.id).checks,
      points: dispatches.map(({ point }) => point),
    },
    buttons: [nextButtons(hook, dispatches.at(-1))],
  });
}

/** No firing of a point beside the message's path names the message: that it did not fire is not known. */
async function noneLedTo(deps: CommandDeps, hook: HookInfo, journey: Journey): Promise<CommandAnswer> {
  const { id, asked, row, own, dispatches } = journey;
  const now = deps.clock.now();
  const at = row?.receivedAt ?? own?.createdAt ?? dispatches[0]?.at ?? now;
  const isLost = mayBeKilled(deps, hook.hook, at);
  const reason = disabledReason(deps, hook, await switchesOf(deps, hook.id), at);
  return answer({
    text: [
      isLost && reason === undefined
        ? `Whether ${code(hook.id)} ran for ${code(id)} is **not known**. ${lostText(hook.hook)}`
        : `No run of ${code(hook.id)} for ${code(id)} is on record: no firing of ${code(hook.hook)} is linked to this message.`,
      whyNotReached(hook.hook, journey, now),
      reason,
      unlinkedText(hook.hook),
    ],
    data: {
      id: hook.id,
      message: asked,
      found: true,
      reason,
      checks: deps.registry.explain(hook.id).checks,
      points: dispatches.map(({ point }) => point),
    },
    buttons: [nextButtons(hook, dispatches.at(-1))],
  });
}

export function explain({ registry }: CommandDeps, hook: HookInfo, dispatch: DispatchRecord | undefined): Explanation {
  if (!dispatch) return registry.explain(hook.id);
  const { payload, conversation } = dispatch;
  const access = typeof payload === "object" && payload !== null && "access" in payload ? payload.access : undefined;
  return registry.explain(hook.id, payload, {
    runs: dispatch.runs,
    conversation,
    access: access === "allowed" || access === "denied" ? access : undefined,
  });
}

export function checkLines(checks: readonly ExplainedCheck[]): string {
  const sign = ({ passed, isWarning }: ExplainedCheck) => (isWarning ? "⚠" : passed ? "✓" : "✗");
  return checks.map((one) => `${sign(one)} ${one.check}: ${plain(one.detail)}`).join("\n");
}

export function nextButtons(hook: HookInfo, dispatch: DispatchRecord | undefined) {
  return [
    ...(dispatch ? [commandButton("The dispatch", `/run ${word(dispatch.id)}`)] : []),
    commandButton("The hook", `/hooks show ${word(hook.id)}`),
    commandButton("Order", `/hooks order ${word(hook.hook)}`),
  ];
}
