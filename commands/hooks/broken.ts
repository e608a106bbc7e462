/**
 * `/hooks broken`: definitions that are not in force, with all their problems, hooks whose breaker is open, triggers that cannot fire, and
 * all other problems of the configuration.
 */

import { sep } from "node:path";
import type { AutomationDesk, BrokenHook } from "../../src/automations/desk.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import { sourceText } from "../automations/describe.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { code, count, plain } from "../show/text.js";
import { stoppedText } from "./stopped.js";

const PAGE_SIZE = 10;
const MAX_PAGE_SIZE = 100;
/** Problems of one hook; `--json` has them all. */
const MAX_PROBLEMS = 10;

/** The kinds of problems, in the order in which they are shown, each with the heading for a number of them. */
const SECTIONS = {
  file: (total: number) => `**${count(total, "file")} or folder${total === 1 ? "" : "s"} cannot be read**`,
  hook: (total: number, isLeast: boolean) => `**${isLeast ? "at least " : ""}${count(total, "hook")} not in force**`,
  previous: (total: number) =>
    `**${count(total, "hook")} broken in the latest version: the previous version is in force**`,
  stopped: (total: number) => `**${count(total, "hook")} stopped after failures**`,
  trigger: (total: number) => `**${count(total, "trigger")} cannot fire at the moment**`,
  problem: (total: number) => `**${count(total, "problem")} of the configuration**`,
} as const;

interface Entry {
  section: keyof typeof SECTIONS;
  isSeveral?: boolean | undefined;
  text: string;
}

export async function showBroken(
  { automations, problems, clock }: CommandDeps,
  { options }: CommandContext,
): Promise<CommandAnswer> {
  const broken = automations?.broken() ?? [];
  const stopped = automations?.breakers() ?? [];
  const stuck = (automations?.problems() ?? []).filter(({ isNote }) => isNote !== true);
  const others = ((await problems?.()) ?? []).filter(({ of }) => of !== "hook" && of !== "trigger" && of !== "event");
  const entries: Entry[] = [
    ...broken.map((one) => ({
      section: sectionOf(one, automations),
      text: brokenText(one, automations),
      isSeveral: one.isSeveral,
    })),
    ...stopped.map((one) => ({ section: "stopped" as const, text: `⛔ ${stoppedText(one, clock.now())}` })),
    ...stuck.map(({ hookId, message }) => ({
      section: "trigger" as const,
      text: `${code(hookId)}: ${plain(message)}`,
    })),
    ...others.map(({ text }) => ({ section: "problem" as const, text: `- ${plain(text)}` })),
  ];
  const names = Object.keys(SECTIONS) as (keyof typeof SECTIONS)[];
  const sorted = names.flatMap((name) => entries.filter(({ section }) => section === name));
  const page = pageOf(sorted, Number(options.page ?? 1), sizeOf(options.limit, PAGE_SIZE, MAX_PAGE_SIZE));
  const data = {
    broken: broken.map(brokenData),
    breakers: stopped,
    stuck,
    problems: others,
    page: page.number,
    pages: page.pages,
  };
  if (sorted.length === 0)
    return answer({
      text: ["No configured hook is broken."],
      data,
      buttons: [[commandButton("Hooks", "/hooks list")]],
    });
  const shown = names.flatMap((name) => {
    const own = page.entries.filter(({ section }) => section === name);
    const all = sorted.filter(({ section }) => section === name);
    const isLeast = all.some(({ isSeveral }) => isSeveral);
    return own.length === 0 ? [] : [SECTIONS[name](all.length, isLeast), ...own.map(({ text }) => text)];
  });
  return answer({
    text: [page.pages > 1 && `**${count(sorted.length, "problem")}**${pageText(page)}`, ...shown],
    data,
    buttons: [pageButtons(page, "/hooks broken")],
  });
}

type Desk = Pick<AutomationDesk, "get" | "list"> | undefined;

function sectionOf({ id, isWholeFile }: BrokenHook, desk: Desk): keyof typeof SECTIONS {
  if (isWholeFile === true) return "file";
  return desk?.get(id) === undefined ? "hook" : "previous";
}

/** The text about the version in force in place of a broken one; undefined when there is none. */
export function previousText({ id, place, isWholeFile }: BrokenHook, desk: Desk): string | undefined {
  if (isWholeFile !== true) return desk?.get(id) === undefined ? undefined : "the previous version is in force";
  const held = desk?.list().filter((one) => `${one.place.file}${sep}`.startsWith(`${place.file}${sep}`)).length ?? 0;
  if (held === 0) return undefined;
  const inForce = `the previous version of ${count(held, "hook")} in it is in force`;
  return id.endsWith("/") ? `${inForce}, but no program can start in a folder that may not be entered` : inForce;
}

export function brokenText(broken: BrokenHook, desk: Desk): string {
  const { id, place, problems } = broken;
  const previous = previousText(broken, desk);
  const lines = problems.slice(0, MAX_PROBLEMS).map((problem) => {
    const where = problem.path === "" ? "" : `${code(problem.path)}: `;
    return `- ${where}${plain(problem.message)} (${plain(sourceText(problem))})`;
  });
  const left = problems.length - lines.length;
  return [
    `${code(id)} at ${plain(sourceText(place))}${previous === undefined ? "" : `: ${previous}`}`,
    ...lines,
    ...(left > 0 ? [`- … and ${count(left, "more problem")}`] : []),
  ].join("\n");
}

export function brokenData({ id, place, problems }: BrokenHook) {
  return {
    id,
    place: sourceText(place),
    problems: problems.map((problem) => ({ path: problem.path, message: problem.message, place: sourceText(problem) })),
  };
}
