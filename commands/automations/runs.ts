/** `/runs` of configured hooks: every run with its outcome, those that a gate refused among them. */
import { AUTOMATION_RUN_STATUSES, type AutomationRun, type AutomationRunFilter } from "../../src/domain/automation.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { code, count } from "../text.js";
import { type Effect, effectData, effectOf } from "./effect.js";
import { readableRun, readingOf } from "./owner-only.js";
import { automationRunData, automationRunTable } from "./show-run.js";

const PAGE_SIZE = 10;
/** How far the pages reach back. */
const REACH = 200;
/** How often as many are read to find those of configured hooks. */
const MAX_READS = 10;
/** All runs of configured hooks, whatever their status. */
const ALL = "configured";

/** Undefined when the filter is not about configured hooks: then the journal answers. */
export async function automationFilter(
  { automations, registry }: CommandDeps,
  asked: string,
): Promise<Omit<AutomationRunFilter, "limit"> | undefined> {
  if (automations === undefined) return undefined;
  if (asked === ALL) return {};
  if (automations.get(asked)) return { hookId: asked };
  // Its file is gone or broken; what it did is still known.
  if (!registry.get(asked) && (await automations.runs.list({ hookId: asked, limit: 1 })).length > 0)
    return { hookId: asked };
  const status = AUTOMATION_RUN_STATUSES.find((one) => one === asked);
  // What failed is the journal's to tell: it knows plugins' failures too.
  return status === undefined || status === "failed" ? undefined : { status };
}

export async function listAutomationRuns(
  deps: CommandDeps,
  context: CommandContext,
  asked: string,
  filter: Omit<AutomationRunFilter, "limit">,
): Promise<CommandAnswer> {
  const whole =
    asked === ALL
      ? await configuredRuns(deps)
      : ((await deps.automations?.runs.list({ ...filter, limit: REACH })) ?? []);
  const found = await Promise.all(whole.map((run) => readableRun(deps, context, run)));
  const size = sizeOf(context.options.limit, PAGE_SIZE, REACH);
  const page = pageOf(found, Number(context.options.page ?? 1), size);
  const effects = new Map<string, Effect>();
  for (const run of page.entries) {
    const effect = await effectOf(deps, context, run);
    if (effect) effects.set(run.id, effect);
  }
  const outcomes = new Map([...effects].map(([id, { instead }]) => [id, instead]));
  const data = {
    runs: page.entries.map((run) => ({ ...dataOf(deps, context, run), ...effectData(effects.get(run.id)) })),
    dispatches: [],
    total: found.length,
    page: page.number,
    pages: page.pages,
  };
  const hook = filter.hookId;
  const buttons = [
    [
      ...pageButtons(page, `/runs ${word(asked)}`),
      ...(page.entries[0] ? [commandButton("The newest", `/run ${word(page.entries[0].id)}`)] : []),
      ...(hook === undefined ? [] : [commandButton("The hook", `/hooks show ${word(hook)}`)]),
    ],
  ];
  if (found.length === 0) return answer({ text: [`**No runs** ${code(asked)}.`], data, buttons });
  const at = (page.number - 1) * size;
  return answer({
    text: [
      `**${found.length === REACH ? `The last ${REACH} runs` : count(found.length, "run")}** ${code(asked)}${pageText(page)}`,
      automationRunTable(page.entries, deps.clock.now(), at + 1, outcomes),
      page.entries.map(({ id }, index) => `${at + index + 1}. ${code(id)}`).join("\n"),
      `${code("/run ID")} shows one.`,
    ],
    data,
    buttons,
  });
}

/** Background runs of plugins' hooks are stored, too, and there may be many between those of configured hooks. */
async function configuredRuns({ automations, registry }: CommandDeps): Promise<AutomationRun[]> {
  const found: AutomationRun[] = [];
  let before: string | undefined;
  for (let read = 0; read < MAX_READS && found.length < REACH; read++) {
    const runs =
      (await automations?.runs.list(before === undefined ? { limit: REACH } : { limit: REACH, before })) ?? [];
    found.push(...runs.filter(({ hookId }) => registry.get(hookId)?.pluginId === undefined));
    before = runs.at(-1)?.id;
    if (runs.length < REACH) break;
  }
  return found.slice(0, REACH);
}

function dataOf(deps: CommandDeps, context: CommandContext, run: AutomationRun): Record<string, unknown> {
  return automationRunData(run, readingOf(deps, context, run.hookId, false));
}
