/**
 * `/alerts [open|mine|all]`: alerts that fire come first, then those that an operator has or put off; in each group the worst comes first.
 */

import { urgencyOf } from "../../src/domain/alerts/alert.js";
import { countTexts } from "../../src/domain/alerts/alert-counts.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { ago, count, plain } from "../show/text.js";
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
  const listed = await desk.list(
    which === "all"
      ? { limit: REACH }
      : which === "mine"
        ? { open: true, assignees: desk.accountsOf(actorOf(context).id), limit: REACH }
        : { open: true, limit: REACH },
  );
  const found = [...listed].sort((a, b) => urgencyOf(a) - urgencyOf(b));
  const counts = await desk.counts({});
  const totals = countTexts(counts).join(", ");
  const size = sizeOf(options.limit, PAGE_SIZE, 500);
  const page = pageOf(found, Number(options.page ?? 1), size);
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
  const lines = await Promise.all(
    page.entries.map(async (alert, index) => {
      const number = (page.number - 1) * size + index + 1;
      const owner = alert.assignee ? ` (${plain(alert.assignee.name, 40)})` : "";
      const mark = (await desk.isPostedNowhere(alert)) ? ", **posted in no chat**" : "";
      return `${number}. ${await desk.line(alert)}${owner}, raised ${ago(alert.raisedAt, now)}${mark}`;
    }),
  );
  const [only] = found.length === 1 ? found : [];
  const runbook = only?.signal.runbook;
  return answer({
    text: [
      `**${count(found.length, "alert")}**${which === "open" ? " open" : which === "mine" ? " of yours" : ""}${pageText(page)}`,
      lines.join("\n"),
      runbook !== undefined && `Runbook: ${plain(runbook)}`,
      totals && `${totals}.`,
    ],
    data,
    buttons: [
      page.entries.slice(0, 4).map((alert, index) => commandButton(`Show ${index + 1}`, `/alerts show ${alert.id}`)),
      pageButtons(page, `/alerts ${which}`),
    ],
  });
}
