/** Whether a text has the required content: the shared part of the checks of files, answers and outputs. */
import { RE2JS } from "re2js";
import { type Found, notSo, so } from "./check.js";

export function checkText(
  text: string,
  { contains, matches }: { contains?: string | undefined; matches?: string | undefined },
  what: string,
): Found {
  if (contains !== undefined && !text.includes(contains))
    return notSo(`${what} does not contain ${JSON.stringify(contains)}; it is ${excerpt(text)}`);
  if (matches !== undefined && !RE2JS.compile(matches).matcher(text).find())
    return notSo(`${what} does not match /${matches}/; it is ${excerpt(text)}`);
  return so(`${what} is as expected`);
}

const SHOWN = 400;

/** The end of the text: programs report errors there. */
export function excerpt(text: string): string {
  const whole = text.trim();
  if (whole === "") return "nothing";
  return JSON.stringify(whole.length <= SHOWN ? whole : `…${whole.slice(-SHOWN)}`);
}
