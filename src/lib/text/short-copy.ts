/** Shortens a caller's text where an answer repeats it: a name of thousands of characters would hide the answer itself. */

const MAX_CHARACTERS = 100;

export function shortCopy(text: string, maxCharacters = MAX_CHARACTERS): string {
  if (text.length <= maxCharacters) return text;
  const characters = [...text.slice(0, maxCharacters * 2)];
  return characters.length <= maxCharacters && text.length <= maxCharacters * 2
    ? text
    : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}

/** `message` with long copies of `given`, or of words in it, shortened. */
export function withShortCopies(message: string, given: Iterable<unknown>): string {
  let short = message;
  for (const value of given) {
    if (typeof value !== "string" || value.length <= MAX_CHARACTERS) continue;
    for (const part of [value, ...value.split(/[\s,;=]+/)])
      if (part.length > MAX_CHARACTERS) short = short.replaceAll(part, () => shortCopy(part));
  }
  return short;
}
