/** `--payload`: JSON as it is, `@file`, or `@-` for standard input; checked to be JSON before anybody is called. `example` and `last` go through. */
import { readFileSync } from "node:fs";
import { errorMessage, HookgateError } from "../lib/errors.js";

export function readPayload(given: string): string {
  const text = given.startsWith("@") ? readText(given === "@-" ? 0 : given.slice(1)) : given;
  if (/^\s*(example|last)\b/.test(text)) return text;
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new HookgateError({
      code: "BAD_USAGE",
      message: `The payload is not JSON: ${errorMessage(error)}`,
      hint: "Give an object in single quotes, @file, example or last.",
      cause: error,
    });
  }
}

/** 0 = standard input. */
function readText(file: string | number): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new HookgateError({
      code: "BAD_USAGE",
      message: `The payload file cannot be read: ${errorMessage(error)}`,
      cause: error,
    });
  }
}
