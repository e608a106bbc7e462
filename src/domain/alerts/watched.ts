/**
 * The entities that can have a deadline: tasks and missions (the orchestrator reports them) and conversations (the gateway sees them). SLA
 * clocks know entities in this form only.
 */
import { z } from "zod";
import { PLATFORMS } from "../chat/platform.js";
import { MISSION_STATUSES } from "../orchestrator/mission.js";
import { TASK_STATUSES } from "../orchestrator/task.js";

/** An id of a platform, without the platform. */
const plainId = z.string().regex(/^[^:]*$/);

/** The fields that all entities have. */
const shared = z.object({
  id: z.string(),
  title: z.string(),
  /** ms since the epoch, all of them. */
  createdAt: z.number(),
  startedAt: z.number().optional(),
  /** The reason why the entity does not run against its clock now (paused, awaiting approval, pending on the customer). */
  pausedFor: z.string().optional(),
  /** The person who works on it, as text for the card. */
  owner: z.string().optional(),
  /** A chat address (`platform:bot:chat[:thread]`) or an URL where it can be looked at. */
  link: z.string().optional(),
});

const work = shared.extend({
  /** Its own deadline; a policy may set a target instead. */
  deadline: z.number().optional(),
});

const task = work.extend({
  type: z.literal("task"),
  status: z.enum(TASK_STATUSES),
  facts: z.object({
    assignTo: z.string().describe("its runner, or `person:platform:id`"),
    priority: z.number().describe("0 unless it was set"),
    attempt: z.number().describe("how often it was started"),
    group: z.string().optional(),
    mission: z.string().optional().describe("the id of its mission"),
  }),
});

const mission = work.extend({
  type: z.literal("mission"),
  status: z.enum(MISSION_STATUSES),
  facts: z.object({
    planId: z.string(),
    tasks: z.number().describe("how many it has"),
    scheduleId: z.string().optional(),
  }),
});

const conversation = shared.extend({
  type: z.literal("conversation"),
  status: z.enum(["waiting", "answered", "resolved", "withdrawn"]),
  /** The last words of a customer, unchanged; the caller that shows them redacts them. */
  lastWords: z.string().optional(),
  facts: z.object({
    // Text in an address; there are no others.
    platform: z.string().meta({ enum: PLATFORMS }).describe(PLATFORMS.join(", ")),
    chat: plainId.describe("its id"),
    thread: z.string().optional(),
    guild: plainId.optional().describe("the id of the Discord server"),
    room: z.string().optional().describe("the name of the chat"),
    is_dm: z.boolean().describe("true or false"),
    customer: plainId.describe("their user id, without platform"),
  }),
});

/** The facts that `match` of an SLA policy can ask of each type. */
export const WATCHED = { task, mission, conversation };
export type WatchedType = keyof typeof WATCHED;
export const WATCHED_TYPES = ["task", "mission", "conversation"] as const satisfies readonly WatchedType[];

/** An entity as its source reports it. */
export type Watched<T extends WatchedType> = z.output<(typeof WATCHED)[T]> & Ended;
/** Its facts, each of them named, with undefined where it has none. */
export type FactsOf<T extends WatchedType> = { [K in keyof Required<Watched<T>["facts"]>]: Watched<T>["facts"][K] };

interface Ended {
  /** When the entity was over; by its deadline, the target is `met`. */
  endedAt?: number | undefined;
  /** The entity has ended without having been done (failed, cancelled): clocks end, nothing was met. */
  abandoned?: boolean | undefined;
}

/** An entity of any type, as it was stored. */
export interface WatchedEntity extends z.output<typeof shared>, Ended {
  type: WatchedType;
  /** The entity's own word for its state: `in_progress`, `awaiting_approval`, … */
  status: string;
  deadline?: number | undefined;
  lastWords?: string | undefined;
  /** The facts that policies match on besides the fields above. */
  facts: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Called for every change of an entity, after its commit, and of every open one at start: the same state twice changes nothing, so the
 * next start repairs a crash between the commit and the call.
 */
export type EntityChanged = (entity: WatchedEntity) => Promise<void>;
