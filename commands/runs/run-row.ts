/** One row of `/runs`, for a dispatch or a run of a configured hook: one line, which is readable on a phone. */

import { isDmName } from "../../src/domain/chat/dm-name.js";
import { conversationOf } from "../../src/domain/chat/event.js";
import type { Button, InboundMessage } from "../../src/domain/chat/message.js";
import type { DispatchRecord } from "../../src/domain/journal.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { isRecord } from "../../src/lib/record.js";
import { commandButton, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { clockTime, code, plain } from "../show/text.js";
import { conversationName } from "../who.js";

export interface RunRow {
  /** The id of the dispatch or the run. */
  id: string;
  /** `✓ passed` */
  outcome: string;
  isFailure: boolean;
  /** The hook that decided, or the point. Markdown. */
  subject: string;
  person: string | undefined;
  conversation: string | undefined;
  at: number;
  /** Further facts: why it was skipped, or which time it was. */
  note?: string | undefined;
}

/** A test belongs to no person and no chat. */
export const NOBODY: Pick<RunRow, "person" | "conversation"> = { person: undefined, conversation: undefined };

/** `3. ✎ modified · shout · Ann in #general · 14:03:12`. A terminal has room for the id behind it. */
export function rowLine(
  deps: CommandDeps,
  { at }: Pick<CommandContext, "at">,
  row: RunRow,
  number: number,
  now: number,
): string {
  const facts = [
    row.isFailure ? `**${row.outcome}**` : row.outcome,
    row.subject,
    whereText(deps, row),
    clockTime(row.at, now),
    row.note && plain(row.note, MAX_NOTE),
    at === undefined && code(row.id),
  ];
  return `${number}. ${facts.filter((fact) => fact !== undefined && fact !== false && fact !== "").join(" · ")}`;
}

const MAX_NOTE = 100;
const MAX_NAME = 40;
const MAX_PLACE = 64;

/** `Ann in #general`; one of both where the other is not known. */
function whereText(deps: CommandDeps, { person, conversation }: RunRow): string {
  const who = person === undefined ? "" : plain(person, MAX_NAME);
  if (conversation === undefined) return who;
  const name = conversationName(deps, conversation);
  const where = name === conversation ? code(name) : plain(name, MAX_PLACE);
  if (who === "") return `in ${where}`;
  return isDmName(where) ? `${who} in direct messages` : `${who} in ${where}`;
}

/** Rows that have a button: more are no choice any more. */
const MAX_BUTTONS = 5;

/** `first`: the number of the first row of the page. */
export function rowButtons(rows: readonly RunRow[], first: number): Button[] {
  return rows.slice(0, MAX_BUTTONS).map(({ id }, index) => commandButton(String(first + index), `/run ${word(id)}`));
}

/** Who wrote the message or gave the command that led to it, and in which chat, as far as the inbox still has that. */
export async function whoseIt(
  { store }: CommandDeps,
  dispatch: Pick<DispatchRecord, "id" | "cause" | "conversation" | "payload">,
): Promise<Pick<RunRow, "person" | "conversation">> {
  const { id, cause, conversation } = dispatch;
  const own = inboxIdOf(id);
  const rowId = own ?? (cause && inboxIdOf(cause.id));
  const row = rowId === undefined ? undefined : await store.inbox.get(rowId);
  return {
    person:
      row && "message" in row.event
        ? writerOf(row.event.message)
        : own === undefined
          ? undefined
          : writerIn(dispatch.payload),
    conversation: conversation ?? (row && conversationOf(row.event)),
  };
}

/** `m5:inbound_claim`, `d_m5r:message_sending` and `t_m5:task:create` are about the message 5 of the inbox. */
function inboxIdOf(id: string): number | undefined {
  const [, number] = /^(?:[a-z]_)?m(\d{1,15})(?=$|[:/a-z])/.exec(id) ?? [];
  return number === undefined ? undefined : Number(number);
}

const writerOf = ({ displayName, username, userId }: InboundMessage): string => displayName ?? username ?? userId;

/** Who wrote the message that came in, where the inbox has deleted it. */
function writerIn(payload: unknown): string | undefined {
  const message = isRecord(payload) ? payload.message : undefined;
  if (!isRecord(message)) return undefined;
  return [message.displayName, message.username, message.userId].find((one) => typeof one === "string");
}
