/**
 * Masks the texts and names of people; keeps the structure, ids, times, numbers and words of ours. A field
 * that is not known to be harmless is masked. In a value that others made (an event from outside, a plugin's payload) every text
 * is masked: a name such as `status` does not show what its sender writes there.
 */
import { secretMask } from "../signing/secret.js";

/** Fields whose text is ours or a platform's, never a person's. */
const HARMLESS = new Set([
  "id",
  "kind",
  "type",
  "platform",
  "point",
  "hook",
  "hooks",
  "model",
  "phase",
  "operation",
  "status",
  "access",
  "format",
  "tone",
  "style",
  "mimeType",
  "severity",
  "command",
  "role",
  "claimedBy",
  "cancelledBy",
  "cancel",
  "cancelReason",
  "emoji",
  "code",
  "finishReason",
  "entityType",
  "expression",
  // Why a hook stopped something: the hook's own words.
  "cancel",
]);
/** Fields of ours in which others name the fields: options of commands, answers to forms, inputs, results of programs. */
const FREE_FORM = new Set(["input", "options", "values", "result", "facts", "expectations", "assessment"]);
/** The harmless values of an `outcome`: the words of our points for how something ended. A mission's report quotes a runner there. */
const OUTCOMES = new Set(["succeeded", "done", "blocked", "skipped", "failed", "refused", "timed_out", "interrupted"]);
const MASK = "[text]";
/** A time, as programs write it. */
const IS_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const HARMLESS_ENDING = /(Ids?|At|Ms|Bytes|Key)$/;
/** Never shown, revealed or not. */
const SECRET = /(token|secret|password|passwd|authorization|api[-_]?key|cookie|credential)/i;
const MAX_DEPTH = 20;
const maskTokens = secretMask([]);

/** The author of the field names of a value: this product, or others (a sender of events, a plugin). */
export type NamedBy = "us" | "others";

/** A copy with every text masked that may be a person's. The mask has no length and no hash: a short text can be guessed from either. */
export function redact(value: unknown, namedBy: NamedBy): unknown {
  return walk(value, { key: "", depth: 0, isOurs: namedBy === "us" }, () => MASK);
}

/** `text` with each of these texts masked. */
export function maskTexts(text: string, texts: readonly string[]): string {
  let masked = text;
  for (const one of texts) masked = masked.replaceAll(one, MASK);
  return masked;
}

/** A copy with only secrets masked: for readers who may see the texts of people. */
export function reveal(value: unknown): unknown {
  return walk(value, { key: "", depth: 0, isOurs: true }, (text) => maskTokens(text));
}

/** The texts that `redact` would mask and `reveal` would not, each once, longest first. */
export function personalTexts(value: unknown, namedBy: NamedBy): string[] {
  const found = new Set<string>();
  walk(value, { key: "", depth: 0, isOurs: namedBy === "us" }, (text) => {
    found.add(text);
    return text;
  });
  return [...found].sort((a, b) => b.length - a.length);
}

interface Place {
  key: string;
  depth: number;
  /** The name of the field is ours, so it shows the kind of its content. */
  isOurs: boolean;
}

function walk(value: unknown, { key, depth, isOurs }: Place, text: (text: string) => string): unknown {
  if (depth > MAX_DEPTH) return "[too deep]";
  if (SECRET.test(key) && (typeof value === "string" || typeof value === "object") && value !== null && value !== "")
    return "[secret]";
  if (typeof value === "string")
    return value === "" || (isOurs && isHarmless(key, value)) ? maskTokens(value) : text(value);
  if (typeof value !== "object" || value === null) return value;
  const within = (name: string): Place => ({ key: name, depth: depth + 1, isOurs: isOurs && !FREE_FORM.has(key) });
  if (Array.isArray(value)) return value.map((entry) => walk(entry, within(key), text));
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, name === "raw" ? "[raw]" : walk(entry, within(name), text)]),
  );
}

function isHarmless(key: string, text: string): boolean {
  if (key === "outcome") return OUTCOMES.has(text);
  return HARMLESS.has(key) || HARMLESS_ENDING.test(key) || IS_TIME.test(text);
}
