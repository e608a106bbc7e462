/** LiquidJS, shut in: strict names and filters, own properties only, no files, bounded time, memory and output. */
import type { Context, Liquid } from "liquidjs";
import { quoteValue } from "../../domain/chat/command.js";
import { once, packageOnFirstUse } from "../../lib/concurrency/on-first-use.js";
import { literalMarkdown } from "../../lib/markdown/escape.js";
import { asData } from "../../lib/text/data-marks.js";
import { inBothForms, withoutMarks } from "./code.js";

export const liquid = packageOnFirstUse<typeof import("liquidjs")>("liquidjs");

/** The library calls it with what it renders in. */
type OutputEscape = (this: { context: Context }, value: unknown) => string;

const MAX_SOURCE_CHARACTERS = 100_000;
export const MAX_OUTPUT_CHARACTERS = 1_000_000;
/** Objects and characters that one rendering may make; the library counts them. */
const MEMORY_LIMIT = 8_000_000;
/** Rendering is synchronous, so this is also the longest that a template can hold everybody up. */
const RENDER_LIMIT_MS = 1000;

/** Tags that read other templates. */
const FOREIGN_TAGS = ["include", "render", "layout", "block"];

export const plainEngine = once(() => createEngine(printed));
/** Encloses each printed value, so that a model can learn where data starts and ends. */
export const fencingEngine = once(() => createEngine((value) => asData(printed(value))));
/**
 * Links in printed values show where they lead: a stranger's `[invoice](https://…)` is shown as it was written. So is all of a message
 * that is plain.
 */
export const linklessEngine = once(() => createMarkdownEngine((_, escaped) => escaped));
/** Does the same in code, where an escape would be shown. */
export const codeEngine = once(() => createMarkdownEngine(inBothForms));

function createMarkdownEngine(print: (text: string, escaped: string) => string): Liquid {
  const engine = createEngine(function (value) {
    const text = withoutMarks(printed(value));
    return print(text, isOfPlainMessage(text, this.context) ? literalMarkdown(text) : text.replaceAll("](", "]\\("));
  });
  // Other values may be Markdown: the report of a program, the answer of a model.
  engine.registerFilter("plain", {
    raw: true,
    handler: (value) => {
      const text = withoutMarks(printed(value));
      return print(text, literalMarkdown(text));
    },
  });
  return engine;
}

/** Prints each value as one quoted value of a command line. */
export const quotingEngine = once(() => createEngine((value) => quoteValue(printed(value))));

/** Encodes each printed value for an address, but for slashes: as the last filter, `url_encode` encodes these, too. */
export const addressEngine = once(() => createAddressEngine((text) => text));
/** Does the same in the path of a Markdown link's address: there, no value takes a step upwards. */
export const linkPathEngine = once(() =>
  createAddressEngine((text) => {
    if (!text.split(/\/|%2F|%5C/).includes("..")) return text;
    throw new Error(`a value leads out of the folder, with "..": ${text.slice(0, 60)}`);
  }),
);

function createAddressEngine(finish: (encoded: string) => string): Liquid {
  const engine = createEngine((value) => finish(encoded(value)).replaceAll("%2F", "/"));
  for (const filter of ["url_encode", "cgi_escape"])
    engine.registerFilter(filter, { raw: true, handler: (value) => finish(encoded(value)) });
  engine.registerFilter("uri_escape", printed);
  return engine;
}

/** Encodes each printed value as a name or value of a form. Filters that encode have nothing left to do. */
export const formEngine = once(() => {
  const engine = createEngine(encoded);
  for (const filter of ["url_encode", "cgi_escape", "uri_escape"]) engine.registerFilter(filter, printed);
  return engine;
});

/** A half of a surrogate pair cannot be encoded. A bracket would end the address of a Markdown link. */
const encoded = (value: unknown) =>
  encodeURIComponent(printed(value).replace(/\p{Surrogate}/gu, "\uFFFD"))
    .replaceAll("(", "%28")
    .replaceAll(")", "%29");

/** The event's message is plain, and this is its text or a part of it. */
function isOfPlainMessage(text: string, { environments }: Context): boolean {
  const { event } = environments as { event?: { message?: { format?: unknown; text?: unknown } | null } | null };
  const message = event?.message;
  return message?.format === "plain" && typeof message.text === "string" && message.text.includes(text);
}

function createEngine(outputEscape: OutputEscape): Liquid {
  const { Liquid } = liquid();
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    templates: {},
    parseLimit: MAX_SOURCE_CHARACTERS,
    memoryLimit: MEMORY_LIMIT,
    renderLimit: RENDER_LIMIT_MS,
    timezoneOffset: 0,
    locale: "en",
    dateFormat: "%Y-%m-%dT%H:%M:%SZ",
    outputEscape,
  });
  // The filter would print without `outputEscape`.
  engine.unregisterFilter("raw");
  for (const tag of FOREIGN_TAGS) delete engine.tags[tag];
  return engine;
}

/** The output of `{{ … }}`: text as it is, nothing for nothing, and everything else as JSON instead of `[object Object]`. */
function printed(value: unknown): string {
  if (typeof value === "string") return value;
  // `nil`, `empty` and `blank` of a template are objects of the library.
  if (value === undefined || value === null || value instanceof liquid().Drop) return "";
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}
