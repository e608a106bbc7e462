/**
 * What surrounds a call, at any depth and any later time: all code that a handler calls can ask it.
 * - Dry runs: where `inDryRun()` is true, nothing may be sent and written.
 * - Causes: what a plugin's handler triggers is caused by what led to the handler, also when its author forgot to pass that on.
 * - Handlers of plugins, and modules of configured hooks: what calls `process.exit` is named.
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
  /** What it was called with; absent when it has ended, and left this behind. */
  context?: { readonly dispatchId?: string } | undefined;
  /** It has the processor: it does not wait yet. */
  isCalled: boolean;
}

const tracking = new AsyncLocalStorage<Surrounding>();
let underWay = 0;
let hasHandlers = false;

/** True inside a handler that runs dry, and in everything that it started. */
export function inDryRun(): boolean {
  return tracking.getStore()?.dry?.isOver === false;
}

/** What led to the handler of a plugin that this is called in, or that started this; undefined outside of them. */
export function surroundingCause(): Cause | undefined {
  return tracking.getStore()?.cause;
}

/** The handler that this is called in, or that started this; undefined outside of them. */
export function surroundingHandler(): SurroundingHandler | undefined {
  return tracking.getStore()?.handler;
}

/**
 * Calls `call` with `cause` and `handler` as the surrounding ones in it and in what it starts. Without one there is none: the gateway's
 * own work continues in the surrounding of the code that woke it, and that may be another message's handler.
 */
export function causedBy<T>(cause: Cause | undefined, call: () => T, handler?: SurroundingHandler): T {
  const around = tracking.getStore();
  if (cause === around?.cause && handler === around?.handler) return call();
  hasHandlers = true;
  return tracking.run({ dry: around?.dry, cause, handler }, call);
}

/** What a handler left behind may still be at work when the handler has ended. */
const LINGER_MS = 60_000;

/** Calls `fire` with `inDryRun()` true in it and in what it starts. */
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
