/** `/alerts [open|mine|all]`: the worst first. */
import { ALERT_STATES, type Alert, STATE_WORDS, stateWord } from "../../src/domain/alert.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/duration.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { count, plain, table } from "../text.js";
import { actorOf, alertData, needAlerts } from "./need.js";

const PAGE_SIZE = 10;
const REACH = 2_000;

export async function listAlerts(
  deps: CommandDeps,
  context: CommandContext,
  which: "open" | "mine" | "all",
): Promise<CommandAnswer> {
  const { options } = context;
  const desk = needAlerts(deps);
  const found = await desk.list(
    which === "all"
      ? { limit: REACH }
      : which === "mine"
        ? { open: true, assignee: actorOf(context).id, limit: REACH }
        : { open: true, limit: REACH },
  );
  const counts = await desk.counts({});
  const totals = ALERT_STATES.flatMap((state) =>
    counts[state] ? [`${counts[state]} ${STATE_WORDS[state]}`] : [],
  ).join(", ");
  const page = pageOf(found, Number(options.page ?? 1), sizeOf(options.limit, PAGE_SIZE, 500));
  const data = {
    alerts: page.entries.map(alertData),
    counts,
    total: found.length,
    page: page.number,
    pages: page.pages,
  };
  if (found.length === 0)
    return answer({
      text: [
        which === "mine"
          ? "**Nothing is yours.** `/alerts` lists what is open; `/alerts assign ID` takes one."
          : "**No alert is open.** `/alerts all` lists what has ended, `/sla list` what is due next.",
        totals && `${totals}.`,
      ],
      data,
    });
  const now = deps.clock.now();
  return answer({
    text: [
      `**${count(found.length, "alert")}**${which === "open" ? " open" : which === "mine" ? " of yours" : ""}${pageText(page)}`,
      table(
        [
          { title: "what", maxCharacters: 60 },
          { title: "state" },
          { title: "severity" },
          { title: "age", right: true },
        ],
        page.entries.map((alert) => [
          alert.signal.title,
          stateWord(alert),
          alert.severity,
          formatDuration(Math.max(0, now - alert.raisedAt)),
        ]),
      ),
      page.entries
        .slice(0, PAGE_SIZE)
        .map((alert, index) => line(alert, index, page.number, page.entries.length))
        .join("\n"),
      totals && `${totals}.`,
    ],
    data,
    buttons: [
      page.entries.slice(0, 4).map((alert, index) => commandButton(`Show ${index + 1}`, `/alerts show ${alert.id}`)),
      pageButtons(page, `/alerts ${which}`),
    ],
  });
}

function line(alert: Alert, index: number, page: number, size: number): string {
  const owner = alert.assignee ? ` (${plain(alert.assignee.name, 40)})` : "";
  return `${(page - 1) * size + index + 1}. \`${alert.id}\` ${plain(alert.signal.title, 80)}${owner}`;
}
