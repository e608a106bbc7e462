/** Fires the events that came in by HTTP: in order for each name, and after a crash again those whose hooks had not ended. */
import type { IngestedEvent } from "../../domain/automation.js";
import type { Cause } from "../../domain/journal.js";
import { INGESTED_EVENT, type NewPending } from "../../domain/pending.js";
import { HookFailedError } from "../../hooks/errors.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { isRecord } from "../../lib/record.js";
import { type EventPoint, type EventSpec, eventName, eventPoint } from "./event-point.js";
import type { TriggerDeps } from "./trigger.js";

type Deps = Pick<TriggerDeps, "logger" | "registry" | "pending"> & {
  store: TriggerDeps["store"]["ingest"];
  runs: Pick<TriggerDeps["store"]["runs"], "get">;
};

/** When the process ended at so many starts, the dispatch is given up. */
export const MAX_ATTEMPTS = 5;

export interface Ingested {
  added(work: NewPending): void;
  /** How many events of this name were not fired yet. */
  waiting(name: string): number;
  /** Fires the events that an earlier process left, and those that came before. The second call does nothing. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** The work that is written with the event. Events of one name are handled in order. */
export const workOf = (event: Pick<IngestedEvent, "id" | "name">): NewPending => ({
  id: dispatchOf(event),
  kind: INGESTED_EVENT,
  key: event.name,
  dueAt: 0,
  payload: { event: event.id },
});

/**
 * Makes hook points of the events under `events:`; call it before the hooks that want them are registered. `broken`: names of events that
 * are refused because of their problems. A plugin's hook there waits for them like any other, so that its other hooks work.
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
  // The name of an event may be its problem.
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

export function createIngested({ store, pending, runs, registry, logger }: Deps): Ingested {
  /** Events that came before the start: those that an earlier process left are older. */
  let early: NewPending[] | undefined = [];
  pending.handle(
    INGESTED_EVENT,
    async ({ payload, attempt, stops = 0 }) => {
      const event = await store.get((payload as { event: string }).event);
      if (event !== undefined) await fire(event, attempt, attempt - stops > MAX_ATTEMPTS);
    },
    { callsHooks: true },
  );

  async function fire(event: IngestedEvent, attempt: number, isGivenUp: boolean): Promise<void> {
    const { id, name, payload } = event;
    if (isGivenUp) {
      logger.error({ event: id, name }, `given up: ${MAX_ATTEMPTS} times the gateway ended while it was handled`);
      return;
    }
    const point = registry.points.find((one): one is EventPoint => one.name === eventName(name));
    if (point === undefined) {
      logger.warn({ event: id, name }, `event ${name} is no longer declared: no hook gets it`);
      return;
    }
    if (payload === undefined) {
      logger.error({ event: id, name }, `an event ${name} cannot be read in the store: no hook gets it`);
      return;
    }
    const body = isRecord(payload) ? { ...payload } : { value: payload };
    // The dispatch id is the same when the event fires again: the results that are recorded for it are not recorded twice.
    const firing = { dispatchId: dispatchOf(event), cause: await causeOf(event) };
    const events = registry.declare(point);
    await events.fireVoid(point.name, body, undefined, { ...firing, attempt }).catch(inJournal);
  }

  /**
   * A hook that posts to us names its run as the event's id: then that run is the cause, and a hook that starts itself in this way is
   * cut.
   */
  async function causeOf({ id, name, cause }: IngestedEvent): Promise<Cause> {
    if (cause !== undefined) return cause;
    const run = await runs.get(id.slice(name.length + 1));
    if (run === undefined) return { kind: "api", id, depth: 0 };
    return { kind: "hook", id: run.id, depth: (run.cause?.depth ?? 0) + 1 };
  }

  return {
    added(work) {
      if (early) early.push(work);
      else pending.added([work]);
    },
    waiting: (name) => (early?.filter(({ key }) => key === name).length ?? 0) + pending.count(INGESTED_EVENT, name),
    async resume() {
      if (!early) return;
      const fresh = new Set(early.map(({ id }) => id));
      early = undefined;
      await pending.resume([INGESTED_EVENT], fresh);
    },
    stop: () => pending.end([INGESTED_EVENT]),
  };
}

const dispatchOf = ({ id }: Pick<IngestedEvent, "id">) => `d_event_${id}`;

/** The failure of a fail-closed hook is in the journal; the event happened all the same. */
export function inJournal(error: unknown): void {
  if (!(error instanceof HookFailedError)) throw error;
}
