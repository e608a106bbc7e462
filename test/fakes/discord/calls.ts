/** The record of what reached the fake over REST. What carries content is what the bypass proof matches with dispatches. */

export type CallKind =
  | "send"
  | "edit"
  | "delete"
  | "interaction-reply"
  | "follow-up"
  | "original-edit"
  | "thread-start"
  /** Registration, look-ups, deferrals, completion: no content for a chat. */
  | "other";

export interface Call {
  at: number;
  method: string;
  path: string;
  kind: CallKind;
  body: unknown;
  /** File names of a multipart body. */
  files: string[];
  status: number;
  /** The message that it made or changed. */
  messageId?: string;
  /** The nonce was known: the first message was returned, nothing posted. */
  deduplicated?: boolean;
}

/** Calls that put words before people. */
export function carriesContent(call: Call): boolean {
  return call.kind !== "other" && call.kind !== "delete" && call.status < 400;
}
