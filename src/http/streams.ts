/** Live pages by person: how many one may have, and their end at a logout. */
import { HookgateError } from "../lib/errors.js";

const MAX_PER_PERSON = 20;

export interface Streams {
  /** Adds one more page of a person, until `close`. `signal` aborts when the page must end. Throws TOO_MANY_PAGES. */
  open(personId: string): { signal: AbortSignal; close(): void };
  /** Ends the pages of a person. */
  end(personId: string): void;
}

export function createStreams(): Streams {
  const byPerson = new Map<string, Set<AbortController>>();
  return {
    open(personId) {
      const pages = byPerson.get(personId) ?? new Set();
      if (pages.size >= MAX_PER_PERSON)
        throw new HookgateError({
          code: "TOO_MANY_PAGES",
          message: `you have ${MAX_PER_PERSON} live pages open, which is the most`,
          hint: "Close some of them.",
        });
      const page = new AbortController();
      byPerson.set(personId, pages.add(page));
      return {
        signal: page.signal,
        close() {
          pages.delete(page);
          if (pages.size === 0 && byPerson.get(personId) === pages) byPerson.delete(personId);
        },
      };
    },
    end(personId) {
      for (const page of byPerson.get(personId) ?? []) page.abort();
    },
  };
}
