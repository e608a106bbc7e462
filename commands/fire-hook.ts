/** `/fire-hook ID|POINT [payload] [live]`: fires one hook, or a whole point, and shows what each handler did. Dry unless live. */
import type { DispatchRecord } from "../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import type { LifecyclePhase } from "../src/hooks/point.js";
import { answer, badUsage, commandButton, word } from "./answer.js";
import { effectsIn, effectTexts } from "./automations/effect.js";
import { fireConfigured, readHandPayload } from "./automations/fire.js";
import { mayFireLive, readableDispatch } from "./automations/owner-only.js";
import { showFired } from "./automations/show-fired.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { dueHook, fire } from "./fire.js";
import { resolveTarget, type Target } from "./resolve.js";
import { type FirePayload, readPayload } from "./runs/payload.js";
import { dispatchData, dispatchLine, hasFailed, resultText, runDetails, runTable } from "./runs/show-dispatch.js";
import { needToFireLast } from "./show/reveal.js";
import { code, plain } from "./show/text.js";

export const fireHook = defineCommand({
  name: "fire-hook",
  group: "hooks",
  summary: "Fire a hook or a point and see what each hook does; dry unless live",
  role: "viewer",
  isSlow: true,
  options: [
    {
      name: "id",
      summary: "A hook's id, or a hook point",
      type: "string",
      required: true,
      complete: "hooks-and-points",
    },
    {
      name: "payload",
      summary: "JSON; or example, or last (the last real one), either with JSON on top",
      type: "string",
      rest: true,
      complete: "words",
      words: ["example", "last"],
    },
    { name: "live", summary: "Let hooks send and write; what they decide is only shown (operators)", type: "boolean" },
    {
      name: "phase",
      summary: "Phase of a lifecycle point (default: before)",
      type: "string",
      choices: ["before", "after"],
      choiceSummaries: { before: "Handlers that run first and may cancel", after: "Handlers that see the outcome" },
    },
  ],
  async run(deps, context) {
    const target = resolveTarget(deps, context.options.id);
    const text = typeof context.options.payload === "string" ? context.options.payload.trim() : "";
    const dryRun = context.options.live !== true;
    const { automations } = deps;
    const definition = target.kind === "hook" ? automations?.get(target.hook.id) : undefined;
    if (automations && definition) {
      const given = { ...(await readHandPayload(deps, definition, text)), dryRun };
      await needToFireLast(deps, context, given, dryRun);
      const run = await fireConfigured({ ...deps, automations }, context, definition, given);
      return showFired(deps, context, definition, run, { ...given, text });
    }
    if (!dryRun) context.need("operator");
    const phase = phaseOf(target, context.options.phase);
    const name = target.kind === "hook" ? target.hook.id : target.point.name;
    const given = await readPayload(deps, target.point, text, name);
    await needToFireLast(deps, context, given, dryRun);
    const record = await fire(deps, context, {
      point: target.point,
      payload: given.payload,
      dryRun,
      phase,
      hookId: target.kind === "hook" ? target.hook.id : undefined,
    });
    return showFiring(deps, context, target, given, text, await readableDispatch(deps, context, record));
  },
});

function phaseOf(target: Target, asked: unknown): LifecyclePhase | undefined {
  if (target.kind === "hook") return target.hook.phase;
  const { phases, name } = target.point;
  if (phases.length === 0) return undefined;
  const phase = asked === "after" || asked === "before" ? asked : phases[0];
  if (phase === undefined || !phases.includes(phase))
    throw badUsage(`${name} has no phase "${String(asked)}"; it has ${phases.join(" and ")}.`);
  return phase;
}

async function showFiring(
  deps: CommandDeps,
  context: CommandContext,
  target: Target,
  { source, payload }: FirePayload,
  text: string,
  record: DispatchRecord,
): Promise<CommandAnswer> {
  const name = target.kind === "hook" ? target.hook.id : target.point.name;
  // A test does not show people's words: /run … reveal asks for the role and is recorded.
  // The result of a configured hook may hold what its steps read in other chats.
  const isOpen = source !== "last" && !record.runs.some(({ hookId }) => deps.automations?.get(hookId) !== undefined);
  const effects = await effectsIn(deps, context, record);
  const failed = hasFailed(record) || record.runs.some(hasFailed);
  const { phase } = context.options;
  const line = `/fire-hook ${word(name)}${text ? ` payload=${word(text)}` : ""}${phase === undefined ? "" : ` phase=${String(phase)}`}`;
  const hookIds = record.runs.map(({ hookId }) => hookId);
  const mayLive = mayFireLive(deps, context, hookIds);
  return answer({
    text: [
      `**${record.dryRun ? "Dry run" : "Fired live"}**: ${code(name)} with ${source === "typed" ? "your payload" : source === "last" ? "the last real payload" : "the example"}.`,
      dispatchLine(record, deps.clock.now()),
      record.runs.length > 0 ? runTable(record.runs, context, effects) : whyNobody(deps, target, payload),
      ...effectTexts(record, effects),
      ...runDetails(record, isOpen),
      resultText(record, isOpen),
      record.dryRun
        ? `Nothing was sent and no state was written.${mayLive ? ` ${code("live=true")} fires it for real.` : ""}`
        : record.runs.some(({ outcome }) => outcome !== "skipped") &&
          `⚠ This was no dry run: what the ${target.kind === "hook" ? "hook" : "hooks"} sent, if anything, is in the outbox. The return value was only displayed. Without ${code("live=true")} nothing is sent.`,
    ],
    data: { ...dispatchData(record, isOpen, effects), target: name, source },
    outcome: failed ? "failed" : "done",
    buttons: [
      [
        ...(record.dryRun && mayLive ? [commandButton("Fire it", `${line} live=true`, "danger")] : []),
        commandButton(record.dryRun ? "Again" : "Dry run", line),
        commandButton("The run", `/run ${word(record.id)}`),
      ],
    ],
  });
}

function whyNobody(deps: CommandDeps, target: Target, payload: unknown): string {
  const { registry } = deps;
  const hook = target.kind === "hook" ? target.hook : dueHook(deps, target.point, payload);
  if (hook === undefined) {
    const hooks = registry.order(target.point.name);
    return hooks.length === 0
      ? "No hook ran: none is registered here."
      : `No hook ran: ${hooks.every(({ enabled }) => !enabled) ? "every hook here is disabled" : "no hook here matches this payload"}.`;
  }
  // A disabled hook has no place in the order, either: that explains nothing.
  const { checks } = registry.explain(hook.id, payload);
  const reasons = checks.filter(({ check, passed }) => !passed && check !== "order").map(({ detail }) => plain(detail));
  return `It did not run. ${reasons.length > 0 ? reasons.join(" ") : "The payload is not for it."}`;
}
