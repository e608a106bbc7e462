/**
 * The parts of a run that go into its history. Texts that people wrote (the texts of the payload) are masked wherever they turn up again,
 * in a prompt or an output; secrets are masked everywhere; all is cut to size.
 */
import { namedBy } from "../../domain/journal.js";
import { maskTexts, personalTexts, redact, reveal } from "../../lib/text/redact.js";

export interface History {
  payload: unknown;
  text(text: string): string;
  /** Words of the product and of the definition: only secrets are masked. A message such as "skip" must not mask the names of settings. */
  ownWords(text: string): string;
  value(value: unknown): unknown;
}

/** Masking shorter words would mask parts of others. */
const MIN_TEXT = 4;
const MAX_TEXTS = 100;
const MAX_CHARACTERS = 16_384;
const MAX_DEPTH = 12;
const MAX_ENTRIES = 200;

/** `point`: the point of the payload. `mask` masks the secrets of the configuration. */
export function historyOf(point: string, payload: unknown, mask: (text: string) => string): History {
  let texts: string[] | undefined;
  const text = (one: string): string => {
    texts ??= personalTexts(payload, namedBy(point))
      .filter(({ length }) => length >= MIN_TEXT)
      .slice(0, MAX_TEXTS);
    return clip(mask(maskTexts(one, texts)));
  };
  return {
    payload: redact(payload, namedBy(point)),
    text,
    ownWords: (one) => clip(mask(one)),
    value: (value) => walk(reveal(value), text, 0),
  };
}

function clip(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}… (${text.length} characters)`;
}

function walk(value: unknown, text: (one: string) => string, depth: number): unknown {
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[too deep]";
  if (Array.isArray(value)) {
    const kept = value.slice(0, MAX_ENTRIES).map((one) => walk(one, text, depth + 1));
    return value.length > MAX_ENTRIES ? [...kept, `… ${value.length - MAX_ENTRIES} more`] : kept;
  }
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ENTRIES)
      .map(([key, one]) => [key, walk(one, text, depth + 1)]),
  );
}
