/** Keeps secrets out of the journal's file. Done by the writer, for a batch at once: almost always there is nothing to hide. */
import { secretMask } from "../../lib/secret.js";
import { mapTexts } from "./pack.js";

export function createHide(secrets: readonly (string | undefined)[]): (lines: readonly string[]) => readonly string[] {
  const mask = secretMask(secrets);
  const isClean = (text: string): boolean => {
    if (mask(text) !== text) return false;
    // A secret with a quote or a backslash in it stands escaped in JSON, so the text is also looked at without escapes.
    if (!/\\["\\]/.test(text)) return true;
    const plain = text.replace(/\\(["\\])/g, "$1");
    return mask(plain) === plain;
  };
  return (lines) => {
    if (isClean(lines.join("\n"))) return lines;
    return lines.map((line) => (isClean(line) ? line : mapTexts(line, mask)));
  };
}
