/**
 * Takes an event over from its platform. The event is committed first and then put into its lane, and the adapter may acknowledge it when
 * it is durable. It is handled meanwhile. Should the power fail just then, the platform hands it over again, and nothing was sent because
 * of it.
 */
import type { Accepted, Acknowledgement } from "../../domain/chat/adapter.js";
import { COMMAND_LANE } from "../../domain/chat/command-lane.js";
import { type ActionEvent, addressOf, conversationOf, type InboundEvent } from "../../domain/chat/event.js";
import { HookgateError } from "../../lib/errors.js";
import { shownName } from "../../lib/text/person-name.js";
import { startOf } from "../conversation.js";
import type { Conversations } from "../conversations.js";
import { newLaneRow } from "../new-rows.js";
import { isLaneBehindFormer } from "../outbound/follow-move.js";
import type { Pressure } from "../pressure.js";
import { noteMove } from "./changes.js";
import { notTaken, shareHolder } from "./not-taken.js";
import { isBrief, planAction } from "./plan-action.js";
import type { Inbound } from "./receiving.js";
import type { Suspects } from "./suspects.js";

export interface Intake {
  conversations: Conversations;
  suspects: Suspects;
  pressure: Pressure;
  /** There is room to handle one more lane at once. */
  hasRoom(): boolean;
  isStopping(): boolean;
}

export async function accept(given: InboundEvent, intake: Intake, inbound: Inbound): Promise<Accepted> {
  const event = named(given);
  if (event.kind === "moved") await noteMove(event, inbound);
  const { conversations, pressure } = intake;
  const found = kindOf(event, inbound);
  const kind = typeof found === "string" ? found : await found;
  const holder = shareHolder(event);
  // Commands are accepted at any backlog: with them an operator finds its cause.
  const isTalk = kind === "talk";
  const room = isTalk && !pressure.overShare(holder) ? pressure.room(keepsBacklog(event, inbound)) : undefined;
  if (room) await room;
  if (intake.isStopping()) throw stopping();
  const load = isTalk ? pressure.overShare(holder) : undefined;
  if (load) {
    const kept = await notTaken(event, load, inbound);
    await inbound.store.durable();
    return { kind: kept, acknowledge: NONE };
  }
  const receivedAt = inbound.clock.now();
  const conversation = conversationOf(event);
  const lane = conversations.of(conversation).lane(laneOf(conversation, event, kind));
  const started = lane.expect() && intake.hasRoom() && !isLaneBehindFormer(lane, inbound);
  let stored: { id: number; duplicate: boolean };
  // Before it is stored: others of the same sender come meanwhile.
  pressure.add(holder);
  try {
    stored = await inbound.store.inbox.accept(event, lane.key, receivedAt, started);
  } catch (error) {
    lane.expectNot();
    pressure.finished(holder);
    throw error;
  }
  if (stored.duplicate) {
    lane.expectNot();
    pressure.finished(holder);
    await inbound.store.durable(); // the first one may be of this very moment
    return { kind: "duplicate", acknowledge: await acknowledgement(event, inbound) };
  }
  if (started) inbound.stops.started(startOf(stored), 1);
  lane.add(newLaneRow(stored.id, lane.key, conversation, event, receivedAt, started));
  conversations.wake(lane);
  inbound.observe.eventAccepted?.(event);
  await inbound.store.durable();
  if (event.kind !== "command" && event.kind !== "action") return ACCEPTED;
  return { kind: "accepted", acknowledge: await acknowledgement(event, inbound) };
}

/** The sender's name as it may be shown: platforms let people put characters into it that hide, or that turn text around. */
function named(event: InboundEvent): InboundEvent {
  if (!("message" in event) || event.message.displayName === undefined) return event;
  const displayName = shownName(event.message.displayName);
  if (displayName === event.message.displayName) return event;
  const { displayName: _, ...message } = event.message;
  return { ...event, message: displayName === undefined ? message : { ...message, displayName } };
}

function keepsBacklog(event: InboundEvent, { adapters }: Inbound): boolean {
  return adapters.get(addressOf(event).platform)?.traits.keepsBacklog === true;
}

const NONE: Acknowledgement = { kind: "none" };
const ACCEPTED: Accepted = { kind: "accepted", acknowledge: NONE };

type Kind = "talk" | "command" | "slow-command";

/**
 * A conversation has a lane of its own, and another for its commands: one that is stuck in a slow hook cannot keep an operator out. A
 * command that may take long is alone in its lane, so that the next one can report its progress.
 */
function laneOf(conversation: string, event: InboundEvent, kind: Kind): string {
  if (kind === "talk") return conversation;
  return kind === "command" ? conversation + COMMAND_LANE : `${conversation}${COMMAND_LANE}:${event.eventId}`;
}

function kindOf(event: InboundEvent, inbound: Inbound): Kind | Promise<Kind> {
  const { commands } = inbound;
  switch (event.kind) {
    case "command":
      return commands.find(event.name)?.isSlow ? "slow-command" : "command";
    case "action":
      return kindOfAction(event, inbound);
    case "message": {
      const call = commands.read(event.message.text);
      if (!call) return "talk";
      return call.command.isSlow ? "slow-command" : "command";
    }
    default:
      return "talk";
  }
}

async function kindOfAction(event: ActionEvent, { tokens, commands, clock, logger }: Inbound): Promise<Kind> {
  try {
    const presented = await tokens.verify(event.token, clock.now());
    const action = presented.kind === "valid" ? presented.token.action : undefined;
    if (action?.kind === "command") return commands.read(action.line)?.command.isSlow ? "slow-command" : "command";
  } catch (error) {
    // The error shows when it is handled.
    logger.warn(
      { event: event.eventId, error },
      "a press could not be read before it was stored: it is handled as a command",
    );
  }
  return "command";
}

/** How the platform is notified that an interaction arrived: with a promise of a private answer, of a change in place, or with a form. */
async function acknowledgement(event: InboundEvent, inbound: Inbound): Promise<Acknowledgement> {
  if (event.kind === "command") return { kind: "defer", isPrivate: true };
  if (event.kind !== "action") return NONE;
  try {
    const plan = await planAction(event, inbound);
    if (plan.kind === "form") return { kind: "form", form: plan.form, token: event.token };
    if (event.interaction?.isNotice && isBrief(plan)) return { kind: "notice" };
    const isInPlace = plan.kind === "say" || (plan.kind === "run" && plan.inPlaceOf !== undefined);
    return isInPlace ? { kind: "defer-update" } : { kind: "defer", isPrivate: true };
  } catch (error) {
    // The event is on disk; the error shows when it is handled.
    inbound.logger.warn(
      { event: event.eventId, error },
      "a press could not be read before it was acknowledged: a private answer was promised",
    );
    return { kind: "defer", isPrivate: true };
  }
}

export function stopping(): HookgateError {
  return new HookgateError({
    code: "GATEWAY_STOPPING",
    message: "The gateway is stopping and takes nothing in.",
    hint: "Do not acknowledge the event: the platform will deliver it again.",
    retryable: true,
  });
}
