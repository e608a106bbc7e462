import { type JsonSchema, mayHave } from "../../lib/json-schema.js";

/** Whether a payload may carry a conversation that `here` can mean. */
export function hasConversation(payload: JsonSchema): boolean {
  return ["message.chatId", "address.chatId", "chatId"].some((place) => mayHave(payload, place.split(".")));
}
