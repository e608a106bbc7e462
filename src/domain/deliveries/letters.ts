/** Dead letters: messages that were not handled and deliveries that were not sent, as operators choose among them. */

/** The filter by which operators choose letters. A letter must match all given fields. */
export interface LetterFilter {
  /** Formatted addresses of one conversation, or of one chat with all its threads; several when the chat had another id before. */
  chats?: readonly string[] | undefined;
  /** Created before this (ms since the epoch). */
  olderThan?: number | undefined;
  /** Part of the reason, in any case. */
  reason?: string | undefined;
}

// The reasons below are stored and compared: rows of earlier versions have these words. A new wording must still recognise the old one.

/** Part of the reason of a dead inbox row whose handling ended the process again and again. */
export const MAY_CRASH = "handling it may crash the gateway";

/** Part of the reason of a held delivery whose hooks ended the process again and again. */
export const HOOKS_MAY_CRASH = "they may crash the gateway";

/** The start of the reason of a held delivery whose row does not show whether it was sent: only a person who looks in the chat knows. */
export const MAY_HAVE_BEEN_SENT = "it may have been sent";

/** The start of the reason of a dead inbox row that may have been handled after the backup that was restored. */
export const MAY_HAVE_BEEN_HANDLED = "it may have been handled since";

export interface InboxLetterRef {
  id: number;
  at: number;
  /** Why it is dead. */
  reason?: string;
  /** Its reason starts with `MAY_HAVE_BEEN_HANDLED`. */
  isAmbiguous: boolean;
  /** Its reason has `MAY_CRASH`. */
  mayCrash: boolean;
}

export interface LetterRef {
  id: string;
  at: number;
  reason?: string;
  /** The letter may have arrived. */
  isAmbiguous: boolean;
  /** The letter is held, and its reason has `HOOKS_MAY_CRASH`. */
  mayCrash: boolean;
}
