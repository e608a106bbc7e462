/** People as the settings name them: who may log in to the web chat, which accounts exist, and the names of accounts and chats. */
import { directRoomId } from "../../adapters/web/rooms.js";
import { knownAs } from "../alerts/rota/people.js";
import type { Environment } from "../config/env.js";
import { brokenPlatform, type LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import type { AdapterTraits } from "../domain/chat/adapter.js";
import type { Address } from "../domain/chat/address.js";
import { dmName } from "../domain/chat/dm-name.js";
import { PLATFORMS, type PlatformName } from "../domain/chat/platform.js";
import { HookgateError } from "../lib/errors.js";
import { suggestion } from "../lib/validation/schema-issues.js";
import { assigneeOf } from "../orchestrator/assignee.js";
import { directPerson } from "./parts/direct.js";

/** The person behind the console's token. */
export const CONSOLE = { platform: "web", userId: "1", name: "Owner" } as const;

export function peopleOf(
  { problems }: LoadedConfig,
  { config, env }: { config: Pick<Config, "web">; env: Environment },
  consoleToken: string,
) {
  // A person whose token is missing, weak or taken cannot log in; the others can.
  const people =
    brokenPlatform("web", problems) === undefined
      ? config.web.people.filter((_, index) => !problems.some(({ person }) => person === index))
      : [];
  const others = people.map(({ id, name, token_env }) => ({
    id,
    name,
    token: env.variable(token_env) ?? "",
  }));
  return [{ id: CONSOLE.userId, name: CONSOLE.name, token: consoleToken }, ...others];
}

/** The name of an account (`platform:id`), where the configuration has one. */
export function nameIn({ web }: Pick<Config, "web">, ref: string): string | undefined {
  return webPeople(web).find(({ id }) => ref === `${CONSOLE.platform}:${id}`)?.name;
}

/** Why `person:platform:id` does not exist, as far as is known. */
export function personProblem(assignTo: string, config: Pick<Config, "web">): string | undefined {
  const [, account] = /^person:(.*)$/.exec(assignTo) ?? [];
  return account === undefined ? undefined : accountProblem(account, config, "person:");
}

/** Throws TASK_ASSIGNEE for a person who does not exist, as far as is known: a template may have named any. */
export function needPerson(assignTo: string, config: Pick<Config, "web">): void {
  const problem = personProblem(assignTo, config);
  if (problem === undefined) return;
  throw new HookgateError({ code: "TASK_ASSIGNEE", message: `No task can be given to "${assignTo}": ${problem}.` });
}

/**
 * Why `platform:id` does not exist, as far as is known: the people of the web chat are known. `prefix`: the text before an account there.
 */
export function accountProblem(account: string, { web }: Pick<Config, "web">, prefix = ""): string | undefined {
  const [, platform, id = ""] = /^([a-z]+):([^:]+)$/.exec(account) ?? [];
  if (platform === undefined) return undefined;
  if (!/^\d+$/.test(id)) return `"${id}" is no id of ${platform}, which has numbers; /whoami shows it`;
  const known = webPeople(web);
  if (platform !== CONSOLE.platform || known.some((one) => one.id === id)) return undefined;
  return `there is no person ${id} in the web chat (there is ${known.map((one) => `${one.name}: ${prefix}web:${one.id}`).join(", ")})`;
}

const webPeople = ({ people }: Config["web"]) => [{ id: CONSOLE.userId, name: CONSOLE.name }, ...people];

/** The rooms of the web chat by their ids: `stored`, the configured ones, and each person's own. */
export function webRooms(stored: readonly string[], { web }: Pick<Config, "web">): ReadonlySet<string> {
  return new Set([...stored, ...web.rooms.map(({ id }) => id), ...webPeople(web).map(({ id }) => directRoomId(id))]);
}

/** Why no runner or person has this name; undefined when one may. */
export function agentProblem(name: string, config: Pick<Config, "web" | "orchestrator">): string | undefined {
  const { runners } = config.orchestrator;
  if (Object.hasOwn(runners, name)) return undefined;
  if (name.startsWith("person:")) return personProblem(name, config);
  return `there is no runner "${name}"${suggestion(name, Object.keys(runners))}`;
}

/** Why no one is notified of a task of this person; undefined when the person can be notified, as far as is known. */
export function unreachedPerson(
  assignTo: string,
  { orchestrator }: Pick<Config, "orchestrator">,
  on: readonly PlatformName[],
): string | undefined {
  const assignee = assigneeOf(assignTo, orchestrator);
  if (assignee.kind !== "person" || assignee.person.at !== undefined) return undefined;
  const platform = PLATFORMS.find((known) => assignee.person.user.startsWith(`${known}:`));
  if (platform === undefined || on.includes(platform)) return undefined;
  return `${platform} is off, so ${assignee.owner} is not notified of a task: turn ${platform} on, or name another person`;
}

/** The name of an account (`platform:id`) in `alerts.people` or the web chat, or the runner that it is. */
export function accountName(config: Pick<Config, "alerts" | "web" | "orchestrator">, ref: string): string | undefined {
  return knownAs(ref, config.alerts) ?? nameIn(config, ref) ?? runnerOf(config, ref);
}

const runnerOf = ({ orchestrator }: Pick<Config, "orchestrator">, ref: string): string | undefined =>
  Object.entries(orchestrator.runners).find(([, { person }]) => person?.user === ref)?.[0];

/**
 * How people call a chat: direct messages by the person (by the account's id where no name is known), other chats as their platform does.
 * Undefined where no name is known.
 */
export function placeNames(
  nameOf: (ref: string) => string | undefined,
  traitsOf: (platform: string) => Pick<AdapterTraits, "placeName"> | undefined,
): (at: Address) => string | undefined {
  return (at) => {
    const person = directPerson(at);
    const name = person && nameOf(person);
    if (name) return dmName(name);
    const id = person?.slice(person.indexOf(":") + 1);
    return traitsOf(at.platform)?.placeName?.(at) ?? (id && dmName(`account ${id}`));
  };
}
