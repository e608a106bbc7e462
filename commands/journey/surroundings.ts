/** The surroundings of a message at this moment: the hooks at work on it, what it waits for, decisions of operators, and its origin. */

import { isCommandLane } from "../../src/domain/chat/command-lane.js";
import { addressOf } from "../../src/domain/chat/event.js";
import { isNotice, isOpenly, openlyId } from "../../src/domain/chat/openly.js";
import { noteText } from "../../src/domain/deliveries/given-up.js";
import { queueOf } from "../../src/domain/deliveries/outbox-queue.js";
import type { Cause } from "../../src/domain/journal.js";
import { rootOf } from "../../src/domain/journal.js";
import { type Delivery, type InboxRow, isUnderWay } from "../../src/domain/store.js";
import type { GatewayStatus, RouteCall, Turns } from "../../src/gateway/status.js";
import type { RunningHook } from "../../src/hooks/running.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { whyInChat } from "../automations/said.js";
import type { CommandDeps } from "../deps.js";
import { tries } from "../outbox/letter.js";
import { pausesOf } from "../outbox/pauses-of.js";
import { clockTime, code, plain } from "../show/text.js";
import { conversationText } from "../who.js";
import { type Decision, decisionsOn } from "./audit.js";
import { putOffs } from "./put-off.js";

/** Deliveries of a chat among which the blocker of another is looked for. */
const MAX_BEFORE = 200;
/** Dispatches of a message among which the last hook that put it off is looked for. */
const MAX_DISPATCHES = 200;

export interface Surroundings {
  /** Hooks that run for it now, the longest first. */
  running: readonly RunningHook[];
  /** The message at the head of its lane, when it waits behind another message. */
  ahead: InboxRow | undefined;
  /** By delivery: the delivery at the head of its queue, when it waits behind that. */
  blockers: ReadonlyMap<string, Delivery>;
  /**
   * An earlier process was cut off in work other than messages, and that work has its turn before the message. Markdown that names the
   * work.
   */
  turn: string | undefined;
  /** By open delivery: its pause, or that its platform is away. Markdown: `General is paused until 12:00:01 (in 3 s): 429`. */
  pauses: ReadonlyMap<string, string>;
  /** By delivery that expired untried: the delivery that its chat waited for until then. */
  blockedBy: ReadonlyMap<string, Delivery>;
  /** The decisions of operators about the message and its deliveries, oldest first. */
  decisions: readonly Decision[];
  /** Its edits and deletions, oldest first. */
  changes: readonly InboxRow[];
  /** The message at the head of the lane in which the last of its changes waits. */
  aheadOfChanges: InboxRow | undefined;
  /** By the id of a row that something of this waits for: the hook that put that row off. */
  putOffBy: ReadonlyMap<number, string>;
  /** The origin of the named delivery, when that is no message. */
  origin: Origin | undefined;
  /** The default route of a plugin has the message now. */
  route: RouteCall | undefined;
  /** Private words that could not be delivered, and no line in the room either, because an earlier message had led to that line. */
  unsaid: readonly { id: string; line: Delivery }[];
}

export interface Origin {
  /** Markdown: `hook x, run r_1 (fired by Ann)`. */
  text: string;
  hookId: string | undefined;
}

export async function surroundingsOf(
  deps: CommandDeps,
  row: InboxRow | undefined,
  own: Delivery | undefined,
  deliveries: readonly Delivery[],
  gone: readonly { id: string }[],
): Promise<Surroundings> {
  const { outbox } = deps.store;
  const blockers = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    if (delivery.status !== "waiting" && delivery.status !== "sending") continue;
    const head = await outbox.next(queueOf(delivery));
    if (head && head.id !== delivery.id) blockers.set(delivery.id, head);
  }
  const { turns } = await deps.status();
  const ahead = row?.status === "waiting" ? await aheadOf(deps, row, turns) : undefined;
  const changes = await changesOf(deps, row, own);
  const rows = row ? [row, ...changes] : changes;
  const roots = new Set([...rows.map(({ id }) => `m${id}`), ...deliveries.map(({ id }) => id)]);
  const waiting = changes.findLast(({ status }) => status === "waiting");
  const aheadOfChanges = waiting && (await aheadOf(deps, waiting, turns));
  return {
    running: deps.registry.running().filter(({ dispatchId }) => roots.has(rootOf(dispatchId))),
    ahead,
    turn: row && turns?.waiting.includes(`m${row.id}`) ? turnText(turns) : undefined,
    blockers,
    pauses: await pauseTextsOf(deps, deliveries, turns),
    blockedBy: await blockedByOf(deps, deliveries),
    decisions: await decisionsOn(deps, row, deliveries, gone),
    changes,
    aheadOfChanges,
    putOffBy: await putOffByOf(deps, [ahead, aheadOfChanges]),
    route: row?.status === "running" ? await routeOf(deps, row) : undefined,
    unsaid: await unsaidOf(deps, row, deliveries),
    origin: own && (await originOf(deps, own, row)),
  };
}

/** On disk it counts as started until it is settled. */
export function asItWaits<Row extends InboxRow>(row: Row, turns: Turns | undefined): Row {
  return turns?.waiting.includes(`m${row.id}`) ? { ...row, status: "waiting" } : row;
}

/** The message that this one waits for: the head of its lane; for the head itself, the message whose turn it is. */
async function aheadOf(
  { store: { inbox } }: CommandDeps,
  row: InboxRow,
  turns: Turns | undefined,
): Promise<InboxRow | undefined> {
  const [head] = await inbox.lane(row.lane, 0, 1);
  if (head !== undefined && head.id !== row.id) return asItWaits(head, turns);
  const [, current] = /^m(\d+)$/.exec(turns?.current ?? "") ?? [];
  return current === undefined || !turns?.waiting.includes(`m${row.id}`) ? undefined : inbox.get(Number(current));
}

/** In the middle of a sentence. */
const turnText = ({ current }: Turns): string =>
  current === undefined ? "what else the end of the process cut off" : `${code(current)}, about which hooks decide now`;

async function routeOf(deps: CommandDeps, { id }: InboxRow): Promise<RouteCall | undefined> {
  const { routed } = await deps.status();
  return routed.find(({ messageId, forMs }) => messageId === `m${id}` && forMs !== undefined);
}

/** In the middle of a sentence. */
export const routeText = ({ plugin, forMs = 0 }: RouteCall) =>
  `the default route of the plugin ${code(plugin)} has been running for ${formatDuration(forMs)}`;

async function putOffByOf(
  { store: { journal } }: CommandDeps,
  heads: readonly (InboxRow | undefined)[],
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const head of heads) {
    if (head?.status !== "deferred" || head.error !== undefined) continue;
    const last = putOffs(await journal.list({ of: `m${head.id}`, limit: MAX_DISPATCHES }))[0];
    if (last) found.set(head.id, last.hookId);
  }
  return found;
}

/** For each delivery, the last to end of the pauses that it waits for; otherwise, that its platform is away. */
async function pauseTextsOf(
  deps: CommandDeps,
  deliveries: readonly Delivery[],
  turns: Turns | undefined,
): Promise<ReadonlyMap<string, string>> {
  const now = deps.clock.now();
  const found = new Map<string, string>();
  for (const delivery of deliveries) {
    if (turns?.waiting.includes(delivery.id)) {
      const current = turns.current === undefined ? "what else was cut off" : code(turns.current);
      found.set(delivery.id, `the end of the process cut off its hooks, and they are called again after ${current}`);
      continue;
    }
    const [pause] = await pausesOf(deps, delivery);
    if (pause === undefined) {
      const away = isUnderWay(delivery) ? awayText(await deps.status(), delivery) : undefined;
      if (away !== undefined) found.set(delivery.id, away);
      continue;
    }
    const { key, until, reason } = pause;
    const length = `until ${clockTime(until, now)} (in ${formatDuration(until - now)})`;
    found.set(delivery.id, `${conversationText(deps, key)} is paused ${length}: ${plain(reason, 160)}`);
  }
  return found;
}

function awayText({ adapters }: GatewayStatus, { address }: Delivery): string | undefined {
  const { phase, reason, isSending } = adapters.find(({ platform }) => platform === address.platform) ?? {};
  if (phase === undefined || phase === "online" || isSending) return undefined;
  return `${address.platform} is ${phase}${reason === undefined ? "" : `: ${plain(reason, 160)}`}`;
}

/** Deliveries of one chat go in their order: a delivery that expired untried waited for the one that was settled just before it. */
async function blockedByOf(
  { store }: CommandDeps,
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<string, Delivery>> {
  const found = new Map<string, Delivery>();
  for (const own of deliveries) {
    const { id, seq, status, conversation, expiresAt, settledAt } = own;
    if (status !== "dead" || tries(own) > 0 || expiresAt === undefined || settledAt === undefined) continue;
    const before = (await store.outbox.list({ conversation, limit: MAX_BEFORE })).filter(
      (other) =>
        other.seq < seq &&
        queueOf(other) === queueOf(own) &&
        other.settledAt !== undefined &&
        other.settledAt >= expiresAt &&
        other.settledAt <= settledAt &&
        tries(other) > 0,
    );
    const [last] = before.sort((a, b) => (b.settledAt ?? 0) - (a.settledAt ?? 0));
    if (last) found.set(id, last);
  }
  return found;
}

async function unsaidOf(
  { store }: CommandDeps,
  row: InboxRow | undefined,
  deliveries: readonly Delivery[],
): Promise<Surroundings["unsaid"]> {
  const found: { id: string; line: Delivery }[] = [];
  for (const delivery of deliveries) {
    const lineId = delivery.status === "cancelled" || delivery.status === "dead" ? openlyId(delivery) : undefined;
    const line = lineId === undefined ? undefined : await store.outbox.get(lineId);
    if (row && line && line.cause.id !== delivery.cause.id && delivery.parts.length > 0)
      found.push({ id: delivery.id, line });
  }
  return found;
}

/** The edits and deletions of the message that was named: a person's, or the gateway's own. */
export async function changesOf({ store }: CommandDeps, row: InboxRow | undefined, own: Delivery | undefined) {
  if (own) {
    const id = own.parts.find(({ messageId }) => messageId !== undefined)?.messageId;
    return id === undefined ? [] : store.inbox.changesOf(own.address, id);
  }
  return row?.event.kind === "message" ? store.inbox.changesOf(addressOf(row.event), row.event.message.messageId) : [];
}

/** Undefined for an answer to a message: the path of the message shows that. */
async function originOf(deps: CommandDeps, own: Delivery, row: InboxRow | undefined): Promise<Origin | undefined> {
  const { kind, id }: Cause = own.cause;
  const role = ownWordText(own, row);
  if (role !== undefined) return { text: `the gateway itself: ${role}`, hookId: undefined };
  switch (kind) {
    case "alert":
      return { text: `alert ${code(id)}`, hookId: undefined };
    case "task":
      return { text: `task ${code(id)}`, hookId: undefined };
    case "command":
    case "api":
    case "adapter":
      return { text: `${kind === "api" ? "a request to the API" : `${kind} ${code(id)}`}`, hookId: undefined };
    case "hook":
    case "agent":
    case "file":
      return own.plugin === undefined ? ofRun(deps, id, own.id) : ofPlugin(own.plugin, row);
    default:
      return undefined;
  }
}

/** A notice about a reply, or about words that were passed on: those have the cause of what they are about. */
export const isOwnNotice = ({ id, cause }: Pick<Delivery, "id" | "cause">): boolean =>
  (cause.kind === "reply" || cause.kind === "forward") && (isNotice(id) || isOpenly(id));

/** The kind of a delivery of the gateway's own words; undefined for an answer. */
export function ownWordText({ id, cause, targetId = id }: Delivery, row: InboxRow | undefined): string | undefined {
  if (row !== undefined && isOwnNotice({ id, cause })) return "a notice to the author";
  if (cause.kind !== "command" || row === undefined) return undefined;
  const note = noteText(targetId);
  if (note !== undefined) return note;
  const about = row.outcome === "unrouted" ? `a note that no hook answered ${code(`m${row.id}`)}` : "a note";
  const isAnswer = row.outcome === "command" || row.outcome === "form";
  if (isOpenly(id))
    return `${isAnswer ? "a line" : about}, in the room because the private ${isAnswer ? "answer" : "note"} could not be delivered`;
  if (isNotice(id)) return "a notice about the answer";
  return isAnswer || id !== `d_m${row.id}a` ? undefined : about;
}

function ofPlugin(plugin: string, row: InboxRow | undefined): Origin {
  return { text: `plugin ${code(plugin)}${row ? `, because of ${code(`m${row.id}`)}` : ""}`, hookId: undefined };
}

async function ofRun({ automations, store }: CommandDeps, id: string, deliveryId: string): Promise<Origin> {
  const configured = await automations?.runs.get(id);
  if (configured) {
    const inChat = whyInChat(configured, deliveryId);
    return {
      text: `hook ${code(configured.hookId)}, run ${code(id)} (${plain(configured.reason)})${inChat === undefined ? "" : `, ${inChat}`}`,
      hookId: configured.hookId,
    };
  }
  const run = (await store.journal.getByRun(id))?.runs.find((one) => one.id === id);
  if (run) return { text: `hook ${code(run.hookId)}, run ${code(id)}`, hookId: run.hookId };
  const [, plugin] = /^plugin:(.+)$/.exec(id) ?? [];
  return {
    text: plugin === undefined ? `a hook, because of ${code(id)}` : `plugin ${code(plugin)}`,
    hookId: undefined,
  };
}

/** `` `slow` has been running at `inbound_claim` for 2 s ``, for each. */
export function runningText(running: readonly RunningHook[]): string {
  return running
    .map(({ hookId, point, forMs, waitedMs, waitsUnder }) => {
      if (waitsUnder !== undefined)
        return `${code(hookId)} waits for its turn at ${code(point)} (${code(waitsUnder)}), for ${formatDuration(forMs)}`;
      return `${code(hookId)} has been running at ${code(point)} for ${formatDuration(forMs - waitedMs)}`;
    })
    .join(", ");
}

/** The present state of one hook: `is running now, for 2 s`. */
export function runningNowText({ forMs, waitedMs, waitsUnder }: RunningHook): string {
  if (waitsUnder === undefined) return `is **running now**, for ${formatDuration(forMs - waitedMs)}`;
  return `**waits for its turn** (${code(waitsUnder)}), for ${formatDuration(forMs)}`;
}

/** A message that is a command, as far as it could be read when it came. */
export const isInCommandLane = ({ lane }: InboxRow): boolean => isCommandLane(lane);
