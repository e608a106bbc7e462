/**
 * Two things that a text may hold and that every platform shows its own way, written as Discord writes them: a moment,
 * `<t:SECONDS>` or `<t:SECONDS:STYLE>` (t T d D f F R), with an optional time zone behind that for platforms which cannot show the
 * reader's (`<t:1767225600:f:Europe/Berlin>`); and a person, `<@ID>` or `<@ID|Name>`, who is pinged only if the message allows it.
 */

export type Token =
  | { kind: "moment"; atMs: number; style: string; timezone: string | undefined }
  | { kind: "person"; id: string; name: string | undefined };

/** How a platform shows one; undefined = as it was written. */
export type ShowToken = (token: Token, written: string) => TokenText | undefined;

/** `url`: the text leads there (or, with `mention:`, refers to a person). */
export interface TokenText {
  text: string;
  url?: string;
}

const FORM =
  /<t:(-?\d{1,12})(?::([tTdDfFR]))?(?::([A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*))?>|<@(\d{1,24})(?:\|([^<>|\n]{1,64}))?>/g;

/** The text in pieces: the tokens and the texts between them. */
export function* tokensOf(text: string): Generator<{ text: string; token?: Token }> {
  let end = 0;
  for (const match of text.matchAll(FORM)) {
    if (match.index > end) yield { text: text.slice(end, match.index) };
    const [written, seconds, style = "f", timezone, id, name] = match;
    yield {
      text: written,
      token:
        seconds === undefined
          ? { kind: "person", id: id as string, name }
          : { kind: "moment", atMs: Number(seconds) * 1000, style, timezone },
    };
    end = match.index + written.length;
  }
  if (end < text.length) yield { text: text.slice(end) };
}

export const hasToken = (text: string) => text.includes("<t:") || text.includes("<@");

const DATE = { day: "numeric", month: "short", year: "numeric" } as const;
const TIME = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" } as const;

/** A moment in words, with its zone, for platforms that do not know where their reader is: `21 Nov 2026, 21:05 GMT+1`. */
export function writeMoment({ atMs, style, timezone = "UTC" }: Extract<Token, { kind: "moment" }>): string {
  const isInReach = Number.isFinite(atMs) && Math.abs(atMs) <= 8.64e15;
  const format = isInReach ? formatOf(timezone, style) : undefined;
  if (format !== undefined) return format.format(atMs);
  return isInReach ? new Date(atMs).toISOString() : String(atMs);
}

/** To make one takes a hundred times as long as to use it, and a text may hold thousands of moments. */
const formats = new Map<string, Intl.DateTimeFormat | undefined>();
const MAX_FORMATS = 500;

/** Undefined for a zone that this machine does not know. */
function formatOf(timezone: string, style: string): Intl.DateTimeFormat | undefined {
  const key = `${style}${timezone}`;
  if (formats.has(key)) return formats.get(key);
  if (formats.size >= MAX_FORMATS) formats.clear();
  const format = newFormat(timezone, style);
  formats.set(key, format);
  return format;
}

function newFormat(timeZone: string, style: string): Intl.DateTimeFormat | undefined {
  const hasTime = !/[dD]/.test(style);
  const hasDate = !/[tT]/.test(style);
  try {
    return new Intl.DateTimeFormat("en-GB", {
      timeZone,
      ...(hasDate ? DATE : undefined),
      weekday: style === "F" ? "short" : undefined,
      ...(hasTime ? TIME : undefined),
      second: style === "T" ? "2-digit" : undefined,
    });
  } catch {
    return undefined;
  }
}

/** The text where nothing but words can be shown: moments in the zone given (or their own), people by name. */
export function tokensInWords(text: string, timezone?: string): string {
  if (!hasToken(text)) return text;
  return [...tokensOf(text)].map(({ text: written, token }) => inWords(written, token, timezone)).join("");
}

function inWords(written: string, token: Token | undefined, timezone: string | undefined): string {
  switch (token?.kind) {
    case "moment":
      return writeMoment({ ...token, timezone: timezone ?? token.timezone });
    case "person":
      return `@${token.name ?? token.id}`;
    case undefined:
      return written;
  }
}
