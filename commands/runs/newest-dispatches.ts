/** Reads dispatches of the journal page by page, for commands that search them. */
import type { DispatchFilter, DispatchRecord, Journal } from "../../src/domain/journal.js";

/** How many are read at once, and how often. */
const PAGE = 500;
const MAX_PAGES = 10;

/** Newest first, and 5,000 at most: a dispatch may be behind many that a person fired. Nothing is read after the caller leaves the loop. */
export async function* newestDispatches(
  journal: Pick<Journal, "list">,
  filter: Omit<DispatchFilter, "limit" | "before">,
): AsyncGenerator<DispatchRecord> {
  let before: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await journal.list({ ...filter, before, limit: PAGE });
    yield* page;
    if (page.length < PAGE) return;
    before = page.at(-1)?.id;
  }
}
