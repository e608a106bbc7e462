/** `/hooks [list] [filter]`: every hook, one table per family of points, with its state and its latest runs. */
import type { BrokenHook } from "../../src/automations/desk.js";
import type { OpenBreaker } from "../../src/automations/gates/breaker.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { shortened } from "../../src/lib/text/shortened.js";
import { nearest } from "../../src/lib/validation/nearest.js";
import { answer, commandButton, word } from "../answer.js";
import { type Effect, effectData, lastEffect } from "../automations/effect.js";
import type { CommandDeps } from "../deps.js";
import { pageButtons, pageOf, pageText, sizeOf } from "../page.js";
import { familyOf } from "../resolve.js";
import { align, block, CHAT_WIDTH, code, count, plain, shortDuration } from "../show/text.js";
import { brokenData, showBroken } from "./broken.js";
import { pausedText } from "./pause.js";
import { type HookRow, readHookRows } from "./rows.js";
import { stoppedText } from "./stopped.js";

const PAGE_SIZE = 12;
const MAX_PAGE_SIZE = 500;

/** `actions`: of `/hooks`; a filter may be a misspelled action. */
export async function listHooks(
  deps: CommandDeps,
  context: CommandContext,
  actions: readonly string[],
): Promise<CommandAnswer> {
  const { rows: all, remark } = await readHookRows(deps);
  const filter = typeof context.options.id === "string" ? context.options.id.trim() : "";
  const matching = all.filter((row) => matches(row, filter)).sort(byPlace(deps));
  if (filter === "broken") return showBroken(deps, context);
  if (all.length === 0) return noHooks(deps);
  if (matching.length === 0) return noneMatches(deps, context, filter, actions);

  const page = pageOf(
    matching,
    Number(context.options.page ?? 1),
    sizeOf(context.options.limit, PAGE_SIZE, MAX_PAGE_SIZE),
  );
  const line = `/hooks list${filter ? ` id=${word(filter)}` : ""}`;
  const unknown = matching.filter((row) => row.mayHaveRunFor !== undefined).length;
  const effects = await effectsOnPage(deps, context, page.entries);
  const never = matching.filter((row) => row.neverFired && row.enabled).length;
  const stopped = deps.automations?.breakers() ?? [];
  return answer({
    text: [
      `**${count(matching.length, "hook")}**${filter ? ` matching ${code(filter)}` : ""}${pageText(page)}`,
      ...familiesOf(page.entries).map((family) => familyText(family, { now: deps.clock.now(), stopped, ...context })),
      ...[remark, pausedText(deps)].map((text) => text && `⚠ ${plain(text)}`),
      stoppedLines(page.entries, stopped, deps.clock.now()),
      ...brokenLines(brokenOf(deps)),
      ...unsentLines(page.entries, effects),
      unknown > 0 &&
        `Of ${count(unknown, "enabled hook")} (?) it is not known whether they ran for a message: the process ended while hooks of that point were at work. ${code("/hooks show ID")} names the message.`,
      never > 0 && `${count(never, "enabled hook")} never fired. ${code("/hooks why ID")} shows why.`,
    ],
    data: {
      hooks: page.entries.map((row) => ({ ...row, ...effectData(effects.get(row.id)) })),
      families: familiesOf(matching).map(({ family, rows }) => ({ family, hooks: rows.map(({ id }) => id) })),
      total: matching.length,
      page: page.number,
      pages: page.pages,
      remark,
      broken: brokenOf(deps).map(brokenData),
      paused: deps.automations?.paused() !== undefined,
    },
    buttons: [pageButtons(page, line)],
  });
}

/** By hook: the fate of the deliveries of its last run. */
async function effectsOnPage(
  deps: CommandDeps,
  context: CommandContext,
  rows: readonly HookRow[],
): Promise<ReadonlyMap<string, Effect>> {
  const found = new Map<string, Effect>();
  for (const { id, unended } of rows) {
    const effect = unended === undefined ? await lastEffect(deps, context, id) : undefined;
    if (effect) found.set(id, effect);
  }
  return found;
}

function unsentLines(rows: readonly HookRow[], effects: ReadonlyMap<string, Effect>): string[] {
  const unsent = rows.flatMap(({ id }) => {
    const instead = effects.get(id)?.instead;
    return instead === undefined ? [] : [`${code(id)} ${instead}`];
  });
  return unsent.length === 0 ? [] : [`Last run: ${unsent.join(", ")}. ${code("/hooks why ID")} shows why.`];
}

function stoppedLines(rows: readonly HookRow[], stopped: readonly OpenBreaker[], now: number): string | undefined {
  const shown = stopped.filter(({ hookId }) => rows.some(({ id }) => id === hookId)).slice(0, MAX_NAMED);
  return shown.map((one) => `✗ ${stoppedText(one, now)}.`).join("\n") || undefined;
}

const brokenOf = ({ automations }: CommandDeps) => automations?.broken() ?? [];

/** The list shows definitions that are not in force as broken, each with its first problem. */
function brokenLines(broken: readonly BrokenHook[]): string[] {
  if (broken.length === 0) return [];
  const lines = broken.slice(0, MAX_NAMED).map(({ id, problems: [first] }) => {
    return `✗ ${code(id)} broken: ${plain(first?.message ?? "")}`;
  });
  const more = broken.length > MAX_NAMED ? `, and ${broken.length - MAX_NAMED} more` : "";
  return [[...lines, `${code("/hooks broken")} lists all problems${more}.`].join("\n")];
}

const MAX_NAMED = 5;

function matches(row: HookRow, filter: string): boolean {
  const wanted = filter.toLowerCase();
  switch (wanted) {
    case "on":
      return row.enabled;
    case "off":
      return !row.enabled;
    case "failing":
      return row.failures > 0;
    case "never":
      return row.neverFired;
    default:
      return [row.id, row.point, row.family, row.pluginId ?? ""].some((text) => text.toLowerCase().includes(wanted));
  }
}

/** By family, then in the order of the catalogue, then in the order of running. */
function byPlace({ registry }: CommandDeps): (a: HookRow, b: HookRow) => number {
  const places = new Map(registry.points.map((point, index) => [point.name, index]));
  const running = new Map<string, number>();
  for (const { name } of registry.points)
    registry.order(name).forEach((hook, index) => void running.set(hook.id, index));
  const families = [...new Set(registry.points.map(({ name }) => familyOf(name)))];
  const place = (map: Map<string, number>, key: string) => map.get(key) ?? Number.MAX_SAFE_INTEGER;
  return (a, b) =>
    families.indexOf(a.family) - families.indexOf(b.family) ||
    place(places, a.point) - place(places, b.point) ||
    place(running, a.id) - place(running, b.id);
}

interface Family {
  family: string;
  rows: HookRow[];
}

/** Expects rows that are sorted by place. */
function familiesOf(rows: readonly HookRow[]): Family[] {
  const found: Family[] = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last?.family === row.family) last.rows.push(row);
    else found.push({ family: row.family, rows: [row] });
  }
  return found;
}

/** A row fits a phone. */
const HOOK_WIDTH = 18;

function markOf(row: HookRow | undefined, stopped: readonly OpenBreaker[]): string {
  if (row?.enabled !== true) return "○";
  return stopped.some(({ hookId }) => hookId === row.id) ? "✗" : "●";
}

/** One table. A line above the hooks of a point names the point, so that a row has room on a phone. */
function familyText(
  { family, rows }: Family,
  { at, now, stopped }: Pick<CommandContext, "at"> & { now: number; stopped: readonly OpenBreaker[] },
): string {
  const named = rows.map((row) => (row.phase ? `${row.id} (${row.phase})` : row.id));
  // The end of an id distinguishes it from others with the same start.
  const whole = (index: number) =>
    at === undefined ? (named[index] ?? "") : shortened(named[index] ?? "", CHAT_WIDTH - "●  ".length);
  const isLong = (index: number) => [...(named[index] ?? "")].length > HOOK_WIDTH;
  const [titles = "", ...lines] = align(
    [
      { title: "" },
      { title: "hook", maxCharacters: HOOK_WIDTH },
      { title: "fired", right: true },
      { title: "24 h", right: true },
      { title: "failed", right: true },
    ],
    rows.map((row, index) => [
      isLong(index) ? "" : markOf(row, stopped),
      isLong(index) ? "" : (named[index] ?? ""),
      row.neverFired
        ? "never"
        : row.alwaysSkipped
          ? "skipped"
          : row.lastFiredAt === undefined
            ? "?"
            : `${shortDuration(Math.max(0, now - row.lastFiredAt))}${row.mayHaveRunFor === undefined ? "" : "?"}`,
      row.neverFired ? "" : String(row.fires),
      row.failures > 0 ? String(row.failures) : "",
    ]),
  ).split("\n");
  const withPoints = rows.flatMap(({ point }, index) => [
    ...(point === rows[index - 1]?.point ? [] : [point]),
    // Ids are copied into commands: a long one is shown whole, over its row.
    ...(isLong(index) ? [`${markOf(rows[index], stopped)}  ${whole(index)}`] : []),
    lines[index] ?? "",
  ]);
  return `**${plain(family)}**\n${block([titles, ...withPoints].join("\n"))}`;
}

/** The answer for a filter without a match: a slip of a name or of an action, or the name of a hook that is not in force. */
function noneMatches(
  deps: CommandDeps,
  { options }: CommandContext,
  filter: string,
  actions: readonly string[],
): CommandAnswer {
  const hooks = deps.registry.list();
  const broken = brokenOf(deps);
  const near = nearestNames(filter, [
    ...hooks.flatMap(({ id, hook, pluginId }) => [id, hook, ...(pluginId === undefined ? [] : [pluginId])]),
    ...broken.map(({ id }) => id),
  ]);
  const action = options.action === undefined ? nearest(filter, actions) : undefined;
  return answer({
    text: [
      `No hook matches ${code(filter)}${near.length > 0 ? `; nearest: ${near.map(code).join(", ")}` : ""}.${action ? ` As an action, the nearest is ${code(`/hooks ${action}`)}.` : ""}`,
      ...brokenLines(broken.filter(({ id }) => id.toLowerCase().includes(filter.toLowerCase()))),
      `Filters: part of an id, point or plugin, ${["on", "off", "failing", "never", "broken"].map(code).join(", ")}.`,
    ],
    data: { hooks: [], families: [], total: 0, page: 1, pages: 1, nearest: near, broken: broken.map(brokenData) },
    buttons: [
      [
        ...near.map((name) => commandButton(name, `/hooks list id=${word(name)}`)),
        commandButton("All hooks", "/hooks list"),
      ],
    ],
  });
}

const MAX_NEAR = 3;

/** Names of which the whole or a part is spelt nearly so: `depoly` is near `deploy.site`. */
function nearestNames(filter: string, names: readonly string[]): string[] {
  const whole = new Map<string, Set<string>>();
  for (const name of names)
    for (const part of [name, ...name.split(/[.:_-]/)]) whole.set(part, (whole.get(part) ?? new Set()).add(name));
  const near = nearest(filter, whole.keys());
  return near === undefined ? [] : [...(whole.get(near) ?? [])].slice(0, MAX_NEAR);
}

function noHooks(deps: CommandDeps): CommandAnswer {
  return answer({
    text: [
      "**No hooks yet.** Write one under `hooks:` of the configuration (`/hooks add` shows how), or name a plugin there:",
      "```yaml\nplugins:\n  - hookgate/examples/greeter\n```",
      ...brokenLines(brokenOf(deps)),
      `${code("npx hookgate points")} lists what hooks can subscribe to.`,
    ],
    data: { hooks: [], families: [], total: 0, page: 1, pages: 1, broken: brokenOf(deps).map(brokenData) },
  });
}
