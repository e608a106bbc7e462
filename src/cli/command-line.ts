/** The words of a shell as one command of the chat. */

/** A single word is a whole line already. Among several words, those with spaces are quoted as in chat: `title="a new lock"`. */
export function commandLine(words: readonly string[]): string {
  const [only = "", ...more] = words;
  return more.length === 0 ? only : words.map(asWritten).join(" ");
}

function asWritten(word: string): string {
  if (!/[\s"'“‘]/.test(word) && word !== "") return word;
  if (/^[{[]/.test(word)) return word;
  const [, name = "", value = ""] = /^([a-z0-9_-]+=)?([\s\S]*)$/i.exec(word) ?? [];
  return `${name}"${value.replace(/[\\"]/g, "\\$&")}"`;
}
