/**
 * `/run`: one dispatch (`last`, a row of /runs or an id) or one run of a configured hook, in full: which hooks ran, what each saw and
 * changed, how long it took. For a message or a delivery, by its id, its link or as a reply: everything that it led to. People's words stay
 * masked.
 */

import type { AutomationRun } from "../src/domain/automation.js";
import { hasRole } from "../src/domain/chat/identity.js";
import { isMessageLink } from "../src/domain/chat/message-link.js";
import { type DispatchRecord, namedBy } from "../src/domain/journal.js";
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { HookgateError } from "../src/lib/errors.js";
import { answer, commandButton, missing, word } from "./answer.js";
import { effectsIn, effectTexts } from "./automations/effect.js";
import { readableDispatch, recordReveal } from "./automations/owner-only.js";
import { showAutomationRun } from "./automations/run.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { whatHappened } from "./hooks/why.js";
import { whatCounted } from "./journey/counted.js";
import { findJourney } from "./journey/find.js";
import { notRecordedText } from "./journey/not-recorded.js";
import { messageNamed } from "./message-named.js";
import { isRemembered, MAX_ROWS, NOT_REMEMBERED, rowNumber, type SeenRow, seenRow } from "./runs/seen-runs.js";
import {
  dispatchData,
  dispatchLine,
  failedRun,
  hasFailed,
  open,
  resultText,
  runDetails,
  runTable,
} from "./runs/show-dispatch.js";
import { causeWords } from "./show/cause-words.js";
import { flushJournal } from "./show/flush-journal.js";
import { needToReveal } from "./show/reveal.js";
import { ago, clip, code, inOneLine, jsonBlock } from "./show/text.js";
import { conversationText } from "./who.js";

/** How far `last` looks back. */
const LAST_DISPATCHES = 500;

export const run = defineCommand({
  name: "run",
  group: "hooks",
  summary: "One dispatch: who ran, what each changed, how long it took",
  role: "viewer",
  options: [
    {
      name: "id",
      summary: "A row of /runs by its number; the id of a dispatch, run, message or delivery; or reply to one",
      type: "string",
      complete: "runs",
    },
    { name: "reveal", summary: "A dispatch or a run: show what people wrote (admins; recorded)", type: "boolean" },
  ],
  async run(deps, asked) {
    const given = await messageNamed(deps, asked.options.id);
    const context: CommandContext = { ...asked, options: { ...asked.options, id: given } };
    const row = await seenRow(deps, context, context.options.id);
    if (row) return headed(seenText(row, context, deps.clock.now()), await openRun(deps, context, row.id));
    const own = await findAutomationRun(deps, context.options.id);
    if (own) return showAutomationRun(deps, context, own);
    if (context.options.reveal === true) context.need("admin");
    const nth = await nthNewest(deps, context, given);
    if (nth)
      return headed(`Number ${given} of what ${code("/runs")} lists now:`, await openDispatch(deps, context, nth));
    const id = given === "" ? context.replyToId : given;
    // A message or a delivery, also by its platform's id: the answer is all records that it led to.
    if (id !== undefined && (given === "" || /^(m?\d+|d_[^:/]+)$/.test(id) || isMessageLink(id))) {
      if (context.options.reveal === true) throw revealsOne(given);
      const found = await whatHappened(deps, context, id);
      // No message has this id, and no list such a row: the answer is about the row.
      if (rowNumber(given) !== undefined && isNone(found))
        return openDispatch(deps, context, await findDispatch(deps, context, given));
      return rowNumber(given) !== undefined && isOfSeveralChats(found)
        ? headed(
            `${isRemembered(context) ? `No row ${given} of ${code("/runs")} was shown to you here lately` : NOT_REMEMBERED}: the number is read as a message's id.`,
            found,
          )
        : found;
    }
    return openDispatch(deps, context, await findDispatch(deps, context, id));
  },
});

const isNone = ({ data }: CommandAnswer): boolean =>
  typeof data === "object" && data !== null && "found" in data && data.found === false && !("places" in data);

const isOfSeveralChats = ({ data }: CommandAnswer): boolean =>
  typeof data === "object" && data !== null && "places" in data && data.places !== undefined;

async function openRun(deps: CommandDeps, context: CommandContext, id: string): Promise<CommandAnswer> {
  const own = await findAutomationRun(deps, id);
  if (own) return showAutomationRun(deps, context, own);
  return openDispatch(deps, context, await findDispatch(deps, context, id));
}

async function openDispatch(
  deps: CommandDeps,
  context: CommandContext,
  dispatch: DispatchRecord,
): Promise<CommandAnswer> {
  const isOpen = context.options.reveal === true;
  if (isOpen) {
    await needToReveal(deps, context, dispatch);
    await recordReveal(deps, context, dispatch.id);
  }
  const shown = await readableDispatch(deps, context, dispatch);
  return showDispatch(deps, context, shown, isOpen, await whatCounted(deps, dispatch));
}

/** A number that is no row of a list that was shown, and no message: counted in the list of now. */
async function nthNewest(
  deps: CommandDeps,
  context: CommandContext,
  given: string,
): Promise<DispatchRecord | undefined> {
  const number = rowNumber(given);
  if (number === undefined) return undefined;
  await flushJournal(deps);
  if ((await findJourney(deps, context.at, given)).kind !== "none") return undefined;
  const newest = await deps.store.journal.list({ limit: MAX_ROWS });
  return newest.filter((one) => !isOfCommand(one))[number - 1];
}

const headed = (head: string, shown: CommandAnswer): CommandAnswer => ({
  ...shown,
  message: { ...shown.message, text: `${head}\n\n${shown.message.text}` },
});

const seenText = ({ line, at }: SeenRow, { options }: CommandContext, now: number): string =>
  `Number ${String(options.id).trim()} of ${code(line)}, as you saw it ${ago(at, now)}:`;

/** The records that a message led to are of several chats, and are read in one: they stay masked, and a reveal shows one record. */
function revealsOne(given: string): HookgateError {
  const named = given === "" ? "" : ` ${given}`;
  const path = given === "" ? "/run, as a reply to the message," : `/run${named}`;
  const letter = /^(m\d+|d_.*)$/.test(given) ? ` /outbox show${named} reveal=true shows the text of the message.` : "";
  return new HookgateError({
    code: "BAD_USAGE",
    message: `Nothing was revealed: reveal shows one dispatch or run, and not all that a message${named && ` (${given})`} led to.`,
    hint: `${path} lists the dispatches: reveal one by its id.${letter}`,
  });
}

/** A run of a configured hook, by its id. */
export async function findAutomationRun(
  { automations }: CommandDeps,
  given: unknown,
): Promise<AutomationRun | undefined> {
  const id = typeof given === "string" ? given.trim() : "";
  return id === "" || id === "last" ? undefined : automations?.runs.get(id);
}

const NOT_LISTED = "/runs lists them; old ones are deleted after the journal's retention.";
const NO_ROW =
  "No list of /runs that you saw here lately has this row. /runs shows the first rows, and page=2 the next.";

/** By the id of the dispatch, or of any run in it. */
export async function findDispatch(
  deps: CommandDeps,
  context: CommandContext,
  given: unknown,
): Promise<DispatchRecord> {
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "") throw missing("the id of a dispatch or run", "/runs lists them.", "id");
  const { journal } = deps.store;
  const behind = await flushJournal(deps);
  if (id === "last") {
    const last = await lastDispatch(deps);
    if (last) return last;
  }
  const found = (await journal.get(id)) ?? (await journal.getByRun(id));
  if (found) return found;
  const [kind, hint] = otherKind(deps, id) ?? [];
  if (kind !== undefined)
    throw new HookgateError({ code: "NOT_FOUND", message: `"${id}" is ${kind}, and not a dispatch or run.`, hint });
  throw new HookgateError({
    code: "NOT_FOUND",
    message: (await notRecordedText(deps, id)) ?? `The journal has no dispatch or run "${clip(id, 80)}".`,
    hint: behind ?? (rowNumber(id) === undefined ? NOT_LISTED : isRemembered(context) ? NO_ROW : `${NOT_REMEMBERED}.`),
  });
}

/** The kind of another id, and the commands that show it. */
function otherKind({ registry }: CommandDeps, id: string): [kind: string, hint: string] | undefined {
  if (registry.get(id) !== undefined)
    return ["a hook", `/runs ${word(id)} lists its runs, and /hooks why ${word(id)} shows its state.`];
  if (/^t_[^:/]+$/.test(id)) return ["the id of a task", `/task show ${word(id)} shows it.`];
  return /^al_/.test(id) ? ["the id of an alert", `/alerts show ${word(id)} shows it.`] : undefined;
}

/** The newest that no operator's command set off; `last` for `/run` and `/runs`. */
export async function lastDispatch({ store }: CommandDeps): Promise<DispatchRecord | undefined> {
  const newest = await store.journal.list({ limit: LAST_DISPATCHES });
  return newest.find((one) => !isOfCommand(one)) ?? newest[0];
}

/**
 * The dispatch is of a command, of the message that gave it, or of its answer. A dispatch that a command fired by hand is the purpose of
 * the command.
 */
export function isOfCommand(dispatch: DispatchRecord): boolean {
  const { id, point, cause } = dispatch;
  if (point === "command_invoked") return true;
  if (cause?.kind === "command") return cause.id !== id;
  if (point !== "message_received") return false;
  // Asked for last: of a list, it is unpacked only then.
  const { payload } = dispatch;
  if (typeof payload !== "object" || payload === null || !("message" in payload)) return false;
  const { message } = payload;
  const text = typeof message === "object" && message !== null && "text" in message ? message.text : undefined;
  return typeof text === "string" && text.startsWith("/");
}

/** `remark`: facts that the record of the dispatch does not have. */
export async function showDispatch(
  deps: CommandDeps,
  context: CommandContext,
  dispatch: DispatchRecord,
  isOpen: boolean,
  remark?: string,
): Promise<CommandAnswer> {
  const { cause, runs } = dispatch;
  const effects = await effectsIn(deps, context, dispatch);
  const failed = runs.find(hasFailed) ?? failedRun(dispatch);
  const by = namedBy(dispatch.point);
  const id = word(dispatch.id);
  const mayReveal = hasRole(context.operator.role, "admin");
  return answer({
    text: [
      dispatchLine(dispatch, deps.clock.now()),
      remark,
      [
        `dispatch ${code(dispatch.id)}`,
        ...(cause && cause.id !== dispatch.id ? [`because of ${await causeWords(deps, cause)}`] : []),
        ...(dispatch.conversation ? [`in ${conversationText(deps, dispatch.conversation)}`] : []),
        ...(dispatch.messageId ? [`message ${code(dispatch.messageId)}`] : []),
      ].join("\n"),
      runs.length > 0 ? runTable(runs, context, effects) : "No hook ran.",
      ...effectTexts(dispatch, effects),
      ...runDetails(dispatch, isOpen),
      isOpen
        ? `**Payload**\n${jsonBlock(open(dispatch.payload, true, by))}`
        : `**Payload** (masked${mayReveal ? "; Reveal shows it" : ""}): ${inOneLine(open(dispatch.payload, false, by))}`,
      resultText(dispatch, isOpen),
    ],
    data: dispatchData(dispatch, isOpen, effects),
    buttons: [
      [
        commandButton("Replay (dry run)", `/replay ${id}`),
        ...(isOpen || !mayReveal ? [] : [commandButton("Reveal", `/run ${id} reveal=true`)]),
        ...(failed ? [commandButton("The hook that failed", `/hooks show ${word(failed.hookId)}`)] : []),
      ],
    ],
  });
}
