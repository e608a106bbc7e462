/** `/hooks next`: what fires when. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, sizeOf } from "../page.js";
import { ago, clip, clockTime, code, count, plain, table } from "../text.js";
import { pausedText } from "./pause.js";

const PAGE_SIZE = 15;
const MAX_PAGE_SIZE = 500;

export function showNext(deps: CommandDeps, { options, at: chat }: CommandContext): CommandAnswer {
  const { automations, registry, clock } = deps;
  const now = clock.now();
  const filter = typeof options.id === "string" ? options.id.trim().toLowerCase() : "";
  const rows = (automations?.next() ?? [])
    .filter(({ hookId }) => hookId.toLowerCase().includes(filter))
    .map((next) => ({ ...next, enabled: registry.get(next.hookId)?.enabled ?? false }));
  const page = pageOf(rows, Number(options.page ?? 1), sizeOf(options.limit, PAGE_SIZE, MAX_PAGE_SIZE));
  const data = { next: page.entries, total: rows.length, page: page.number, pages: page.pages };
  if (rows.length === 0 && filter !== "")
    return answer({
      text: [noneText(deps, options.id)],
      data,
      outcome: "failed",
      buttons: [[commandButton("All that wait", "/hooks next"), commandButton("Hooks", "/hooks list")]],
    });
  if (rows.length === 0)
    return answer({ text: ["No hook waits for a time."], data, buttons: [[commandButton("Hooks", "/hooks list")]] });
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
        page.entries.map(({ hookId, schedule, at, lastAt, enabled }) => [
          hookId,
          enabled ? (at <= now ? "now" : `in ${formatDuration(at - now)}`) : "off",
          clockTime(at, now),
          schedule,
          lastAt === undefined ? "never" : ago(lastAt, now),
        ]),
        { at: chat },
      ),
      plain(pausedText(deps) ?? ""),
    ],
    data,
    buttons: [pageButtons(page, "/hooks next")],
  });
}

/** What was named waits for no time: there is no such hook, or it has another trigger. */
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
  return registry.get(id) === undefined
    ? `There is no hook ${shown}. ${others}`
    : `${shown} waits for no time: no schedule starts it. ${others}`;
}
