/** `/sla [list] [open|overdue|paused|ended|POLICY]`: the most urgent first. */
import type { ClockView } from "../../src/alerts/sla/desk-views.js";
import { SLA_MEASURE_NAMES, type SlaFilter } from "../../src/domain/alerts/sla.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, notFound, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { type Page, pageButtons, pageText, sizeOf } from "../page.js";
import { code, count, plain } from "../show/text.js";
import { clockData, deskOf, dueText, percent, standing } from "./texts.js";

const PAGE_SIZE = 10;
const STATES = ["open", "overdue", "running", "paused", "ended"] as const;

export async function listClocks(deps: CommandDeps, { options }: CommandContext): Promise<CommandAnswer> {
  const desk = deskOf(deps);
  const asked = typeof options.id === "string" ? options.id.trim() : "";
  const filter = await filterOf(deps, asked);
  const size = sizeOf(options.limit, PAGE_SIZE, 200);
  const wanted = Math.max(1, Math.trunc(Number(options.page ?? 1)));
  const on = (number: number) => desk.list({ ...filter, limit: size, offset: (number - 1) * size });
  const asWanted = await on(wanted);
  const { total } = asWanted;
  if (total === 0) return nothing(deps, asked);
  const now = deps.clock.now();
  const pages = Math.max(1, Math.ceil(total / size));
  const number = Math.min(wanted, pages);
  const { clocks } = number === wanted ? asWanted : await on(number);
  const page: Page<ClockView> = { entries: clocks, number, pages, total };
  if (number !== wanted) page.missing = wanted;
  return answer({
    text: [
      `**${count(total, `${filter.state ?? "open"} clock`)}**${filter.policyId ? ` of ${code(filter.policyId)}` : ""}${pageText(page)}`,
      clocks.map((view, index) => line(view, index + 1 + (number - 1) * size, now)).join("\n"),
      `${code("/sla show ID")} shows one.`,
    ],
    data: { clocks: clocks.map(clockData), total, page: number, pages },
    buttons: [
      [
        ...pageButtons(page, `/sla list${asked ? ` id=${word(asked)}` : ""}`),
        ...(asked === "overdue" ? [] : [commandButton("Overdue", "/sla list id=overdue")]),
        commandButton("Policies", "/sla policies"),
      ],
    ],
  });
}

/** `1. Ann in General · first response, 5 min left, 12 %, due 14:03`, then the id. */
function line(view: ClockView, number: number, now: number): string {
  const { clock, percentUsed } = view;
  const used = clock.outcome === "late" ? [] : [percent(percentUsed)];
  const facts = [SLA_MEASURE_NAMES[clock.measure], standing(view, now), ...used];
  const due = clock.dueAt === undefined ? [] : [`due ${dueText(view)}`];
  return `${number}. ${plain(clock.entity.title, 80)} · ${[...facts, ...due].join(", ")} ${code(clock.id)}`;
}

async function filterOf(deps: CommandDeps, asked: string): Promise<Omit<SlaFilter, "limit">> {
  if (asked === "") return { state: "open" };
  const state = STATES.find((one) => one === asked);
  if (state) return { state };
  const known = (await deskOf(deps).policies()).map(({ id }) => id);
  if (known.includes(asked)) return { policyId: asked, state: "open" };
  throw notFound("state or policy", asked, [...STATES, ...known], `States: ${STATES.join(", ")}.`, "id");
}

async function nothing(deps: CommandDeps, asked: string): Promise<CommandAnswer> {
  const policies = await deskOf(deps).policies();
  return answer({
    text: [
      asked === "overdue" ? "**Nothing is overdue.**" : `**No clock${asked ? ` for ${code(asked)}` : " is running"}.**`,
      policies.length === 0 && `There are no policies: see ${code("sla:")} in the configuration.`,
    ],
    data: { clocks: [], total: 0, page: 1, pages: 1 },
    buttons: [[commandButton("Policies", "/sla policies")]],
  });
}
