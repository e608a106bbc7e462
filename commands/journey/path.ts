/** The path of a message in about five lines: received, claimed, decided, sent. No words of people are shown. */
import { type AutomationRun, type AutomationRunStatus, isUnfinished } from "../../src/domain/automation.js";
import { addressOf } from "../../src/domain/chat/event.js";
import { shortenedFrom } from "../../src/domain/chat/long-message.js";
import { lostFilesOf } from "../../src/domain/chat/lost-files.js";
import { OPENLY_ONCE_MS } from "../../src/domain/chat/openly.js";
import { type DispatchRecord, type Outcome, type RunRecord, rootOf } from "../../src/domain/journal.js";
import { type Delivery, type InboxRow, isUnderWay } from "../../src/domain/store.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton, word } from "../answer.js";
import { statusText } from "../automations/show-run.js";
import type { CommandDeps } from "../deps.js";
import { pausedText } from "../hooks/pause.js";
import { nextStepButtons, nextStepText, tries } from "../outbox/letter.js";
import { errorText, failedRun, hasFailed, runOutcomeText, usedFallback } from "../runs/show-dispatch.js";
import { ago, clockTime, code, count, plain } from "../show/text.js";
import { placeWords } from "../who.js";
import { attemptLines, putOffLines } from "./attempts.js";
import { type Decision, SETTLING_MS } from "./audit.js";
import { backgroundLines, hasNotRun, isAttempt, isFiringAt, isOfBackground, type StoredRuns } from "./background.js";
import { changedBeforeText } from "./corrections.js";
import { cutOffsOf, mayBeKilled } from "./cut-off.js";
import { crashLines, enderText } from "./cut-off-points.js";
import { type Journey, POINT_OF_CHANGE, posterOf } from "./find.js";
import { decisionText, earlierEnds } from "./given-up.js";
import { journalLines } from "./journal-lines.js";
import { isBlock, isSilentClaim } from "./put-off.js";
import { refusedLines, wasPausedText } from "./refused.js";
import { isOwnNotice, ownWordText, runningText } from "./surroundings.js";
import { behindText, deniedText, endText, goneLines, lostAt, whyUnhandled } from "./why-not-reached.js";

/** Deliveries and failures shown; `--json` has all. */
const MAX_SHOWN = 4;
/** Dispatches that can be opened. */
const MAX_BUTTONS = 3;

/** `taskId`: the task, when the named id is a dispatch of an existing task. */
export async function showPath(deps: CommandDeps, journey: Journey, taskId?: string): Promise<CommandAnswer> {
  const { id, row, own, deliveries, dispatches, asked, decisions, origin } = journey;
  const now = deps.clock.now();
  const failures = failureLines(journey, now);
  const refused = refusedLines(journey, now);
  const crashes = await crashLines(deps, journey);
  const shown = shownDeliveries(deliveries);
  const lines = [
    ...(own && origin ? [`${own.status === "sent" ? "sent" : "made"} by ${origin.text}`] : []),
    ...(row ? inboundLines(deps, journey, row, now) : []),
    ...(row || own ? [] : journalLines(asked, taskId, dispatches, now)),
    ...inOrder([
      ...(row ? inboundEnd(deps, journey, row, { crashes, now, before: await changedBeforeText(deps, row) }) : []),
      ...decisions.map((one) => ({
        at: decidedAt(one, journey),
        text: `${clockTime(one.at, now)} ${decisionText(one, journey)}`,
      })),
      ...failures.slice(0, MAX_SHOWN),
      ...moreFailures(failures),
      ...vetoLines(dispatches, now),
      ...backgroundLines(deps, journey, now, (run) => runsAgain(deps, journey, run)),
      ...besideLines(journey),
      ...refused.slice(0, MAX_SHOWN),
      ...earlierEnds(journey, now),
      ...crashes,
      ...changeLines(deps, journey, now),
      ...goneLines(journey, now),
      ...shown.map((delivery) => ({
        at: delivery.settledAt ?? Number.POSITIVE_INFINITY,
        text: deliveryLine(deps, delivery, journey, now),
      })),
    ]),
    ...(refused.length > MAX_SHOWN ? [`… and ${count(refused.length - MAX_SHOWN, "more skipped hook")}`] : []),
    ...(deliveries.length > shown.length
      ? [`… and ${count(deliveries.length - shown.length, "more delivery", "more deliveries")}`]
      : []),
    ...journey.unsaid.map((one) => unsaidText(one, now)),
  ];
  return answer({
    text: [
      headline(deps, journey, now),
      lines.map((line, index) => `${index + 1}. ${line}`).join("\n"),
      isPausedFor(deps, row) ? `⚠ ${pausedText(deps)}` : wasPausedText(journey),
    ],
    data: {
      message: asked,
      found: true,
      id,
      inbox: row && {
        id: `m${row.id}`,
        kind: row.event.kind,
        status: row.status,
        outcome: row.outcome,
        claimedBy: row.claimedBy,
        reason: row.reason ?? row.error,
        receivedAt: row.receivedAt,
      },
      deliveries: deliveries.map((delivery) => ({
        id: delivery.id,
        status: delivery.status,
        reason: delivery.reason,
        messageIds: postedIds(delivery),
      })),
      dispatches: dispatches.map((dispatch) => ({ id: dispatch.id, point: dispatch.point, outcome: dispatch.outcome })),
      path: lines,
    },
    buttons: [
      [
        ...(row || own ? [commandButton("The message", `/outbox show ${word(id)}`)] : []),
        ...nextStepButtons(deliveries.filter((one) => one !== own)),
        ...(taskId === undefined ? [] : [commandButton("The task", `/task show ${word(taskId)}`)]),
        ...dispatchButtons(shownDispatches(dispatches)),
      ],
    ],
  });
}

/** The end of the process cut off the run, and its message or delivery is not done yet. */
const runsAgain = ({ automations }: CommandDeps, journey: Journey, run: AutomationRun): boolean =>
  openOf(journey).includes(rootOf(run.id)) && automations?.runsAgain(run) === true;

/** Messages and deliveries that are not done yet. */
const openOf = ({ row, changes, deliveries }: Pick<Journey, "row" | "changes" | "deliveries">): string[] => [
  ...[row, ...changes].flatMap((one) => (one === undefined || one.settledAt !== undefined ? [] : `m${one.id}`)),
  ...deliveries.filter(({ settledAt }) => settledAt === undefined).map(({ id }) => id),
];

/** Its hooks wait or are skipped for that: it was received while all configured hooks are paused, or it is not settled yet. */
function isPausedFor({ automations }: CommandDeps, row: InboxRow | undefined): boolean {
  const paused = automations?.paused();
  return paused !== undefined && row !== undefined && (row.settledAt ?? Number.POSITIVE_INFINITY) >= paused.at;
}

/** The first deliveries, and the last corrections that were cancelled: no other line names the hook and its reason. */
function shownDeliveries(deliveries: readonly Delivery[]): Delivery[] {
  const isWithheld = ({ operation, status }: Delivery) => operation === "edit" && status === "cancelled";
  const withheld = deliveries.filter(isWithheld).slice(-MAX_SHOWN);
  return [...deliveries.filter((one) => !isWithheld(one)).slice(0, MAX_SHOWN), ...withheld];
}

/** Dispatches in which a hook failed come first, then those that decided something, then the others; shown in their order. */
function shownDispatches(dispatches: readonly DispatchRecord[]): DispatchRecord[] {
  const withRuns = dispatches.filter(({ runs }) => runs.length > 0);
  const failed = withRuns.filter((one) => hasFailed(one) || one.runs.some(hasFailed)).slice(-MAX_BUTTONS);
  const calm = withRuns.filter((one) => !failed.includes(one));
  const decided = ({ outcome }: DispatchRecord) => !["passed", "skipped", "backgrounded"].includes(outcome);
  const others = [...calm.filter(decided), ...calm.filter((one) => !decided(one))];
  const shown = new Set([...failed, ...others.slice(0, MAX_BUTTONS - failed.length)]);
  return withRuns.filter((one) => shown.has(one));
}

/** The hook that failed or decided distinguishes several buttons of one point; a number distinguishes those of one hook. */
function dispatchButtons(dispatches: readonly DispatchRecord[]) {
  const labels = dispatches.map((one) => {
    const isAlone = dispatches.filter(({ point }) => point === one.point).length === 1;
    return isAlone ? one.point : `${one.point}: ${deciderOf(one)?.hookId}`.slice(0, MAX_LABEL);
  });
  return dispatches.map(({ id }, index) => {
    const label = labels[index] ?? "";
    const isAlone = labels.filter((one) => one === label).length === 1;
    const number = labels.slice(0, index + 1).filter((one) => one === label).length;
    return commandButton(isAlone ? label : `${label} (${number})`, `/run ${word(id)}`);
  });
}

const MAX_LABEL = 76;

function deciderOf(dispatch: DispatchRecord) {
  const { runs } = dispatch;
  const decided = runs.find(({ outcome }) => outcome !== "passed" && outcome !== "skipped");
  return failedRun(dispatch) ?? runs.find(hasFailed) ?? decided ?? runs[0];
}

function headline(deps: CommandDeps, journey: Journey, now: number): string {
  const { id, row, own } = journey;
  if (own) return `**What happened to ${code(id)}**, ${ownWords(deps, own, journey, now)}`;
  if (!row) return `**What happened to ${code(id)}**`;
  const { event } = row;
  const platformId = "message" in event ? event.message.messageId : "messageId" in event ? event.messageId : undefined;
  const kind = event.kind === "action" ? "press on a button" : event.kind;
  return `**What happened to ${code(id)}**: ${kind}${platformId === undefined ? "" : ` ${code(platformId)}`} in ${placeWords(deps, addressOf(event))}, ${ago(row.receivedAt, now)}`;
}

/** `which the gateway sent to General on web 5 s ago`; the text of an unsent message does not claim that. */
function ownWords(deps: CommandDeps, own: Delivery, { row, decisions }: Journey, now: number): string {
  const { status, operation, address, createdAt, settledAt = createdAt } = own;
  const place = placeWords(deps, address);
  // An operator settled it after it was sent: the time of sending is not on record.
  if (status === "sent" && operation === "send" && decisions.some(({ kind }) => kind === "confirmed"))
    return `a message to ${place}, created ${ago(createdAt, now)}, which counts as sent since ${ago(settledAt, now)}`;
  if (status === "sent" && operation === "send") return `which the gateway sent to ${place} ${ago(settledAt, now)}`;
  const kind = operation === "delete" ? "a deletion" : operation === "edit" ? "an edit" : "a message";
  const isAnswer = own.cause.kind === "reply" && row && operation === "send" && !isOwnNotice(own);
  const what = isAnswer ? `an answer to ${code(`m${row.id}`)}` : kind;
  const state = isUnderWay(own) ? "not sent yet" : `**${status}**`;
  return `${what} in ${place}, created ${ago(createdAt, now)}: ${state}`;
}

/** One line about the message, with its time. Open matters come last; at the same moment, decisions come first. */
interface Happening {
  at: number;
  text: string;
}

const inOrder = (all: readonly Happening[]): string[] =>
  [...all].sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1)).map(({ text }) => text);

/** The audit has the end of the command; the deliveries and firings of the command may be recorded just before that. */
function decidedAt({ at, id }: Decision, { dispatches, deliveries }: Journey): number {
  const settled = deliveries.find((one) => one.id === id)?.settledAt ?? at;
  const setOff = dispatches.filter((one) => rootOf(one.id) === id && /:\d+$/.test(one.id)).map((one) => one.at);
  return Math.min(at, ...[settled, ...setOff].filter((one) => one >= at - SETTLING_MS));
}

/**
 * Changes that people made to the message afterwards. Edits for which the same hooks ran are one line, with their number and the last one;
 * so are reactions.
 */
function changeLines(deps: CommandDeps, journey: Journey, now: number): Happening[] {
  const { changes, dispatches, stored } = journey;
  const found = new Map<string, { last: InboxRow; ran: string | undefined; times: number }>();
  for (const one of changes) {
    const { kind } = one.event;
    if (kind !== "edited" && kind !== "reaction" && kind !== "deleted") continue;
    const mine = dispatches.filter(({ id }) => rootOf(id) === `m${one.id}`);
    const point = POINT_OF_CHANGE[kind];
    const ran = ranAt(point ?? "", mine, one.status === "done", stored, missingText(deps, point, one, journey));
    const key = `${kind} ${ran}`;
    found.set(key, { last: one, ran, times: (found.get(key)?.times ?? 0) + 1 });
  }
  return [...found.values()].map(({ last, ran, times }) => {
    const id = code(`m${last.id}`);
    const which = times > 1 ? `${times} times, the last is ${id}` : `(${id})`;
    const end = ran ? ` · ${ran}` : last.settledAt === undefined ? " · not handled yet" : "";
    return { at: last.receivedAt, text: `${clockTime(last.receivedAt, now)} ${last.event.kind} ${which}${end}` };
  });
}

/**
 * Failures, and runs without a row of their own that a stop cut off; for a run that ran again, how that attempt ended. Failures that repeat
 * are one line, with how often and when last; those before and after a decision of an operator are two.
 */
function failureLines(journey: Journey, now: number): Happening[] {
  const { dispatches, decisions, stored } = journey;
  const decided = decisions.map((one) => decidedAt(one, journey));
  const found = new Map<string, { at: number; times: number; line: string }>();
  for (const dispatch of dispatches)
    for (const run of dispatch.runs) {
      const isCutOff = run.outcome === "interrupted" && !isAttempt(dispatch) && !stored.has(run.id);
      if (!isCutOff && !hasFailed(run)) continue;
      const again = isCutOff ? lastAttemptOf(dispatch, run, dispatches) : undefined;
      // The failure has a line of its own.
      if (again && hasFailed(again.run)) continue;
      const { point } = dispatch;
      const at = again?.at ?? dispatch.at;
      const verb = isCutOff
        ? "was **interrupted**"
        : run.unanswered
          ? "could not answer its condition"
          : run.outcome.replace("_", " ");
      const why = run.error ? `: ${errorText(run)}` : isCutOff && run.reason ? `: ${plain(run.reason)}` : "";
      const ended =
        again && `${runOutcomeText(again.run)} at attempt ${again.run.attempt}; attempt ${dispatch.attempt}`;
      const line = `${ended ? `${code(run.hookId)} ${ended}` : `✗ ${code(run.hookId)}`} ${verb} at ${code(point)}${why}`;
      const key = `${line} ${decided.filter((time) => time <= at).length}`;
      found.set(key, { at, times: (found.get(key)?.times ?? 0) + 1, line });
    }
  return [...found.values()].map(({ at, times, line }) => ({
    at,
    text: `${clockTime(at, now)} ${line}${times > 1 ? ` (${times} times; this is the newest)` : ""}`,
  }));
}

/** The start has the same dispatch fired again: the last attempt of the hook there, where that was not cut off, too. */
function lastAttemptOf(
  { id, attempt }: DispatchRecord,
  { hookId }: RunRecord,
  dispatches: readonly DispatchRecord[],
): { at: number; run: RunRecord } | undefined {
  const last = dispatches.findLast((one) => one.id === id && one.attempt > attempt);
  const run = last?.runs.find((one) => one.hookId === hookId && one.outcome !== "interrupted");
  return last && run && { at: last.at, run };
}

function moreFailures(failures: readonly Happening[]): Happening[] {
  const last = failures[MAX_SHOWN - 1];
  if (last === undefined || failures.length === MAX_SHOWN) return [];
  return [{ at: last.at, text: `… and ${count(failures.length - MAX_SHOWN, "more failure")}` }];
}

/** Runs that are under way without a row of their own, and that nothing of the path waits for: no other line shows them. */
function besideLines({ row, changes, deliveries, running, stored }: Journey): Happening[] {
  const open = openOf({ row, changes, deliveries });
  return running
    .filter(({ runId, dispatchId }) => {
      const root = rootOf(dispatchId);
      return !stored.has(runId) && !isOfBackground(dispatchId) && !open.includes(root);
    })
    .map((one) => ({ at: Number.POSITIVE_INFINITY, text: runningText([one]) }));
}

/** The task that the message was to create, and that a hook did not let it. */
function vetoLines(dispatches: readonly DispatchRecord[], now: number): Happening[] {
  return dispatches
    .filter(({ id }) => rootOf(id).startsWith("t_"))
    .flatMap(({ at, point, runs }) =>
      runs
        .filter(({ outcome }) => outcome === "cancelled")
        .map(({ hookId, reason }) => {
          const why = reason ? `: ${plain(reason)}` : "";
          return { at, text: `${clockTime(at, now)} ${code(hookId)} vetoed it at ${code(point)}${why}` };
        }),
    );
}

function inboundLines(deps: CommandDeps, journey: Journey, row: InboxRow, now: number): string[] {
  const mine = journey.dispatches.filter(({ id }) => id.startsWith(`m${row.id}:`));
  const change = POINT_OF_CHANGE[row.event.kind];
  if (row.outcome === "not_taken") return [`${clockTime(row.receivedAt, now)} received`];
  // A press fires the points of the input that it represents; a move of a chat fires none.
  const point = change ?? (row.event.kind === "action" || row.event.kind === "moved" ? undefined : "message_received");
  const ran =
    point && ranAt(point, mine, row.status === "done", journey.stored, missingText(deps, point, row, journey));
  return [
    `${clockTime(row.receivedAt, now)} received${ran ? ` · ${ran}` : ""}`,
    ...putOffLines(journey, row),
    ...attemptLines(deps, journey, row, now),
  ];
}

/** How handling ended, at its time. Hooks may see an answer a moment before that is on disk, so this line comes before the deliveries. */
function inboundEnd(
  deps: CommandDeps,
  journey: Journey,
  row: InboxRow,
  {
    crashes,
    now,
    before,
  }: { crashes: Awaited<ReturnType<typeof crashLines>>; now: number; before: string | undefined },
): Happening[] {
  const { deliveries, dispatches, gone } = journey;
  const open = whyUnhandled(journey, now);
  const isDead = row.status === "dead";
  const endedBy = crashes.findLast(({ id }) => id === `m${row.id}`)?.endedBy;
  const ender =
    endedBy &&
    ` ${enderText(endedBy)} ended the process with exit code ${endedBy.exitCode}: correct that ${endedBy.hookId === undefined ? "plugin" : "hook"} first.`;
  const unknown = isDead && cutOffsOf(row) > 0 ? (ender ?? " Which hooks had started by then was not recorded.") : "";
  const again = isDead && !row.isUnreadable ? ` ${code(`/outbox retry m${row.id}`)} has it handled again.` : "";
  if (open !== undefined) return [{ at: Number.POSITIVE_INFINITY, text: `${open}${unknown}${again}` }];
  const outbound = dispatches.filter(({ id }) => id.startsWith("d_")).map((one) => one.at);
  const at = Math.min(row.settledAt ?? Number.POSITIVE_INFINITY, ...outbound);
  const nothing = row.status === "done" && deliveries.length === 0 && gone.length === 0;
  const isOver =
    journey.running.length === 0 && ![...journey.stored.values()].some(({ status }) => isUnfinished(status));
  const nothingText = before ?? (isOver ? "Nothing was sent in answer." : "Nothing has been sent in answer yet.");
  return [{ at, text: endOf(deps, journey, row) }, ...(nothing ? [{ at, text: nothingText }] : [])];
}

function endOf(deps: CommandDeps, journey: Journey, row: InboxRow): string {
  const mine = journey.dispatches.filter(({ id }) => id.startsWith(`m${row.id}:`));
  if (row.outcome === "not_taken") return `**not taken**: ${plain(row.reason ?? "")}. No hook saw it`;
  if (POINT_OF_CHANGE[row.event.kind] !== undefined) return plain(row.outcome ?? "settled");
  const asked = ranAt("inbound_claim", mine, true, journey.stored, missingText(deps, "inbound_claim", row, journey));
  const by = row.claimedBy ? ` by ${code(row.claimedBy)}` : "";
  switch (row.outcome) {
    case "denied":
      return `denied: ${deniedText(row.reason)}`;
    case "claimed": {
      const last = mine.filter(({ point }) => point === "inbound_claim").at(-1);
      const claim = last?.runs.find(({ hookId }) => hookId === row.claimedBy);
      if (last && claim && usedFallback(last, claim))
        return `claimed by the ${code("fallback")} of ${code(claim.hookId)} · ${asked}`;
      const reason = claim?.reason ? `: ${plain(claim.reason)}` : "";
      if (claim && isBlock(claim)) return `blocked${by}${reason} · ${asked}`;
      return `claimed${by}${claim && isSilentClaim(claim) ? ", without a reply" : ""}${reason} · ${asked}`;
    }
    case "deleted":
      return "**deleted by its author** after handling it was given up: it is not handled again";
    case "command":
      return row.reason
        ? `a command, **refused**: ${plain(row.reason)}`
        : `answered as a command${mine.some(({ point }) => point === "inbound_claim") ? ` · ${asked}` : ""}`;
    case "unrouted":
      return `no hook claimed it, and no default route took it${row.reason ? ` (${plain(row.reason)})` : ""} · ${asked}${deps.registry.order("inbound_claim").length === 0 ? `; ${code("/hooks add")} shows how to write one` : ""}`;
    default:
      return `${plain(row.outcome ?? "settled")}${by} · ${asked}`;
  }
}

/** The text about a point that a handled message passes, when no run is on record there. */
function missingText(deps: CommandDeps, point: string | undefined, row: InboxRow, journey: Journey): string {
  if (point === undefined) return "";
  if (journey.running.some((one) => rootOf(one.dispatchId) === `m${row.id}` && isFiringAt(point)(one)))
    return `${code(point)} is firing now, and is recorded when all its hooks have ended`;
  if (cutOffsOf(row) > 0 || (row === journey.row && lostAt(point, journey) !== undefined))
    return `what ran at ${code(point)} before the end of the process is not recorded`;
  const started = journey.unrecorded.filter(({ id, event }) => rootOf(id) === `m${row.id}` && event === point);
  if (started.length > 0) {
    const runs = started.map(({ hookId, status }) => `${code(hookId)} ${statusText(status)}`).join(", ");
    return `${code(point)}: ${runs}; what else ran there is not on record`;
  }
  const isKilled = mayBeKilled(deps, point, row.receivedAt);
  return `${isKilled ? "nothing is recorded of" : "no hook was enabled at"} ${code(point)}`;
}

/** The hooks that ran at a point in its last dispatch. Undefined when no dispatch is recorded and one may still come. */
function ranAt(
  point: string,
  dispatches: readonly DispatchRecord[],
  isSettled: boolean,
  stored: StoredRuns,
  missing: string,
): string | undefined {
  const last = dispatches.filter((one) => one.point === point && one.runs.length > 0 && !isAttempt(one)).at(-1);
  if (last === undefined) return isSettled ? missing : undefined;
  const withStatus = (status: AutomationRunStatus) => last.runs.filter(({ id }) => stored.get(id)?.status === status);
  const [waiting, again] = [withStatus("backgrounded").length, withStatus("queued").length];
  // Where a run was cut off and runs again, the point is firing.
  const running = withStatus("running").filter(({ outcome }) => outcome === "backgrounded").length;
  const notRun = last.runs.filter((run) => hasNotRun(run, stored.get(run.id))).length;
  const ran = last.runs.length - notRun - running - again;
  const others = [
    [notRun - waiting, "skipped"],
    [running, "running in the background"],
    [again, "to be tried again"],
    [waiting, "waiting in the background"],
  ] as const;
  return `${code(point)}: ${count(ran, "hook")} ran${others.map(([many, what]) => (many > 0 ? `, ${many} ${what}` : "")).join("")}`;
}

function deliveryLine(deps: CommandDeps, delivery: Delivery, journey: Journey, now: number): string {
  const { id, status, operation, settledAt } = delivery;
  const mine = journey.dispatches.filter((one) => one.id.startsWith(`${id}:`));
  const sending = mine.filter(({ point }) => point === "message_sending").flatMap(({ runs }) => runs);
  const named = (outcome: Outcome) => [
    ...new Set(sending.filter((run) => run.outcome === outcome).map(({ hookId }) => code(hookId))),
  ];
  const [changers, overruled] = [named("modified"), named("overruled")];
  const changed = `${changers.length > 0 ? ` · changed by ${changers.join(", ")}` : ""}${overruled.length > 0 ? ` · overruled: ${overruled.join(", ")}` : ""}`;
  const posted = postedIds(delivery);
  const as = posted.length > 0 ? ` as ${posted.slice(0, 3).map(code).join(", ")}` : "";
  const when = settledAt === undefined ? "" : `${clockTime(settledAt, now)} `;
  const isForward = delivery.cause.kind === "forward" && !isOwnNotice(delivery);
  const poster = delivery === journey.own ? undefined : posterOf(delivery, journey.dispatches);
  const to = isForward || poster ? ` to ${placeWords(deps, delivery.address)}` : "";
  const postedBy = poster ? ` · posted by ${poster}` : "";
  const role = journey.own ? undefined : ownWordText(delivery, journey.row);
  const itself = role === undefined ? code(id) : `${code(id)} (${role})`;
  const what = operation === "send" ? itself : `${operation} ${itself}`;
  if (status === "sent") {
    const isConfirmed = journey.decisions.some((one) => one.id === id && one.kind === "confirmed");
    const verb = isConfirmed ? "counts as sent" : isForward ? "forwarded" : "sent";
    return `${when}${what} ${verb}${to}${as}${lateText(delivery)}${changed}${shortText(delivery)}${lostText(delivery)}${postedBy}`;
  }
  const tried = tries(delivery);
  const ended = endText(delivery, mine);
  const running = journey.running.filter(
    ({ dispatchId }) => dispatchId.startsWith(`${id}:`) && !isOfBackground(dispatchId),
  );
  const blocker = journey.blockers.get(id);
  const pause = (blocker ?? delivery).reason ? undefined : journey.pauses.get(id);
  const open = `${running.length > 0 ? ` · ${runningText(running)}` : ""}${blocker ? ` · ${behindText(blocker)}` : ""}${pause ? ` · ${pause}` : ""}${blockedText(journey, id)}`;
  const step = nextStepText(delivery);
  return `${when}${what}${to} ${ended}${open}${tried > 0 ? ` · tried ${tried === 1 ? "once" : `${tried} times`}` : ""}${nextTryText(delivery, now)}${as}${status === "cancelled" ? "" : changed}${shortText(delivery)}${postedBy}${step === undefined ? "" : ` · ${step}`}`;
}

/** The delivery for which this one waited until it expired. */
function blockedText({ blockedBy }: Journey, id: string): string {
  const by = blockedBy.get(id);
  return by === undefined ? "" : ` · until then its chat waited for ${code(by.id)} (**${by.status}**)`;
}

function shortText({ frozen }: Delivery): string {
  const size = frozen && shortenedFrom(frozen);
  return size === undefined ? "" : ` · shortened: it had ${count(size, "character")}`;
}

function lostText(delivery: Delivery): string {
  const files = lostFilesOf(delivery).map(({ name, why }) => `${code(name)} (${why})`);
  return files.length > 0 ? ` · not passed on: ${files.join(", ")}` : "";
}

/** Why it was sent late, where its first try failed. */
function lateText({ reason, attempts }: Delivery): string {
  if (!reason) return "";
  return attempts > 0
    ? ` after ${count(attempts, "failed try", "failed tries")}: ${plain(reason)}`
    : ` (${plain(reason)})`;
}

function nextTryText({ status, attempts, dueAt }: Delivery, now: number): string {
  if ((status !== "waiting" && status !== "sending") || attempts === 0 || dueAt <= now) return "";
  return ` · next try at ${clockTime(dueAt, now)} (in ${formatDuration(dueAt - now)})`;
}

function unsaidText({ id, line }: Journey["unsaid"][number], now: number): string {
  return `nothing was posted in the room in place of ${code(id)}: the room gets one such line a person in ${formatDuration(OPENLY_ONCE_MS)}, and ${code(line.id)} was it, ${ago(line.createdAt, now)}`;
}

function postedIds({ parts }: Delivery): string[] {
  return parts.flatMap(({ operation, messageId, status }) =>
    operation !== "delete" && status === "sent" && messageId !== undefined ? [messageId] : [],
  );
}
