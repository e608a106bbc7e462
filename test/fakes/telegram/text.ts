/** Text as the Bot API takes it: entities or HTML, trimmed, measured in UTF-16 units after parsing. */
import { badRequest } from "./calls.js";
import type { FakeButton, FakeEntity, FakeMarkup } from "./world.js";

export const TEXT_MAX = 4096;
export const CAPTION_MAX = 1024;
const ENTITIES_MAX = 100;
const ENTITY_TYPES = new Set(
  "mention hashtag cashtag bot_command url email phone_number bold italic underline strikethrough spoiler blockquote expandable_blockquote code pre text_link text_mention custom_emoji date_time".split(
    " ",
  ),
);
const TAGS: Record<string, string> = {
  b: "bold",
  strong: "bold",
  i: "italic",
  em: "italic",
  u: "underline",
  ins: "underline",
  s: "strikethrough",
  strike: "strikethrough",
  del: "strikethrough",
  code: "code",
  pre: "pre",
  a: "text_link",
  blockquote: "blockquote",
  "tg-spoiler": "spoiler",
  "tg-emoji": "custom_emoji",
  span: "spoiler",
};

export interface ParsedText {
  text: string;
  entities: FakeEntity[];
}

/** The text of a request, checked; `isRequired`: an empty one is refused. */
export function parseText(
  given: unknown,
  entities: unknown,
  parseMode: unknown,
  options: { max: number; isRequired: boolean },
): ParsedText {
  const raw = given === undefined || given === null ? "" : String(given);
  const parsed =
    parseMode === "HTML" && entities === undefined
      ? parseHtml(raw)
      : parseMode !== undefined && entities === undefined
        ? refuseMode(parseMode)
        : { text: raw, entities: checkEntities(raw, entities) };
  const { text, entities: kept } = trimmed(parsed);
  if (text === "" && options.isRequired) throw badRequest("message text is empty");
  if (text.length > options.max)
    throw badRequest(options.max === CAPTION_MAX ? "message caption is too long" : "message is too long");
  return { text, entities: kept.slice(0, ENTITIES_MAX) };
}

function refuseMode(mode: unknown): never {
  throw badRequest(`the fake does not parse ${String(mode)}: send entities or HTML`);
}

function checkEntities(text: string, given: unknown): FakeEntity[] {
  if (given === undefined || given === null) return [];
  const list = typeof given === "string" ? (JSON.parse(given) as unknown) : given;
  if (!Array.isArray(list)) throw badRequest("can't parse entities: expected an Array");
  return list.map((item: unknown) => {
    const { type, offset, length, ...rest } = Object(item) as Record<string, unknown>;
    if (typeof type !== "string" || !ENTITY_TYPES.has(type))
      throw badRequest("can't parse MessageEntity: Unsupported type specified");
    if (!Number.isInteger(offset) || !Number.isInteger(length))
      throw badRequest(`can't parse MessageEntity: Can't find field "offset"`);
    const [from, to] = [Number(offset), Number(offset) + Number(length)];
    if (from < 0 || to <= from) throw badRequest("entity has a wrong offset or length");
    if (to > text.length)
      throw badRequest(
        `entity beginning at UTF-16 offset ${from} ends after the end of the text at UTF-16 offset ${text.length}`,
      );
    if (splitsPair(text, from)) throw badRequest(`entity begins in a middle of a UTF-16 symbol at byte offset ${from}`);
    if (splitsPair(text, to))
      throw badRequest(`entity beginning at UTF-16 offset ${from} ends in a middle of a UTF-16 symbol`);
    if (type === "text_link" && typeof rest.url !== "string") throw badRequest("ENTITY_TEXTURL_INVALID");
    if (type === "text_link") checkUrl("entity URL", String(rest.url));
    return { type, offset: from, length: to - from, ...rest };
  });
}

/** As Telegram's own library checks links: a host without a dot is refused, unless it is an address of IPv6. */
function checkUrl(what: string, url: string): void {
  const refuse = (why: string) => badRequest(`${what} '${url}' is invalid: ${why}`);
  const [, scheme = "http", rest = ""] = /^(?:([a-z][a-z\d+.-]*):\/\/)?(\S+)$/i.exec(url) ?? [];
  if (/^(tg|ton)$/i.test(scheme)) return;
  if (!/^https?$/i.test(scheme)) throw refuse("Unsupported URL protocol");
  const host = rest.split(/[/?#]/)[0]?.split("@").at(-1) ?? "";
  if (!host.startsWith("[") && !host.split(":")[0]?.includes(".")) throw refuse("Wrong HTTP URL");
}

function splitsPair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/** The server strips white space at both ends, and moves entities with it. */
function trimmed({ text, entities }: ParsedText): ParsedText {
  const end = text.trimEnd().length;
  const start = text.length - text.trimStart().length;
  if (start === 0 && end === text.length) return { text, entities };
  return {
    text: text.trim(),
    entities: entities.flatMap((entity) => {
      const from = Math.max(start, entity.offset);
      const to = Math.min(end, entity.offset + entity.length);
      return to > from ? [{ ...entity, offset: from - start, length: to - from }] : [];
    }),
  };
}

function parseHtml(html: string): ParsedText {
  let text = "";
  const open: { tag: string; at: number; attributes: string; byte: number }[] = [];
  const entities: FakeEntity[] = [];
  const fail = (what: string, index: number): never => {
    throw badRequest(`can't parse entities: ${what} at byte offset ${Buffer.byteLength(html.slice(0, index))}`);
  };
  for (let i = 0; i < html.length; ) {
    const char = html[i] as string;
    if (char === "&") {
      const match = /^&(lt|gt|amp|quot|#\d+|#x[\da-f]+);/i.exec(html.slice(i, i + 12));
      text += match ? decodeReference(match[1] as string) : "&";
      i += match ? match[0].length : 1;
    } else if (char !== "<") {
      text += char;
      i++;
    } else {
      const end = html.indexOf(">", i);
      const match = end < 0 ? null : /^<(\/?)([a-z-]+)((?:\s[^<>]*)?)>$/i.exec(html.slice(i, end + 1));
      if (!match) return fail(`Unsupported start tag "${html.slice(i + 1, i + 10)}"`, i);
      const tag = (match[2] as string).toLowerCase();
      if (!(tag in TAGS)) return fail(`Unsupported start tag "${tag}"`, i);
      if (match[1] === "") open.push({ tag, at: text.length, attributes: match[3] ?? "", byte: i });
      else {
        const opened = open.pop();
        if (!opened) return fail("Unexpected end tag", i);
        if (opened.tag !== tag) return fail(`Unmatched end tag, expected "</${opened.tag}>", found "</${tag}>"`, i);
        if (text.length > opened.at) entities.push(entityOf(opened, text.length));
      }
      i = end + 1;
    }
  }
  const left = open.pop();
  if (left) return fail(`Can't find end tag corresponding to start tag "${left.tag}"`, left.byte);
  return { text, entities: entities.sort((a, b) => a.offset - b.offset || b.length - a.length) };
}

function entityOf({ tag, at, attributes }: { tag: string; at: number; attributes: string }, end: number): FakeEntity {
  const url = /href\s*=\s*"([^"]*)"/i.exec(attributes)?.[1];
  return { type: TAGS[tag] as string, offset: at, length: end - at, url };
}

function decodeReference(name: string): string {
  const named: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"' };
  if (name in named) return named[name] as string;
  return String.fromCodePoint(
    name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1)),
  );
}

/** The keyboard of a request, checked. */
export function parseKeyboard(given: unknown): FakeMarkup | undefined {
  const markup = typeof given === "string" ? (JSON.parse(given) as unknown) : given;
  if (markup === undefined || markup === null) return undefined;
  const { force_reply: isAsking, input_field_placeholder: placeholder } = Object(markup) as Record<string, unknown>;
  if (isAsking === true) {
    if (
      placeholder !== undefined &&
      (typeof placeholder !== "string" || placeholder.length < 1 || placeholder.length > 64)
    )
      throw badRequest("input field placeholder is invalid");
    return markup as FakeMarkup;
  }
  const rows = Object(markup).inline_keyboard as unknown;
  if (!Array.isArray(rows)) throw badRequest("object expected as reply markup");
  let count = 0;
  for (const row of rows as FakeButton[][])
    for (const button of row) {
      count++;
      if (!button.text) throw badRequest(`can't parse inline keyboard button: Text buttons are unallowed`);
      if ((button.url === undefined) === (button.callback_data === undefined))
        throw badRequest("can't parse inline keyboard button: exactly one of the optional fields must be used");
      if (button.callback_data !== undefined) {
        const size = Buffer.byteLength(button.callback_data);
        if (size < 1 || size > 64) throw badRequest("BUTTON_DATA_INVALID");
      }
      if (button.url !== undefined) checkUrl("inline keyboard button URL", button.url);
    }
  if (count > 100) throw badRequest("reply markup is too long");
  return { inline_keyboard: (rows as FakeButton[][]).filter((row) => row.length > 0) };
}
