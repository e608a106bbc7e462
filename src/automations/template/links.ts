/** Markdown links in a template's own text whose address starts with a server: no value decides which one, and values in it are encoded. */
import type { Output, Template } from "liquidjs";
import { addressEngine, linkPathEngine, liquid } from "./engine.js";
import { childrenOf } from "./paths.js";

/** `https://…` of `[words](https://…)`, with the tags in it. */
const ADDRESS = /(?<=\]\(\s*<?)https?:(?:\{\{.*?\}\}|\{%.*?%\}|[^\s)>])*/gis;

export const linkAddresses = (source: string): string[] => source.match(ADDRESS) ?? [];

/** Changes what is parsed: what stands in the address of a link prints as a part of an address. */
export function encodeInLinks(parsed: readonly Template[], source: string): void {
  for (const { index, 0: address } of source.matchAll(ADDRESS))
    for (const output of outputsIn(parsed)) {
      const { begin, end } = output.token;
      if (begin < index || end > index + address.length) continue;
      const engine = /[?#]/.test(source.slice(index, begin)) ? addressEngine() : linkPathEngine();
      output.value = (engine.parse(output.token.getText()) as [Output])[0].value;
    }
}

function outputsIn(templates: readonly Template[]): Output[] {
  return templates.flatMap((one) => (one instanceof liquid().Output ? [one] : outputsIn(childrenOf(one))));
}
