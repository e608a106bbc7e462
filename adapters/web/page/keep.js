/** The memory of this browser: drafts, read marks, and messages still to be sent. A full or forbidden storage only forgets. */

const PREFIX = "hookgate";

export function createKeep(personId) {
  const nameOf = (key) => `${PREFIX}:${personId}:${key}`;
  return {
    get(key, fallback) {
      try {
        return JSON.parse(localStorage.getItem(nameOf(key)) ?? "null") ?? fallback;
      } catch {
        return fallback;
      }
    },
    set(key, value) {
      try {
        if (value === undefined || value === "") localStorage.removeItem(nameOf(key));
        else localStorage.setItem(nameOf(key), JSON.stringify(value));
      } catch {
        // Nothing depends on it while the page is open.
      }
    },
  };
}
