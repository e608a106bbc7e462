/** A thread that a platform does not open: the message goes to the chat itself, and the operator learns why. */
import { HookgateError } from "../lib/errors.js";

const REFUSED = "THREAD_REFUSED";
/** It may work later. */
export const THREAD_NOT_OPENED = "THREAD_NOT_OPENED";

export function threadRefused(message: string, hint: string, cause: unknown): HookgateError {
  return new HookgateError({ code: REFUSED, message, hint, cause });
}

export function isThreadRefused(error: unknown): error is HookgateError {
  return error instanceof HookgateError && error.code === REFUSED;
}

/** It was refused, or was tried often enough. */
export function hasNoThread(error: unknown): error is HookgateError {
  return isThreadRefused(error) || (error instanceof HookgateError && error.code === THREAD_NOT_OPENED);
}

/** In place of the address of a thread. */
export interface NoThread {
  /** Why, and what to do about it. */
  refused: string;
}

export function whyNoThread({ message, hint }: HookgateError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}
