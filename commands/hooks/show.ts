/** `/hooks show ID`: one hook in full. */
import type { Definition } from "../../src/automations/definition/definition.js";
import type { BrokenHook } from "../../src/automations/desk.js";
import { hasRole } from "../../src/domain/chat/identity.js";
import { lostPoint } from "../../src/domain/lost-point.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton, word } from "../answer.js";
import { definitionData, gatesText, pipelineText, sourceText, triggerText } from "../automations/describe.js";
import { effectData, lastEffect } from "../automations/effect.js";
import type { CommandDeps } from "../deps.js";
import { unrecordedByKill } from "../journey/cut-off.js";
import { endingText } from "../journey/cut-off-points.js";
import { isHookOrPoint, resolveHook } from "../resolve.js";
import { ago, clip, code, count, plain } from "../show/text.js";
import { brokenData, brokenText } from "./broken.js";
import { outrankedText } from "./outranked.js";
import { cutOffHookText, lastOutcomeText, readHookRow, skipText } from "./rows.js";
import { stoppedUntil } from "./stopped.js";
import { explainRemoved } from "./why-removed.js";

export async function showHook(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const broken = deps.automations?.broken().find(({ id }) => id === context.options.id);
  if (broken && deps.automations?.get(broken.id) === undefined) return showBrokenHook(broken, deps);
  const named = typeof context.options.id === "string" ? context.options.id.trim() : "";
  const removed = isHookOrPoint(deps, named) ? undefined : await explainRemoved(deps, context, named);
  if (removed) return removed;
  const hook = resolveHook(deps, context.options.id);
  const definition = deps.automations?.get(hook.id);
  const { row, remark } = await readHookRow(deps, hook);
  const switched = deps.switches?.inForce(hook.id);
  const now = deps.clock.now();
  const effect = row.unended === undefined ? await lastEffect(deps, context, hook.id) : undefined;
  const outcome = effect?.instead === undefined ? lastOutcomeText(row, ", ") : `, ${effect.instead}`;
  const id = word(hook.id);
  const fields = [
    field("point", `${code(hook.hook)}${hook.phase ? ` (${hook.phase})` : ""}, ${hook.model}`),
    field("state", stateText(deps, hook)),
    ...breakerFields(deps, hook, now),
    field("order", orderText(deps, hook)),
    field("limits", `${formatDuration(hook.timeoutMs)}, ${hook.failurePolicy}, ${hook.execution}`),
    field("from", originText(hook, definition)),
    field("matches", matchText(hook)),
    field(
      "last fired",
      row.lastFiredAt === undefined
        ? row.neverFired
          ? (lostText(deps, hook) ?? "**never fired**")
          : row.alwaysSkipped
            ? skipText(row.alwaysSkipped)
            : row.mayHaveRunFor
              ? cutOffHookText(row.mayHaveRunFor)
              : "unknown"
        : `${ago(row.lastFiredAt, now)}${outcome}${row.mayHaveRunFor ? `; ${cutOffHookText(row.mayHaveRunFor, true)}` : ""}`,
    ),
    field(
      "24 h",
      `${count(row.fires, "fire")}, ${count(row.failures, "failure")}${row.interrupted === undefined ? "" : `, ${row.interrupted} interrupted`}${row.p95Ms === undefined ? "" : `, p95 ${formatDuration(row.p95Ms)}`}`,
    ),
  ];
  const waiting = deps.automations?.waitingRuns().get(hook.id);
  if (waiting !== undefined)
    fields.push(field("waiting", `${count(waiting, "run")} ${waiting === 1 ? "waits" : "wait"} to be started`));
  if (definition) fields.push(...definitionFields(deps, definition));
  const stuck = deps.automations?.problems().filter(({ hookId }) => hookId === hook.id) ?? [];
  // When the last firing ended the process, its own text shows that.
  const ending = row.unended?.endedAt === undefined ? await endingText(deps, hook.id) : undefined;
  const problems = deps.registry.validate().filter(({ ids }) => ids.includes(hook.id));
  const lostAt = deps.plugins && lostPoint(hook.hook, deps.plugins());
  const unawaited = deps.registry.unawaited().filter(({ ids }) => ids[0] === hook.id);
  return answer({
    text: [
      broken && `⚠ **The latest version is not in force**\n${brokenText(broken, deps.automations)}`,
      ...[...[...problems, ...stuck, ...unawaited].map(({ message }) => message), lostAt, remark].map(
        (text) => text && `⚠ ${plain(text)}`,
      ),
      ending && `⚠ ${ending}`,
    ],
    card: {
      title: hook.id,
      text: definition?.description ? plain(definition.description) : undefined,
      tone: problems.length > 0 || lostAt !== undefined ? "bad" : hook.enabled ? "good" : "neutral",
      fields,
    },
    data: {
      ...row,
      ...effectData(effect),
      ...hook,
      switched,
      problems,
      broken: broken && brokenData(broken),
      definition: definition && definitionData(definition),
      waitingRuns: waiting,
      stuck: definition && stuck,
    },
    buttons: [
      [
        ...(hasRole(context.operator.role, "admin")
          ? [
              hook.enabled && breakerOf(deps, hook) === undefined
                ? commandButton("Disable", `/hooks disable ${id}`, "danger")
                : commandButton("Enable", `/hooks enable ${id}`, "success"),
            ]
          : []),
        commandButton("Try it (dry run)", definition ? `/hooks test ${id}` : `/fire-hook ${id} example`),
        commandButton("Why", `/hooks why ${id}`),
        commandButton("Runs", `/runs ${id}`),
      ],
    ],
  });
}

/** Its runs may have been lost with the record of its point. */
function lostText(deps: CommandDeps, { hook, enabled }: HookInfo): string | undefined {
  const lost = enabled ? unrecordedByKill(deps, hook) : undefined;
  return lost && `no run is on record. ${lost}`;
}

/** With who switched it, or that the configuration decides. */
function stateText(deps: CommandDeps, hook: HookInfo) {
  const state = hook.enabled ? "enabled" : "disabled";
  if (deps.switches?.configured(hook.id) === hook.enabled) return `${state} in the configuration`;
  const text = outrankedText(deps, hook);
  return text ?? state;
}

export function showBrokenHook(broken: BrokenHook, { automations }: CommandDeps): CommandAnswer {
  return answer({
    text: ["**Not in force**", brokenText(broken, automations)],
    data: { ...brokenData(broken), state: "broken" },
    buttons: [[commandButton("All that are broken", "/hooks broken")]],
  });
}

function originText(hook: HookInfo, definition: Definition | undefined): string {
  if (definition) return plain(sourceText(definition.place));
  return hook.pluginId ? `plugin ${code(hook.pluginId)}` : "the product";
}

function definitionFields(deps: CommandDeps, definition: Definition) {
  const { automations, registry, clock } = deps;
  const next = automations?.next().find(({ hookId }) => hookId === definition.id);
  return [
    field("starts", triggerText(definition)),
    field("does", pipelineText(definition)),
    field("gates", gatesText(definition)),
    ...(next && stoppedUntil(deps, next) === undefined
      ? [field("next", nextText(next.at - clock.now(), registry.get(next.hookId)?.enabled === true))]
      : []),
  ];
}

/** A time that came while the hook was disabled waits until it is enabled. */
function nextText(inMs: number, isEnabled: boolean): string {
  if (inMs > 0) return `in ${formatDuration(inMs)}`;
  return isEnabled ? "now" : "when it is enabled";
}

/** A hook that fails again and again is not run for a while. */
function breakerFields(deps: CommandDeps, hook: HookInfo, now: number) {
  const open = breakerOf(deps, hook);
  if (open === undefined) return [];
  const next =
    open.openUntil > now
      ? `is not run. One run tries it in ${formatDuration(open.openUntil - now)}; ${code(`/hooks enable ${hook.id}`)} runs it again at once.`
      : `was paused. The pause has ended: its next run tries it.`;
  return [field("breaker", `⛔ **open**: it failed ${open.failures} times in a row and ${next}`)];
}

const breakerOf = ({ automations }: CommandDeps, { id }: HookInfo) =>
  automations?.breakers().find(({ hookId }) => hookId === id);

const field = (name: string, value: string) => ({ name, value, inline: true });

function orderText({ registry }: CommandDeps, hook: HookInfo): string {
  const order = registry.order(hook.hook, hook.phase);
  const place = order.findIndex(({ id }) => id === hook.id) + 1;
  const starts = (first: HookInfo | undefined) => (first?.isAwaited === false ? "starts " : "");
  const relations = [
    ...hook.after.map((id) => `${starts(order.find((one) => one.id === id))}after ${code(id)}`),
    ...hook.before.map((id) => `${starts(hook)}before ${code(id)}`),
  ];
  return [`${place} of ${order.length}`, `priority ${hook.priority}`, ...relations].join(", ");
}

function matchText({ match }: HookInfo): string {
  const entries = Object.entries(match ?? {}).filter(([, wanted]) => wanted !== undefined);
  if (entries.length === 0) return "everything";
  const lines = entries.map(([name, wanted]) => {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    const more = values.length > MAX_VALUES ? ` and ${values.length - MAX_VALUES} more` : "";
    return `${name}: ${values
      .slice(0, MAX_VALUES)
      .map((one) => code(clip(String(one), 80)))
      .join(", ")}${more}`;
  });
  return lines.join("; ");
}

/** A list of chats can be long; `--json` has it all. */
const MAX_VALUES = 8;
