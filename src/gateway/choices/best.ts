/** The choices that fit the typed text. */
import type { Choice } from "../../domain/chat/command.js";
import { nearestOf } from "../../lib/validation/nearest.js";

/** The choices that start with the typed text, then those that contain it. */
export function best(choices: readonly Choice[], typed: string, most: number): Choice[] {
  const wanted = typed.trim().toLowerCase();
  const begins = choices.filter(({ value }) => value.toLowerCase().startsWith(wanted));
  const contains = choices.filter((choice) => !begins.includes(choice) && choice.name.toLowerCase().includes(wanted));
  return [...begins, ...contains].slice(0, most);
}

/** The choices whose value, or a word of it, is a slip away from the typed text; the nearest first. */
export function near(choices: readonly Choice[], typed: string): Choice[] {
  const wanted = typed.trim();
  if (wanted === "") return [];
  const whole = nearestOf(
    wanted,
    choices.map(({ value }) => value),
  );
  const words = nearestOf(wanted, new Set(choices.flatMap(({ value }) => wordsOf(value))));
  const byWord = words.flatMap((word) => choices.filter(({ value }) => wordsOf(value).includes(word)));
  const ranked = [...whole.flatMap((name) => choices.filter(({ value }) => value === name)), ...byWord];
  return [...new Set(ranked)];
}

/** `shout.inbound_claim`: `shout`, `inbound_claim`. */
const wordsOf = (value: string): string[] => value.split(/[.:/]/).filter((word) => word !== "" && word !== value);
