/** Where the payload of a point or an event has its conversation. */
import { type JsonSchema, mayHave, schemaAt } from "../../lib/validation/json-schema.js";

const PLACES = [["message", "chatId"], ["address", "chatId"], ["chatId"]];

/** Whether a payload may carry a conversation that `here` can mean. */
export function hasConversation(payload: JsonSchema): boolean {
  return PLACES.some((place) => mayHave(payload, place));
}

/** Whether the schema itself has the fields: for an event, nothing may be known of the sender's payload. */
export function namesConversation(payload: JsonSchema): boolean {
  return PLACES.some((place) => Object.keys(schemaAt(payload, place) ?? {}).length > 0);
}
