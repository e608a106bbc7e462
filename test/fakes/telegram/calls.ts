/** The record of what reached the fake, and how it refuses. What carries content is what the bypass proof matches with dispatches. */

export type CallKind =
  | "send"
  | "edit"
  | "delete"
  /** The spinner of a button; carries content only when it has a text. */
  | "callback"
  | "poll"
  /** Registration, look-ups, reactions. */
  | "other";

export interface Call {
  at: number;
  method: string;
  kind: CallKind;
  payload: Record<string, unknown>;
  files: { field: string; name: string; sizeBytes: number }[];
  /** The HTTP status, which is Telegram's error_code. */
  status: number;
  description?: string;
  /** The messages that it made or changed. */
  messageIds: number[];
}

/** Calls that put words before people. */
export function carriesContent(call: Call): boolean {
  if (call.status >= 400) return false;
  return call.kind === "send" || call.kind === "edit" || (call.kind === "callback" && Boolean(call.payload.text));
}

export function kindOf(method: string): CallKind {
  if (/^(send|forward|copy)/i.test(method) && !/^sendchataction$/i.test(method)) return "send";
  if (/^editmessage/i.test(method)) return "edit";
  if (/^deletemessage/i.test(method)) return "delete";
  if (/^answercallbackquery$/i.test(method)) return "callback";
  if (/^getupdates$/i.test(method)) return "poll";
  return "other";
}

/** A refusal as Telegram words it. */
export class Refused extends Error {
  readonly status: number;
  readonly parameters: Record<string, unknown> | undefined;

  constructor(status: number, description: string, parameters?: Record<string, unknown>) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

export function badRequest(description: string, parameters?: Record<string, unknown>): Refused {
  return new Refused(400, `Bad Request: ${description}`, parameters);
}
