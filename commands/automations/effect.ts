/** Texts about the fate of the deliveries that a run handed to the outbox; `fatesOf` decides the fate. */

import { DUE_POINT, NO_HERE, STARTED_STATUSES, toolCallsOf } from "../../src/domain/automation.js";
import { FATES, type Fate, fatesOf, handedOver, type Ran } from "../../src/domain/deliveries/fates.js";
import { watchDelivery } from "../../src/domain/deliveries/watch-delivery.js";
import { type DispatchRecord, type RunRecord, rootOf } from "../../src/domain/journal.js";
import type { Delivery } from "../../src/domain/store.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import type { CommandDeps } from "../deps.js";
import { storedId } from "../journey/background.js";
import { endText, goneText } from "../journey/why-not-reached.js";
import { nextStepText } from "../outbox/letter.js";
import { hasFailed, outcomeText } from "../runs/show-dispatch.js";
import { flushJournal } from "../show/flush-journal.js";
import { code, plain } from "../show/text.js";
import { conversationText, placeText } from "../who.js";
import { readableDispatch, readableEnd, readableLetter } from "./owner-only.js";
import { shownReason } from "./said.js";
import { statusText } from "./show-run.js";

const MAX_DISPATCHES = 20;

export interface Effect extends EffectData {
  /** In place of the outcome of a run that succeeded, when its decision was not carried out, not all was sent or tool calls failed. */
  instead: string | undefined;
  /** Sentences, in Markdown. */
  text: string;
  /** The message or delivery that the run was for, or the run. */
  of?: string;
}

/** The effect of a run as data for programs; a field is absent when the run has no such delivery. */
export interface EffectData {
  /** `isInDoubt`: the platform gave no clear answer, so people may have seen the message. */
  withheld?: { delivery: string; status: string; reason?: string | undefined; isInDoubt: boolean }[] | undefined;
  /** Deliveries that are not sent yet. */
  toSend?: string[] | undefined;
  /** Deliveries that were deleted after the retention. */
  notKnown?: string[] | undefined;
}

/**
 * Undefined when the decision of the run was carried out, every tool call went through, and every message that it posted was sent to its
 * destination. For a reply, each state is shown.
 */
export async function effectOf(deps: CommandDeps, context: CommandContext, ran: Ran): Promise<Effect | undefined> {
  const fates = await fatesOf(deps, ran);
  const readable = await Promise.all(fates.map((fate) => readableFate(deps, context, fate)));
  const sentences = [
    ...onlyComputedTexts(ran),
    ...(await sentencesOf(deps, context, readable)),
    ...toolCallTexts(ran),
    ...threadTexts(deps, ran),
    ...unansweredTexts(ran),
    ...leftRunningTexts(ran),
    ...(ran.attempts.at(-1)?.noHere ? [`⚠ ${NO_HERE}`] : []),
  ];
  if (sentences.length === 0) return undefined;
  return { instead: insteadFor(ran, fates), text: sentences.join("\n"), ...dataOf(readable) };
}

/** The fields of an effect for `--json` and the API. */
export const effectData = ({ withheld, toSend, notKnown }: EffectData = {}): EffectData => ({
  withheld,
  toSend,
  notKnown,
});

/** The effect of the last started run of this hook. Skipped runs do not count: they posted nothing. */
export async function lastEffect(
  deps: CommandDeps,
  context: CommandContext,
  hookId: string,
): Promise<Effect | undefined> {
  const [last] = (await deps.automations?.runs.list({ hookId, status: STARTED_STATUSES, limit: 1 })) ?? [];
  const effect = last && (await effectOf(deps, context, last));
  return effect && { ...effect, of: rootOf(last.id) };
}

/** The text in place of the outcome of a run in a dispatch, when not all of its deliveries were sent or tool calls failed. */
export async function insteadIn(
  deps: CommandDeps,
  dispatch: Pick<DispatchRecord, "id" | "at">,
  run: RunRecord,
): Promise<string | undefined> {
  const ran = await ranIn(deps, dispatch, run);
  return insteadFor(ran, await fatesOf(deps, ran));
}

/** By run: the text in place of its outcome. */
export async function insteadsIn(deps: CommandDeps, dispatch: DispatchRecord): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const run of dispatch.runs) {
    const instead = await insteadIn(deps, dispatch, run);
    if (instead !== undefined) found.set(run.id, instead);
  }
  return found;
}

/** By run: the fate of the deliveries that it handed to the outbox. */
export async function effectsIn(
  deps: CommandDeps,
  context: CommandContext,
  dispatch: DispatchRecord,
): Promise<ReadonlyMap<string, Effect>> {
  const found = new Map<string, Effect>();
  for (const run of dispatch.runs) {
    const effect = await effectIn(deps, context, dispatch, run);
    if (effect !== undefined) found.set(run.id, effect);
  }
  return found;
}

/** A paragraph for each run of which not all was sent. */
export function effectTexts({ runs }: DispatchRecord, effects: ReadonlyMap<string, Effect>): string[] {
  return runs.flatMap(({ id, hookId }) => {
    const effect = effects.get(id);
    return effect?.instead === undefined ? [] : [`${code(hookId)}: ${effect.text}`];
  });
}

/** The fate of the deliveries that the runs of one hook handed to the outbox, each text once. */
export async function effectsOf(
  deps: CommandDeps,
  context: CommandContext,
  runs: readonly { dispatch: DispatchRecord; run: RunRecord }[],
): Promise<string[]> {
  const texts = await Promise.all(
    runs.map(async ({ dispatch, run }) => (await effectIn(deps, context, dispatch, run))?.text),
  );
  return [...new Set(texts.filter((text) => text !== undefined))];
}

const effectIn = async (deps: CommandDeps, context: CommandContext, dispatch: DispatchRecord, run: RunRecord) =>
  effectOf(deps, context, await ranIn(deps, dispatch, run));

async function ranIn(
  { automations }: CommandDeps,
  { id, at }: Pick<DispatchRecord, "id" | "at">,
  run: RunRecord,
): Promise<Ran> {
  const stored = await automations?.runs.get(storedId(run.id));
  if (stored !== undefined) return stored;
  const status = hasFailed(run) || run.outcome === "skipped" ? "failed" : "succeeded";
  return { hookId: run.hookId, dispatchId: id, status, attempts: [], createdAt: at };
}

/** An answer is due within three seconds. */
const PATIENCE_MS = 2000;

/** Waits a while until the deliveries that the run handed to the outbox are sent or withheld. */
export async function untilSettled(
  deps: CommandDeps,
  { signal }: Pick<CommandContext, "signal">,
  ran: Ran,
): Promise<void> {
  const until = { withinMs: PATIENCE_MS, signal };
  const parts = { outbox: deps.store.outbox, clock: deps.clock };
  await Promise.all((await fatesOf(deps, ran)).map(({ id }) => watchDelivery(id, parts, until)));
}

/** The reasons may quote texts that the reader may not read. */
async function readableFate(deps: CommandDeps, context: CommandContext, fate: Fate): Promise<Fate> {
  const { id, delivery, purge } = fate;
  const was = purge?.was && (await readableEnd(deps, context, purge.was, { id }));
  return {
    ...fate,
    delivery: delivery && (await readableLetter(deps, context, delivery)),
    purge: purge && { ...purge, was },
  };
}

/** The words for the fate of all deliveries; undefined for sent ones. */
const WORDS: Readonly<Record<Fate["state"], { sign: string; words: string } | undefined>> = {
  withheld: { sign: "⊘", words: "not sent" },
  in_doubt: { sign: "⚠", words: "in doubt" },
  not_known: { sign: "⚠", words: "not known" },
  waiting: { sign: "⏳", words: "not sent yet" },
  sent: undefined,
};

function insteadFor(ran: Ran, fates: readonly Fate[]): string | undefined {
  const parts = [isOnlyComputed(ran) ? `${decidedText(ran)}${BY_HAND_MARK}` : undefined, unsentFor(ran, fates)];
  return parts.filter((part) => part !== undefined).join(", ") || undefined;
}

/** `✋ claimed` for a run that claimed; `✓ succeeded` for a run that let pass. */
export function decidedText({ status, decided }: Pick<Ran, "status" | "decided">): string {
  if (status !== "succeeded") return statusText(status);
  if (decided === "claim") return outcomeText("claimed");
  return decided === "modify" ? outcomeText("modified") : statusText(status);
}

/** Follows the decision of a run that nothing carried out. */
export const BY_HAND_MARK = " (by hand: not carried out)";

/** A person fired the hook alone, and nothing waited for its decision. */
function isOnlyComputed({ status, trigger, event, decided = "pass" }: Ran): boolean {
  const hasDecided = (status === "succeeded" || status === "blocked") && decided !== "pass";
  return hasDecided && trigger === "manual" && event !== DUE_POINT;
}

const NOT_DONE = {
  claim: "no message was claimed, and no reply was sent",
  modify: "nothing was changed",
  block: "nothing was blocked",
};

function onlyComputedTexts(ran: Ran): string[] {
  const { decided = "pass" } = ran;
  if (!isOnlyComputed(ran) || decided === "pass") return [];
  return [
    `⚠ It decided to **${decided}**. It was fired by hand, so this decision was only computed and **not carried out**: ${NOT_DONE[decided]}.`,
  ];
}

/** In place of the outcome of a run that succeeded, when not all was sent, tool calls failed or programs were ended. */
function unsentFor({ status, attempts }: Pick<Ran, "status" | "attempts">, fates: readonly Fate[]): string | undefined {
  if (status !== "succeeded") return undefined;
  const { calls, failed } = toolCallsOf(attempts.at(-1) ?? {});
  const ofCalls = [
    ...(failed.length === 0
      ? []
      : [calls.length === 1 ? "tool call failed" : `${failed.length} of ${calls.length} tool calls failed`]),
    ...(attempts.at(-1)?.leftRunning === undefined ? [] : ["what it left running was ended"]),
  ];
  const states = FATES.flatMap((state) => {
    const some = fates.filter((fate) => fate.state === state);
    return WORDS[state] && some.length > 0 ? [{ ...WORDS[state], some }] : [];
  });
  const [first] = states;
  if (first === undefined) return ofCalls.length === 0 ? undefined : [statusText(status), ...ofCalls].join(", ");
  if (first.some.length < fates.length)
    return [
      statusText(status),
      ...states.map(({ words, some }) => `${some.length} of ${fates.length} ${words}`),
      ...ofCalls,
    ].join(", ");
  const reply = first.some.every(({ what }) => what === "reply") ? "reply " : "";
  return [`${first.sign} ${reply}${first.words}`, ...ofCalls].join(", ");
}

function toolCallTexts(ran: Ran): string[] {
  const { calls, failed } = toolCallsOf(ran.attempts.at(-1) ?? {});
  if (failed.length === 0) return [];
  const which = calls.length === 1 ? "Its tool call" : `${failed.length} of its ${calls.length} tool calls`;
  const tools = [...new Set(failed.map(({ tool }) => code(tool)))].join(", ");
  return [`⚠ ${which} **failed**: ${tools}. The model got the error and continued.`];
}

function leftRunningTexts({ attempts }: Ran): string[] {
  const { leftRunning } = attempts.at(-1) ?? {};
  if (leftRunning === undefined) return [];
  const names = [...new Set(leftRunning)].map(code).join(", ");
  return [
    `⚠ Its program ended and left ${names} running in the background. The gateway **ended** that, so its work may not be done: have the program wait for it (\`wait\`), or start it by a service manager.`,
  ];
}

async function sentencesOf(deps: CommandDeps, context: CommandContext, fates: readonly Fate[]): Promise<string[]> {
  const text = (fate: Fate) => fateText(deps, context, fate);
  const isReply = ({ what }: Fate) => what === "reply";
  const withheld = fates.filter(({ state, what }) => state === "withheld" && what !== "reply");
  const none = withheld.length === fates.length ? "It had **no effect**" : "A part had **no effect**";
  const unsent = await Promise.all(withheld.map(text));
  const replies = fates.filter(isReply).filter(({ state }) => state !== "in_doubt" && state !== "not_known");
  return [
    ...(unsent.length === 0 ? [] : [`⊘ ${none}: ${unsent.join("; ")}.`]),
    ...(await Promise.all(
      replies.map(async (fate) =>
        fate.state === "withheld"
          ? `⊘ It claimed the message, and **no one got a reply**: ${await text(fate)}.`
          : `It claimed the message; ${await text(fate)}.`,
      ),
    )),
    ...fates.filter(({ state }) => state === "in_doubt").map((fate) => inDoubtText(deps, fate)),
    ...fates
      .filter(({ state }) => state === "not_known")
      .map(
        ({ what, id }) =>
          `⚠ What became of its ${what} ${code(id)} is **not known**: its record was deleted after the retention.`,
      ),
    ...fates
      .filter((fate) => fate.state === "waiting" && !isReply(fate))
      .map(
        ({ what, id, delivery }) =>
          `⏳ Its ${what} ${code(id)}${toText(deps, delivery)} was handed to the outbox and is **not sent yet**: ${code(`/outbox show ${id}`)} shows what became of it.`,
      ),
  ];
}

/** `its message d_m5r to General is **cancelled** by redact: no prices`. */
async function fateText(deps: CommandDeps, context: CommandContext, { id, what, delivery, purge }: Fate) {
  await flushJournal(deps); // which hook withheld it is in the journal
  const found = await deps.store.journal.list({ of: id, limit: MAX_DISPATCHES });
  const dispatches = await Promise.all(found.map((one) => readableDispatch(deps, context, one)));
  if (delivery === undefined)
    return `its ${what} ${goneText({ id, purge }, dispatches, deps.clock.now()).replace(/\.$/, "")}`;
  const step = nextStepText(delivery);
  return `its ${what} ${code(id)}${toText(deps, delivery)} is ${endText(delivery, dispatches)}${step === undefined ? "" : `; ${step}`}`;
}

const toText = (deps: CommandDeps, delivery: Delivery | undefined) =>
  delivery === undefined ? "" : ` ${delivery.operation === "edit" ? "in" : "to"} ${placeText(deps, delivery.address)}`;

function inDoubtText(deps: CommandDeps, { id, what, delivery, purge }: Fate): string {
  const end =
    purge !== undefined
      ? ` ${goneText({ id, purge }, [], deps.clock.now())}`
      : delivery?.status === "held"
        ? ` It is held until an operator decides: ${code(`/outbox show ${id}`)}.`
        : ` ${code(`/outbox show ${id}`)} shows it.`;
  return `⚠ Whether its ${what} ${code(id)}${toText(deps, delivery)} arrived is **not known**.${end}`;
}

/** A message that was to go to a thread, and went to the chat. */
function threadTexts(deps: CommandDeps, ran: Ran): string[] {
  return handedOver(ran).flatMap(({ to, noThread }) =>
    noThread === undefined
      ? []
      : [
          `⚠ Its message${to === undefined ? "" : ` to ${conversationText(deps, to)}`} went to the chat itself: ${shownReason(noThread)}`,
        ],
  );
}

/** Names the steps whose condition could not decide whether there is something to do. */
export const unansweredTexts = ({ attempts }: Pick<Ran, "attempts">): string[] =>
  (attempts.at(-1)?.steps ?? []).flatMap(({ step, unanswered }, index) =>
    unanswered === undefined
      ? []
      : [
          `⚠ ${code("skip_if")} of ${code(`steps[${index}]`)} ${step} had **no answer**, so it did not skip the run: ${plain(unanswered)}.`,
        ],
  );

function dataOf(fates: readonly Fate[]): EffectData {
  const withheld = fates.flatMap(({ id, state, delivery, purge }) => {
    if (state !== "withheld" && state !== "in_doubt") return [];
    const { status, reason } = delivery ?? { status: "purged", reason: purge?.was?.reason };
    return [{ delivery: id, status, reason, isInDoubt: state === "in_doubt" }];
  });
  const idsIn = (state: Fate["state"]) => fates.filter((fate) => fate.state === state).map(({ id }) => id);
  return {
    withheld: someOf(withheld),
    toSend: someOf(idsIn("waiting")),
    notKnown: someOf(idsIn("not_known")),
  };
}

const someOf = <T>(found: T[]): T[] | undefined => (found.length === 0 ? undefined : found);
