/** What a handler or step is given in a test: real guarded requests, a clock that does not make one wait, and a record of what it said. */
import type { RunContext } from "../../src/automations/run-context.js";
import { type Address, formatAddress } from "../../src/domain/chat/address.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import type { Models } from "../../src/domain/model.js";
import { HookgateError } from "../../src/lib/errors.js";
import { silentLogger } from "../../src/lib/logger.js";
import { parseDestinations } from "../../src/lib/outgoing/destinations.js";
import { guardedRequest } from "../../src/lib/outgoing/request.js";
import { createProcesses } from "../../src/lib/process/process.js";
import { type Clock, systemClock } from "../../src/lib/time/clock.js";

/** Tells the real time; whoever waits, waits for one turn of the loop only, and `waits` says how long it would have been. */
export function hurriedClock(): Clock & { waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(delayMs, fn) {
      waits.push(delayMs);
      const immediate = setImmediate(fn);
      return { cancel: () => clearImmediate(immediate) };
    },
  };
}

export interface Said {
  kind: "send" | "edit";
  /** The address, or the delivery that is edited. */
  at: string;
  message: OutboundMessage;
  once?: string;
}

export interface ContextFixture {
  context: RunContext;
  said: Said[];
  notes: Map<string, unknown>;
  abort(reason?: unknown): void;
}

export interface FixtureOptions extends Partial<Omit<RunContext, "reach">> {
  secrets?: Record<string, string>;
  /** Destinations besides public ones. */
  allow?: string[];
  models?: Models;
  query?: (name: string, args: Readonly<Record<string, unknown>>) => Promise<Record<string, unknown>[]>;
  /** Deliveries that are gone. */
  unknownDeliveries?: Set<string>;
  openThread?: RunContext["reach"]["openThread"];
  /** What earlier runs noted. */
  notes?: Map<string, unknown>;
}

const NO_MODELS: Models = {
  names: [],
  ask: async () => ({ kind: "unknown", error: "no model is configured" }),
};

export function handlerContext(options: FixtureOptions = {}): ContextFixture {
  const {
    secrets = {},
    allow = ["127.0.0.1"],
    models = NO_MODELS,
    query,
    unknownDeliveries,
    openThread,
    notes = new Map(),
    ...rest
  } = options;
  const ending = new AbortController();
  const said: Said[] = [];
  const sent = new Map<string, string>();
  const destinations = parseDestinations(allow);
  const context: RunContext = {
    hookId: "night-watch",
    runId: "r_0000000010000000001",
    attempt: 1,
    firedAt: Date.UTC(2026, 10, 21, 9),
    trigger: "on",
    eventName: "task:fail",
    event: { taskId: "t1", reason: "timeout" },
    cause: { kind: "hook", id: "r_0000000010000000001", depth: 1 },
    dryRun: false,
    folder: process.cwd(),
    signal: ending.signal,
    clock: hurriedClock(),
    logger: silentLogger,
    ...rest,
    reach: {
      isOwnFile: (path) => path.endsWith("/.env"),
      secret: (name) => secrets[name],
      async send(at: Address, message, { once }) {
        const known = once === undefined ? undefined : sent.get(once);
        if (known !== undefined) return known;
        said.push({ kind: "send", at: formatAddress(at), message, once });
        const id = `d_${said.length}`;
        if (once !== undefined) sent.set(once, id);
        return id;
      },
      currentAddress: (at) => at,
      async edit(deliveryId, message) {
        if (unknownDeliveries?.has(deliveryId))
          throw new HookgateError({ code: "DELIVERY_UNKNOWN", message: `there is no delivery ${deliveryId}` });
        said.push({ kind: "edit", at: deliveryId, message });
        return `d_${said.length}`;
      },
      query: query ?? (async (name) => Promise.reject(new Error(`no query ${name}`))),
      createTask: async () => Promise.reject(new Error("nobody makes tasks here")),
      request: (url, request) => guardedRequest(url, { ...request, allow: destinations }),
      processes: createProcesses({
        clock: systemClock,
        env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8" },
        owner: `test${process.pid}`,
      }),
      models,
      startMission: async (planId) => Promise.reject(new Error(`no plan ${planId}`)),
      recall: async (key) => notes.get(key),
      async remember(key, value) {
        notes.set(key, value);
      },
      openThread: openThread ?? (async () => undefined),
    },
  };
  return { context, said, notes, abort: (reason) => ending.abort(reason) };
}
