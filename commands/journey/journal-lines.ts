/** Lines about an id that only the journal has: a dispatch of a task, a mission or an alert, a firing by hand, a deleted message. */
import type { DispatchRecord } from "../../src/domain/journal.js";
import { dispatchOutcome, outcomeText } from "../runs/show-dispatch.js";
import { clockTime, code, plain } from "../show/text.js";

/** One line for each point, about its last firing. */
export function journalLines(
  asked: string,
  taskId: string | undefined,
  dispatches: readonly DispatchRecord[],
  now: number,
): string[] {
  const last = new Map(dispatches.map((one) => [one.point, one]));
  const ended = [...last.values()]
    .sort((a, b) => a.at - b.at)
    .map((one) => {
      const veto = one.runs.find((run) => run.outcome === "cancelled");
      const by = veto ? ` by ${code(veto.hookId)}${veto.reason ? `: ${plain(veto.reason)}` : ""}` : "";
      const times = dispatches.filter(({ point }) => point === one.point).length;
      const again = times === 1 ? "" : ` (${times} times; this is the newest)`;
      return `${clockTime(one.at, now)} ${code(one.point)}: ${dispatchOutcome(one)}${by}${again}`;
    });
  if (taskId !== undefined)
    return [`A dispatch of task ${code(taskId)}: ${code(`/task show ${taskId}`)} shows the task.`, ...ended];
  const gone = asked.startsWith("t_")
    ? "There is no such task. "
    : /^(f|m|al|ac)_/.test(asked)
      ? ""
      : "The queues no longer have it. ";
  return [`${gone}The journal has:`, ...ended];
}

/** The endings that the journal shows when the queues no longer have the message. */
export function endings(dispatches: readonly DispatchRecord[]): string | undefined {
  const facts = dispatches.flatMap(({ point, payload, runs }) => {
    const isDenied =
      typeof payload === "object" && payload !== null && "access" in payload && payload.access === "denied";
    const reason = isDenied && "reason" in payload && typeof payload.reason === "string" ? `: ${payload.reason}` : "";
    const ender = runs.find(({ outcome }) => outcome === "claimed" || outcome === "cancelled" || outcome === "blocked");
    return [
      ...(isDenied ? [`${code(point)}: the message was denied${plain(reason)}, so no hook could claim it`] : []),
      ...(ender
        ? [
            `${code(point)}: ${outcomeText(ender.outcome)} by ${code(ender.hookId)}${ender.reason ? ` (${plain(ender.reason)})` : ""}`,
          ]
        : []),
    ];
  });
  return facts.length > 0 ? facts.join("\n") : undefined;
}
