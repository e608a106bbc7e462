/** What became of the messages that a run posted, and of the reply of a claim: a run ends before they are sent, and hooks or operators may withhold them. */
import { type AutomationRun, STARTED_STATUSES, type ToolCallRecord } from "../../src/domain/automation.js";
import { answerId, type DispatchRecord, REPLY_MARK, type RunRecord } from "../../src/domain/journal.js";
import { type Delivery, type InboxRow, isUnderWay } from "../../src/domain/store.js";
import { watchDelivery } from "../../src/domain/watch-delivery.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { catchUp } from "../catch-up.js";
import type { CommandDeps } from "../deps.js";
import { purgeOf } from "../journey/audit.js";
import { endText, goneText } from "../journey/why-not-reached.js";
import { isAmbiguous } from "../outbox/letter.js";
import { code } from "../text.js";
import { conversationText, placeText } from "../who.js";
import { readableLetter } from "./owner-only.js";
import { saidBy, shownReason } from "./said.js";
import { statusText } from "./show-run.js";

const WITHHELD: ReadonlySet<string> = new Set(["cancelled", "suppressed", "held", "dead"]);
const MAX_DISPATCHES = 20;
/** The tool with which a model decides. */
const DECIDE = "decide";

export interface Effect {
  /** In place of the status. */
  outcome: string;
  /** Sentences, in Markdown. */
  text: string;
  /** `isInDoubt`: the platform gave no clear answer, so people may have seen the message. */
  withheld: { delivery: string; status: string; reason: string | undefined; isInDoubt: boolean }[];
}

/** Undefined when every tool call went through, and every message that it posted was sent, or is on its way, to where it was to go. Of a reply, each state is shown. */
export async function effectOf(
  deps: CommandDeps,
  context: CommandContext,
  run: AutomationRun,
): Promise<Effect | undefined> {
  const reply = run.dispatchId === undefined ? undefined : await replyOf(deps, context, run.hookId, run.dispatchId);
  return reply === undefined ? postEffect(deps, context, run) : replyEffect(deps, run, reply);
}

/** Of the last run of this hook that was started: one that was skipped after it posted nothing. */
export async function lastEffect(
  deps: CommandDeps,
  context: CommandContext,
  hookId: string,
): Promise<Effect | undefined> {
  const [last] = (await deps.automations?.runs.list({ hookId, status: STARTED_STATUSES, limit: 1 })) ?? [];
  return last && effectOf(deps, context, last);
}

/** What stands in place of the outcome when a message was withheld. */
export const withheldOutcome = (effect: Effect | undefined): string | undefined =>
  effect !== undefined && effect.withheld.length > 0 ? effect.outcome : undefined;

/** An answer is due within three seconds. */
const PATIENCE_MS = 2000;

/** Waits a while until what the run posted is sent or withheld. Gives what is still to be sent. */
export async function postsToSend(
  { store, clock }: CommandDeps,
  { signal }: CommandContext,
  run: AutomationRun,
): Promise<Delivery[]> {
  const until = { withinMs: PATIENCE_MS, signal };
  const posts = await Promise.all(postsOf(run).map((id) => watchDelivery(id, { outbox: store.outbox, clock }, until)));
  return posts.filter((one) => one !== undefined).filter(isUnderWay);
}

/** `` Its message `d_1` to General is handed to the outbox and not sent yet ``, for each. */
export function toSendText(deps: CommandDeps, posts: readonly Delivery[]): string {
  return posts
    .map(
      ({ id, address }) =>
        `⏳ Its message ${code(id)} to ${placeText(deps, address)} was handed to the outbox and is **not sent yet**: ${code(`/outbox show ${id}`)} shows what became of it.`,
    )
    .join("\n");
}

interface RanIn {
  dispatch: DispatchRecord;
  run: RunRecord;
  stored: AutomationRun | undefined;
}

/** What became of what the runs of one hook posted, and of the reply of its claim. */
export async function effectsOf(
  deps: CommandDeps,
  context: CommandContext,
  ran: readonly RanIn[],
): Promise<(string | undefined)[]> {
  // An attempt of a background run has the id of the run and its number.
  const ids = new Set(ran.map(({ run, stored }) => stored?.id ?? run.id.replace(/(\/\d+):\d+\b.*$/, "$1")));
  const runs = await Promise.all([...ids].map((id) => deps.automations?.runs.get(id)));
  const known = runs.filter((run) => run !== undefined);
  const effects = await Promise.all(known.map((run) => effectOf(deps, context, run)));
  const last = ran.at(-1);
  const isPlugin = last !== undefined && known.every(({ dispatchId }) => dispatchId !== last.dispatch.id);
  const reply = isPlugin ? await replyOf(deps, context, last.run.hookId, last.dispatch.id) : undefined;
  return [
    ...effects.map((effect) => effect?.text),
    reply && (await replyText(deps, reply)),
    last && (await purgedReplyText(deps, last.run.hookId, last.dispatch.id)),
  ];
}

/** What the hook answered when it claimed a message in this dispatch. The run of a claim ends before its reply is in the outbox. */
async function replyOf(
  deps: CommandDeps,
  context: CommandContext,
  hookId: string,
  dispatchId: string,
): Promise<Delivery | undefined> {
  const claimed = await claimedIn(deps, hookId, dispatchId);
  const reply = claimed && (await deps.store.outbox.get(answerId(`m${claimed.id}`, REPLY_MARK)));
  return reply && readableLetter(deps, context, reply);
}

/** The message that the hook claimed in this dispatch. */
async function claimedIn({ store }: CommandDeps, hookId: string, dispatchId: string): Promise<InboxRow | undefined> {
  const [, id] = /^m(\d+):inbound_claim\b/.exec(dispatchId) ?? [];
  const row = id === undefined ? undefined : await store.inbox.get(Number(id));
  return row?.claimedBy === hookId ? row : undefined;
}

/** An operator deleted the reply: only what was not sent can be deleted. */
async function purgedReplyText(deps: CommandDeps, hookId: string, dispatchId: string): Promise<string | undefined> {
  const row = await claimedIn(deps, hookId, dispatchId);
  if (row === undefined) return undefined;
  const id = answerId(`m${row.id}`, REPLY_MARK);
  const purge = (await deps.store.outbox.get(id)) ? undefined : await purgeOf(deps, id, row.receivedAt);
  if (purge === undefined) return undefined;
  const dispatches = await deps.store.journal.list({ of: id, limit: MAX_DISPATCHES });
  return `⊘ It claimed the message, and **no one got a reply**: ${goneText({ id, purge }, dispatches, deps.clock.now())}`;
}

async function replyEffect(deps: CommandDeps, run: AutomationRun, reply: Delivery): Promise<Effect> {
  const isWithheld = WITHHELD.has(reply.status);
  const instead = isAmbiguous(reply) ? "⚠ reply in doubt" : "⊘ reply not sent";
  return {
    outcome: isWithheld && run.status === "succeeded" ? instead : statusText(run.status),
    text: await replyText(deps, reply),
    withheld: isWithheld ? [withheldData(reply)] : [],
  };
}

async function replyText(deps: CommandDeps, reply: Delivery): Promise<string> {
  if (isAmbiguous(reply)) return inDoubtText(deps, reply, "reply");
  const text = `its reply ${await fateText(deps, reply)}.`;
  return WITHHELD.has(reply.status)
    ? `⊘ It claimed the message, and **no one got a reply**: ${text}`
    : `It claimed the message; ${text}`;
}

async function postEffect(deps: CommandDeps, context: CommandContext, run: AutomationRun): Promise<Effect | undefined> {
  const said = saidBy(run);
  const found = await Promise.all(postsOf(run).map((id) => deps.store.outbox.get(id)));
  const ends = found.filter((one) => one !== undefined).filter(({ status }) => WITHHELD.has(status));
  const withheld = await Promise.all(ends.map((one) => readableLetter(deps, context, one)));
  const threadless = said.flatMap(({ to, noThread }) => (noThread === undefined ? [] : [{ to, noThread }]));
  const calls = toolCallsOf(run);
  const failed = calls.filter(({ error }) => error !== undefined);
  if (withheld.length === 0 && threadless.length === 0 && failed.length === 0) return undefined;
  const inDoubt = withheld.filter(isAmbiguous);
  const unsent = withheld.filter((one) => !isAmbiguous(one));
  const lines = await Promise.all(unsent.map(async (delivery) => `its message ${await fateText(deps, delivery)}`));
  const sentences = [
    ...(unsent.length === 0
      ? []
      : [
          `⊘ ${unsent.length === found.length ? "It had **no effect**" : "A part had **no effect**"}: ${lines.join("; ")}.`,
        ]),
    ...inDoubt.map((delivery) => inDoubtText(deps, delivery, "message")),
    ...(failed.length === 0
      ? []
      : [
          `⚠ ${calls.length === 1 ? "Its tool call" : `${failed.length} of its ${calls.length} tool calls`} **failed**: ${[...new Set(failed.map(({ tool }) => code(tool)))].join(", ")}. The model was told, and went on.`,
        ]),
    ...threadless.map(
      ({ to, noThread }) =>
        `⚠ Its message${to === undefined ? "" : ` to ${conversationText(deps, to)}`} went to the chat itself: ${shownReason(noThread)}`,
    ),
  ];
  return {
    outcome: outcomeOf(run, {
      ...{ unsent: unsent.length, inDoubt: inDoubt.length, all: found.length },
      ...{ failed: failed.length, calls: calls.length },
    }),
    text: sentences.join("\n"),
    withheld: withheld.map(withheldData),
  };
}

/** The messages that it posted. */
function postsOf(run: AutomationRun): string[] {
  const posts = saidBy(run).flatMap(({ delivery, edited }) => (delivery === undefined || edited ? [] : [delivery]));
  return [...new Set(posts)];
}

/** Of the attempt that counts, without the tool of the decision: what was decided is the outcome of the run. */
function toolCallsOf({ attempts }: AutomationRun): ToolCallRecord[] {
  return (attempts.at(-1)?.toolCalls ?? []).filter(({ tool }) => tool !== DECIDE);
}

/** `d_m5r to General is **cancelled** by redact: no prices`. */
async function fateText(deps: CommandDeps, delivery: Delivery): Promise<string> {
  await catchUp(deps); // which hook withheld it is in the journal
  const dispatches = await deps.store.journal.list({ of: delivery.id, limit: MAX_DISPATCHES });
  return `${code(delivery.id)} to ${placeText(deps, delivery.address)} is ${endText(delivery, dispatches)}`;
}

function inDoubtText(deps: CommandDeps, { id, address }: Delivery, what: "message" | "reply"): string {
  return `⚠ Whether its ${what} ${code(id)} to ${placeText(deps, address)} arrived is **not known**. It is held until an operator decides: ${code(`/outbox show ${id}`)}.`;
}

function withheldData(delivery: Delivery): Effect["withheld"][number] {
  const { id, status, reason } = delivery;
  return { delivery: id, status, reason, isInDoubt: isAmbiguous(delivery) };
}

interface EffectCount {
  unsent: number;
  inDoubt: number;
  /** Messages. */
  all: number;
  failed: number;
  calls: number;
}

function outcomeOf({ status }: AutomationRun, { unsent, inDoubt, all, failed, calls }: EffectCount): string {
  if (status !== "succeeded") return statusText(status);
  if (failed > 0 && failed === calls && all === 0) return `⊘ tool call${calls === 1 ? "" : "s"} failed`;
  const ofCalls = failed === 0 ? [] : [calls === 1 ? "tool call failed" : `${failed} of ${calls} tool calls failed`];
  if (unsent > 0 && unsent === all) return ["⊘ not sent", ...ofCalls].join(", ");
  if (inDoubt > 0 && inDoubt === all) return ["⚠ in doubt", ...ofCalls].join(", ");
  const parts = [
    ...(unsent === 0 ? [] : [`${unsent} of ${all} not sent`]),
    ...(inDoubt === 0 ? [] : [`${inDoubt} of ${all} in doubt`]),
  ];
  return [statusText(status), ...parts, ...ofCalls].join(", ");
}
