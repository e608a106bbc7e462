/**
 * `/hooks why [ID] [message]`: why a hook ran or did not run. With a message, the records of that message answer; without one, the hook's
 * own checks answer for its last payload, or for none. Without a hook: the path of the message.
 */

import type { BrokenHook } from "../../src/automations/desk.js";
import type { AutomationRun } from "../../src/domain/automation.js";
import { formatAddress } from "../../src/domain/chat/address.js";
import { isMessageLink } from "../../src/domain/chat/message-link.js";
import { isInDoubt } from "../../src/domain/deliveries/given-up.js";
import { purgeOf } from "../../src/domain/deliveries/purges.js";
import { type DispatchRecord, rootOf } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import type { HookInfo } from "../../src/hooks/registration/registration.js";
import type { AnyPoint } from "../../src/hooks/signatures.js";
import { answer, commandButton, word } from "../answer.js";
import { readableDispatch, readableEnd, readableLetter, readableRun } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
import { type Candidate, findJourney, type Journey, type NoDelivery } from "../journey/find.js";
import { hasWork, notRecordedText, noWorkText, showOf, type Work } from "../journey/not-recorded.js";
import { showPath } from "../journey/path.js";
import { goneText } from "../journey/why-not-reached.js";
import { messageNamed, publicLinkText } from "../message-named.js";
import { isHookOrPoint, resolveTarget } from "../resolve.js";
import { runOutcomeText } from "../runs/show-dispatch.js";
import { flushJournal } from "../show/flush-journal.js";
import { ago, clip, clockTime, code, plain } from "../show/text.js";
import { conversationText, placeText } from "../who.js";
import { showBrokenHook } from "./show.js";
import { explainGone, explainMessage, OF_MESSAGES } from "./why-message.js";
import { brokenOf, explainNow, lastOf } from "./why-now.js";
import { explainPoint, explainPointNow } from "./why-point.js";
import { explainRemoved, notRegisteredText } from "./why-removed.js";
import { explainCrashed, explainUnrecorded } from "./why-unrecorded.js";

/**
 * An id that the product gives, or `last`; no hook is named so. Beside the number of an inbox row (`m86`), ids start with the prefix that
 * `newId` gets where they are made: of a delivery, task, alert, run, firing by hand, mission or assessment.
 */
const IS_MESSAGE = /^(last|\d+|m\d+([:/].*)?|(d|t|al|r|f|m|assess)_[\w:/.-]+)$/i;

const IS_MISSION = /^m_[0-9a-z]+$/;

/** A slip in an id of a message: `m86,m85`, `-1`. */
const LOOKS_LIKE_MESSAGE = /^(-\d|m\d|d_)/i;

export async function explainHook(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const [named, given] = inOrder(
    deps,
    capitalRead(await messageNamed(deps, context.options.id)),
    capitalRead(await messageNamed(deps, context.options.message)),
  );
  const asked = given === "" ? context.replyToId : given;
  if (named === "") return whatHappened(deps, context, asked ?? "last");
  if (given === "" && isMessageOnly(deps, named)) return whatHappened(deps, context, named);
  if (LOOKS_LIKE_MESSAGE.test(named) && !isHookOrPoint(deps, named)) return noId(named);
  const broken = brokenOf(deps, named);
  if (broken && deps.automations?.get(named) === undefined) return whyBroken(deps, context, broken, asked);
  let messageId: string | undefined;
  if (asked !== undefined && !deps.registry.get(named)) {
    const found = await readJourney(deps, context, asked);
    const gone =
      "journey" in found
        ? await explainGone(deps, context, named, found.journey, notRegisteredText(deps, named))
        : undefined;
    if (gone) return withRemark(found, gone);
    messageId = "journey" in found ? found.journey.id : undefined;
  }
  const removed = isHookOrPoint(deps, named) ? undefined : await explainRemoved(deps, context, named, messageId);
  if (removed) return removed;
  const target = resolveTarget(deps, named);
  if (target.kind === "point") return whyPoint(deps, context, target.point, asked);
  const { hook } = target;
  if (asked === undefined && (context.at === undefined || !OF_MESSAGES.has(hook.hook)))
    return explainNow(deps, context, hook);
  const found = await readJourney(deps, context, asked ?? "last", hook.hook);
  // No message was written here yet: only the present state can answer.
  if (asked === undefined && !("journey" in found)) return explainNow(deps, context, hook);
  const crash = "journey" in found ? undefined : await explainCrashed(deps, hook, asked);
  if (crash) return withRemark(found, crash);
  if (!("journey" in found)) return withRemark(found, found.answer);
  const answered = await explainMessage(deps, context, hook, found.journey);
  const newest = asked === undefined ? await newestElsewhere(deps, hook, found.journey) : undefined;
  return withRemark(
    found,
    newest === undefined ? answered : withText(answered, `${answered.message.text}\n\n${newest}`),
  );
}

/** A hook that is not in force: its run for the message when it was in force, then why it is not. */
async function whyBroken(
  deps: CommandDeps,
  context: CommandContext,
  broken: BrokenHook,
  asked: string | undefined,
): Promise<CommandAnswer> {
  const now = showBrokenHook(broken, deps);
  const found = asked === undefined ? undefined : await readJourney(deps, context, asked);
  if (found === undefined || !("journey" in found)) return now;
  const { journey } = found;
  const then = await explainGone(deps, context, broken.id, journey);
  if (then === undefined) {
    const none = `No run of ${code(broken.id)} is on record for ${code(journey.id)}.`;
    return withRemark(found, { ...now, message: { ...now.message, text: `${none}\n\n${now.message.text}` } });
  }
  const text = `${then.message.text}\n\n${now.message.text.replace("**Not in force**", "**It is not in force now**")}`;
  return withRemark(found, { ...then, message: { ...then.message, text } });
}

/** Ids of messages start with a small letter; people write `M86`, too. */
const capitalRead = (named: string): string => named.replace(/^M(?=\d+$)/, "m");

/** Returns the hook or point first, then the message; people name them in either order. */
function inOrder(deps: CommandDeps, first: string, second: string): [named: string, message: string] {
  return isMessageOnly(deps, first) && isHookOrPoint(deps, second) ? [second, first] : [first, second];
}

const isMessageOnly = (deps: CommandDeps, name: string): boolean =>
  !deps.registry.get(name) && (IS_MESSAGE.test(name) || isMessageLink(name));

/** A point instead of a hook: its firing for the message, or the last time that it fired. */
async function whyPoint(
  deps: CommandDeps,
  context: CommandContext,
  { name }: AnyPoint,
  asked: string | undefined,
): Promise<CommandAnswer> {
  if (asked === undefined && (context.at === undefined || !OF_MESSAGES.has(name)))
    return explainPointNow(deps, name, await lastOf(deps, { point: name }));
  const found = await readJourney(deps, context, asked ?? "last", name);
  const unrecorded = await explainUnrecorded(deps, name, asked, "journey" in found ? found.journey : undefined);
  if (unrecorded) return withRemark(found, unrecorded);
  if ("journey" in found) return withRemark(found, await explainPoint(deps, name, found.journey));
  return asked === undefined
    ? explainPointNow(deps, name, await lastOf(deps, { point: name }))
    : withRemark(found, found.answer);
}

/** The whole path of one message. */
export async function whatHappened(deps: CommandDeps, context: CommandContext, asked: string): Promise<CommandAnswer> {
  const taskId = await taskOf(deps, asked);
  if (taskId === asked || IS_MISSION.test(asked)) return unknownId(deps, context, asked);
  const found = await readJourney(deps, context, asked);
  return withRemark(found, "journey" in found ? await showPath(deps, found.journey, taskId) : found.answer);
}

/** `behind`: a remark that the newest records are missing. */
type Read = { behind: string | undefined } & ({ journey: Journey } | { answer: CommandAnswer });

/** Adds the remark that the newest records are missing: more may have happened than the journal has. */
function withRemark({ behind }: Pick<Read, "behind">, answered: CommandAnswer): CommandAnswer {
  if (behind === undefined) return answered;
  return withText(answered, `⚠ ${plain(behind)}\n\n${answered.message.text}`);
}

const withText = (answered: CommandAnswer, text: string): CommandAnswer => ({
  ...answered,
  message: { ...answered.message, text },
});

/** Without a message, the last one of this chat is meant; the hook may have run since, or only, for another one. */
async function newestElsewhere(
  deps: CommandDeps,
  { id, hook, phase }: HookInfo,
  { dispatches }: Journey,
): Promise<string | undefined> {
  const runIn = ({ runs }: DispatchRecord) => runs.find((run) => run.hookId === id && run.outcome !== "skipped");
  const last = await lastOf(deps, { hookId: id, point: hook }, phase, (one) => runIn(one) === undefined);
  const run = last && runIn(last);
  if (!run || dispatches.some((one) => one.id === last.id)) return undefined;
  const line = code(`/hooks why ${word(id)} ${word(rootOf(last.id))}`);
  return `Its newest run was for another message, ${ago(last.at, deps.clock.now())}: ${runOutcomeText(run)}. ${line} shows it.`;
}

/**
 * The task to which the id belongs, also the id of its dispatch or run; undefined when the id belongs to another thing, or there is no such
 * task.
 */
async function taskOf({ tasks }: CommandDeps, asked: string): Promise<string | undefined> {
  const [id] = /^t_[^:/]+/.exec(asked) ?? [];
  return id === undefined ? undefined : (await tasks?.store.get(id))?.id;
}

async function readJourney(deps: CommandDeps, context: CommandContext, asked: string, point?: string): Promise<Read> {
  const behind = await flushJournal(deps);
  const found = await findJourney(deps, context.at, asked, point);
  switch (found.kind) {
    case "found":
      return { behind, journey: await readableJourney(deps, context, found.journey) };
    case "several":
      return { behind, answer: whichChat(deps, asked, found.places) };
    case "no delivery":
      return { behind, answer: noDelivery(asked, found) };
    case "none":
      return { behind, answer: await unknownId(deps, context, asked) };
  }
}

/** Every message, delivery and run in it as the reader may see it. */
async function readableJourney(deps: CommandDeps, context: CommandContext, journey: Journey): Promise<Journey> {
  const letter = <T extends Delivery | InboxRow | undefined>(one: T) =>
    one === undefined ? one : (readableLetter(deps, context, one) as Promise<T>);
  const letters = <T extends Delivery | InboxRow>(all: readonly T[]) => Promise.all(all.map(letter));
  const byKey = async <K, T>(all: ReadonlyMap<K, T>, shown: (one: T) => Promise<T> | T) =>
    new Map(await Promise.all([...all].map(async ([key, one]): Promise<[K, T]> => [key, await shown(one)])));
  const run = (one: AutomationRun) => readableRun(deps, context, one);
  return {
    ...journey,
    dispatches: await Promise.all(journey.dispatches.map((one) => readableDispatch(deps, context, one))),
    stored: await byKey(journey.stored, run),
    unrecorded: await Promise.all(journey.unrecorded.map(run)),
    deliveries: await letters(journey.deliveries),
    row: await letter(journey.row),
    changes: await letters(journey.changes),
    ahead: await letter(journey.ahead),
    aheadOfChanges: await letter(journey.aheadOfChanges),
    blockers: await byKey(journey.blockers, letter),
    blockedBy: await byKey(journey.blockedBy, letter),
    unsaid: await Promise.all(journey.unsaid.map(async ({ id, line }) => ({ id, line: await letter(line) }))),
    decisions: await Promise.all(
      journey.decisions.map(async (one) => ({
        ...one,
        was: one.was && (await readableEnd(deps, context, one.was, { id: one.was.id })),
      })),
    ),
    gone: await Promise.all(
      journey.gone.map(async ({ id, purge }) => {
        const was = purge?.was && (await readableEnd(deps, context, purge.was, { id }));
        return { id, purge: purge && { ...purge, was } };
      }),
    ),
  };
}

function noDelivery(asked: string, { id, row, deliveryIds }: NoDelivery): CommandAnswer {
  const message = `m${row.id}`;
  const there = row.status === "done" ? "" : " yet";
  const text =
    deliveryIds.length > 0
      ? `There is no ${code(clip(id, 80))}: the deliveries of ${code(message)} are ${deliveryIds.map(code).join(", ")}.`
      : row.status === "done" && row.deliveryIds === undefined
        ? `${code(clip(id, 80))} is not on record: ${code(message)} was answered with no message, or the answer was deleted after the retention.`
        : `${code(message)} was answered with no message${there}: there is no ${code(clip(id, 80))}.`;
  return answer({
    text: [text],
    data: { message: asked, found: false },
    outcome: "failed",
    buttons: [[commandButton("The message", `/hooks why ${message}`)]],
  });
}

function whichChat(deps: CommandDeps, asked: string, places: readonly Candidate[]): CommandAnswer {
  const now = deps.clock.now();
  return answer({
    text: [
      `${places.length} chats have a message ${code(clip(asked, 80))}. Name it by the gateway's own id:`,
      places
        .map(
          ({ id, conversation, address, at, by }) =>
            `- ${code(id)}, ${clockTime(at, now)}, ${by === undefined ? "" : `by ${plain(by, 64)} `}in ${address ? placeText(deps, address) : conversationText(deps, conversation)}`,
        )
        .join("\n"),
    ],
    data: { message: asked, found: false, places },
    outcome: "failed",
    buttons: [places.slice(0, 5).map(({ id }) => commandButton(id, `/hooks why ${word(id)}`))],
  });
}

/** The kinds of other ids that the product prints, with the command that shows them. */
const ELSEWHERE: readonly (readonly [RegExp, string, string])[] = [
  [/^al_/, "an alert", "/alerts show"],
  [/^r_/, "a run of a configured hook", "/run"],
];

function workNamed(asked: string): Work | undefined {
  if (/^t_[^:/]+$/.test(asked)) return { kind: "task", id: asked };
  return IS_MISSION.test(asked) ? { kind: "mission", id: asked } : undefined;
}

async function unknownId(deps: CommandDeps, context: CommandContext, asked: string): Promise<CommandAnswer> {
  const data = { message: asked, found: false };
  const work = workNamed(asked);
  if (work !== undefined) {
    if (!(await hasWork(deps, work))) return answer({ text: [noWorkText(work)], data, outcome: "failed" });
    const line = showOf(work);
    const text = [
      `${code(clip(asked, 80))} is the id of a ${work.kind}, and not of a message: ${code(line)} shows it.`,
    ];
    return answer({ text, data, outcome: "failed", buttons: [[commandButton("Show it", line)]] });
  }
  const [, what, command] = ELSEWHERE.find(([form]) => form.test(asked)) ?? [];
  if (command !== undefined) {
    const line = `${command} ${word(clip(asked, 80))}`;
    const text = [`${code(clip(asked, 80))} is the id of ${what}, and not of a message: ${code(line)} shows it.`];
    return answer({ text, data, outcome: "failed", buttons: [[commandButton("Show it", line)]] });
  }
  if (deps.registry.get(asked) !== undefined) {
    const line = `/hooks why ${word(asked)}`;
    const text = [`${code(asked)} is the id of a hook, and not of a message: ${code(line)} shows its state.`];
    return answer({ text, data, outcome: "failed", buttons: [[commandButton("Show it", line)]] });
  }
  const delivery = /^m\d+[a-z]/.test(asked) ? await deps.store.outbox.get(`d_${asked}`) : undefined;
  if (delivery !== undefined) {
    const line = `/hooks why ${word(delivery.id)}`;
    const text = [`There is no ${code(clip(asked, 80))}. Did you mean ${code(delivery.id)}, a message of the gateway?`];
    return answer({ text, data, outcome: "failed", buttons: [[commandButton(`Why ${delivery.id}`, line)]] });
  }
  const unrecorded = await notRecordedText(deps, asked);
  if (unrecorded !== undefined) return answer({ text: [unrecorded], data, outcome: "failed" });
  const [, number] = /^(?:m(?=\d+(?:$|[:/]))|d_m)(\d{1,15})(?=$|[:/a-z])/.exec(asked) ?? [];
  if (number === undefined) return neverReceived(deps, context, asked);
  const purge = await purgeOf(deps, rootOf(asked), 0);
  const text = purge
    ? goneText({ id: rootOf(asked), purge }, [], deps.clock.now())
    : recordText(Number(number), await deps.store.inbox.lastId());
  return answer({ text: [text], data, outcome: "failed", buttons: [[commandButton("Last runs", "/runs")]] });
}

/** A delivery that was sent lately may be in doubt: later ones of its chat do not wait for long. */
const RECENT_DELIVERIES = 50;

/** `lastId`: the highest that a message ever had. */
function recordText(id: number, lastId: number): string {
  const named = code(`m${id}`);
  if (id === 0) return `There is no ${named}: the first message is ${code("m1")}.`;
  if (id <= lastId)
    return `${named} was received, but its record is gone: handled messages and their dispatches are deleted after the retention.`;
  return `There is no ${named}: no message has this id yet${lastId > 0 ? `, the newest is ${code(`m${lastId}`)}` : ""}.`;
}

function noId(asked: string): CommandAnswer {
  return answer({
    text: [
      `${code(clip(asked, 80))} is no id of a message. Name one message: ${code("last")}, an id of the gateway such as ${code("m86")} or ${code("d_m86r")}, or the platform's id of a message in this chat.`,
    ],
    data: { message: asked, found: false },
    outcome: "failed",
    buttons: [[commandButton("Last runs", "/runs")]],
  });
}

async function neverReceived({ store }: CommandDeps, { at }: CommandContext, asked: string): Promise<CommandAnswer> {
  const shown = code(clip(asked, 80));
  const isLast = asked.toLowerCase() === "last";
  const ofLink = publicLinkText(asked);
  if (ofLink !== undefined)
    return answer({ text: [ofLink], data: { message: asked, found: false }, outcome: "failed" });
  const isOfPlatform = /^\d+$/.test(asked) || isMessageLink(asked);
  const isOfGateway = /^[\w:./@#+=-]+$/.test(asked) && (IS_MESSAGE.test(asked) || asked.includes(":"));
  if (!isLast && !isOfPlatform && !isOfGateway) return noId(asked);
  // The platform never reported the id of a delivery that may have arrived.
  const conversation = at && formatAddress(at);
  const inDoubt =
    !isOfPlatform || conversation === undefined
      ? undefined
      : (await store.outbox.list({ conversation, limit: RECENT_DELIVERIES })).find(isInDoubt);
  return answer({
    text: [
      inDoubt &&
        `If ${shown} is a message of the gateway: ${code(inDoubt.id)} was sent to this chat, and the platform did not confirm whether it arrived or under which id. ${code(`/outbox show ${inDoubt.id}`)} shows it.`,
      isLast
        ? `The gateway has no message${at ? " of this chat" : ""} on record, apart from commands: none was received, or what was received has been deleted.`
        : `${inDoubt ? "If it is not: the gateway" : "The gateway"} knows no message, delivery or dispatch ${shown}${at && isOfPlatform && !isMessageLink(asked) ? " in this chat" : ""}: ${isOfPlatform ? "it was **never received**, or its record was deleted after the retention" : "there never was one, or its record was deleted after the retention"}.`,
      isOfPlatform &&
        "A platform may keep a message from the gateway: it was offline for too long, a permission or intent is missing, or the group has privacy mode. `/status` shows the state of each platform.",
      `Name a message by ${isLast ? "" : `${code("last")}, by `}an id that ${code("/runs")} or ${code("/outbox")} shows, or give this command as a reply to it${at ? ". A platform's id is looked up in this chat only" : ""}.`,
    ],
    data: { message: asked, found: false },
    outcome: "failed",
    buttons: [[commandButton("Last runs", "/runs"), commandButton("Status", "/status")]],
  });
}
