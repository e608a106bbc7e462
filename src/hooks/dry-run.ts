/**
 * Keeps facts about a call for all code that the handler calls, at any depth and any later time.
 * - Dry runs: where `inDryRun()` is true, nothing may be sent and written.
 * - Causes: the cause of the handler is the cause of all that a plugin's handler triggers, also when its author forgot to pass that on.
 * - Handlers of plugins, and modules of configured hooks: the code that calls `process.exit` is named.
 *
 * The tracking slows every promise of the process. It is on from a dry run until a while after its handlers ended, and for the rest of
 * the process once one of these was called.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Cause } from "../domain/journal.js";
import type { Clock } from "../lib/time/clock.js";

interface Surrounding {
  readonly dry: { isOver: boolean } | undefined;
  readonly cause: Cause | undefined;
  readonly handler: SurroundingHandler | undefined;
}

/** Neither hook nor command: the default route. */
export interface HandlerName {
  plugin?: string;
  /** The file of a configured hook's module, which is of no plugin. */
  module?: string;
  hookId?: string;
  command?: string;
}

/** A call of a handler of a plugin, or of a module. */
export interface SurroundingHandler extends HandlerName {
  /** The context that the handler was called with; absent when the handler has ended, and left this behind. */
  context?: { readonly dispatchId?: string } | undefined;
  /** The handler has the processor: it does not wait yet. */
  isCalled: boolean;
}

const tracking = new AsyncLocalStorage<Surrounding>();
let underWay = 0;
let hasHandlers = false;

/** True inside a handler that runs dry, and in everything that it started. */
export function inDryRun(): boolean {
  return tracking.getStore()?.dry?.isOver === false;
}

/** The cause of the handler of a plugin that this is called in, or that started this; undefined outside of them. */
export function surroundingCause(): Cause | undefined {
  return tracking.getStore()?.cause;
}

/** The handler that this is called in, or that started this; undefined outside of them. */
export function surroundingHandler(): SurroundingHandler | undefined {
  return tracking.getStore()?.handler;
}

/**
 * Calls `call` with `cause` and `handler` as the surrounding ones in it and in all that it starts. Without one there is none: the
 * gateway's own work continues in the surrounding of the code that woke it, and that may be another message's handler.
 */
export function causedBy<T>(cause: Cause | undefined, call: () => T, handler?: SurroundingHandler): T {
  const around = tracking.getStore();
  if (cause === around?.cause && handler === around?.handler) return call();
  hasHandlers = true;
  return tracking.run({ dry: around?.dry, cause, handler }, call);
}

/** Work that a handler left behind may go on for this long after the handler has ended. */
const LINGER_MS = 60_000;

/** Calls `fire` with `inDryRun()` true in it and in all that it starts. */
export async function runDry<T>(clock: Clock, fire: () => Promise<T>): Promise<T> {
  underWay++;
  const dry = { isOver: false };
  try {
    return await tracking.run({ dry, cause: surroundingCause(), handler: surroundingHandler() }, fire);
  } finally {
    clock.after(LINGER_MS, () => {
      // A timer of the gateway that was first armed in a dry run goes on for ever, and other messages' handlers may run in it.
      dry.isOver = true;
      if (--underWay === 0 && !hasHandlers) tracking.disable();
    });
  }
}
