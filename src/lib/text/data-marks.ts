/**
 * Text for a model in which some parts are data: they came from messages, files, programs or other systems, and are never instructions.
 * Marks are private-use characters; a prompt has tags instead, which are new for every run, so that no data can forge their end.
 */
import { newToken } from "../id.js";

export const DATA_BEGIN = "\uE0D0";
export const DATA_END = "\uE0D1";

const MARKS = new RegExp(`[${DATA_BEGIN}${DATA_END}]`, "g");

/** The value between marks; marks of its own are taken out. */
export const asData = (value: string) => `${DATA_BEGIN}${withoutMarks(value)}${DATA_END}`;

export const withoutMarks = (text: string) => text.replace(MARKS, "");

export const newDataTag = () => `data-${newToken(9).replace(/[^a-z0-9]/gi, "0")}`;

export const withTags = (marked: string, tag: string) =>
  marked.replaceAll(DATA_BEGIN, `<${tag}>`).replaceAll(DATA_END, `</${tag}>`);
