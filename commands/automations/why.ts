/** What stands between a configured hook and its next run, beside what the registry checks: its gates, and what they refused last. */
import { formatDuration } from "../../src/lib/duration.js";
import type { CommandDeps } from "../deps.js";
import { ago, code, plain } from "../text.js";
import { nameIn } from "../who.js";

export interface GateFacts {
  /** Undefined when nothing would refuse it. */
  refusal?: { gate: string; reason: string };
  text: string[];
}

/** Undefined for a hook that stands in no file. */
export async function explainGates(
  { automations, clock }: CommandDeps,
  hookId: string,
): Promise<GateFacts | undefined> {
  const definition = automations?.get(hookId);
  if (automations === undefined || definition === undefined) return undefined;
  const paused = automations.paused();
  const refusal = paused ? { gate: "paused", reason: `by ${nameIn(paused.by)}` } : await automations.gate(hookId);
  const [last] = await automations.runs.list({ hookId, status: "skipped", limit: 1 });
  const { cooldownMs, concurrency, maxPerHour } = definition;
  const limits = [
    `${concurrency} at once`,
    ...(cooldownMs > 0 ? [`${formatDuration(cooldownMs)} from start to start`] : []),
    ...(maxPerHour === undefined ? [] : [`${maxPerHour} in an hour`]),
  ].join(", ");
  return {
    ...(refusal === undefined ? {} : { refusal: { gate: refusal.gate, reason: refusal.reason } }),
    text: [
      refusal === undefined
        ? `✓ gates: open (${limits}).`
        : `✗ gates: **${refusal.gate}** would refuse it now: ${plain(refusal.reason)} (${limits}).`,
      ...(last?.statusReason === undefined
        ? []
        : [`Last skipped ${ago(last.createdAt, clock.now())}: ${plain(last.statusReason)} (${code(last.id)}).`]),
    ],
  };
}
