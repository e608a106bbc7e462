/**
 * All problems of a configuration and of the things that it names, in one list. `hookgate check`, the start, a reload, `/status`, `/hooks
 * broken`, `doctor` and `/readyz` all use it, so none of them accepts a configuration that another rejects.
 *
 * A problem of the whole configuration refuses it. Any other stops only the part that it is about: a platform, an event, a hook, a plugin,
 * a plan, a setting. The rest is in force, and the problem is listed until it is fixed.
 */

import { isAbsolute } from "node:path";
import type { Definition } from "../../automations/definition/definition.js";
import type { BrokenHook } from "../../automations/desk.js";
import { eventName } from "../../automations/triggers/event-point.js";
import type { TriggerProblem } from "../../automations/triggers/trigger.js";
import type { Environment } from "../../config/env.js";
import { brokenPlatform, type ConfigProblem, type LoadedConfig } from "../../config/load.js";
import { ownAccounts } from "../../config/own-accounts.js";
import type { Config } from "../../config/schema.js";
import { addressProblem } from "../../domain/chat/address.js";
import type { CommandSpec } from "../../domain/chat/command.js";
import { PLATFORMS, type PlatformName, platformProblem } from "../../domain/chat/platform.js";
import { lostPoint } from "../../domain/lost-point.js";
import { catalogue } from "../../hooks/catalogue/index.js";
import { type ComparedText, comparedTexts, needsOnly } from "../../hooks/conditions/impossible-condition.js";
import { failureStopsNothing } from "../../hooks/point.js";
import { ALIASES } from "../../hooks/registration/aliases.js";
import type { Matcher } from "../../hooks/registration/matcher.js";
import { payloadSchema } from "../../hooks/registration/payload-schema.js";
import type { HookInfo } from "../../hooks/registration/registration.js";
import { isDangling, type Problem } from "../../hooks/registration/validate.js";
import { parseDestinations } from "../../lib/outgoing/destinations.js";
import { whyNotMasked } from "../../lib/signing/secret.js";
import { systemClock } from "../../lib/time/clock.js";
import { nearest } from "../../lib/validation/nearest.js";
import { assigneeProblem } from "../../orchestrator/assignee.js";
import { isPlansFolder, type Plans } from "../../orchestrator/missions/plans.js";
import type { PluginInfo } from "../../plugins/infos.js";
import { databaseFiles, uploadsProblem } from "../../store/database-file/files.js";
import { type MovedPart, type Moves, movedInHook, movedSettings } from "../moved-settings.js";
import { accountProblem, agentProblem, personProblem, unreachedPerson } from "../people.js";
import { chatProblem } from "./chat-problem.js";
import { fallbackProblems } from "./fallback-problems.js";
import { settingProblems } from "./setting-problems.js";

/** A configuration after its check: the parts of it that are in force, and those that are not. */
export interface Examined {
  loaded: Pick<LoadedConfig, "file" | "problems" | "sections" | "placeOf" | "pathOf">;
  config: Config;
  env: Environment;
  /** All hooks that there are, plugins' included. */
  hooks: readonly HookInfo[];
  plugins: readonly PluginInfo[];
  definitions: readonly Definition[];
  broken: readonly BrokenHook[];
  plans: Pick<Plans, "list">;
  /** All commands, those of plugins included. */
  commands: readonly CommandSpec[];
  /** By hook: the problems of the code that it names; see `faultsOf`. */
  faults: ReadonlyMap<string, readonly string[]>;
  /** The rooms of the web chat; undefined when they are unknown. */
  rooms: ReadonlySet<string> | undefined;
  /** Chats that got another id. */
  moves: Moves;
  /** The problems that the registry finds with all hooks taken together. */
  taken: readonly Problem[];
  /** Triggers that cannot fire. */
  stuck: readonly TriggerProblem[];
}

export interface ListedProblem extends ConfigProblem {
  /**
   * The part that the problem stops. `hook`: the hook is not in force; `needs` and `trigger`: it is, and cannot do its work, or never
   * starts. `stray`: nothing.
   */
  of: "configuration" | "platform" | "event" | "plugin" | "hook" | "needs" | "trigger" | "plan" | "setting" | "stray";
  /** The part that the problem breaks is critical, so nothing starts: `hook a`, `plugin ./b.js`. */
  critical?: string | undefined;
  /** The part that the problem is about still works. */
  isWarning?: true | undefined;
}

/** Separates problems of parts that do not work from problems of parts that still do. */
export const splitProblems = (problems: readonly ListedProblem[]) => ({
  broken: problems.filter(({ isWarning }) => !isWarning),
  warned: problems.filter(({ isWarning }) => isWarning),
});

export function problemsOf(examined: Examined): ListedProblem[] {
  const { loaded } = examined;
  return [
    ...loaded.problems.map((problem): ListedProblem => ({ ...problem, of: scopeOf(problem) })),
    ...pluginProblems(examined),
    ...brokenHooks(examined),
    ...needs(examined),
    ...overrideProblems(examined),
    ...planProblems(examined),
    ...movedProblems(examined),
    ...uploadsProblems(examined),
    ...settingProblems(
      { ...examined, file: loaded.file, sections: loaded.sections },
      platformsOn(examined.config, examined.env, loaded.problems),
    ).map(
      ({ path, message, ofKey, isWarning }): ListedProblem => ({
        ...placed(loaded, path, message, ofKey),
        of: "setting",
        isWarning,
      }),
    ),
  ];
}

function scopeOf({ platform, event, person }: ConfigProblem): ListedProblem["of"] {
  if (platform !== undefined) return "platform";
  if (person !== undefined) return "setting";
  return event === undefined ? "configuration" : "event";
}

/** The problems of the code that hooks name. A disabled hook's code is not loaded. */
export async function faultsOf(definitions: readonly Definition[]): Promise<Examined["faults"]> {
  const found = new Map<string, readonly string[]>();
  for (let at = 0; at < definitions.length; at += AT_ONCE) {
    const some = definitions.slice(at, at + AT_ONCE);
    const faults = await Promise.all(some.map((one) => (one.enabled ? one.faults() : [])));
    for (const [index, { id }] of some.entries()) found.set(id, faults[index] ?? []);
  }
  return found;
}

/** To examine some hooks, a program is started for each. */
const AT_ONCE = 16;

/** The platforms that are switched on and have no problems of their own. */
export function platformsOn({ web }: Config, env: Environment, problems: LoadedConfig["problems"]): PlatformName[] {
  const on: Record<PlatformName, boolean> = {
    web: web.enabled,
    discord: env.DISCORD_TOKEN !== undefined,
    telegram: env.TELEGRAM_TOKEN !== undefined,
  };
  return PLATFORMS.filter((platform) => on[platform] && brokenPlatform(platform, problems) === undefined);
}

function placed(
  { file, placeOf, pathOf }: Examined["loaded"],
  draftPath: readonly (string | number)[],
  message: string,
  ofKey?: boolean,
): ConfigProblem {
  const path = pathOf?.(draftPath) ?? draftPath;
  return { file: file ?? "", ...placeOf?.(draftPath, ofKey), path: path.join("."), message };
}

function pluginProblems(examined: Examined): ListedProblem[] {
  const { plugins, config, env, loaded } = examined;
  const on = platformsOn(config, env, loaded.problems);
  return plugins.flatMap((info, position): ListedProblem[] => {
    const { module, state, reason, critical, id, warnings, staysFor = [module] } = info;
    // In the order of the configuration, where one module may be listed twice.
    const isThere = config.plugins[position]?.module === module;
    const index = isThere ? position : config.plugins.findIndex((entry) => staysFor.includes(entry.module));
    const at = (message: string) => placed(loaded, ["plugins", Math.max(0, index)], `${module}: ${message}`);
    const own = examined.hooks.filter(({ pluginId }) => pluginId !== undefined && pluginId === id);
    const dangling = own
      .flatMap((hook) => danglingOrder(hook, examined))
      .map((message): ListedProblem => ({ ...at(message), of: "needs" }));
    const unknown = state === "broken" && critical === undefined ? HOOKS_UNKNOWN : "";
    if (reason !== undefined)
      return [
        { ...at(`${reason}${unknown}`), of: "plugin", critical: critical ? `plugin ${module}` : undefined },
        ...dangling,
      ];
    const ofHooks = own.flatMap((hook) =>
      [
        ...[
          ...unknownNames(hook.match, examined),
          ...unknownPlaces({ match: hook.match, point: hook.hook }, examined),
          ...offPlatforms(hook.match, on),
        ].map((message): MovedPart => ({ message })),
        ...movedInHook(hook, examined.moves),
      ].map(({ message, isWarning }): MovedPart => {
        const place = hook.place === undefined ? "" : ` (${hook.place})`;
        return { message: `the hook "${hook.id}"${place}: ${message}`, isWarning };
      }),
    );
    return [
      ...dangling,
      ...[...warnings.map((message): MovedPart => ({ message })), ...ofHooks].map(
        ({ message, isWarning }): ListedProblem => ({ ...at(message), of: "needs", isWarning }),
      ),
    ];
  });
}

const HOOKS_UNKNOWN =
  " Its hooks are not known, so `critical: true` at one of them does not refuse a start: set it at this entry.";

/** Broken events are among them, for lists of hooks; here they are problems of the configuration already. */
function brokenHooks({ broken }: Examined): ListedProblem[] {
  return broken
    .filter(({ id }) => !id.startsWith(eventName("")))
    .flatMap(({ id, problems, critical }) =>
      problems.map(({ file, line, column, path, message }): ListedProblem => {
        const isCritical = critical ? `hook ${id}` : undefined;
        return { file, line, column, path, message: `hook ${id}: ${message}`, of: "hook", critical: isCritical };
      }),
    );
}

/** The needs of hooks in force outside of their definition. */
function needs(examined: Examined): ListedProblem[] {
  const { definitions, plans, env, rooms, config, loaded, stuck, commands, faults } = examined;
  const on = platformsOn(config, env, loaded.problems);
  const files = plans.list();
  const machine = {
    searchPath: env.forPrograms().PATH ?? "",
    plans: files.some(isPlansFolder) ? undefined : files.map(({ id }) => id),
    commands,
    assigneeProblem: (assignTo: string) =>
      assigneeProblem(assignTo, config.orchestrator) ??
      personProblem(assignTo, config) ??
      unreachedPerson(assignTo, config, on),
    hooksAndPoints: hooksAndPoints(examined),
    hookProblem: (id: string) => hookProblem(id, examined),
    chatIdProblem: (id: string) =>
      id.includes(":")
        ? `"${id}" is no id of a chat: write ${id.split(":").at(-1)}, without its platform`
        : bareChatProblem(id, rooms),
    agentProblem: (name: string) => agentProblem(name, config),
    destinations: parseDestinations(config.outgoing.allow),
    now: systemClock.now(),
  };
  return definitions.flatMap((definition) => {
    const { id, match, chats, place } = definition;
    const messages = [
      ...definition.missing(machine),
      ...fallbackProblems(definition, machine.assigneeProblem, machine.now, (text) =>
        chatProblem(text, on, rooms, ownAccounts(env)),
      ),
      ...(faults.get(id) ?? []),
      ...chats.flatMap(({ text }) => chatProblem(text, on, rooms, ownAccounts(env)) ?? []),
      ...[definition.point].flatMap((point) => lostPoint(point, examined.plugins) ?? []),
      ...danglingOrder(definition, examined),
      ...unknownHooks(definition, examined),
      ...unknownInCondition(definition, examined),
      ...unknownPlaces(definition, examined),
      ...unwatched(definition, definitions),
      ...definition.secrets.flatMap((name) => unset(name, env) ?? unmasked(name, env) ?? []),
      ...offPlatforms(match, on),
    ];
    const list = (of: ListedProblem["of"], message: string): ListedProblem => {
      const { file, line, column } = place;
      return { file, line, column, path: "", message: `hook ${id}: ${message}`, of };
    };
    const never = stuck.filter((one) => one.hookId === id && one.isNote !== true);
    // Two steps may lack the same file.
    return [
      ...[...new Set(messages)].map((message) => list("needs", message)),
      ...never.map((one) => list("trigger", one.message)),
    ];
  });
}

/** Files that people sent, such as those that were restored as another user. */
function uploadsProblems({ env }: Examined): ListedProblem[] {
  const files = databaseFiles(env.DATABASE_URL);
  const message = uploadsProblem(files);
  return message === undefined ? [] : [{ file: files.uploads, path: "", message, of: "setting" }];
}

/** Settings and hooks with an id that their chat had before it moved. */
function movedProblems({ config, definitions, moves, loaded }: Examined): ListedProblem[] {
  return [
    ...movedSettings(config, moves).map(
      ({ path, message, ofKey }): ListedProblem => ({
        ...placed(loaded, path, message, ofKey),
        of: "setting",
        isWarning: true,
      }),
    ),
    ...definitions.flatMap((definition) => {
      const { file, line, column } = definition.place;
      return movedInHook(definition, moves).map(({ message, isWarning }): ListedProblem => {
        const text = `hook ${definition.id}: ${message}`;
        return { file, line, column, path: "", message: text, of: "setting", isWarning };
      });
    }),
  ];
}

/** All platforms that a matcher names are off. */
function offPlatforms(match: Matcher | undefined, on: readonly PlatformName[]): string[] {
  // Ids without a platform may be of any.
  const ofIds = (ids: Matcher["users"]) => ids?.map((text) => (text.includes(":") ? (text.split(":")[0] ?? "") : ""));
  for (const named of [match?.platforms, ofIds(match?.users), ofIds(match?.chats)]) {
    const off = named?.filter((text) => PLATFORMS.some((known) => known === text && !on.includes(known))) ?? [];
    if (off.length === 0 || off.length < (named?.length ?? 0)) continue;
    const names = [...new Set(off)];
    return [`it is for ${names.join(" and ")}, which ${names.length === 1 ? "is" : "are"} off`];
  }
  return [];
}

/** `after` and `before` that name a hook that is broken, away or at another point: the hook runs without that order. */
function danglingOrder({ id }: Pick<HookInfo, "id">, { taken, broken }: Examined): string[] {
  return taken
    .filter((problem) => isDangling(problem) && problem.ids[0] === id)
    .map(({ message, ids: [, other = ""] }) => {
      if (!broken.some((one) => one.id === other))
        return `${message}. Correct the name, remove it, or put that hook back; ${WITHOUT_ORDER}`;
      const [order] = message.split(", which is ");
      return `${order}, which is broken. Fix "${other}"; ${WITHOUT_ORDER}`;
    });
}

const WITHOUT_ORDER = "until then this hook runs without that order";

function unknownHooks({ match, trigger }: Definition, examined: Examined): string[] {
  // The watch of a `files` hook is its own.
  return unknownNames(trigger.kind === "files" ? { ...match, watches: [] } : match, examined);
}

/** Hooks and watches that a matcher names and that do not exist. */
function unknownNames(match: Pick<Matcher, "hooks" | "watches"> | undefined, examined: Examined): string[] {
  const named = [
    ...(match?.hooks ?? []).map((name) => ["match.hooks", name] as const),
    ...(match?.watches ?? []).map((name) => ["match.watches", name] as const),
  ];
  return named.flatMap(([field, name]) => {
    const problem = hookProblem(name, examined);
    return problem === undefined ? [] : [`${field}: ${problem}, so this never matches`];
  });
}

/** Hooks and commands that do not exist, and relative paths, where a condition compares a field with them. */
function unknownInCondition({ match, point }: Definition, examined: Examined): string[] {
  if (match?.when === undefined) return [];
  const declared = catalogue.find(({ name }) => name === point);
  if (declared === undefined) return [];
  const isPluginBroken = examined.plugins.some(({ state }) => state === "broken");
  return comparedTexts(match.when, { payload: payloadSchema(declared) }).flatMap((compared) => {
    const { name, text, isStart } = compared;
    if (point === "inbound_claim") return answeredBefore(compared, examined) ?? [];
    if (name === "payload.path" && text !== "" && !isAbsolute(text))
      return [
        `match.when: payload.path is absolute, so "${text}" never fits: compare payload.relativePath, which is relative to the folder of the file with this hook`,
      ];
    if (isStart) return [];
    const problem =
      name === "payload.hookId" && point === "hook_run_completed"
        ? hookProblem(text, examined)
        : name === "payload.command" && point === "command_invoked" && !isPluginBroken
          ? commandProblem(text, examined)
          : undefined;
    return problem === undefined ? [] : [`match.when: ${problem}`];
  });
}

/** Messages that are commands go no further than `command_invoked`. */
function answeredBefore(
  { name, text, or }: ComparedText,
  { commands }: Pick<Examined, "commands">,
): string | undefined {
  if (name !== "payload.message.text") return undefined;
  const given = [text, ...or].map((one) => {
    const [, called] = /^\/([a-z0-9_-]+)(?:\s|$)/i.exec(one) ?? [];
    return commands.find((command) => command.name === called?.toLowerCase().replaceAll("_", "-"))?.name;
  });
  if (given.includes(undefined)) return undefined;
  const [are, are2, it] = given.length > 1 ? ["are commands", "are", "them"] : ["is a command", "is", "it"];
  return `match.when: ${given.map((one) => `/${one}`).join(" and ")} ${are} of Hookgate, which ${are2} answered before inbound_claim: no message with ${it} gets there. Write the hook on command_invoked, or give your own command another name`;
}

/** Why no message fits the condition of a hook at `inbound_claim`; undefined when one may. */
export function whyUnreached(
  { match, point }: Pick<Definition, "match" | "point">,
  examined: Pick<Examined, "commands">,
): string | undefined {
  const declared = catalogue.find(({ name }) => name === point);
  if (match?.when === undefined || declared?.name !== "inbound_claim") return undefined;
  const variables = { payload: payloadSchema(declared) };
  let why: string | undefined;
  const isNever = needsOnly(match.when, variables, (one) => {
    const problem = answeredBefore(one, examined);
    why ??= problem;
    return problem !== undefined;
  });
  return isNever ? why : undefined;
}

function commandProblem(text: string, { commands }: Examined): string | undefined {
  const names = commands.map(({ name }) => name);
  if (names.includes(text)) return undefined;
  if (text.startsWith("/")) return `payload.command has no slash: write "${text.slice(1)}"`;
  const near = nearest(text, new Set(names));
  return `there is no command "${text}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}

/** A variable that was emptied since the hook was put in force. */
function unset(name: string, env: Environment): string | undefined {
  if (env.variable(name) !== undefined) return undefined;
  return `the environment variable ${name} is missing, so each run fails: set it`;
}

/** A secret that logs and histories show, because it is an ordinary word. */
function unmasked(name: string, env: Environment): string | undefined {
  const why = whyNotMasked(env.variable(name) ?? MASKED);
  if (why === undefined) return undefined;
  return `the value of ${name} is not masked in logs and history, because ${why}: use a longer one`;
}

/** Stands for any value that is masked: a value that is missing is reported elsewhere. */
const MASKED = "a value that is masked";

/** A hook at a point of files, which only the `files` hooks of that kind fire. */
function unwatched({ trigger, point }: Definition, definitions: readonly Definition[]): string[] {
  const isOfFiles = point === "file.changed" || point === "folder.changed";
  if (trigger.kind !== "on" || !isOfFiles) return [];
  if (definitions.some((other) => other.trigger.kind === "files" && other.point === point)) return [];
  const as = point === "folder.changed" ? ", as: folder" : "";
  return [
    `no hook watches files, so ${point} never fires: in place of \`on\`, write \`trigger: { files: { paths: [./in]${as} } }\``,
  ];
}

const ANY_ACCOUNT = { web: undefined, discord: undefined, telegram: undefined };

/**
 * Runners, and rooms and people of the web chat, that its matcher names and that do not exist, and names where other platforms have
 * numbers.
 */
function unknownPlaces({ match, point }: Pick<Definition, "match" | "point">, { config, rooms }: Examined): string[] {
  const problems: (readonly [string, string | undefined])[] = [];
  // Plugins and events may be of platforms with ids of their own.
  const isOfOthers = /^(plugin|event):/.test(point);
  const isWebOnly = match?.platforms?.every((platform) => platform === "web") === true;
  for (const text of match?.chats ?? []) {
    const [, platform = "", id = ""] = /^([a-z]+):([^:]+)$/.exec(text) ?? [];
    if (platform === "" && !isOfOthers) problems.push(["match.chats", bareChatProblem(text, rooms)]);
    else if (platform === "web")
      problems.push(["match.chats", chatProblem(`web:web:${id}`, ["web"], rooms, ANY_ACCOUNT)]);
    else problems.push(["match.chats", addressProblem({ platform, botId: "", chatId: id })]);
  }
  for (const name of isOfOthers ? [] : (match?.agents ?? []))
    problems.push(["match.agents", agentProblem(name, config)]);
  for (const text of match?.users ?? []) {
    // A message that is posted in the name of a channel or a group has the number of that channel or group.
    if (/^(telegram:)?-100\d+$/.test(text)) continue;
    if (text.includes(":")) problems.push(["match.users", misshapen(text) ?? accountProblem(text, config)]);
    else if (isWebOnly && !isOfOthers) problems.push(["match.users", accountProblem(`web:${text}`, config)]);
    else if (!isOfOthers && !/^\d+$/.test(text))
      problems.push(["match.users", `"${text}" is no id of a person, which is a number that /whoami shows`]);
  }
  return problems.flatMap(([field, problem]) =>
    problem === undefined ? [] : [`${field}: ${problem}, so this never matches`],
  );
}

/** A person whose platform is known, in the form of an address or a role. */
function misshapen(text: string): string | undefined {
  if (/^[^:]+:[^:]+$/.test(text) || platformProblem(text) !== undefined) return undefined;
  const [platform] = text.split(":");
  return `"${text}" is no person: write ${platform}:ID, with the id that /whoami shows`;
}

/** A chat without its platform: a number on Discord and Telegram, a name in the web chat. */
function bareChatProblem(text: string, rooms: Examined["rooms"]): string | undefined {
  if (/^-?\d+$/.test(text)) return undefined;
  const [platform, , chat] = text.split(":");
  if (chat !== undefined && platformProblem(text) === undefined)
    return `"${text}" has the account of the bot: write ${platform}:${chat}, without it`;
  const unknown = chatProblem(`web:web:${text}`, ["web"], rooms, ANY_ACCOUNT);
  return unknown && `${unknown}, and chats of other platforms have numbers`;
}

function hookProblem(id: string, { hooks, broken, plugins }: Examined): string | undefined {
  const known = new Set([...hooks, ...broken].map((one) => one.id));
  const isOfBrokenPlugin = plugins.some(
    (one) => one.state === "broken" && one.id !== undefined && id.startsWith(`${one.id}.`),
  );
  if (known.has(id) || isOfBrokenPlugin) return undefined;
  const near = nearest(id, known);
  return `there is no hook "${id}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}

/** All names that commands accept as a hook or a point. */
function hooksAndPoints({ hooks, broken, plugins }: Examined): string[] | undefined {
  if (plugins.some(({ state }) => state === "broken")) return undefined;
  return [
    ...[...hooks, ...broken].map(({ id }) => id),
    ...catalogue.map(({ name }) => name),
    ...plugins.flatMap(({ points }) => points),
    ...Object.keys(ALIASES),
  ];
}

/** A typo in `overrides:` leaves the hook as it was, and would go unnoticed; so would a policy where nothing waits for the hook. */
function overrideProblems(examined: Examined): ListedProblem[] {
  const { loaded, config, hooks } = examined;
  return Object.entries(config.overrides).flatMap(([id, { failure_policy }]): ListedProblem[] => {
    const unknown = hookProblem(id, examined);
    if (unknown !== undefined)
      return [{ ...placed(loaded, ["overrides", id], `${unknown}, so this changes nothing`, true), of: "setting" }];
    const hook = hooks.find((one) => one.id === id);
    if (failure_policy !== "fail-closed" || hook === undefined || isWaitedFor(hook)) return [];
    const message = `a failure of "${id}" at ${hook.hook} stops nothing, so it can only be fail-open`;
    return [{ ...placed(loaded, ["overrides", id, "failure_policy"], message, true), of: "setting" }];
  });
}

function isWaitedFor({ hook, phase, execution }: HookInfo): boolean {
  return execution !== "background" && execution !== "fire_and_record" && !failureStopsNothing({ name: hook }, phase);
}

/** Plans are read when they are run; their problems are found here before that. */
function planProblems({ plans }: Examined): ListedProblem[] {
  return plans.list().flatMap((plan) =>
    "problems" in plan
      ? plan.problems.map(
          (problem): ListedProblem => ({
            ...problem,
            message: isPlansFolder(plan) ? problem.message : `plan ${plan.id}: ${problem.message}`,
            of: "plan",
          }),
        )
      : [],
  );
}
