/**
 * Places in a template's own Markdown: links whose address starts with a server (no value decides which one, and values in it are encoded),
 * and code (values in it are shown as they are).
 */
import type { CaptureTag, Liquid, Output, Template } from "liquidjs";
import { addressEngine, codeEngine, linkPathEngine, liquid } from "./engine.js";
import { childrenOf } from "./paths.js";

/** `https://…` of `[words](https://…)`, with the tags in it. */
const ADDRESS = /(?<=\]\(\s*<?)https?:(?:\{\{.*?\}\}|\{%.*?%\}|[^\s)>])*/gis;

/** The same addresses, and those that start with a tag. */
const WRITTEN = /(?<=\]\(\s*<?)(?=https?:|\{[{%])(?:\{\{.*?\}\}|\{%.*?%\}|[^\s)>])*/gis;

/** The values to which `assign` and `capture` give a name. */
const NAMED = /\b(?:assign|capture)\s+["']?([\w-]+)(?:["']?\s*=.*?%\}|.*?endcapture)/gs;

/** The addresses of links, each with all of which it is put together. */
export function linkAddresses(source: string): { address: string; whole: string }[] {
  const named = [...source.matchAll(NAMED)];
  return (source.match(WRITTEN) ?? []).map((address) => {
    const isNamed = named.some(([, name = ""]) => address.match(/[\w-]+/g)?.includes(name));
    return { address, whole: isNamed ? [address, ...named.map(([text]) => text)].join(" ") : address };
  });
}

/** Changes the parsed template: outputs in the address of a link print as a part of an address. */
export function encodeInLinks(parsed: readonly Template[], source: string): void {
  for (const { index, 0: address } of source.matchAll(ADDRESS))
    for (const output of outputsIn(parsed)) {
      const { begin, end } = output.token;
      if (begin < index || end > index + address.length) continue;
      print(output, /[?#]/.test(source.slice(index, begin)) ? addressEngine() : linkPathEngine());
    }
}

/** From the first backquotes to as many; `settleCode` sees whether the parser takes it for code, too. */
const CODE = /(?<![`~\\])(`+|~{3,})(?![`~]).*?(?<![`~])\1(?![`~])/gs;

/** Changes the parsed template: outputs in code print in both forms. */
export function showInCode(parsed: readonly Template[], source: string): void {
  const code = [...source.matchAll(CODE)].map(({ index, 0: { length } }) => ({ from: index, to: index + length }));
  for (const output of printedIn(parsed))
    if (code.some(({ from, to }) => from < output.token.begin && output.token.end < to)) print(output, codeEngine());
}

function print(output: Output, engine: Liquid): void {
  output.value = (engine.parse(output.token.getText()) as [Output])[0].value;
}

/** The outputs that are printed. Those in a `capture` are left out: its text may be compared. */
export const printedIn = (templates: readonly Template[]) => outputsIn(templates, liquid().CaptureTag);

function outputsIn(templates: readonly Template[], except?: typeof CaptureTag): Output[] {
  return templates.flatMap((one) => {
    if (one instanceof liquid().Output) return [one];
    return except && one instanceof except ? [] : outputsIn(childrenOf(one), except);
  });
}
