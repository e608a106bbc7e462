/** Long lists in pages: the slice, the line that shows the page, and the buttons that lead on. */
import type { Button } from "../src/domain/chat/message.js";

export interface Page<T> {
  entries: T[];
  number: number;
  pages: number;
  total: number;
  /** The page that was asked for and is not there. */
  missing?: number;
}

export function pageOf<T>(all: readonly T[], wanted: number, size: number): Page<T> {
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = Math.min(Math.max(1, Math.trunc(wanted)), pages);
  const page: Page<T> = { entries: all.slice((number - 1) * size, number * size), number, pages, total: all.length };
  if (number !== Math.trunc(wanted)) page.missing = Math.trunc(wanted);
  return page;
}

/** For the headline; empty for a list of one page. Names the page that was asked for when it does not exist. */
export function pageText({ number, pages, missing }: Page<unknown>): string {
  const missed = missing === undefined ? "" : ` (there is no page ${missing})`;
  return pages > 1 || missing !== undefined ? ` · page ${number} of ${pages}${missed}` : "";
}

/** The number of entries on a page: the wanted number, within bounds. */
export function sizeOf(asked: unknown, usual: number, most: number): number {
  return typeof asked === "number" && asked >= 1 ? Math.min(Math.trunc(asked), most) : usual;
}

/** Previous and Next, as far as there are such pages. `line` is the command without its page. */
export function pageButtons({ number, pages }: Page<unknown>, line: string): Button[] {
  const to = (label: string, page: number): Button => ({
    label,
    style: "secondary",
    action: { kind: "command", line: `${line} page=${page}` },
  });
  return [...(number > 1 ? [to("‹ Previous", number - 1)] : []), ...(number < pages ? [to("Next ›", number + 1)] : [])];
}
