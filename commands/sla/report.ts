/** `/sla report [DAYS]`: how many targets were met, and how long things took. */
import type { Attainment } from "../../src/alerts/sla/report.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { DAY_MS, formatDuration } from "../../src/lib/time/duration.js";
import { answer, badUsage, commandButton } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, count, table } from "../show/text.js";
import { slaPictures } from "./pictures.js";
import { deskOf, percent } from "./texts.js";

const USUAL_DAYS = 30;
const MAX_DAYS = 400;
/** Enough for a picture; the numbers beside it count all. */
const OPEN = { state: "open", limit: 5_000 } as const;

export async function reportAttainment(deps: CommandDeps, { options, at }: CommandContext): Promise<CommandAnswer> {
  const days = daysOf(options.id, options.by);
  const to = deps.clock.now();
  const from = to - days * DAY_MS;
  const desk = deskOf(deps);
  const policies = await desk.report(from, to);
  // Pictures are for chats; a program takes the data.
  const pictures =
    at === undefined || policies.length === 0
      ? []
      : await slaPictures({ days, policies, open: (await desk.list(OPEN)).clocks, now: to, goal: desk.goal() });
  const { counted, met, metExtended, metByHook, missed, missedOpen, unanswered } = totals(policies);
  const share = (part: number) => percent(part / counted);
  const duration = (ms: number | undefined) => (ms === undefined ? "" : formatDuration(ms));
  return answer({
    text: [
      `**SLA, the last ${count(days, "day")}**: ${count(counted, "target")} met or missed${counted > 0 ? `, ${share(met)} met` : ""}${metExtended > 0 ? `, ${share(metExtended)} met after an extension` : ""}${missed > 0 ? `, ${missed} missed` : ""}${missedOpen > 0 ? ` (${missedOpen} of them still open)` : ""}${metByHook > 0 ? `; answered by a hook: ${metByHook}` : ""}${unanswered > 0 ? `; closed without an answer before the deadline, and in no share: **${unanswered}**` : ""}.`,
      policies.length > 0 &&
        table(
          [
            { title: "policy", maxCharacters: 24 },
            { title: "met", right: true },
            { title: "met after an extension", right: true },
            { title: "answered by a hook", right: true },
            { title: "late", right: true },
            { title: "met %", right: true },
            { title: "extended", right: true },
            { title: "unanswered", right: true },
            { title: "withdrawn", right: true },
            { title: "answered", right: true },
            { title: "median", right: true },
            { title: "p90", right: true },
            { title: "open", right: true },
            { title: "overdue", right: true },
          ],
          policies.map((one) => [
            one.policyId,
            String(one.met),
            one.metExtended > 0 ? String(one.metExtended) : "",
            one.metByHook > 0 ? String(one.metByHook) : "",
            String(one.late),
            one.attained === undefined ? "" : percent(one.attained),
            one.extended > 0 ? String(one.extended) : "",
            one.unanswered > 0 ? String(one.unanswered) : "",
            one.withdrawn > 0 ? String(one.withdrawn) : "",
            one.ended.length > 0 ? String(one.ended.length) : "",
            duration(one.medianMs),
            duration(one.p90Ms),
            String(one.open),
            one.overdue > 0 ? String(one.overdue) : "",
          ]),
          { at },
        ),
      policies.length === 0 && `There are no policies: see ${code("sla:")} in the configuration.`,
      policies.length > 0 && legend(policies),
    ],
    data: { from, to, days, policies },
    attachments: pictures,
    buttons: [
      [7, 30, 90].filter((one) => one !== days).map((one) => commandButton(`${one} days`, `/sla report id=${one}`)),
    ],
  });
}

function totals(policies: readonly Attainment[]) {
  const sum = (field: "met" | "metExtended" | "metByHook" | "late" | "missedOpen" | "unanswered") =>
    policies.reduce((total, one) => total + one[field], 0);
  const [met, metExtended, missedOpen] = [sum("met"), sum("metExtended"), sum("missedOpen")];
  const missed = sum("late") + missedOpen;
  const [metByHook, unanswered] = [sum("metByHook"), sum("unanswered")];
  return { met, metExtended, metByHook, missed, missedOpen, unanswered, counted: met + metExtended + missed };
}

/** Explains the words of the columns that are shown. */
function legend(policies: readonly Attainment[]): string {
  const some = (has: (one: Attainment) => number) => policies.some((one) => has(one) > 0);
  return [
    "Times are working time. Answered: by people, or a task that was done, also late; the median and the p90 are of these.",
    some(({ unanswered }) => unanswered) &&
      "Unanswered: closed without an answer before the deadline; that meets no target and is no response time.",
    some(({ metExtended }) => metExtended) &&
      "Met after an extension: the target of the policy had passed, but people had given more time before.",
    some(({ metByHook }) => metByHook) &&
      "Answered by a hook: within the target; not in the shares and times, which are those of people.",
    some(({ overdue }) => overdue) && "An open target that is missed counts as missed.",
    some(({ late }) => late) &&
      "A target that was missed once stays late, also when it got more time later, or ended without an answer or a result.",
  ]
    .filter(Boolean)
    .join(" ");
}

/** `after`: the word behind the number. */
function daysOf(asked: unknown, after: unknown): number {
  if (after !== undefined && !/^d(ays?)?$/i.test(String(after)))
    throw badUsage(
      `The report is about all policies; "${String(after)}" is more than it takes.`,
      "Give the number of days alone: `/sla report 30`. `/sla list POLICY` shows the clocks of one policy.",
    );
  if (asked === undefined || asked === "") return USUAL_DAYS;
  const days = Number(String(asked).replace(/\s*d(ays?)?$/i, ""));
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw badUsage(`Expected a number of days from 1 to ${MAX_DAYS}, got "${String(asked)}".`, "Try `/sla report 30`.");
}
