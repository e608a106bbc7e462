/** Secrets: compared in constant time, and masked wherever text leaves the process. */
import { createHash, timingSafeEqual } from "node:crypto";

/** True when both are the same text; the time taken does not reveal where they differ. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

export const MIN_TOKEN_CHARACTERS = 16;
const MIN_DIFFERENT = 6;

/** Why a login token is easy to guess; undefined when it is not plainly so. */
export function whyWeakToken(token: string): string | undefined {
  if (token.length < MIN_TOKEN_CHARACTERS) return `it is shorter than ${MIN_TOKEN_CHARACTERS} characters`;
  if (new Set(token.toLowerCase()).size < MIN_DIFFERENT)
    return `it has fewer than ${MIN_DIFFERENT} different characters`;
  if (isRepeated(token)) return "it repeats one short text";
  return isRow(token) ? "it is a row of neighbouring characters" : undefined;
}

function isRepeated(token: string): boolean {
  for (let length = 1; length <= 12 && length * 2 <= token.length; length++)
    if (token === token.slice(0, length).repeat(token.length).slice(0, token.length)) return true;
  return false;
}

/** `abcdefghijklmnop`, `12345678901234567`. */
function isRow(token: string): boolean {
  let steps = 0;
  for (let i = 1; i < token.length; i++) {
    const step = Math.abs(token.charCodeAt(i) - token.charCodeAt(i - 1));
    if (step === 1 || step === 9) steps++;
  }
  return steps >= (token.length - 1) * 0.8;
}

const MASK = "[secret]";
/** Discord bot tokens and Telegram bot tokens, anywhere in a text: `/bot123:ABC/` in an address, too. */
const TOKEN_SHAPES = /\b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}|(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/g;
/** A part that every such token has: four times quicker to look for, and almost always absent. */
const DISCORD_TAIL = /\.[\w-]{6}\.[\w-]{27}/;
const TELEGRAM_TAIL = /\d:[A-Za-z0-9_-]{30}/;

const MIN_SECRET_CHARACTERS = 8;

/**
 * Why a value is not masked; undefined when it is. A short word or number, such as `test`, is in ordinary text, too: masking it would
 * hide that text and show which word the secret is.
 */
export function whyNotMasked(secret: string): string | undefined {
  if (secret.length >= MIN_SECRET_CHARACTERS || (secret.length >= 4 && !/^([a-z]+|\d+)$/i.test(secret)))
    return undefined;
  return secret.length < 4
    ? "it has fewer than 4 characters"
    : `it has fewer than ${MIN_SECRET_CHARACTERS} characters and is a plain word or number`;
}

/**
 * A function that masks every known secret (but for `whyNotMasked`) and each line of it, also as JSON and addresses write it, and
 * everything that looks like a platform token. Secrets that are added to the list later are masked from then on.
 */
export function secretMask(secrets: readonly (string | undefined)[]): (text: string) => string {
  let known = forms(secrets);
  let count = secrets.length;
  return (text) => {
    if (secrets.length !== count) {
      known = forms(secrets);
      count = secrets.length;
    }
    let masked = text;
    for (const secret of known) if (masked.includes(secret)) masked = masked.replaceAll(secret, MASK);
    return DISCORD_TAIL.test(masked) || TELEGRAM_TAIL.test(masked) ? masked.replace(TOKEN_SHAPES, MASK) : masked;
  };
}

function forms(secrets: readonly (string | undefined)[]): string[] {
  const known = secrets.filter(
    (secret): secret is string => secret !== undefined && whyNotMasked(secret) === undefined,
  );
  const found = known.flatMap((secret) => [secret, ...linesOf(secret)]);
  const written = found.flatMap((one) => [
    one,
    JSON.stringify(one).slice(1, -1),
    encodeURIComponent(one.toWellFormed()),
  ]);
  // The longest first: a secret that holds another one is masked whole.
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

/** A shell joins the lines of a key by spaces, and programs print one of them alone. */
function linesOf(secret: string): string[] {
  if (!secret.includes("\n")) return [];
  return secret
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= MIN_SECRET_CHARACTERS);
}

/** A name of 16 letters and digits that does not give the secret away. */
export function nameFromSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url").replace(/\W/g, "").slice(0, 16);
}
