/**
 * What people wrote and what they are called, masked; the structure, ids, times, numbers and words of ours kept. A field
 * that is not known to be harmless is masked, so that a plugin's own payloads leak nothing either.
 */
import { secretMask } from "./secret.js";

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
  "outcome",
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
/** A time, as programs write it. */
const IS_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const HARMLESS_ENDING = /(Ids?|At|Ms|Bytes|Key)$/;
/** Never shown, revealed or not. */
const SECRET = /(token|secret|password|passwd|authorization|api[-_]?key|cookie|credential)/i;
const MAX_DEPTH = 20;
const maskTokens = secretMask([]);

/** A copy with every text masked that may be a person's: `[24 characters]`. */
export function redact(value: unknown): unknown {
  return walk(value, "", 0, (text) => `[${[...text].length} characters]`);
}

/** A copy with only secrets masked: for those who may read what people wrote. */
export function reveal(value: unknown): unknown {
  return walk(value, "", 0, (text) => maskTokens(text));
}

/** The texts that `redact` would mask and `reveal` would not, each once, longest first. */
export function personalTexts(value: unknown): string[] {
  const found = new Set<string>();
  walk(value, "", 0, (text) => {
    found.add(text);
    return text;
  });
  return [...found].sort((a, b) => b.length - a.length);
}

function walk(value: unknown, key: string, depth: number, text: (text: string) => string): unknown {
  if (depth > MAX_DEPTH) return "[too deep]";
  if (SECRET.test(key) && (typeof value === "string" || typeof value === "object") && value !== null && value !== "")
    return "[secret]";
  if (typeof value === "string")
    return value === "" || HARMLESS.has(key) || HARMLESS_ENDING.test(key) || IS_TIME.test(value)
      ? maskTokens(value)
      : text(value);
  if (Array.isArray(value)) return value.map((entry) => walk(entry, key, depth + 1, text));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, name === "raw" ? "[raw]" : walk(entry, name, depth + 1, text)]),
  );
}
