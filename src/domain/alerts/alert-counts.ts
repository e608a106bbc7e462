/** How many alerts are in which state, for people. */
import { ALERT_STATES, type AlertStore, STATE_WORDS } from "./alert.js";

export type AlertCounts = Awaited<ReturnType<AlertStore["counts"]>>;

/** `2 firing`, `1 postponed`. */
export function countTexts(counts: AlertCounts): string[] {
  const words = { ...STATE_WORDS, postponed: "postponed" };
  return ([...ALERT_STATES, "postponed"] as const).flatMap((state) => {
    const count = counts[state];
    return count ? [`${count.toLocaleString("en-US")} ${words[state]}`] : [];
  });
}
