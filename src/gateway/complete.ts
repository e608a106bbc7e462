/** Values for an option while a person types it. Only for people who may run the command: names of hooks are private. */
import {
  type Choice,
  type CompletionQuery,
  choiceText,
  MAX_CHOICE_LENGTH,
  MAX_CHOICES,
  mayUse,
} from "../domain/chat/command.js";
import { best } from "./choices/best.js";
import { listOf, same, valuesOf } from "./choices/values.js";
import type { Deps } from "./deps.js";
import type { CommandTable } from "./inbound/parse-command.js";
import type { Identify } from "./people/identity.js";

export async function complete(
  { operator: { roleIds, ...person }, command: name, option: optionName, typed, given = {} }: CompletionQuery,
  commands: CommandTable,
  identify: Identify,
  deps: Deps,
): Promise<Choice[]> {
  const command = commands.find(name);
  const option = command?.options.find((one) => one.name === optionName);
  const role = identify(person.platform, person.userId, roleIds);
  if (!command || !option) return [];
  if (!mayUse(role, command)) return [];
  const list = listOf(option, given);
  const asking = { operator: { ...person, role }, given };
  const values = list === undefined ? [] : await valuesOf(list, asking, commands, deps);
  const hasWords = list === "words" || (list !== undefined && !option.completeFor);
  const { action } = given;
  const ofAction = typeof action === "string" ? option.wordsFor?.[action] : option.wordsFor && option.words;
  const words = role === undefined ? [] : (ofAction ?? (hasWords ? (option.words ?? []) : []));
  const choices = role === undefined ? [] : (option.choices ?? []);
  // Existing choices come first: a person who types the start of a word such as `failing` knows the word.
  const all = [...choices.map((value) => ({ name: choiceText(option, value), value })), ...values, ...words.map(same)];
  return best(
    all.filter(({ value }) => value.length <= MAX_CHOICE_LENGTH),
    typed,
    MAX_CHOICES,
  ).map(({ name: shown, value }) => ({ name: Array.from(shown).slice(0, MAX_CHOICE_LENGTH).join(""), value }));
}
