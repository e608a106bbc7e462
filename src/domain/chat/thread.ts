/** A thread that a platform does not open: the message goes to the chat itself, and the operator learns why. */
import { createHash } from "node:crypto";
import { HookgateError } from "../../lib/errors.js";

const OPENER = "d_thread_";

/** The delivery with the first message of a thread that a hook opens. Opened again for the same cause, it is the same thread. */
export function openerId(once: string): string {
  return `${OPENER}${createHash("sha256").update(once).digest("base64url").slice(0, 27)}`;
}

export const isOpener = (deliveryId: string) => deliveryId.startsWith(OPENER);

const REFUSED = "THREAD_REFUSED";
/** The code of an error after which opening the thread may work later. */
export const THREAD_NOT_OPENED = "THREAD_NOT_OPENED";

export function threadRefused(message: string, hint: string, cause: unknown): HookgateError {
  return new HookgateError({ code: REFUSED, message, hint, cause });
}

export function isThreadRefused(error: unknown): error is HookgateError {
  return error instanceof HookgateError && error.code === REFUSED;
}

/** The thread was refused, or was tried often enough. */
export function hasNoThread(error: unknown): error is HookgateError {
  return isThreadRefused(error) || (error instanceof HookgateError && error.code === THREAD_NOT_OPENED);
}

/** Returned in place of the address of a thread. */
export interface NoThread {
  /** The reason, and the next step. */
  refused: string;
}

export function whyNoThread({ message, hint }: HookgateError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}
