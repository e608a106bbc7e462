/** Suggestions for the next words of a command line: commands, their options, their values. */
import { request } from "./api.js";

/** The number of choices that the server offers at most. */
const MOST = 25;

/** `{ from, items: [{ label, detail, insert }], hint }`: what replaces the text from there to the caret; undefined when the text is no command. */
export async function suggest(before, commands) {
  if (!before.startsWith("/") || before.includes("\n")) return undefined;
  const space = before.search(/\s/);
  if (space < 0) return { from: 0, items: matchingCommands(before.slice(1), commands) };
  const command = commands.find(({ name }) => name === before.slice(1, space).toLowerCase().replaceAll("_", "-"));
  if (!command) return undefined;
  const words = before.slice(space + 1).split(/\s+/);
  const typed = words.pop() ?? "";
  const place = placeOf(command, words, typed);
  const hint = { command, option: place.option };
  if (!place.option) return { from: before.length, items: [], hint };
  const items = await valuesOf(command, place);
  return { from: before.length - place.value.length, items: items.slice(0, MOST), hint };
}

function matchingCommands(typed, commands) {
  const wanted = typed.toLowerCase().replaceAll("_", "-");
  // A name that is typed in full is first: Enter sends it, and does not make a longer name of it.
  const rank = ({ name }) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3);
  return (
    commands
      .filter((command) => rank(command) < 3)
      // Commands that fit equally stay in the table's order: by subject, those for beginners first.
      .sort((a, b) => rank(a) - rank(b))
      .map((command) => ({ label: `/${command.name}`, detail: command.summary, insert: `/${command.name} ` }))
  );
}

/** Which option is being typed: the one that is named, else the first that no word has filled. */
function placeOf(command, words, typed) {
  const named = /^([\w-]+)=(.*)$/.exec(typed);
  const byName = named && command.options.find(({ name }) => name === named[1]);
  const free = [...command.options];
  const given = {};
  const fill = (option, value) => {
    free.splice(free.indexOf(option), 1);
    given[option.name] = value;
  };
  for (const word of words) {
    const [, name, value] = /^([\w-]+)=(.*)$/.exec(word) ?? [];
    const switched = free.find(
      (option) => option.name === (name ?? word) && (name !== undefined || option.type === "boolean"),
    );
    if (switched) fill(switched, value ?? true);
    else if (free[0] && !free[0].rest) fill(free[0], word);
  }
  if (byName) return { option: byName, value: named[2] ?? "", given };
  return { option: free[0], value: typed, rest: free.slice(1), given };
}

/**
 * @param {object} command
 * @param {{ option: any, value: string, rest?: string[], given: object }} place
 */
async function valuesOf(command, { option, value, rest = [], given }) {
  const wanted = value.toLowerCase();
  const fits = ({ label }) => label.toLowerCase().includes(wanted);
  const switches = [option, ...rest]
    .filter(({ type }) => type === "boolean")
    .map(({ name, summary }) => ({ label: name, detail: summary, insert: `${name} ` }));
  return [...(await choicesOf(command, option, value, given)), ...switches.filter(fits)];
}

async function choicesOf(command, option, typed, given) {
  const fits = (choice) => choice.toLowerCase().includes(typed.toLowerCase());
  if (option.choices)
    return option.choices.filter(fits).map((choice) => ({
      label: choice,
      detail: option.choiceSummaries?.[choice] ?? option.summary,
      insert: `${choice} `,
    }));
  if (!option.complete && !option.completeFor?.[given.action]) return [];
  const query = new URLSearchParams({
    command: command.name,
    option: option.name,
    typed,
    given: JSON.stringify(given),
  });
  const { choices } = await request("GET", `/api/complete?${query}`);
  return choices.map(({ name, value }) => ({
    label: value,
    detail: name === value ? "" : name,
    insert: `${/\s/.test(value) ? JSON.stringify(value) : value} `,
  }));
}
