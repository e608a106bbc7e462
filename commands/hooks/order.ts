/** `/hooks order POINT`: the hooks of a point in the order in which they run. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { resolveTarget } from "../resolve.js";
import { code, plain, table } from "../show/text.js";

export async function showOrder(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { point } = resolveTarget(deps, context.options.id);
  const phases = point.phases.length > 0 ? point.phases : [undefined];
  const orders = phases.map((phase) => ({ phase, hooks: deps.registry.order(point.name, phase) }));
  const isEmpty = orders.every(({ hooks }) => hooks.length === 0);
  return answer({
    text: [
      `${code(point.name)} · ${point.model} · ${point.vetoable ? "a hook can veto here" : "nothing can be vetoed here"}`,
      plain(point.summary),
      ...(isEmpty
        ? ["No hook is registered here: the point fires without effect."]
        : orders.map(({ phase, hooks }) => `${phase ? `**${phase}**\n` : ""}${orderTable(hooks, context)}`)),
    ],
    data: { point: point.name, model: point.model, vetoable: point.vetoable, orders },
    buttons: [isEmpty ? [] : [commandButton("Try it (dry run)", `/fire-hook ${point.name} example`)]],
  });
}

function orderTable(hooks: readonly HookInfo[], context: CommandContext): string {
  if (hooks.length === 0) return "No hook.";
  // At points that merge results, the outcome depends on which earlier results a hook sees.
  const isMerging = hooks.some(({ sees }) => sees !== undefined);
  return table(
    [
      { title: "#", right: true },
      { title: "" },
      { title: "hook", maxCharacters: 30 },
      { title: "prio", right: true },
      { title: "limit", right: true },
      { title: "on failure" },
      ...(isMerging ? [{ title: "sees", named: true }] : []),
    ],
    hooks.map((hook, index) => [
      String(index + 1),
      hook.enabled ? "●" : "○ off",
      hook.id,
      String(hook.priority),
      formatDuration(hook.timeoutMs),
      hook.failurePolicy,
      ...(isMerging ? [hook.sees ?? ""] : []),
    ]),
    context,
  );
}
