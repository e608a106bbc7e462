/**
 * Notifies people. For the outcomes of a hook (`notify:`): one message per hook and place, edited in place while the trouble lasts and
 * when it has ended; the next trouble answers the first, so that all of a hook is one thread. For admins (`notifyAdmins`): the gateway's
 * own reports about hooks.
 */
import { createHash } from "node:crypto";
import { type AutomationRun, NO_HERE, wordsOnlyText } from "../domain/automation.js";
import { type Address, formatAddress, parseAddress } from "../domain/chat/address.js";
import type { About } from "../domain/chat/hearing.js";
import type { Button, OutboundMessage } from "../domain/chat/message.js";
import type { Cause } from "../domain/journal.js";
import type { KeyValueStore } from "../domain/store.js";
import { InTurnByKey } from "../lib/concurrency/in-turn.js";
import { errorMessage } from "../lib/errors.js";
import { newId } from "../lib/id.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import type { Definition } from "./definition/definition.js";
import { conversationOf, HERE } from "./outgoing/chat-address.js";
import { type RunOutcome, reasonOf } from "./run/outcome.js";

export interface NotifierOptions {
  send(
    at: Address,
    message: OutboundMessage,
    options: { cause: Cause; deliveryId: string; skipsHooks?: boolean },
  ): Promise<string>;
  edit(deliveryId: string, message: OutboundMessage, options: { cause: Cause }): Promise<string>;
  /** Two spellings of one chat give the same. */
  currentAddress(at: Address): Address;
  /** The platform's id of the message that a delivery posted; undefined when it has none (yet). */
  messageIdOf(deliveryId: string): Promise<string | undefined>;
  keyValue: KeyValueStore;
  /** Where admins are notified. */
  admins(): readonly Address[];
  /** A direct conversation with an admin. */
  isWithAdmin(at: Address): boolean;
  /** Whether any operator may read texts about this. */
  mayOperatorsHear(of: About): Promise<boolean>;
  clock: Clock;
  logger: Logger;
}

export interface Notifier {
  /** Never rejects. `payload`: the payload that started the run, unmasked. */
  outcome(definition: Definition, run: AutomationRun, outcome: RunOutcome, payload: unknown): Promise<void>;
  /** Once per `key` and text: the same again is not repeated within an hour. Never rejects. */
  notifyAdmins(key: string, text: string, button?: Button): Promise<void>;
}

const SCOPE = "automations.notify";
const REPEAT_AFTER_MS = 3_600_000;

type Counts = Partial<Record<ReturnType<typeof endOf>, number>>;

/** The message about a hook at one place. */
interface Thread {
  /** The first message ever: later ones answer it. */
  rootId: string;
  deliveryId: string;
  /** How often this message reported each outcome. A message from before this was kept has none, and is counted from then on. */
  counts?: Counts;
  since: number;
  isOver: boolean;
}

/** An outcome of a hook for one place. */
interface Notice {
  at: Address;
  /** Names the thread: the hook and the place. */
  key: string;
  run: AutomationRun;
  outcome: RunOutcome;
  /** Whether people there may read the reason. */
  maySay: boolean;
  lacksHere: boolean;
}

export function createNotifier(options: NotifierOptions): Notifier {
  const { clock, logger } = options;
  const messages = new InTurnByKey<string>();
  const alerted = new Map<string, { text: string; at: number }>();

  /** One after the other for each key, so that two outcomes at once do not make two messages. */
  const inTurn = (key: string, step: () => Promise<void>): Promise<void> =>
    messages.run(key, step).catch((error: unknown) => {
      logger.warn({ key, error: errorMessage(error) }, "people could not be notified about a hook");
    });

  return {
    async outcome({ notify, ownerOnly }, run, outcome, payload) {
      if (notify === undefined || outcome.status === "queued") return;
      // The reason may quote the runner of an owner, or the answer to a command.
      const mayHear = await options.mayOperatorsHear({ ...run, id: run.dispatchId ?? run.id });
      const isFailure = outcome.status === "failed" || outcome.status === "timed_out";
      const show = notify.on.includes(outcome.status) ? showTrouble : showEndOfTrouble;
      const lacksHere = namesNoHere(notify, run, payload);
      const named = eachOnce(
        notify.to.flatMap((text) => placeOf(text, run, payload) ?? []),
        options,
      );
      const isNamed = (at: Address) => named.some((one) => formatAddress(one) === formatAddress(at));
      const admins = notify.to.length === 0 || lacksHere ? eachOnce(options.admins(), options) : [];
      await Promise.all(
        [...named, ...admins.filter((at) => !isNamed(at))].map((at) => {
          // Output of programs is for owners: it goes to the places in the definition, which is theirs, and not to all admins.
          const maySay = mayHear && (isNamed(at) || !(ownerOnly && isFailure));
          const key = `${run.hookId}|${formatAddress(at)}`;
          return inTurn(key, () => show({ at, key, run, outcome, maySay, lacksHere }, options));
        }),
      );
    },
    async notifyAdmins(key, text, button) {
      const before = alerted.get(key);
      const now = clock.now();
      if (before?.text === text && now - before.at < REPEAT_AFTER_MS) return;
      alerted.set(key, { text, at: now });
      await Promise.all(
        eachOnce(options.admins(), options).map((at) =>
          inTurn(`alert|${formatAddress(at)}`, async () => {
            const digest = createHash("sha256")
              .update(`${key}|${text}|${now}|${formatAddress(at)}`)
              .digest("base64url");
            const cause: Cause = { kind: "alert", id: key, depth: 0 };
            // A guard that fails would withhold the notice that it fails.
            const skipsHooks = options.isWithAdmin(at);
            await options.send(
              at,
              { text, buttons: button && [[button]] },
              { cause, deliveryId: `d_${digest.slice(0, 24)}`, skipsHooks },
            );
          }),
        ),
      );
    },
  };
}

function eachOnce(places: readonly Address[], { currentAddress }: NotifierOptions): Address[] {
  return [...new Map(places.map(currentAddress).map((at) => [formatAddress(at), at])).values()];
}

/** The hook has an outcome that people are notified of: in the message of the trouble while it lasts, else in a new one. */
async function showTrouble(notice: Notice, options: NotifierOptions): Promise<void> {
  const { at, key, run, outcome } = notice;
  const { keyValue, clock } = options;
  const thread = await threadOf(key, options);
  const isOpen = thread !== undefined && !thread.isOver;
  const earlier = isOpen ? thread.counts : undefined;
  const end = endOf(run, outcome);
  const counts: Counts = { ...earlier, [end]: (earlier?.[end] ?? 0) + 1 };
  const since = isOpen && earlier ? thread.since : clock.now();
  const message = { text: textOf(notice, counts, since) };
  const cause = causeOf(run);
  if (isOpen) {
    const isEdited = await options.edit(thread.deliveryId, message, { cause }).then(
      () => true,
      () => false, // it is gone: a new one takes its place
    );
    if (isEdited) return keyValue.set(SCOPE, key, { ...thread, counts, since });
  }
  const replyToId = thread === undefined ? undefined : await options.messageIdOf(thread.rootId);
  const deliveryId = await options.send(at, { ...message, replyToId }, { cause, deliveryId: newId("d", clock.now()) });
  await keyValue.set(SCOPE, key, { rootId: thread?.rootId ?? deliveryId, deliveryId, counts, since, isOver: false });
}

/** The hook has an outcome that people are not notified of. The message of the trouble shows a success, and only when there was some. */
async function showEndOfTrouble({ key, run, outcome, maySay }: Notice, options: NotifierOptions): Promise<void> {
  const thread = await threadOf(key, options);
  if (thread === undefined || thread.isOver || outcome.status !== "succeeded") return;
  const before = thread.counts === undefined ? "" : ` Before that: ${counted(thread.counts)}.`;
  const text = [`${headOf(run, outcome)}.${before}`, quotedReason(run, outcome, maySay), seenIn(run)];
  const message = { text: text.filter(Boolean).join("\n") };
  await options.edit(thread.deliveryId, message, { cause: causeOf(run) }).catch(() => undefined);
  await options.keyValue.set(SCOPE, key, { ...thread, isOver: true });
}

async function threadOf(key: string, { keyValue }: NotifierOptions): Promise<Thread | undefined> {
  return (await keyValue.get(SCOPE, key)) as Thread | undefined;
}

const causeOf = ({ id, cause }: AutomationRun): Cause => ({ kind: "hook", id, depth: (cause?.depth ?? 0) + 1 });

/** `here` of the hook's `notify`, of a run whose event names no chat: admins are notified instead. */
export function namesNoHere(notify: Definition["notify"], run: AutomationRun, payload: unknown): boolean {
  return notify?.to.includes(HERE) === true && placeOf(HERE, run, payload) === undefined;
}

function placeOf(text: string, { conversation }: AutomationRun, payload: unknown): Address | undefined {
  if (text !== HERE) return parseAddress(text.trim());
  if (conversation !== undefined) return parseAddress(conversation);
  return typeof payload === "object" && payload !== null ? conversationOf({ ...payload }) : undefined;
}

function textOf({ run, outcome, maySay, lacksHere }: Notice, counts: Counts, since: number): string {
  return [
    `${headOf(run, outcome)}${often(endOf(run, outcome), counts, `<t:${Math.floor(since / 1000)}:f>`)}`,
    quotedReason(run, outcome, maySay),
    outcome.status === "succeeded" && seenIn(run),
    lacksHere && NO_HERE,
    `run \`${run.id}\``,
  ]
    .filter(Boolean)
    .join("\n");
}

/** How often the hook ended with this outcome; where it ended with others, too, how often with each. */
function often(end: keyof Counts, counts: Counts, since: string): string {
  if (Object.keys(counts).length > 1) return ` (since ${since}: ${counted(counts)})`;
  const count = counts[end] ?? 1;
  return count > 1 ? ` (${times(count)} since ${since})` : "";
}

const counted = (counts: Counts) =>
  Object.entries(counts)
    .map(([end, count]) => `${wordOf(end)} ${times(count)}`)
    .join(", ");

/** A run that succeeded has a reason when tool calls failed. */
const endOf = (run: AutomationRun, { status }: RunOutcome) =>
  status === "succeeded" && run.statusReason !== undefined ? "tool_call_failed" : status;

const WORDS: Readonly<Record<string, string>> = {
  succeeded: "ended without an error",
  tool_call_failed: "ended with a failed tool call",
};
const wordOf = (end: string) => WORDS[end] ?? end.replace("_", " ");

function headOf(run: AutomationRun, outcome: RunOutcome): string {
  const end = endOf(run, outcome);
  return `${end === "succeeded" ? "✓" : "⚠"} **${run.hookId}** ${wordOf(end)}`;
}

function quotedReason(run: AutomationRun, outcome: RunOutcome, maySay: boolean): string | undefined {
  const reason = maySay ? (run.statusReason ?? reasonOf(outcome)) : undefined;
  return reason && `> ${reason.slice(0, 500)}`;
}

/** A run ends before its messages are sent, and hooks or the platform may withhold them. */
function seenIn({ hookId, id, attempts }: AutomationRun): string {
  const last = attempts.at(-1);
  const wordsOnly = last && wordsOnlyText(last);
  return wordsOnly === undefined
    ? `\`/runs ${hookId}\` shows what was sent.`
    : `${wordsOnly} \`/run ${id}\` shows its answer.`;
}

const times = (count: number) => (count === 1 ? "one time" : `${count} times`);
