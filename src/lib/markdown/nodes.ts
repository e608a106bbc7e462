/** The tree: mdast (CommonMark + GFM) and the two marks that chat platforms have besides. */
import type { PhrasingContent, Root, RootContent } from "mdast";

/** Hidden until pressed: `||text||`. */
export interface Spoiler {
  type: "spoiler";
  children: PhrasingContent[];
}
/** Only from HTML; Markdown has no underline. */
export interface Underline {
  type: "underline";
  children: PhrasingContent[];
}
/** Blocks close together, one a line: the fields of a card. */
export interface Section {
  type: "section";
  children: RootContent[];
}
/** A `||` as it was read; the parser pairs them into spoilers and turns a lone one back into text. */
export interface SpoilerMark {
  type: "spoilerMark";
}

declare module "mdast" {
  interface PhrasingContentMap {
    spoiler: Spoiler;
    underline: Underline;
    spoilerMark: SpoilerMark;
  }
  interface RootContentMap {
    section: Section;
    spoiler: Spoiler;
    underline: Underline;
    spoilerMark: SpoilerMark;
  }
}

export type { PhrasingContent, Root, RootContent };

export function literal(text: string): RootContent {
  return { type: "paragraph", children: [{ type: "text", value: text }] };
}
