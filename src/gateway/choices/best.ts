/** Of what there is, what fits what was typed. */
import type { Choice } from "../../domain/command.js";

/** Those that begin with what was typed, then those that contain it. */
export function best(choices: readonly Choice[], typed: string, most: number): Choice[] {
  const wanted = typed.trim().toLowerCase();
  const begins = choices.filter(({ value }) => value.toLowerCase().startsWith(wanted));
  const contains = choices.filter((choice) => !begins.includes(choice) && choice.name.toLowerCase().includes(wanted));
  return [...begins, ...contains].slice(0, most);
}
