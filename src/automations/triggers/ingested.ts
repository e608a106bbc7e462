/** Fires the events that came in by HTTP: in order for each name, and after a crash again those whose hooks had not ended. */
import type { IngestedEvent } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import { HookFailedError } from "../../hooks/errors.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { createWork } from "../../lib/work.js";
import { type EventPoint, type EventSpec, eventName, eventPoint } from "./event-point.js";
import type { StartedDispatches } from "./started-dispatches.js";
import type { TriggerParts } from "./trigger.js";

type Parts = Pick<TriggerParts, "clock" | "logger" | "registry"> & {
  store: TriggerParts["store"]["ingest"];
  started: StartedDispatches;
  runs: Pick<TriggerParts["store"]["runs"], "get">;
};

const KEY = "events";
/** Events in memory at once. */
const BATCH = 200;

export interface Ingested {
  look(): void;
  stop(): Promise<void>;
}

/**
 * What stands under `events:` becomes hook points; call it before the hooks that want them are registered. `broken`: names of events
 * that are refused for what is wrong with them. A plugin's hook there waits for them like any other, so that its other hooks work.
 */
export function declareEvents(
  registry: HookRegistry,
  events: Readonly<Record<string, EventSpec>>,
  broken: Iterable<string> = [],
): void {
  for (const [name, spec] of Object.entries({ ...unspecified(broken), ...events }))
    registry.declare(eventPoint(name, spec));
}

const unspecified = (names: Iterable<string>): Record<string, EventSpec> =>
  // What is wrong with an event may be its name.
  Object.fromEntries([...names].filter((name) => /^[A-Za-z0-9_-]+$/.test(name)).map((name) => [name, {}]));

/** The points of events that are declared no more; call it when no hook of the configuration wants them. Throws while a plugin does. */
export function withdrawEvents(
  registry: HookRegistry,
  events: Readonly<Record<string, EventSpec>>,
  broken: Iterable<string> = [],
): void {
  const declared = new Set<string>([...Object.keys(events), ...broken].map(eventName));
  for (const { name } of registry.points)
    if (name.startsWith(eventName("")) && !declared.has(name)) registry.withdraw(name);
}

export function createIngested({ store, started, runs, registry, clock, logger }: Parts): Ingested {
  const work = createWork({ look, maxParallel: 1, clock, logger });
  let isStopped = false;

  async function look(): Promise<undefined> {
    for (let batch = await store.unhandled(BATCH); batch.length > 0; batch = await store.unhandled(BATCH)) {
      await Promise.all([...byName(batch).values()].map(inOrder));
      if (isStopped) return;
    }
  }

  async function inOrder(queue: readonly IngestedEvent[]): Promise<void> {
    for (const event of queue) {
      if (isStopped) return;
      await fire(event);
      await store.handled(event.id, clock.now());
      await started.ended(dispatchOf(event));
    }
  }

  async function fire(event: IngestedEvent): Promise<void> {
    const { id, name, payload } = event;
    const point = registry.points.find((one): one is EventPoint => one.name === eventName(name));
    if (point === undefined) {
      logger.warn({ event: id, name }, `event ${name} is no longer declared: no hook gets it`);
      return;
    }
    if (payload === undefined) {
      logger.error({ event: id, name }, `an event ${name} cannot be read in the store: no hook gets it`);
      return;
    }
    const body = typeof payload === "object" && payload !== null ? { ...payload } : { value: payload };
    // The same dispatch id when it is fired again: what was recorded for it is not recorded twice.
    const firing = { dispatchId: dispatchOf(event), cause: await causeOf(event) };
    const events = registry.declare(point);
    await started.run(point.name, firing.dispatchId, (attempt) =>
      events.fireVoid(point.name, body, undefined, { ...firing, attempt }).catch(inJournal),
    );
  }

  /** A hook that posts to us names its run as the event's id: then that caused it, and what starts itself in this way is cut. */
  async function causeOf({ id, name, cause }: IngestedEvent): Promise<Cause> {
    if (cause !== undefined) return cause;
    const run = await runs.get(id.slice(name.length + 1));
    if (run === undefined) return { kind: "api", id, depth: 0 };
    return { kind: "hook", id: run.id, depth: (run.cause?.depth ?? 0) + 1 };
  }

  return {
    look: () => work.look(KEY),
    stop() {
      isStopped = true;
      return work.stop();
    },
  };
}

const dispatchOf = ({ id }: IngestedEvent) => `d_event_${id}`;

/** That a fail-closed hook failed is in the journal; the event happened all the same. */
export function inJournal(error: unknown): void {
  if (!(error instanceof HookFailedError)) throw error;
}

function byName(batch: readonly IngestedEvent[]): Map<string, IngestedEvent[]> {
  const queues = new Map<string, IngestedEvent[]>();
  for (const event of batch) {
    const queue = queues.get(event.name);
    if (queue) queue.push(event);
    else queues.set(event.name, [event]);
  }
  return queues;
}
