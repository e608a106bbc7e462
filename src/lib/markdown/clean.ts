/** Replaces characters that no platform can carry, before anything else: lone surrogates, NUL. Line ends become `\n`. */

const UNCLEAN = /[\0\r]|\p{Surrogate}/u;

export function clean(text: string): string {
  if (!UNCLEAN.test(text)) return text;
  return text.replace(/\r\n?/g, "\n").replace(/\0|\p{Surrogate}/gu, "\uFFFD");
}

/** True when a person would see nothing: white space and characters without shape only. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cf}\p{Cc}]/u.test(text);
}
