/** A refusal may quote what was sent: viewers read reasons, and not the texts of people. */
import type { SendResult } from "../../../domain/chat/adapter.js";
import type { Delivery, DeliveryPart } from "../../../domain/store.js";
import { maskTexts } from "../../../lib/text/redact.js";

type Unsent = Exclude<SendResult, { kind: "sent" }>;

/** In 'these marks' or in "these". Three letters and less are no text of a person. */
const QUOTED = /'([^']{4,})'|"([^"]{4,})"/g;

/** The result, with `[text]` for all that its error quotes from the message. */
export function unquoted<Result extends Unsent>(result: Result, { message }: Delivery, { part }: DeliveryPart): Result {
  if (!("error" in result)) return result;
  const quoted = [...result.error.matchAll(QUOTED)].map(([, single, double]) => single ?? double ?? "");
  if (quoted.length === 0) return result;
  const sent = JSON.stringify([message, part]).toLowerCase();
  const isOfMessage = (text: string) => sent.includes(JSON.stringify(text).slice(1, -1).toLowerCase());
  return { ...result, error: maskTexts(result.error, quoted.filter(isOfMessage)) };
}
