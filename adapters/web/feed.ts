/** Tells open pages that there may be something new. They look for themselves; nothing is queued here. */

export type FeedListener = (what: "messages" | "rooms") => void;

export interface Feed {
  wake(what: "messages" | "rooms"): void;
  subscribe(listener: FeedListener): () => void;
}

export function createFeed(): Feed {
  const listeners = new Set<FeedListener>();
  return {
    wake(what) {
      for (const listener of listeners) listener(what);
    },
    subscribe(listener) {
      // A wrapper, so that one function subscribed twice is two subscriptions.
      const entry: FeedListener = (what) => listener(what);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}
