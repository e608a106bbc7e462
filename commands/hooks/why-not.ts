/** Why a hook had no turn when its point fired: it was not registered, it was disabled, or a hook before it ended the dispatch. */

import { DUE_POINT } from "../../src/domain/automation.js";
import { type DispatchRecord, type Outcome, type RunRecord, rootOf } from "../../src/domain/journal.js";
import type { InboxRow } from "../../src/domain/store.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import type { CommandDeps } from "../deps.js";
import { heldAt, type Switching, switchesOf } from "../journey/audit.js";
import { type Journey, POINT_OF_CHANGE } from "../journey/find.js";
import { isBlock, isPutOff } from "../journey/put-off.js";
import { failedRun, usedFallback } from "../runs/show-dispatch.js";
import { ago, code, plain } from "../show/text.js";
import { operatorName } from "../who.js";

/** Points that fire for one hook only, the one with the trigger. */
export const OWN_POINTS: ReadonlySet<string> = new Set([DUE_POINT]);

/** A sentence; undefined when nothing that is known explains it. The hook has no run in the dispatch. */
export async function whyNoTurn(
  deps: CommandDeps,
  hook: HookInfo,
  dispatch: DispatchRecord,
  row?: InboxRow,
): Promise<string | undefined> {
  const registered = await wasRegistered(deps, hook, dispatch);
  if (registered === "no") {
    const since = deps.registry.explain(hook.id).registeredAt;
    return `It was **not registered** then: it was registered ${ago(since, deps.clock.now())}, after that.`;
  }
  const disabled = disabledReason(deps, hook, await switchesOf(deps, hook.id), dispatch.at);
  const ended = disabled ?? endedEarlier(deps, dispatch, hook, row);
  if (registered === "yes" || disabled !== undefined || ended === undefined) return ended;
  const ender = enderOf(dispatch);
  return `Whether it was registered then is **not known**: the gateway was started again since, and the journal has no earlier run of it.${ender ? ` ${code(ender.hookId)} ${endedText(ender)}, so no hook after it ran.` : ""}`;
}

/** Whether the hook was registered: the kernel knows this for its process, and the journal for earlier ones. */
export async function wasRegistered(
  { registry, store, about }: CommandDeps,
  { id: hookId, hook: point }: HookInfo,
  dispatch: DispatchRecord,
): Promise<"yes" | "no" | "not known"> {
  const { registeredAt, stays } = registry.explain(hookId);
  if (registeredAt <= dispatch.at || stays.some(({ from, until }) => from <= dispatch.at && dispatch.at < until))
    return "yes";
  if (dispatch.at >= about.startedAt) return "no";
  const earlier = await store.journal.list({ hookId, point, before: dispatch.id, limit: 1 });
  return earlier.length > 0 ? "yes" : "not known";
}

/** The run after which no other hook had a turn. */
export function enderOf(dispatch: DispatchRecord): RunRecord | undefined {
  const claim = dispatch.runs.find((run) => run.outcome === "claimed" || claimedByFallback(dispatch, run));
  return claim ?? failedRun(dispatch) ?? cutOffRun(dispatch);
}

const claimedByFallback = (dispatch: DispatchRecord, run: RunRecord) =>
  dispatch.outcome === "claimed" && usedFallback(dispatch, run);

/** The run that a stop cut off, where each hook waits for the one before it. */
function cutOffRun({ model, phase, outcome, runs }: DispatchRecord): RunRecord | undefined {
  const isParallel = model === "void" || phase === "after";
  const last = outcome === "interrupted" && !isParallel ? runs.at(-1) : undefined;
  return last?.outcome === "interrupted" ? last : undefined;
}

const ENDING_VERBS: Partial<Record<Outcome, string>> = { skipped: "was not called", interrupted: "was interrupted" };
/** `failed`, `was not called`; a claim has words of its own. */
const endingVerb = ({ outcome, unanswered }: RunRecord): string =>
  unanswered ? "could not answer its condition" : (ENDING_VERBS[outcome] ?? outcome.replace("_", " "));

function endedText(ender: RunRecord): string {
  const verb =
    ender.outcome !== "claimed"
      ? endingVerb(ender)
      : isPutOff(ender)
        ? "put off"
        : isBlock(ender)
          ? "blocked"
          : "claimed";
  const why = ender.reason ?? ender.error;
  return `${verb}${ender.outcome === "claimed" ? " the message" : ""}${why ? ` (${plain(why)})` : ""}`;
}

/** Why it was disabled when the point fired; as it is now, when the audit knows of no switching. */
export function disabledReason(
  { switches: config, registry, automations, clock }: CommandDeps,
  hook: HookInfo,
  switches: readonly Switching[],
  at: number,
): string | undefined {
  const held = heldAt(switches, at);
  const now = clock.now();
  // After that, the configuration may have enabled the hook again, and may have disabled an enabled one.
  const { enabledAt } = registry.explain(hook.id);
  if (held?.enabled === false && (enabledAt === undefined || enabledAt > at))
    return `It was **disabled** then, by ${nameOf(held)} ${ago(held.at, now)}.${hook.enabled ? enabledLater(switches, at, now) || " It is enabled now." : ""}`;
  // A hook that a person disabled afterwards was enabled then.
  const own = config?.inForce(hook.id);
  const wasEnabled =
    switches.findLast((one) => one.at > at)?.enabled === false || (own?.enabled === false && own.at > at);
  if (hook.enabled || wasEnabled) return undefined;
  if (config?.configured(hook.id) === false)
    return `It is **disabled in the configuration**: ${code(`overrides: { ${hook.id}: { enabled: false } }`)}.`;
  return automations?.get(hook.id)?.enabled === false
    ? "It is **disabled in the configuration**."
    : "It is **disabled**.";
}

/**
 * When it was disabled after its last run: `since Owner disabled it 5 min ago`. Its point may have fired then without a record, as
 * points do while no hook is enabled there. Undefined when it was enabled all the time, as far as that is known.
 */
export async function offAfter(
  deps: CommandDeps,
  hook: HookInfo,
  last: { at: number; isRun: boolean } | undefined,
): Promise<string | undefined> {
  const now = deps.clock.now();
  const switches = await switchesOf(deps, hook.id);
  const index = switches.findIndex((one) => !one.enabled && one.at > (last?.at ?? 0));
  const disabled = switches[index];
  if (disabled !== undefined) {
    const by = `${nameOf(disabled)} disabled it ${ago(disabled.at, now)}`;
    const enabled = switches[index - 1];
    if (enabled !== undefined) return `from when ${by} until ${nameOf(enabled)} enabled it ${ago(enabled.at, now)}`;
    return hook.enabled ? `after ${by}, until it was enabled again` : `since ${by}`;
  }
  // The audit knows of commands alone: a configuration or a plugin may have disabled or removed it.
  const { enabledAt = now, registeredAt } = deps.registry.explain(hook.id);
  const wasOff = !hook.enabled || enabledAt > registeredAt;
  if (last === undefined && wasOff && !OWN_POINTS.has(hook.hook) && !isAlwaysRecorded(deps, hook))
    return hook.enabled ? `in the time before it was enabled ${ago(enabledAt, now)}` : "while it is disabled";
  const isOff = last?.isRun === true && last.at >= deps.about.startedAt && enabledAt > last.at;
  if (!isOff) return undefined;
  return hook.enabled ? `in the time before it was enabled ${ago(enabledAt, now)}` : "since it was disabled";
}

/** Another hook there was enabled all the time, so that each firing is on record. */
function isAlwaysRecorded({ registry }: CommandDeps, { id, hook, phase }: HookInfo): boolean {
  return registry.order(hook, phase).some((peer) => {
    const { enabledAt, registeredAt } = registry.explain(peer.id);
    return peer.id !== id && enabledAt !== undefined && enabledAt <= registeredAt;
  });
}

export function enabledLater(switches: readonly Switching[], at: number, now: number): string {
  const later = switches.find((one) => one.at > at && one.enabled);
  return later ? ` ${nameOf(later)} enabled it ${ago(later.at, now)}.` : "";
}

const nameOf = ({ by }: Switching) => operatorName(by);

/** A claim ends a dispatch, and so does the failure of a fail-closed hook: hooks behind it do not get their turn. */
export function endedEarlier(
  { registry }: CommandDeps,
  dispatch: DispatchRecord,
  hook: HookInfo,
  row?: InboxRow,
): string | undefined {
  const ender = enderOf(dispatch);
  if (!ender || ender.hookId === hook.id) return undefined;
  const order = registry.order(hook.hook, hook.phase).map(({ id }) => id);
  // The hook is before the one that ended the dispatch, and had no turn: it was not there.
  if (order.includes(ender.hookId) && order.indexOf(hook.id) < order.indexOf(ender.hookId)) return undefined;
  // A hook that was removed or disabled afterwards is described in the past tense: it runs before no hook now.
  const before = `${code(ender.hookId)} ${registry.get(ender.hookId)?.enabled === true ? "runs" : "ran"} before it`;
  if (isPutOff(ender)) {
    const putOff = `${before} and put the message off${ender.reason ? ` (${plain(ender.reason)})` : ""}`;
    return row?.status !== "done"
      ? `${putOff}. Hooks after it get their turn when the message is offered again.`
      : `${putOff} more often than ${code("gateway.max_deferrals")} allows. The message went on as if no hook had claimed it, and the hooks after ${code(ender.hookId)} were not asked.`;
  }
  if (claimedByFallback(dispatch, ender))
    return `${before}; its ${code("fallback")} claimed the message. Hooks after a claim do not run.`;
  const why = ender.error ?? ender.reason;
  if (ender.outcome === "interrupted")
    return `${before} and ${endingVerb(ender)}${why ? ` (${plain(why)})` : ""}. The hooks after it did not get their turn.`;
  return ender.outcome === "claimed"
    ? `${before} and ${isBlock(ender) ? "blocked" : "claimed"} the message${ender.reason ? ` (${plain(ender.reason)})` : ""}. Hooks after a claim do not run.`
    : `${before} and ${endingVerb(ender)}${why ? ` (${plain(why)})` : ""}. It is fail-closed, so the hooks after it did not run.`;
}

/** Why it did not run for the last edit, deletion or reaction, when it ran for an earlier one. */
export async function whyNotForLastChange(
  deps: CommandDeps,
  hook: HookInfo,
  { changes, dispatches }: Pick<Journey, "changes" | "dispatches">,
  ran: readonly { dispatch: DispatchRecord }[],
): Promise<string | undefined> {
  const change = changes.findLast(({ event }) => POINT_OF_CHANGE[event.kind] === hook.hook);
  if (change?.status !== "done" || ran.some(({ dispatch }) => rootOf(dispatch.id) === `m${change.id}`))
    return undefined;
  const fired = dispatches.findLast(({ id, point }) => rootOf(id) === `m${change.id}` && point === hook.hook);
  const reason = fired
    ? await whyNoTurn(deps, hook, fired)
    : (disabledReason(deps, hook, await switchesOf(deps, hook.id), change.receivedAt) ?? "No hook was enabled there.");
  return `The last ${change.event.kind} (${code(`m${change.id}`)}, ${ago(change.receivedAt, deps.clock.now())}) came after that, and it did **not** run for it.${reason === undefined ? "" : ` ${reason}`}`;
}
