/**
 * `/hooks why ID [message]`: why a hook ran or did not. With a message the journal answers for that message; without one,
 * the hook's own checks answer for its last payload, or for none.
 */
import type { DispatchRecord, RunRecord } from "../../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { Explanation } from "../../src/hooks/explain.js";
import type { HookInfo } from "../../src/hooks/registration.js";
import { formatDuration } from "../../src/lib/duration.js";
import { answer, commandButton, word } from "../answer.js";
import { readableDispatch } from "../automations/owner-only.js";
import { explainGates } from "../automations/why.js";
import { catchUp } from "../catch-up.js";
import type { CommandDeps } from "../deps.js";
import { resolveHook } from "../resolve.js";
import { dispatchLine, outcomeText } from "../show-dispatch.js";
import { ago, code, plain } from "../text.js";
import { readHookRow } from "./rows.js";

const LOOK_BACK = 50;

export async function explainHook(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const hook = resolveHook(deps.registry, context.options.id);
  const { message } = context.options;
  const asked = typeof message === "string" && message.trim() !== "" ? message.trim() : context.replyToId;
  return asked === undefined ? explainNow(deps, hook) : explainMessage(deps, context, hook, asked);
}

async function explainNow(deps: CommandDeps, hook: HookInfo): Promise<CommandAnswer> {
  const { row, remark } = await readHookRow(deps, hook);
  const [last] = await deps.store.journal.list({ point: hook.hook, limit: 1 });
  const explanation = explain(deps, hook, last);
  const gates = await explainGates(deps, hook.id);
  const runs = explanation.runs && gates?.refusal === undefined;
  const now = deps.clock.now();
  const fired =
    row.lastFiredAt === undefined
      ? `It **never fired**. ${last ? `${code(hook.hook)} last fired ${ago(last.at, now)}.` : `${code(hook.hook)} has not fired either.`}`
      : `It last fired ${ago(row.lastFiredAt, now)}${row.lastOutcome ? `: ${outcomeText(row.lastOutcome)}` : ""}.`;
  return answer({
    text: [
      `${code(hook.id)} ${runs ? "would run" : "would **not** run"}${last ? ` for the last ${code(hook.hook)}` : ""}.`,
      checkLines(explanation),
      ...(gates?.text ?? []),
      fired,
      remark && `⚠ ${plain(remark)}`,
    ],
    data: {
      id: hook.id,
      runs,
      checks: explanation.checks,
      ...(gates?.refusal === undefined ? {} : { gate: gates.refusal }),
      lastFiredAt: row.lastFiredAt,
      lastDispatchId: last?.id,
    },
    buttons: [nextButtons(hook, last)],
  });
}

async function explainMessage(
  deps: CommandDeps,
  context: CommandContext,
  hook: HookInfo,
  asked: string,
): Promise<CommandAnswer> {
  const dispatches = (await dispatchesOf(deps, asked)).map((dispatch) => readableDispatch(deps, context, dispatch));
  if (dispatches.length === 0)
    return answer({
      text: [
        `The journal knows no message or dispatch ${code(asked)}.`,
        "It may be older than what is kept, or it never reached the gateway. Name a message by its id, or give this command as a reply to it.",
      ],
      data: { id: hook.id, message: asked, found: false },
      outcome: "failed",
      buttons: [[commandButton("Last runs of it", `/runs ${word(hook.id)}`)]],
    });

  const ran = dispatches.flatMap((dispatch) =>
    dispatch.runs.filter((run) => run.hookId === hook.id).map((run) => ({ dispatch, run })),
  );
  const here = dispatches.filter(
    (dispatch) => dispatch.point === hook.hook && (hook.phase === undefined || dispatch.phase === hook.phase),
  );
  const now = deps.clock.now();
  if (ran.length > 0)
    return answer({
      text: [
        `${code(hook.id)} and ${code(asked)}:`,
        ...ran.map(({ dispatch, run }) => `${runText(run)}\n${dispatchLine(dispatch, now)}`),
      ],
      data: {
        id: hook.id,
        message: asked,
        found: true,
        ran: ran.some(({ run }) => run.outcome !== "skipped"),
        runs: ran.map(({ dispatch, run }) => ({
          dispatchId: dispatch.id,
          outcome: run.outcome,
          reason: run.reason,
          error: run.error,
        })),
      },
      buttons: [nextButtons(hook, ran[0]?.dispatch)],
    });

  const [dispatch] = here;
  const reason = dispatch ? claimedEarlier(dispatch, hook) : undefined;
  const explanation = explain(deps, hook, dispatch);
  return answer({
    text: [
      dispatch
        ? `${code(hook.id)} did **not** run for ${code(asked)}, though ${code(hook.hook)} fired.`
        : `${code(hook.id)} did **not** run: ${code(hook.hook)} did not fire for ${code(asked)}.`,
      reason,
      dispatch ? !reason && `By its state now:\n${checkLines(explanation)}` : whyNotFired(dispatches),
      dispatch &&
        !reason &&
        explanation.runs &&
        "By its state now it would run: it was registered or enabled later, or its plugin was filtered out.",
      dispatch && dispatchLine(dispatch, now),
    ],
    data: {
      id: hook.id,
      message: asked,
      found: true,
      ran: false,
      fired: dispatch !== undefined,
      reason,
      checks: explanation.checks,
      points: dispatches.map(({ point }) => point),
    },
    buttons: [nextButtons(hook, dispatch ?? dispatches[0])],
  });
}

/** By message id; or one dispatch by its own id, or by a run's. */
async function dispatchesOf(deps: CommandDeps, asked: string): Promise<DispatchRecord[]> {
  await catchUp(deps);
  const { store } = deps;
  const ofMessage = await store.journal.list({ messageId: asked, limit: LOOK_BACK });
  if (ofMessage.length > 0) return ofMessage;
  const one = (await store.journal.get(asked)) ?? (await store.journal.getByRun(asked));
  return one ? [one] : [];
}

function explain({ registry }: CommandDeps, hook: HookInfo, dispatch: DispatchRecord | undefined): Explanation {
  if (!dispatch) return registry.explain(hook.id);
  const access = accessOf(dispatch.payload);
  return registry.explain(hook.id, dispatch.payload, access ? { access } : {});
}

function accessOf(payload: unknown): "allowed" | "denied" | undefined {
  const access = typeof payload === "object" && payload !== null && "access" in payload ? payload.access : undefined;
  return access === "allowed" || access === "denied" ? access : undefined;
}

function checkLines({ checks }: Explanation): string {
  return checks.map(({ check, passed, detail }) => `${passed ? "✓" : "✗"} ${check}: ${plain(detail)}`).join("\n");
}

function runText(run: RunRecord): string {
  const why = [run.reason, run.error && `error: ${run.error}`]
    .filter((text) => text !== undefined && text !== "")
    .map((text) => plain(String(text)));
  const verb =
    run.outcome === "skipped"
      ? "It was skipped"
      : `It ran, ${outcomeText(run.outcome)}, ${formatDuration(run.latencyMs)}`;
  return `${verb}${why.length > 0 ? `: ${why.join(" · ")}` : "."}`;
}

/** A claim ends the dispatch: whoever stands behind the claimer never gets its turn. */
function claimedEarlier(dispatch: DispatchRecord, hook: HookInfo): string | undefined {
  const claimer = dispatch.runs.find(({ outcome }) => outcome === "claimed");
  return dispatch.model === "claiming" && claimer && claimer.hookId !== hook.id
    ? `${code(claimer.hookId)} stood before it and claimed it; nobody after a claim runs.`
    : undefined;
}

/** What did fire for the message tells why the rest did not: it was denied, claimed, suppressed, cancelled. */
function whyNotFired(dispatches: readonly DispatchRecord[]): string {
  const facts = dispatches.flatMap((dispatch) => {
    const denied = accessOf(dispatch.payload) === "denied";
    const ender = dispatch.runs.find(
      ({ outcome }) => outcome === "claimed" || outcome === "cancelled" || outcome === "blocked",
    );
    return [
      ...(denied ? [`${code(dispatch.point)}: the sender was denied, so nothing was routed`] : []),
      ...(ender
        ? [
            `${code(dispatch.point)}: ${outcomeText(ender.outcome)} by ${code(ender.hookId)}${ender.reason ? ` (${plain(ender.reason)})` : ""}`,
          ]
        : []),
    ];
  });
  const fired = [...new Set(dispatches.map(({ point }) => point))].map(code).join(", ");
  return `What did fire: ${fired}.${facts.length > 0 ? `\n${facts.join("\n")}` : ""}`;
}

function nextButtons(hook: HookInfo, dispatch: DispatchRecord | undefined) {
  return [
    ...(dispatch ? [commandButton("The dispatch", `/run ${word(dispatch.id)}`)] : []),
    commandButton("The hook", `/hooks show ${word(hook.id)}`),
    commandButton("Order", `/hooks order ${word(hook.hook)}`),
  ];
}
