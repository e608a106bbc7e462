/** `/hooks next`: the next times of hooks. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, sizeOf } from "../page.js";
import { ago, clip, clockTime, code, count, plain, table } from "../show/text.js";
import { pausedText } from "./pause.js";
import { stoppedUntil } from "./stopped.js";

const PAGE_SIZE = 15;
const MAX_PAGE_SIZE = 500;
const MAX_MISSED = 5;

export function showNext(deps: CommandDeps, { options, at: chat }: CommandContext): CommandAnswer {
  const { automations, registry, clock } = deps;
  const now = clock.now();
  const filter = typeof options.id === "string" ? options.id.trim().toLowerCase() : "";
  const rows = (automations?.next() ?? [])
    .filter(({ hookId }) => hookId.toLowerCase().includes(filter))
    .map((next) => ({
      ...next,
      enabled: registry.get(next.hookId)?.enabled ?? false,
      stoppedUntil: stoppedUntil(deps, next),
    }));
  const page = pageOf(rows, Number(options.page ?? 1), sizeOf(options.limit, PAGE_SIZE, MAX_PAGE_SIZE));
  const data = { next: page.entries, total: rows.length, page: page.number, pages: page.pages };
  if (rows.length === 0 && filter !== "")
    return answer({
      text: [noneText(deps, options.id)],
      data,
      outcome: "failed",
      buttons: [[commandButton("All that wait", "/hooks next"), commandButton("Hooks", "/hooks list")]],
    });
  const stopped = page.entries.filter((one) => one.stoppedUntil !== undefined);
  const missed = filter === "" ? missedText(deps) : undefined;
  if (rows.length === 0)
    return answer({
      text: ["No hook waits for a time.", missed],
      data,
      buttons: [[commandButton("Hooks", "/hooks list")]],
    });
  return answer({
    text: [
      `**${count(rows.length, "hook")}** ${rows.length === 1 ? "waits" : "wait"} for a time`,
      table(
        [
          { title: "hook", maxCharacters: 40 },
          { title: "when" },
          { title: "at (UTC)" },
          { title: "schedule", maxCharacters: 34 },
          { title: "last", right: true },
        ],
        page.entries.map(({ hookId, schedule, at, lastAt, enabled, stoppedUntil }) => [
          hookId,
          enabled ? whenText(at, stoppedUntil, now) : "off",
          clockTime(stoppedUntil ?? at, now),
          schedule,
          lastAt === undefined ? "never" : ago(lastAt, now),
        ]),
        { at: chat },
      ),
      stopped.length > 0 &&
        `✗ not before: after failures in a row, times before that are skipped. ${code("/hooks enable ID")} runs the hook at its next time.`,
      missed,
      plain(pausedText(deps) ?? ""),
    ],
    data,
    buttons: [pageButtons(page, "/hooks next")],
  });
}

function whenText(at: number, stoppedUntil: number | undefined, now: number): string {
  if (stoppedUntil !== undefined) return "✗ not before";
  return at <= now ? "now" : `in ${formatDuration(at - now)}`;
}

/** Hooks whose only time passed without a run. */
function missedText({ automations }: CommandDeps): string | undefined {
  const missed = (automations?.problems() ?? []).filter(
    ({ hookId }) => automations?.get(hookId)?.trigger.kind === "at",
  );
  if (missed.length === 0) return undefined;
  const rest = missed.length > MAX_MISSED ? [`${missed.length - MAX_MISSED} more: ${code("/hooks broken")}`] : [];
  return [
    ...missed.slice(0, MAX_MISSED).map(({ hookId, message }) => `⚠ ${code(hookId)}: ${plain(message)}`),
    ...rest,
  ].join("\n");
}

/** The answer when the named hook waits for no time: there is no such hook, or it has another trigger. */
function noneText({ registry, automations }: CommandDeps, named: unknown): string {
  const id = String(named).trim();
  const shown = code(clip(id, 80));
  const waiting = automations?.next().length ?? 0;
  const others =
    waiting === 0
      ? "No hook waits for a time."
      : `${count(waiting, "hook")} ${waiting === 1 ? "waits" : "wait"} for a time: ${code("/hooks next")}.`;
  if (automations?.broken().some((broken) => broken.id === id))
    return `${shown} waits for no time: it is broken and not in force. ${code(`/hooks show ${id}`)} shows why.`;
  if (registry.get(id) === undefined) return `There is no hook ${shown}. ${others}`;
  const problem = automations?.problems().find(({ hookId }) => hookId === id);
  const isOnce = automations?.get(id)?.trigger.kind === "at";
  const why = isOnce ? plain(problem?.message ?? "its only time has passed") : "no schedule starts it";
  return `${shown} waits for no time: ${why}. ${others}`;
}
