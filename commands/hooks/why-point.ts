/** `/hooks why POINT [message]`: which hooks of the point ran, for a message or the last time that it fired, and which did not and why. */
import type { DispatchRecord } from "../../src/domain/journal.js";
import type { InboxRow } from "../../src/domain/store.js";
import type { CommandAnswer } from "../../src/gateway/commands.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { answer, commandButton, word } from "../answer.js";
import { insteadsIn } from "../automations/effect.js";
import type { CommandDeps } from "../deps.js";
import { isAttempt, isFiringAt, skippedLater } from "../journey/background.js";
import { cutOffRunText, cutOffText, mayBeKilled, unrecordedByKill, unrecordedText } from "../journey/cut-off.js";
import { crashedAt, crashText, cutOffAfter, idsOf } from "../journey/cut-off-points.js";
import type { Journey } from "../journey/find.js";
import { isLedTo, lostText, unlinkedText } from "../journey/led-to.js";
import { runningText } from "../journey/surroundings.js";
import { claimerOf, cutOffsAt, lostAt, whyNotReached } from "../journey/why-not-reached.js";
import { isByHand } from "../runs/payload.js";
import { dispatchLine, errorText, runOutcomeText, unansweredText } from "../runs/show-dispatch.js";
import { ago, code, plain } from "../show/text.js";
import { whyNoTurn } from "./why-not.js";

/** Dispatches that are shown; dispatches that ended alike count once; `--json` has all. */
const MAX_SHOWN = 3;

export async function explainPoint(deps: CommandDeps, point: string, journey: Journey): Promise<CommandAnswer> {
  const { id, asked, row, own, dispatches, running, unrecorded } = journey;
  const now = deps.clock.now();
  const here = dispatches.filter((one) => one.point === point && !isAttempt(one));
  const open = running.filter(isFiringAt(point));
  const cutOffs = cutOffsAt(point, journey);
  const started = unrecorded.filter(({ event }) => event === point);
  const crashes = await crashedAt(point, deps, { ids: idsOf(journey) });
  const crashed = crashes.at(-1);
  const isSeen = here.length > 0 || open.length > 0 || started.length > 0;
  const isGivenUp = crashed !== undefined && crashed.endedBy === undefined;
  const notReached = isSeen || isGivenUp ? undefined : whyNotReached(point, journey, now);
  const killed =
    isSeen || crashed !== undefined || notReached !== undefined ? undefined : killedText(deps, point, journey);
  const lost =
    lostAt(point, journey) ?? (cutOffs > 0 ? cutOffText(cutOffs) : (unrecordedText(deps, point, journey) ?? killed));
  const isLed = isLedTo(point);
  const reason =
    notReached ??
    (!isLed && !isSeen && lost === undefined && crashed === undefined && (row || own)
      ? "No hook was enabled there."
      : undefined);
  const isClaimed = point === "inbound_claim" && row !== undefined && claimerOf(row) !== undefined;
  const isUnrecorded = !isSeen && !isClaimed;
  const hasNotFired = isUnrecorded && lost === undefined && crashed === undefined;
  return answer({
    text: [
      hasNotFired
        ? isLed
          ? `No firing of ${code(point)} for ${code(id)} is on record.`
          : `${code(point)} did **not** fire for ${code(id)}.`
        : isUnrecorded
          ? `Whether ${code(point)} fired for ${code(id)} is **not known**.`
          : `${code(point)} and ${code(id)}:`,
      started.map((run) => `${code(run.hookId)}: ${cutOffRunText(run)}`).join("\n"),
      lost,
      reason,
      isLed && isUnrecorded && unlinkedText(point),
      open.length > 0 && `It is firing now: ${runningText(open)}.`,
      ...(await attemptTexts(deps, here, now, journey)),
      ...crashes
        .filter((one) => one === crashed || one.endedBy !== undefined)
        .map((one) => crashText(one, deps, here.length > 0 ? " again" : "")),
    ],
    data: {
      point,
      message: asked,
      found: true,
      fired: isUnrecorded && (isLed || lost !== undefined) ? undefined : !hasNotFired,
      reason,
      dispatches: here.map(({ id: one }) => one),
    },
    buttons: [buttonsOf(point, here.at(-1), id)],
  });
}

/** An earlier process handled it, and may have been killed before the point was recorded. */
function killedText(deps: CommandDeps, point: string, { row, own }: Journey): string | undefined {
  const at = row?.receivedAt ?? own?.createdAt ?? deps.about.startedAt;
  if (!mayBeKilled(deps, point, at)) return undefined;
  if (isLedTo(point)) return lostText(point);
  return `No hook was enabled there, or the gateway was killed before it was recorded. ${unrecordedByKill(deps, point) ?? ""}`.trim();
}

/** Without a message. */
export async function explainPointNow(
  deps: CommandDeps,
  point: string,
  last: DispatchRecord | undefined,
): Promise<CommandAnswer> {
  const now = deps.clock.now();
  const cut = await cutOffAfter(deps, point, last?.at);
  return answer({
    text: [
      last ? lastFired(deps, point, last.at, cut !== undefined) : !cut && notFired(deps, point),
      last && (await dispatchText(deps, last, now)),
      cut,
      `${code(`/hooks why ${point} MESSAGE`)} answers for one message, ${code("/hooks why HOOK")} for one hook.`,
    ],
    data: {
      point,
      fired: last === undefined && cut !== undefined ? undefined : last !== undefined,
      lastDispatchId: last?.id,
    },
    buttons: [buttonsOf(point, last)],
  });
}

/** Attempts in a row in which each hook did the same count as one, with the time of the last. */
async function attemptTexts(
  deps: CommandDeps,
  here: readonly DispatchRecord[],
  now: number,
  { row, stored }: Pick<Journey, "row" | "stored">,
): Promise<string[]> {
  const groups: { body: string; dispatches: DispatchRecord[] }[] = [];
  for (const dispatch of here) {
    const body = await hooksText(deps, dispatch, dispatch === here.at(-1) ? row : undefined);
    const last = groups.at(-1);
    if (last?.body === body) last.dispatches.push(dispatch);
    else groups.push({ body, dispatches: [dispatch] });
  }
  return groups.slice(-MAX_SHOWN).flatMap(({ body, dispatches }) => {
    const [first, last] = [dispatches[0], dispatches.at(-1)];
    if (first === undefined || last === undefined) return [];
    const times =
      first === last ? "" : `\n${dispatches.length} attempts ended like this; the first was ${ago(first.at, now)}.`;
    return `${dispatchLine(last, now, skippedLater(last, stored))}${times}\n${body}`;
  });
}

async function dispatchText(deps: CommandDeps, dispatch: DispatchRecord, now: number): Promise<string> {
  return `${dispatchLine(dispatch, now)}\n${await hooksText(deps, dispatch)}`;
}

/** The hooks of the point in their order: the ones that ran, then the others, by the reason. `row`: it was the last for this message. */
async function hooksText(deps: CommandDeps, dispatch: DispatchRecord, row?: InboxRow): Promise<string> {
  const { point, phase, runs } = dispatch;
  const insteads = await insteadsIn(deps, dispatch);
  const ran = runs.map((run, index) => {
    if (run.unanswered) return `${index + 1}. ${code(run.hookId)}: ${unansweredText(run)}`;
    const why = [run.reason && plain(run.reason), run.error && errorText(run)].filter(Boolean).join(" · ");
    return `${index + 1}. ${code(run.hookId)} ${insteads.get(run.id) ?? runOutcomeText(run)}${why === "" ? "" : `: ${why}`}`;
  });
  const others = deps.registry
    .order(point)
    .filter((hook) => phase === undefined || hook.phase === phase)
    .filter(({ id }) => runs.every(({ hookId }) => hookId !== id));
  const byReason = new Map<string | undefined, HookInfo[]>();
  for (const hook of others) {
    const why = await whyNot(deps, dispatch, hook, row);
    byReason.set(why, [...(byReason.get(why) ?? []), hook]);
  }
  const skipped = [...byReason].map(([why, hooks]) => notRunText(why, hooks));
  return [...(ran.length === 0 ? ["No hook ran."] : ran), ...skipped].join("\n");
}

const DISABLED = "It is **disabled**.";
const FIRED_ALONE = "`/fire-hook` fired it by hand, for one hook alone.";

/** A sentence about one hook; undefined where its state has to be looked up. */
async function whyNot(
  deps: CommandDeps,
  dispatch: DispatchRecord,
  hook: HookInfo,
  row: InboxRow | undefined,
): Promise<string | undefined> {
  if (isByHand(dispatch) && dispatch.runs.length === 1) return FIRED_ALONE;
  return hook.enabled ? whyNoTurn(deps, hook, dispatch, row) : DISABLED;
}

function notRunText(why: string | undefined, hooks: readonly HookInfo[]): string {
  const names = hooks.map(({ id }) => code(id)).join(", ");
  const isOne = hooks.length === 1;
  const state = `${code(`/hooks why ${isOne ? hooks[0]?.id : "HOOK"}`)} shows ${isOne ? "its" : "the"} state.`;
  if (isOne || why === undefined) return `– ${names} did not run. ${why ?? state}`;
  return `– ${names} did not run. ${why === DISABLED ? "They are **disabled**." : why.replace(/ (runs|ran) before it and /, " $1 before them and ")}`;
}

/** While no hook is enabled there, nothing of the point is recorded. */
function lastFired({ registry, about, clock }: CommandDeps, point: string, at: number, isFollowed: boolean): string {
  const enabled = registry.order(point).filter((hook) => hook.enabled);
  if (enabled.length === 0)
    return `${code(point)} is not recorded now, because **no hook is enabled there**. The last that was recorded:`;
  const since = Math.min(...enabled.map(({ id }) => registry.explain(id).enabledAt ?? Number.POSITIVE_INFINITY));
  return at >= about.startedAt && since > at
    ? `The hooks that are enabled at ${code(point)} were enabled ${ago(since, clock.now())}, and it is not recorded while none is. The last that was recorded:`
    : `${code(point)} last fired${isFollowed ? " on record" : ""}:`;
}

/** The journal has no dispatch of a point where no hook is enabled. */
function notFired({ registry }: CommandDeps, point: string): string {
  const hooks = registry.order(point);
  if (hooks.length === 0)
    return `Whether ${code(point)} fired is not recorded, because **no hook is registered there**.`;
  const fired = hooks.some(({ enabled }) => enabled)
    ? "has **not fired** since a hook was enabled there, as far back as the journal goes"
    : "is not recorded while all its hooks are **disabled**";
  return `${code(point)} ${fired}. Hooks registered there: ${hooks.map(({ id }) => code(id)).join(", ")}.`;
}

function buttonsOf(point: string, dispatch: DispatchRecord | undefined, message?: string) {
  return [
    ...(dispatch ? [commandButton("The dispatch", `/run ${word(dispatch.id)}`)] : []),
    ...(message === undefined ? [] : [commandButton("The message", `/hooks why ${word(message)}`)]),
    commandButton("Order", `/hooks order ${word(point)}`),
  ];
}
