/** What stands between a configured hook and its next run, beside what the registry checks: its gates, and what they refused last. */
import type { HookInfo } from "../../src/hooks/registration.js";
import { formatDuration } from "../../src/lib/duration.js";
import type { CommandDeps } from "../deps.js";
import { ago, code, plain } from "../text.js";
import { nameIn } from "../who.js";

export interface GateFacts {
  /** Undefined when nothing would refuse it. */
  refusal?: { gate: string; reason: string };
  text: string[];
}

/** A pause stops the background runs of all hooks, those of plugins among them. */
function pausedBackground(by: string): GateFacts {
  return {
    refusal: { gate: "paused", reason: `by ${by}` },
    text: [`✗ gates: **paused** by ${by}: its runs wait in the background until ${code("/hooks resume")}.`],
  };
}

/** Undefined for a hook that stands in no file, unless a pause holds its background runs. */
export async function explainGates(
  { automations, clock }: CommandDeps,
  { id: hookId, execution }: HookInfo,
): Promise<GateFacts | undefined> {
  const definition = automations?.get(hookId);
  const paused = automations?.paused();
  if (automations === undefined || (definition === undefined && execution !== "background")) return undefined;
  if (definition === undefined) return paused && pausedBackground(nameIn(paused.by));
  // A pause stops what starts by itself; a person fires a hook all the same.
  const isManual = definition.trigger.kind === "manual";
  const isPaused = paused !== undefined && !isManual;
  const refusal = isPaused ? { gate: "paused", reason: `by ${nameIn(paused.by)}` } : await automations.gate(hookId);
  const [last] = await automations.runs.list({ hookId, status: "skipped", limit: 1 });
  const { cooldownMs, concurrency, maxPerHour } = definition;
  const limits = [
    `${concurrency} at once`,
    ...(cooldownMs > 0 ? [`${formatDuration(cooldownMs)} from start to start`] : []),
    ...(maxPerHour === undefined ? [] : [`${maxPerHour} in an hour`]),
  ].join(", ");
  return {
    refusal: refusal && { gate: refusal.gate, reason: refusal.reason },
    text: [
      refusal === undefined
        ? `✓ gates: open (${limits}).`
        : `✗ gates: **${refusal.gate}** would refuse it now: ${plain(refusal.reason)} (${limits}).`,
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
