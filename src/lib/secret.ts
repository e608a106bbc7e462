/** Secrets: compared in constant time, and masked wherever text leaves the process. */
import { createHash, timingSafeEqual } from "node:crypto";

/** True when both are the same text; the time taken tells nothing about where they differ. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

const MASK = "[secret]";
/** Discord bot tokens and Telegram bot tokens, wherever they stand: `/bot123:ABC/` in an address, too. */
const TOKEN_SHAPES = /\b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}|(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/g;
/** What every such token has inside: four times quicker to look for, and almost always absent. */
const DISCORD_TAIL = /\.[\w-]{6}\.[\w-]{27}/;
const TELEGRAM_TAIL = /\d:[A-Za-z0-9_-]{30}/;

/**
 * A function that masks every known secret (4 characters or more), also as JSON writes it, and everything that looks like a
 * platform token. Secrets that are added to the list later are masked from then on.
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
  const known = secrets.filter((secret): secret is string => secret !== undefined && secret.length >= 4);
  return [...new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
}
