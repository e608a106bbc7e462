/**
 * `/audit [filter]`: the actions of people, newest first: hooks that were switched, messages that were released, commands that were
 * refused.
 */
import type { CommandSpec, OptionSpec } from "../src/domain/chat/command.js";
import { conversationOf } from "../src/domain/chat/event.js";
import type { AuditEntry } from "../src/domain/store.js";
import { ambiguous, answer, word } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { optionsOf, readableEntry } from "./journey/audit.js";
import { pageButtons, pageOf, pageText } from "./page.js";
import { clockTime, code, count, table } from "./show/text.js";
import { conversationName } from "./who.js";

const PAGE_SIZE = 10;
/** How many entries the pages hold. */
const REACH = 1_000;

const OUTCOMES: ReadonlySet<string> = new Set(["done", "failed", "refused", "asked"]);

export const audit = defineCommand({
  name: "audit",
  group: "messages",
  summary: "Who did what: hooks switched, messages released, texts revealed, commands refused",
  role: "admin",
  options: [
    {
      name: "filter",
      summary: "A hook, a person or a part of the name, a command, or an outcome: done, failed, refused, asked",
      type: "string",
      rest: true,
      complete: "hooks-and-people",
      words: [...OUTCOMES],
    },
    { name: "page", summary: "Which page", type: "integer" },
  ],
  async run(deps, context, specs) {
    const { options } = context;
    const asked = typeof options.filter === "string" ? options.filter.trim() : "";
    const filter = filterIn(asked);
    const whose = await accountNamed(deps, filter.words, specs());
    const found = await search(deps, filter, whose);
    const page = pageOf(found, Number(options.page ?? 1), PAGE_SIZE);
    const now = deps.clock.now();
    const of = asked === "" ? "" : ` of ${code(asked)}`;
    if (found.length === 0)
      return answer({ text: [`**Nothing recorded**${of}.`], data: { entries: [], total: 0, page: 1, pages: 1 } });
    return answer({
      text: [
        `**${found.length === REACH ? "The newest " : ""}${count(found.length, "entry", "entries")}**${of}${pageText(page)}`,
        table(
          [
            { title: "at" },
            { title: "who", maxCharacters: 36 },
            { title: "what", maxCharacters: 80 },
            { title: "", maxCharacters: 64 },
          ],
          await Promise.all(
            page.entries.map(async (entry) => [
              clockTime(entry.at, now),
              nameOf(entry),
              await whatOf(deps, entry, specs()),
              `${entry.outcome}${timesOf(entry, now)}`.replace(/^done(?:, )?/, ""),
            ]),
          ),
          context,
        ),
        found.length === REACH && "There may be more: a filter finds older ones.",
      ],
      data: {
        entries: await Promise.all(page.entries.map((one) => readableEntry(deps, context, one))),
        total: found.length,
        page: page.number,
        pages: page.pages,
      },
      buttons: [pageButtons(page, `/audit${asked === "" ? "" : ` ${word(asked)}`}`)],
    });
  },
});

/** Reads through all stored entries, newest first, a part at a time, so that messages are handled in between. */
async function* entriesOf({ store }: CommandDeps): AsyncGenerator<AuditEntry> {
  let before: number | undefined;
  for (;;) {
    const entries = await store.audit.list({ limit: REACH, before });
    yield* entries;
    before = entries.at(-1)?.id;
    if (entries.length < REACH) return;
  }
}

interface AuditFilter {
  /** Without the slash of a command. */
  words: string;
  outcome: string | undefined;
}

/** `Otto refused`, `refused /outbox purge`: an outcome may be beside other words. */
function filterIn(asked: string): AuditFilter {
  const all = asked.toLowerCase().split(/\s+/);
  const outcome = all.find((one) => OUTCOMES.has(one));
  const words = all.filter((one) => one !== outcome).join(" ");
  return { words: words.replace(/^\//, ""), outcome };
}

async function search(
  deps: CommandDeps,
  { words, outcome }: AuditFilter,
  whose: string | undefined,
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  for await (const entry of entriesOf(deps)) {
    // The word for an outcome is no search for commands that contain it: `/runs failed` did not fail.
    const isWanted = outcome === undefined || entry.outcome === outcome;
    if (isWanted && (accountOf(entry) === whose || fits(entry, words))) found.push(entry);
    if (found.length === REACH) break;
  }
  return found;
}

/** The account of the only person whose name has these words. Throws when several people have; undefined for words that name no person. */
async function accountNamed(
  deps: CommandDeps,
  part: string,
  specs: readonly CommandSpec[],
): Promise<string | undefined> {
  const isOther = deps.registry.get(part) !== undefined || specs.some(({ name }) => name === part);
  if (part === "" || isOther) return undefined;
  const fitting = new Set<string>();
  const exact = new Set<string>();
  for await (const entry of entriesOf(deps)) {
    const name = entry.operator.displayName?.toLowerCase() ?? "";
    if (name.includes(part)) fitting.add(accountOf(entry));
    if (name === part || accountOf(entry) === part) exact.add(accountOf(entry));
  }
  const accounts = exact.size > 0 ? exact : fitting;
  if (accounts.size > 1 && exact.size === 0) throw ambiguous("person", part, "filter");
  return accounts.size === 1 ? [...accounts][0] : undefined;
}

const accountOf = ({ operator: { platform, userId } }: AuditEntry) => `${platform}:${userId}`;

/** On most platforms, all people can choose the name of an operator: a person without a role is shown by the account. */
function nameOf({ operator: { platform, userId, displayName, role } }: AuditEntry): string {
  const account = `${platform}:${userId}`;
  if (displayName === undefined) return account;
  return role === undefined ? `${account} (${displayName})` : displayName;
}

/** `/hooks disable greeter`; an entry of no command has its own word: `reveal greeter at inbound_claim, m5:inbound_claim`. */
async function whatOf(
  deps: CommandDeps,
  { action, target = "", details }: AuditEntry,
  specs: readonly CommandSpec[],
): Promise<string> {
  if (action !== "command") return `${action} ${await namedTarget(deps, target)}`.trim();
  const given = optionsOf(details);
  const byPlace = placedOf(specs.find(({ name }) => name === target)?.options ?? [], given);
  const options = Object.entries(given).map(([name, value]) => {
    const placed = byPlace.find((option) => option.name === name && option.type === "string");
    if (placed === undefined) return `${name}=${word(String(value))}`;
    return placed.rest ? String(value) : word(String(value));
  });
  return [`/${target}`, ...options].join(" ");
}

/** A run and a dispatch by the hook and the point, a message by its chat, as far as they are on record; the id comes last. */
async function namedTarget(deps: CommandDeps, target: string): Promise<string> {
  // The history may be damaged: the actions of people are shown all the same.
  const name = await nameOfTarget(deps, target).catch(() => undefined);
  return name === undefined ? target : `${name}, ${target}`;
}

async function nameOfTarget(deps: CommandDeps, target: string): Promise<string | undefined> {
  const { journal, inbox, outbox } = deps.store;
  if (target === "") return undefined;
  const run = await deps.automations?.runs.get(target);
  if (run) return `${run.hookId} at ${run.event ?? run.trigger}`;
  const dispatch = (await journal.get(target)) ?? (await journal.getByRun(target));
  if (dispatch) {
    const [one] = dispatch.runs.length === 1 ? dispatch.runs : dispatch.runs.filter(({ id }) => id === target);
    return one === undefined ? dispatch.point : `${one.hookId} at ${dispatch.point}`;
  }
  const [, rowId] = /^m(\d{1,15})$/.exec(target) ?? [];
  const row = rowId === undefined ? undefined : await inbox.get(Number(rowId));
  const conversation = row ? conversationOf(row.event) : (await outbox.get(target))?.conversation;
  return conversation === undefined ? undefined : `message in ${conversationName(deps, conversation)}`;
}

/** The options that need no name: in their order, up to the first that was left out. */
function placedOf(options: readonly OptionSpec[], given: Readonly<Record<string, unknown>>): readonly OptionSpec[] {
  const applicable = options.filter(
    ({ only, name, yields }) =>
      (only?.includes(String(given.action)) ?? true) && (yields !== true || given[name] !== undefined),
  );
  const end = applicable.findIndex(({ name }) => given[name] === undefined);
  return end < 0 ? applicable : applicable.slice(0, end);
}

/** The text for an entry that covers several uses of a command, also with other options; empty otherwise. */
function timesOf({ target = "", details }: AuditEntry, now: number): string {
  if (typeof details !== "object" || details === null || !("times" in details)) return "";
  const { times } = details;
  const lastAt =
    "lastAt" in details && typeof details.lastAt === "number" ? ` until ${clockTime(details.lastAt, now)}` : "";
  return typeof times === "number" ? `, and ${times - 1} more of /${target}${lastAt}` : "";
}

/** `words`: a name, an account, an option, or a command with or without what follows it. */
function fits({ operator, action, target = "", details }: AuditEntry, words: string): boolean {
  if (words === "") return true;
  const { platform, userId, displayName = "" } = operator;
  const values = Object.values(optionsOf(details)).map(String);
  const isNamed = [action, target, displayName, `${platform}:${userId}`, ...values].some(
    (text) => text.toLowerCase() === words,
  );
  return isNamed || `${[target, ...values].join(" ")} `.toLowerCase().startsWith(`${words} `);
}
