import { isRecord } from "./record.js";

/** JSON that is the same for every order of an object's fields. */
export const jsonInOrder = (value: unknown): string => JSON.stringify(value, inOrder);

function inOrder(_name: string, value: unknown): unknown {
  return isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}
