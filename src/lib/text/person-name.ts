/** Names that people give themselves: how they are shown, and which of them could be taken for another person's. */
import { drawnAs, withoutSmallCapitals } from "./look-alikes.js";

/** Characters that are invisible, or that turn the direction of the text around them. The joiners that scripts and emoji need are left. */
const UNSEEN =
  /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800\u2028\u2029]/gu;
const JOINERS = /\u200c|\u200d|\ufe0e|\ufe0f/g;

/** On one line and without unseen characters. Undefined when nothing is left to see. */
export function shownName(name: string): string | undefined {
  const shown = name.replace(/\s+/g, " ").replace(UNSEEN, "").replace(/ {2,}/g, " ").trim();
  return shown.replace(JOINERS, "") === "" ? undefined : shown;
}

/**
 * Whether people would take one name for the other: in another case, another width, with letters that are drawn alike, or with other
 * spaces, punctuation and accents.
 */
export function looksLike(name: string, other: string): boolean {
  const one = bare(visible(name));
  const two = bare(visible(other));
  return one.toLowerCase() === two.toLowerCase() || drawnAs(one) === drawnAs(two);
}

function visible(name: string): string {
  const shown = (shownName(name) ?? "").normalize("NFKC").replace(JOINERS, "").replace(/\s+/g, " ");
  return withoutSmallCapitals(shown);
}

/** A role behind a name, which makes no other person of one: `Otto (owner)`. */
const ROLE = /\(\s*(owner|admin|operator|viewer|bot|team|staff|support)\s*\)\s*$/iu;

/** Accents, spaces, punctuation and signs such as `✓` are overlooked, and a role. Names of nothing else are left as they are. */
function bare(shown: string): string {
  const left = shown
    .replace(ROLE, "")
    .normalize("NFD")
    .replace(/[\u0300-\u036f]|[\s\p{P}\p{S}]/gu, "")
    .replaceAll("rn", "m")
    .normalize("NFC");
  return left === "" ? shown : left;
}

/** Scripts with letters that look the same. */
const ALIKE = ["Latin", "Cyrillic", "Greek", "Armenian", "Cherokee"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "u"),
);

/** Letters and digits of scripts that no language writes in one word with Latin letters. */
const APART_FROM_LATIN =
  /(?!\p{Script=Latin}|\p{Script=Common}|\p{Script=Inherited}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Bopomofo})[\p{L}\p{Nd}]/u;

/** `Аnn` with a Cyrillic first letter; `Команда DevOps` has each script in a word of its own. */
function mixesScripts(shown: string): boolean {
  return shown.split(/[^\p{L}\p{M}\p{Nd}]+/u).some((word) => {
    if (/\p{Script=Latin}/u.test(word) && APART_FROM_LATIN.test(word)) return true;
    return ALIKE.filter((script) => script.test(word)).length > 1;
  });
}

/** Why this name may not be chosen, as the end of a sentence: "the name …"; undefined when it is good. */
export function whyBadName(name: string): string | undefined {
  const shown = shownName(name);
  if (shown === undefined) return "has no visible character";
  if (/[\t-\r\u0085\u2028\u2029]/.test(name.trim())) return "has a line break or a tab";
  if (shown !== name.trim().replace(/\s+/g, " "))
    return "has invisible characters, or characters that change the direction of text";
  if (mixesScripts(shown)) return "mixes letters of different alphabets in one word";
  const needsNoJoiner = !/[\p{Script=Arabic}\p{Extended_Pictographic}\p{M}]/u.test(shown);
  return needsNoJoiner && shown.search(JOINERS) >= 0 ? "has invisible characters" : undefined;
}
