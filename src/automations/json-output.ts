/** The JSON in the result of a step. */
import { isTooDeep, MAX_JSON_DEPTH, readJson } from "../lib/validation/json-depth.js";

export interface JsonOutput {
  /** Null when there is none. */
  readonly json: unknown;
  /** Why there is none: it is not read as if its fields were empty. */
  readonly noJson?: string;
}

/** `cutAt`: the bytes after which the output was cut, if it was. */
export function jsonOutput(given: string, cutAt: number | undefined): JsonOutput {
  const text = given.replace(/^\uFEFF/, "");
  const json = cutAt === undefined ? readJson(text) : undefined;
  return json === undefined ? { json: null, noJson: whyNone(text, cutAt) } : { json };
}

function whyNone(text: string, cutAt: number | undefined): string {
  if (cutAt !== undefined) return `the output was cut at ${cutAt} bytes, so raise \`max_bytes\` of the step`;
  if (text.trim() === "") return "the output is empty";
  if (/^\s*</.test(text)) return "the output is a page (HTML or XML)";
  return isTooDeep(text) ? `the output is nested deeper than ${MAX_JSON_DEPTH} levels` : "the output is other text";
}

/** A template or a condition reads JSON that a step does not have. */
export const noJsonProblem = (index: number, why: string) => `steps[${index}] brought no JSON: ${why}`;
