/** The rows of `/runs` that a person saw last in a chat: `/run 3` opens the third of them. They survive a restart. */
import { formatAddress } from "../../src/domain/chat/address.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { errorMessage } from "../../src/lib/errors.js";
import { DAY_MS } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import type { RunRow } from "./run-row.js";

const SCOPE = "commands.runs";
/** After a day no person means a list that is so old. */
const KEPT_MS = DAY_MS;
const MAX_LISTS = 100;

interface Seen {
  at: number;
  /** The command that showed them. */
  line: string;
  /** By the number of the row. */
  ids: Readonly<Record<string, string>>;
}

export interface SeenRow {
  id: string;
  line: string;
  at: number;
}

/** `line`: the command, without its page: the rows of its other pages stay known. True when `/run 3` will know them. */
export async function rememberRows(
  deps: CommandDeps,
  context: CommandContext,
  line: string,
  rows: readonly RunRow[],
  first: number,
): Promise<boolean> {
  const key = keyOf(context);
  if (key === undefined) return false;
  try {
    await remember(deps, key, line, rows, first);
    return true;
  } catch (error) {
    // The list is worth showing without it.
    context.logger.warn(
      { error: errorMessage(error) },
      "the rows of /runs were not stored: /run does not know their numbers",
    );
    return false;
  }
}

async function remember(
  { store: { keyValue }, clock }: CommandDeps,
  key: string,
  line: string,
  rows: readonly RunRow[],
  first: number,
): Promise<void> {
  const known = first === 1 ? undefined : ((await keyValue.get(SCOPE, key)) as Seen | undefined);
  const others = known?.line === line ? known.ids : {};
  const shown = Object.fromEntries(rows.map(({ id }, index) => [first + index, id]));
  const now = clock.now();
  await keyValue.set(SCOPE, key, { at: now, line, ids: { ...others, ...shown } } satisfies Seen);
  const all = (await keyValue.list(SCOPE, "")) as { key: string; value: Seen }[];
  const newest = all.sort((a, b) => b.value.at - a.value.at);
  const old = newest.filter(({ value }, index) => index >= MAX_LISTS || now - value.at > KEPT_MS);
  for (const one of old) await keyValue.delete(SCOPE, one.key);
}

/** Undefined when this person saw no row of this number here, or long ago. */
export async function seenRow(
  { store: { keyValue }, clock }: CommandDeps,
  context: CommandContext,
  given: unknown,
): Promise<SeenRow | undefined> {
  const number = rowNumber(given);
  const key = keyOf(context);
  if (key === undefined || number === undefined) return undefined;
  const seen = (await keyValue.get(SCOPE, key)) as Seen | undefined;
  const id = seen?.ids[number];
  if (seen === undefined || id === undefined || clock.now() - seen.at > KEPT_MS) return undefined;
  return { id, line: seen.line, at: seen.at };
}

/** A list of `/runs` reaches so far. */
export const MAX_ROWS = 200;

/** Reads the number of a row; undefined when the value is none. */
export function rowNumber(given: unknown): number | undefined {
  const text = typeof given === "string" ? given.trim() : "";
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= MAX_ROWS ? number : undefined;
}

/** False for a program that calls the API: it reads the ids. */
export const isRemembered = ({ at, source }: Pick<CommandContext, "at" | "source">): boolean =>
  at !== undefined || source === "cli";

export const NOT_REMEMBERED =
  "Row numbers hold in a chat and on the command line only, and over the API a row is named by its `id`";

function keyOf({ operator: { platform, userId }, at, source }: CommandContext): string | undefined {
  if (!isRemembered({ at, source })) return undefined;
  return `${platform}:${userId} ${at === undefined ? source : formatAddress(at)}`;
}
