/** The gates between a configured hook and its next run, beside the checks of the registry, and the last run that they refused. */
import type { Definition } from "../../src/automations/definition/definition.js";
import { isTimed } from "../../src/domain/automation.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { ago, code, plain } from "../show/text.js";
import { nameIn } from "../show/who-is.js";

export interface GateFacts {
  /** Undefined when nothing would refuse it. */
  refusal?: { gate: string; reason: string } | undefined;
  /** The hook would wait, `until` something, and then run; undefined when it would not wait. */
  wait?: { gate: string; reason: string; until: string } | undefined;
  text: string[];
}

/** Undefined for a hook that is in no file, unless its background runs wait for the end of a pause or for a place. */
export async function explainGates(
  { automations, clock }: CommandDeps,
  { id: hookId, execution }: HookInfo,
): Promise<GateFacts | undefined> {
  const definition = automations?.get(hookId);
  const paused = automations?.paused();
  if (automations === undefined || (definition === undefined && execution !== "background")) return undefined;
  if (definition === undefined) {
    const wait = paused
      ? { gate: "paused", reason: `by ${nameIn(paused.by)}`, waits: true }
      : await automations.gate(hookId);
    return wait && { wait: waitOf(wait), text: [stopText(wait)] };
  }
  const { trigger, cooldownMs, concurrency, maxPerHour } = definition;
  // A pause stops hooks that start by themselves; a person fires a hook all the same.
  const isManual = trigger.kind === "manual";
  const isPaused = paused !== undefined && !isManual;
  const pause = isPaused
    ? { gate: "paused", reason: `by ${nameIn(paused.by)}`, waits: execution === "background" && !isTimed(trigger) }
    : undefined;
  const full = await automations.gate(hookId);
  // A gate that refuses a run comes before one that makes it wait.
  const stop = [pause, full].find((one) => one?.waits === false) ?? pause ?? full;
  const [last] = await automations.runs.list({ hookId, status: "skipped", limit: 1 });
  const limits = [
    `${concurrency} at once`,
    ...(cooldownMs > 0 ? [`${formatDuration(cooldownMs)} from start to start`] : []),
    ...(maxPerHour === undefined ? [] : [`${maxPerHour} in an hour`]),
  ].join(", ");
  return {
    refusal: stop && !stop.waits ? { gate: stop.gate, reason: stop.reason } : undefined,
    wait: stop?.waits ? waitOf(stop) : undefined,
    text: [
      stop === undefined ? `✓ gates: open (${limits}).` : `${stopText(stop, definition)}${withoutIt(stop, definition)}`,
      ...(paused !== undefined && isManual
        ? [
            `Configured hooks are paused by ${nameIn(paused.by)}. That does not hold for this one: only ${code(`/fire-hook ${hookId} live=true`)} runs it.`,
          ]
        : []),
      ...(last?.statusReason === undefined
        ? []
        : [`Last skipped ${ago(last.createdAt, clock.now())}: ${plain(last.statusReason)} (${code(last.id)}).`]),
    ],
  };
}

const waitOf = ({ gate, reason }: { gate: string; reason: string }) => ({
  gate,
  reason,
  until: gate === "paused" ? `until ${code("/hooks resume")}` : gate === "cap" ? "for a place" : "for its turn",
});

function stopText(
  { gate, reason, waits }: { gate: string; reason: string; waits: boolean },
  definition?: Definition,
): string {
  if (!waits) return `✗ gates: **${gate}** would refuse it now: ${plain(reason)}.`;
  if (gate === "cap") return `… gates: its next run waits for a place, and then runs: ${plain(reason)}.`;
  if (gate === "paused")
    return `… gates: **paused** ${plain(reason)}: its runs wait in the background until ${code("/hooks resume")}.`;
  return definition?.whenBusy === "coalesce"
    ? `… gates: it would wait for its turn now, and then run once, for the newest event that waits: ${gate}, ${plain(reason)}. The events before that one are skipped.`
    : `… gates: it would wait for its turn now, and then run: ${gate}, ${plain(reason)}.`;
}

/** The consequence while a limit keeps the hook from deciding. Where a pause skips the hook, its point goes on without it. */
function withoutIt({ gate, waits }: { gate: string; waits: boolean }, { onFailure, point }: Definition): string {
  if (waits || gate === "paused" || onFailure === "open") return "";
  if (onFailure === "fallback") return ` Its ${code("fallback")} is used instead.`;
  return point === "message_sending"
    ? " It is fail-closed, so the messages that it would decide about are **held**."
    : ` It is fail-closed, so ${code(point)} fails where it would decide.`;
}
