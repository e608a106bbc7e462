/** `/hooks next`: what fires when. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, sizeOf } from "../page.js";
import { ago, clockTime, count, plain, table } from "../text.js";
import { pausedText } from "./pause.js";

const PAGE_SIZE = 15;
const MAX_PAGE_SIZE = 500;

export function showNext(deps: CommandDeps, { options }: CommandContext): CommandAnswer {
  const { automations, registry, clock } = deps;
  const now = clock.now();
  const filter = typeof options.id === "string" ? options.id.trim().toLowerCase() : "";
  const rows = (automations?.next() ?? [])
    .filter(({ hookId }) => hookId.toLowerCase().includes(filter))
    .map((next) => ({ ...next, enabled: registry.get(next.hookId)?.enabled ?? false }));
  const page = pageOf(rows, Number(options.page ?? 1), sizeOf(options.limit, PAGE_SIZE, MAX_PAGE_SIZE));
  const data = { next: page.entries, total: rows.length, page: page.number, pages: page.pages };
  if (rows.length === 0)
    return answer({ text: ["No hook waits for a time."], data, buttons: [[commandButton("Hooks", "/hooks list")]] });
  return answer({
    text: [
      `**${count(rows.length, "hook")}** ${rows.length === 1 ? "waits" : "wait"} for a time`,
      table(
        [
          { title: "in", right: true },
          { title: "at (UTC)" },
          { title: "hook", maxCharacters: 28 },
          { title: "schedule", maxCharacters: 34 },
          { title: "last", right: true },
        ],
        page.entries.map(({ hookId, schedule, at, lastAt, enabled }) => [
          enabled ? (at <= now ? "now" : formatDuration(at - now)) : "off",
          clockTime(at, now),
          hookId,
          schedule,
          lastAt === undefined ? "never" : ago(lastAt, now),
        ]),
      ),
      plain(pausedText(deps) ?? ""),
    ],
    data,
    buttons: [pageButtons(page, "/hooks next")],
  });
}
