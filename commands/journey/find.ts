/**
 * Finds all that is known of one message by the name that a person gives (an id of the gateway, an id of the platform, `last`, a reply):
 * its row in the inbox, the deliveries because of it, and the firings.
 */

import { type Address, formatAddress } from "../../src/domain/chat/address.js";
import { addressOf, conversationOf, type InboundEvent } from "../../src/domain/chat/event.js";
import { madeBy } from "../../src/domain/deliveries/fates.js";
import { type Purge, purgeOf } from "../../src/domain/deliveries/purges.js";
import { type DispatchRecord, rootOf } from "../../src/domain/journal.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";
import { code } from "../show/text.js";
import { MAX_RUNS, type OnRecord, storedRunsOf } from "./background.js";
import { correctionsOf, editsOf, isNote, lastChangesOf, laterChanges } from "./corrections.js";
import { isBecauseOf, isLedTo, ledToAt, withTasks } from "./led-to.js";
import {
  asItWaits,
  changesOf,
  isInCommandLane,
  isOwnNotice,
  type Surroundings,
  surroundingsOf,
} from "./surroundings.js";

/** How many dispatches of one message or delivery are read. */
const MAX_DISPATCHES = 50;
/** How many rows of the inbox are read at once for `last`, and how often: a chat may have edits and reactions alone for long. */
const LAST_ROWS = 10;
const MAX_READS = 500;
/** The ends of the ids of answers, notes, copies and early answers. Their rows may be purged while the journal knows them. */
const MARKS = ["r", "a", "f", "p"];

export type Journey = Path & Surroundings & OnRecord;

interface Path {
  /** The name that the person gave. */
  asked: string;
  /** The gateway's own id of it; the given name when the queues do not have it. */
  id: string;
  /** The inbox row; absent for messages that the gateway sent on its own, and when the row was deleted. */
  row: InboxRow | undefined;
  /** The gateway's own message, when that was named. */
  own: Delivery | undefined;
  /**
   * The deliveries because of `row`: the answers, its corrections and deletion, then the posts of hooks, each oldest first; `own` and its
   * last edits when `own` was named.
   */
  deliveries: readonly Delivery[];
  /** Oldest first. */
  dispatches: readonly DispatchRecord[];
  gone: readonly Gone[];
  /** Messages and deliveries all of whose dispatches were asked for; empty where one dispatch was named. */
  roots: readonly string[];
}

/** A delivery, or the message itself, that was there, and that the queues no longer have. */
export interface Gone {
  id: string;
  /** By which an operator deleted it; undefined when the retention did. */
  purge: Purge | undefined;
}

export interface Candidate {
  id: string;
  conversation: string;
  address?: Address;
  at: number;
  /** The author; absent for messages that the gateway sent. */
  by?: string;
}

/** A delivery that was named, and that the message never led to. */
export interface NoDelivery {
  kind: "no delivery";
  id: string;
  row: InboxRow;
  /** The deliveries that the message led to. */
  deliveryIds: readonly string[];
}

type FoundAs<What> =
  | { kind: "found"; journey: What }
  /** Several chats have this id of a platform; the person asked outside of any. */
  | { kind: "several"; places: Candidate[] }
  | NoDelivery
  | { kind: "none" };
type Found = FoundAs<Omit<Path, "id">>;

/**
 * After `flushJournal`. `at`: the chat in which the person asked; a platform's id holds for that chat only. `point`: the firings there that
 * the message led to are read, too.
 */
export async function findJourney(
  deps: CommandDeps,
  at: Address | undefined,
  asked: string,
  point?: string,
): Promise<FoundAs<Journey>> {
  const found = await find(deps, at, asked);
  if (found.kind !== "found") return found;
  const { turns } = await deps.status();
  const row = found.journey.row && asItWaits(found.journey.row, turns);
  const { own, deliveries, gone } = found.journey;
  const journey = await withLedTo(deps, { ...found.journey, row }, point);
  const surroundings = await surroundingsOf(deps, row, own, deliveries, gone);
  const ledTo = deps.registry
    .running()
    .filter((one) => one.point === point && isLedTo(point) && isBecauseOf(journey.roots, one.dispatchId, one.cause));
  return {
    kind: "found",
    journey: {
      ...journey,
      id: own?.id ?? (row ? `m${row.id}` : asked),
      ...surroundings,
      running: [...surroundings.running, ...ledTo],
      ...(await storedRunsOf(deps, journey.dispatches, journey.roots)),
    },
  };
}

/** With the firings at the point that the message led to, where that is no point of its own path. */
async function withLedTo(
  deps: CommandDeps,
  journey: Omit<Path, "id">,
  point: string | undefined,
): Promise<Omit<Path, "id">> {
  if (point === undefined || !isLedTo(point) || journey.roots.length === 0) return journey;
  const { row, own, dispatches } = journey;
  const roots = withTasks(journey.roots);
  const since = row?.receivedAt ?? own?.createdAt ?? dispatches[0]?.at ?? 0;
  return { ...journey, roots, dispatches: merged([...dispatches, ...(await ledToAt(deps, point, roots, since))]) };
}

async function find(deps: CommandDeps, at: Address | undefined, asked: string): Promise<Found> {
  const { inbox, outbox, journal } = deps.store;
  if (asked.toLowerCase() === "last") return ofRow(deps, asked, await lastMessage(deps, at));
  const [, rowId] = /^m(\d{1,15})(?=$|[:/])/.exec(asked) ?? [];
  const [deliveryId] = /^d_[^:/]+(?=$|[:/])/.exec(asked) ?? [];
  if (rowId !== undefined) {
    const row = await inbox.get(Number(rowId));
    if (row) return ofRow(deps, asked, row);
  }
  if (deliveryId !== undefined) {
    const delivery = await outbox.get(deliveryId);
    if (delivery) return ofDelivery(deps, asked, delivery);
  }
  const dispatch = (await journal.get(asked)) ?? (await journal.getByRun(asked));
  if (dispatch) return ofDispatch(deps, asked, dispatch);
  const [, answered] = /^d_(m\d{1,15})[a-z]/.exec(deliveryId ?? "") ?? [];
  const cause = answered === undefined ? undefined : await inbox.get(Number(answered.slice(1)));
  if (cause && deliveryId !== undefined) return ofMissing(deps, asked, cause, deliveryId);
  // A task that a hook vetoed at its creation is in the journal alone.
  const isTask = /^t_[^:/]+$/.test(asked);
  const isFiring = /^f_[^:/]+$/.test(asked);
  if (rowId !== undefined || deliveryId !== undefined || isTask || isFiring)
    return ofJournal(deps, asked, { of: rootOf(asked) });
  return at === undefined ? anywhere(deps, asked) : inChat(deps, asked, at);
}

/** The newest message in the chat that is no command; of all chats when it was asked in none. */
async function lastMessage({ store }: CommandDeps, at: Address | undefined): Promise<InboxRow | undefined> {
  // A message that is no command waits in the lane that has the chat's name.
  const where = at === undefined ? {} : { lane: formatAddress(at) };
  let before = Number.MAX_SAFE_INTEGER;
  for (let reads = 0; reads < MAX_READS; reads++) {
    const rows = await store.inbox.list({ ...where, before, limit: LAST_ROWS });
    const last = rows.find((row) => row.event.kind === "message" && row.outcome !== "command" && !isInCommandLane(row));
    const oldest = rows.at(-1);
    if (last || oldest === undefined || rows.length < LAST_ROWS) return last;
    before = oldest.id;
  }
  return undefined;
}

async function inChat(deps: CommandDeps, asked: string, at: Address): Promise<Found> {
  const row = await deps.store.inbox.find(at, asked);
  if (row) return ofRow(deps, asked, row);
  const delivery = await deps.store.outbox.findByMessage(at, asked);
  if (delivery) return ofDelivery(deps, asked, delivery);
  return ofJournal(deps, asked, { messageId: asked, conversation: formatAddress(at) });
}

async function anywhere(deps: CommandDeps, asked: string): Promise<Found> {
  const rows = await deps.store.inbox.findAll(asked);
  const deliveries = await deps.store.outbox.findAllByMessage(asked);
  const places = [
    ...rows.map((row): Candidate => {
      const by = "message" in row.event ? (row.event.message.displayName ?? row.event.message.userId) : undefined;
      return {
        id: `m${row.id}`,
        conversation: conversationOf(row.event),
        address: addressOf(row.event),
        at: row.receivedAt,
        by,
      };
    }),
    ...deliveries.map(
      ({ id, conversation, address, createdAt }): Candidate => ({ id, conversation, address, at: createdAt }),
    ),
  ];
  if (places.length > 1) return { kind: "several", places };
  if (rows[0]) return ofRow(deps, asked, rows[0]);
  if (deliveries[0]) return ofDelivery(deps, asked, deliveries[0]);
  return ofJournal(deps, asked, { messageId: asked });
}

async function ofRow(deps: CommandDeps, asked: string, row: InboxRow | undefined): Promise<Found> {
  if (row === undefined) return { kind: "none" };
  // Posts of hooks about an edit of the message are posted because of the message, too.
  const changes = await changesOf(deps, row, undefined);
  const answered = await deps.store.outbox.answersTo(`m${row.id}`);
  const found = [...answered, ...(await correctionsOf(deps, changes, answered))];
  const answers = [...found.filter((one) => !isNote(one)), ...found.filter(isNote)];
  const deliveries = [...answers, ...(await postsOf(deps, [row, ...changes], answers))];
  const made = await madeBecauseOf(deps, [row, ...changes]);
  const roots = new Set([
    `m${row.id}`,
    ...MARKS.map((mark) => `d_m${row.id}${mark}`),
    ...deliveries.map(({ id }) => id),
    ...made,
  ]);
  // The id of the edited message itself shows what happened to that message.
  const about = row.event.kind in POINT_OF_CHANGE ? undefined : messageIdOf(row.event);
  const dispatches = await dispatchesOf(
    deps,
    [...roots],
    about === undefined ? [] : [{ conversation: conversationOf(row.event), messageId: about }],
    `t_m${row.id}:task:create`,
  );
  const known = new Set(deliveries.map(({ id }) => id));
  const fired = dispatches.map(({ id }) => rootOf(id)).filter((id) => id.startsWith("d_"));
  const gone: Gone[] = [];
  const handled = [row, ...lastChangesOf(changes)].flatMap(({ deliveryIds = [] }) => deliveryIds);
  for (const id of new Set([...handled, ...made, ...fired]))
    if (!known.has(id) && (await deps.store.outbox.get(id)) === undefined)
      gone.push({ id, purge: await purgeOf(deps, id, row.receivedAt) });
  return { kind: "found", journey: { asked, row, own: undefined, deliveries, dispatches, gone, roots: [...roots] } };
}

/** The deliveries that runs of hooks made because of these rows: the outbox may not have them any more. */
async function madeBecauseOf({ automations }: CommandDeps, rows: readonly InboxRow[]): Promise<string[]> {
  const runs = await Promise.all(rows.map(({ id }) => automations?.runs.ledTo(`m${id}`, MAX_RUNS)));
  return runs.flatMap((some = []) => some.flatMap((run) => madeBy(run).map(({ id }) => id)));
}

/** A delivery of the message that the outbox does not have: it was deleted, or there never was one. */
async function ofMissing(deps: CommandDeps, asked: string, row: InboxRow, id: string): Promise<Found> {
  const purge = await purgeOf(deps, id, row.receivedAt);
  const deliveries = await editsOf(deps, id);
  const roots = [`m${row.id}`, id, ...deliveries.map((one) => one.id)];
  const dispatches = await dispatchesOf(deps, roots, []);
  const wasThere =
    purge !== undefined || row.deliveryIds?.includes(id) || dispatches.some((one) => rootOf(one.id) === id);
  if (!wasThere) {
    const answers = (await deps.store.outbox.answersTo(`m${row.id}`)).map((one) => one.id);
    return { kind: "no delivery", id, row, deliveryIds: [...new Set([...(row.deliveryIds ?? []), ...answers])] };
  }
  return {
    kind: "found",
    journey: {
      asked,
      row,
      own: undefined,
      deliveries,
      dispatches,
      gone: [{ id, purge }],
      roots,
    },
  };
}

/**
 * Deliveries that were posted because of the message, oldest first: by hooks, where the cause of a delivery is the run of the hook; and by
 * the gateway in place of an answer that was withheld or could not be delivered, or to its author.
 */
async function postsOf(
  { store }: CommandDeps,
  rows: readonly InboxRow[],
  answers: readonly Delivery[],
): Promise<Delivery[]> {
  const roots = new Set([...rows.map(({ id }) => `m${id}`), ...answers.map((one) => one.id)]);
  const since = Math.min(...rows.map(({ receivedAt }) => receivedAt));
  const posts = await store.outbox.causedBy([...roots], ["hook", "agent", "command", "reply", "forward"], since);
  const isAnswer = (one: Delivery) => (one.cause.kind === "reply" || one.cause.kind === "forward") && !isOwnNotice(one);
  return posts.filter((one) => !roots.has(one.id) && !isAnswer(one));
}

async function ofDelivery(deps: CommandDeps, asked: string, own: Delivery): Promise<Found> {
  const row = await causeOf(deps, own.cause.id);
  const about = own.parts.flatMap(({ messageId }) =>
    messageId === undefined ? [] : [{ conversation: own.conversation, messageId }],
  );
  const deliveries = [own, ...(await editsOf(deps, own.id)), ...(await laterChanges(deps, own))];
  const roots = [...(row ? [`m${row.id}`] : []), ...deliveries.map(({ id }) => id)];
  const dispatches = await dispatchesOf(deps, roots, about.slice(0, 1));
  return { kind: "found", journey: { asked, row, own, deliveries, dispatches, gone: [], roots } };
}

/** One dispatch, or all of the message that led to it, when that is known. */
async function ofDispatch(deps: CommandDeps, asked: string, dispatch: DispatchRecord): Promise<Found> {
  const row = await causeOf(deps, rootOf(dispatch.id));
  const only = { asked, row, own: undefined, deliveries: [], dispatches: [dispatch], gone: [], roots: [] };
  return { kind: "found", journey: only };
}

/** The queues no longer have it, or never had: the journal may. */
async function ofJournal(
  deps: CommandDeps,
  asked: string,
  filter: { of: string } | { messageId: string; conversation?: string },
): Promise<Found> {
  const dispatches = (await deps.store.journal.list({ ...filter, limit: MAX_DISPATCHES })).reverse();
  const places = new Map(dispatches.map((one) => [one.conversation ?? "", one]));
  if (places.size > 1 && !("of" in filter) && filter.conversation === undefined)
    return {
      kind: "several",
      places: [...places].map(([conversation, { id, at }]) => ({ id: rootOf(id), conversation, at })),
    };
  const [first] = dispatches;
  const [run] = "of" in filter ? ((await deps.automations?.runs.ledTo(filter.of, 1)) ?? []) : [];
  const found = first ?? (run && { id: run.id, at: run.createdAt });
  // An operator may have deleted it.
  const id = found ? rootOf(found.id) : "of" in filter ? filter.of : undefined;
  const purge = id && /^(m\d|d_)/.test(id) ? await purgeOf(deps, id, found?.at ?? 0) : undefined;
  if (id === undefined || (found ?? purge) === undefined) return { kind: "none" };
  const gone = purge === undefined ? [] : [{ id, purge }];
  const roots = "of" in filter ? [filter.of] : [];
  return { kind: "found", journey: { asked, row: undefined, own: undefined, deliveries: [], dispatches, gone, roots } };
}

/** Causes are named `m5`, or as a dispatch or run of it: `m5:inbound_claim/1`. */
async function causeOf({ store }: CommandDeps, causeId: string): Promise<InboxRow | undefined> {
  const [, id] = /^m(\d{1,15})(?=$|[:/])/.exec(causeId) ?? [];
  return id === undefined ? undefined : store.inbox.get(Number(id));
}

/** `one`: a dispatch that has another root, such as that of the task which a command was to create. */
async function dispatchesOf(
  { store: { journal } }: CommandDeps,
  roots: readonly string[],
  about: readonly { conversation: string; messageId: string }[],
  one?: string,
): Promise<DispatchRecord[]> {
  const limit = MAX_DISPATCHES;
  const named = one === undefined ? undefined : await journal.get(one);
  const lists = await Promise.all([
    ...roots.map((of) => journal.list({ of, limit })),
    ...about.map((filter) => journal.list({ ...filter, limit })),
  ]);
  return merged([...lists.flat(), ...(named ? [named] : [])]);
}

/** Each once, oldest first. */
function merged(dispatches: readonly DispatchRecord[]): DispatchRecord[] {
  const unique = new Map(dispatches.map((dispatch) => [`${dispatch.id} ${dispatch.at}`, dispatch]));
  return [...unique.values()].sort((a, b) => a.at - b.at || orderOf(a) - orderOf(b));
}

/** Each kind of change that people make to an existing message fires a point of its own. */
export const POINT_OF_CHANGE: Readonly<Partial<Record<InboundEvent["kind"], string>>> = {
  edited: "message_edited",
  deleted: "message_deleted",
  reaction: "reaction_added",
};

/** The order of points that fire in the same millisecond. */
const ORDER = ["message_received", "inbound_claim", "before_dispatch", "message_sending", "message_sent"];
const orderOf = ({ point }: DispatchRecord) => (ORDER.includes(point) ? ORDER.indexOf(point) : ORDER.length);

/** The hook or the plugin that posted a delivery because of the message, in Markdown; undefined for an answer. */
export function posterOf({ cause, plugin }: Delivery, dispatches: readonly DispatchRecord[]): string | undefined {
  if (plugin !== undefined) return `plugin ${code(plugin)}`;
  if (cause.kind !== "hook" && cause.kind !== "agent") return undefined;
  const hookId = dispatches.flatMap(({ runs }) => runs).find(({ id }) => id === cause.id)?.hookId;
  if (hookId !== undefined) return code(hookId);
  // Only plugins post because of the message itself, and not of a run.
  return cause.kind === "hook" && /^(m\d+|d_[^:]+)$/.test(cause.id) ? "a plugin" : undefined;
}

function messageIdOf(event: InboundEvent): string | undefined {
  if ("message" in event) return event.message.messageId;
  return "messageId" in event ? event.messageId : undefined;
}
