/** Values for an option that somebody is typing. Only for people who may run the command: names of hooks are nobody else's business. */
import type { Choice, CompletionQuery, OptionSpec } from "../domain/command.js";
import { hasRole } from "../domain/identity.js";
import type { Identify } from "./identity.js";
import type { CommandTable } from "./inbound/parse-command.js";
import type { Parts } from "./parts.js";

/** Discord shows no more: https://discord.com/developers/docs/interactions/application-commands#autocomplete */
const MAX_CHOICES = 25;
const MAX_CHARACTERS = 100;
const NEWEST = 100;

export async function complete(
  { operator, command: name, option: optionName, typed }: CompletionQuery,
  commands: CommandTable,
  identify: Identify,
  parts: Parts,
): Promise<Choice[]> {
  const command = commands.find(name);
  const option = command?.options.find((one) => one.name === optionName);
  const role = identify(operator.platform, operator.userId, operator.roleIds);
  if (!command || !option || !role) return [];
  if (command.role !== "anyone" && !hasRole(role, command.role)) return [];
  const words = option.complete === undefined ? [] : (option.words ?? []);
  // What is there comes first: a word such as `failing` is known by who types its beginning.
  return best([...(await valuesOf(option, commands, parts)), ...words.map(same)], typed);
}

async function valuesOf(option: OptionSpec, commands: CommandTable, { registry, store }: Parts): Promise<Choice[]> {
  const hooks = () => registry.list().map(({ id, hook }) => ({ name: `${id} (${hook})`, value: id }));
  const points = () => registry.points.map((point) => same(point.name));
  switch (option.complete) {
    case undefined:
      return option.choices?.map(same) ?? [];
    case "words":
      return [];
    case "hooks":
      return hooks();
    case "points":
      return points();
    case "hooks-and-points":
      return [...hooks(), ...points()];
    case "commands":
      return commands.all.map((command) => same(command.name));
    case "runs": {
      const configured = await store.automation.runs.list({ limit: NEWEST });
      const dispatches = await store.journal.list({ limit: NEWEST });
      return [
        ...configured.map(({ id, hookId, status }) => ({ name: `${id} · ${hookId} · ${status}`, value: id })),
        ...dispatches.flatMap(({ point, runs }) =>
          runs.map((run) => ({ name: `${run.id} · ${run.hookId} at ${point} · ${run.outcome}`, value: run.id })),
        ),
      ];
    }
    case "clocks":
      return (await store.sla.list({ state: "open", limit: NEWEST })).map(({ id, policyId, entity }) => ({
        name: `${entity.title} · ${policyId} · ${id}`,
        value: id,
      }));
    case "alerts":
      return (await store.alerts.list({ open: true, limit: NEWEST })).map(({ id, state, signal }) => ({
        name: `${id} · ${state} · ${signal.title}`,
        value: id,
      }));
    case "tasks":
      return (await store.tasks.list({ limit: NEWEST })).map(({ id, title, status }) => ({
        name: `${id} · ${status} · ${title}`,
        value: id,
      }));
    case "deliveries": {
      const [held, dead, newest] = await Promise.all([
        store.outbox.list({ status: "held", limit: NEWEST }),
        store.outbox.list({ status: "dead", limit: NEWEST }),
        store.outbox.list({ limit: NEWEST }),
      ]);
      const unique = new Map([...held, ...dead, ...newest].map((one) => [one.id, one]));
      // Not the text: what people wrote is shown to those who may see it, on the record.
      return [...unique.values()].map(({ id, status, conversation }) => ({
        name: `${id} · ${status} · ${conversation}`,
        value: id,
      }));
    }
  }
}

const same = (value: string): Choice => ({ name: value, value });

/** Those that begin with what was typed, then those that contain it. */
function best(choices: readonly Choice[], typed: string): Choice[] {
  const wanted = typed.trim().toLowerCase();
  const begins = choices.filter(({ value }) => value.toLowerCase().startsWith(wanted));
  const contains = choices.filter((choice) => !begins.includes(choice) && choice.name.toLowerCase().includes(wanted));
  return [...begins, ...contains]
    .filter(({ value }) => value.length <= MAX_CHARACTERS)
    .slice(0, MAX_CHOICES)
    .map(({ name, value }) => ({ name: Array.from(name).slice(0, MAX_CHARACTERS).join(""), value }));
}
