/**
 * Settings that can have no effect: chats to which nothing can be posted, policies that never match, matchers of alerts that do not exist.
 */
import { dirname, resolve } from "node:path";
import { policyOf } from "../../alerts/matchers.js";
import { missingProgram } from "../../automations/program.js";
import type { Environment } from "../../config/env.js";
import { namedPlatforms } from "../../config/named-platforms.js";
import { ownAccounts } from "../../config/own-accounts.js";
import type { Config } from "../../config/schema.js";
import { addressProblem, formatAddress, parseAddress } from "../../domain/chat/address.js";
import { PLATFORMS, type PlatformName, platformProblem } from "../../domain/chat/platform.js";
import { suggestion } from "../../lib/validation/schema-issues.js";
import type { PluginInfo } from "../../plugins/infos.js";
import type { Moves } from "../moved-settings.js";
import { accountProblem } from "../people.js";
import { chatProblem } from "./chat-problem.js";
import type { SettingProblem } from "./setting-problem.js";
import { unreachedSteps, untakenSteps } from "./unreached-steps.js";

interface Examined {
  config: Config;
  plugins: readonly PluginInfo[];
  env: Environment;
  /** The configuration file. */
  file: string | undefined;
  /** The sections that this file sets at its top. */
  sections?: readonly string[] | undefined;
  /** The rooms of the web chat; undefined when they are unknown. */
  rooms: ReadonlySet<string> | undefined;
  moves: Moves;
}

export function settingProblems(examined: Examined, on: readonly PlatformName[]): SettingProblem[] {
  const { config, moves } = examined;
  return [
    ...missingTokens(examined),
    ...chats(examined, on),
    ...people(config),
    ...accessLists(config),
    ...retryPauses(config),
    ...forwardedUnheard(config, on, moves),
    ...namedPlugins(examined),
    ...secondPolicies(config),
    ...alertMatchers(config),
    ...unreachedSteps(config, examined.env, on),
    ...untakenSteps(config),
    ...runnerPrograms(examined),
    ...runnerVariables(examined),
  ];
}

/** Settings of a platform that is off: an emptied or lost `.env` must not switch it off in silence. */
function missingTokens({ env, sections = [] }: Examined): SettingProblem[] {
  return PLATFORM_TOKENS.flatMap(([section, platform, variable]): SettingProblem[] => {
    if (!sections.includes(section) || env[variable] !== undefined) return [];
    const other = env.misspelt(variable);
    const message =
      other === undefined
        ? `${platform} has settings here and is off, because ${variable} is not set: set it in .env, or remove these settings`
        : `${platform} is off, because ${variable} is not set, and ${other} is: if that is the bot token, rename it to ${variable}`;
    return [{ path: [section], message, ofKey: true, isWarning: true }];
  });
}

const PLATFORM_TOKENS = [
  ["discord", "Discord", "DISCORD_TOKEN"],
  ["telegram", "Telegram", "TELEGRAM_TOKEN"],
] as const;

function chats({ config, env, rooms }: Examined, on: readonly PlatformName[]): SettingProblem[] {
  return namedPlatforms(config)
    .filter(({ text, isPerson }) => !isPerson && parseAddress(text) !== undefined)
    .flatMap(({ path, text, ofKey }) => {
      const message = chatProblem(text, on, rooms, ownAccounts(env));
      return message === undefined ? [] : [{ path, message, ofKey }];
    });
}

/** People of the web chat whom the configuration names and who do not exist: a role or a task for one of them has no effect. */
function people(config: Config): SettingProblem[] {
  return namedPlatforms(config).flatMap(({ path, text, ofKey }) => {
    const message = accountProblem(text, config);
    return message === undefined ? [] : [{ path, message, ofKey }];
  });
}

/** Places where the gateway listens and that no platform can have: their messages would be ignored. */
function accessLists({ discord, telegram }: Config): SettingProblem[] {
  const names = [
    ...discord.access.guilds.map((id, index) => ({ platform: "discord", list: "guilds", id, index })),
    ...discord.access.chats.map((id, index) => ({ platform: "discord", list: "chats", id, index })),
    ...telegram.access.chats.map((id, index) => ({ platform: "telegram", list: "chats", id, index })),
  ];
  const wrong = names.flatMap(({ platform, list, id, index }): SettingProblem[] => {
    if (id === "*" || addressProblem({ platform, botId: "", chatId: id }) === undefined) return [];
    const message = `"${id}" is no id of ${platform}, which has numbers, so no message matches: \`/whoami\` shows the ids of a place`;
    return [{ path: [platform, "access", list, index], message }];
  });
  if (telegram.access.guilds.length === 0) return wrong;
  const message = "telegram has no guilds, so no message matches: list its groups under `chats`";
  return [...wrong, { path: ["telegram", "access", "guilds"], message }];
}

/** A default route whose people answer in a chat that the gateway does not listen to: their replies would be ignored. */
function forwardedUnheard({ gateway, ...config }: Config, on: readonly PlatformName[], moves: Moves): SettingProblem[] {
  const { default_route: route } = gateway;
  const to = typeof route === "object" && "forward" in route ? route.forward : undefined;
  const platform = on.find((one) => one === to?.platform);
  if (to === undefined || platform === undefined || addressProblem(to) !== undefined) return [];
  const { access } = config[platform];
  // The guild of a channel is not known here. On Telegram the number of a person's chat is positive.
  if (access.guilds.length > 0 || (platform === "telegram" && !to.chatId.startsWith("-"))) return [];
  const listed = access.chats.map((chatId) => moves.current({ platform, chatId }).chatId);
  if (["*", moves.current(to).chatId, to.threadId].some((id) => id !== undefined && listed.includes(id))) return [];
  const message = `${formatAddress(to)} gets the messages, but replies there are ignored, because \`${platform}.access.chats\` does not list ${to.chatId}: add it`;
  return [{ path: ["gateway", "default_route", "forward"], message }];
}

function retryPauses({ gateway: { retry_first: first, retry_max: max } }: Config): SettingProblem[] {
  if (first <= max) return [];
  const message = "no pause is longer than `gateway.retry_max`: raise `retry_max`, or lower this";
  return [{ path: ["gateway", "retry_first"], message }];
}

/** The plugins that the gateway's settings name, and the conversations for which they name them. */
function namedPlugins({ config: { gateway }, plugins, env, rooms }: Examined): SettingProblem[] {
  const { default_route: route, allowed_plugins: allowed } = gateway;
  const ids = plugins.flatMap(({ id }) => id ?? []);
  // A plugin that is broken or off has no id: it is a problem of its own, or it may come back.
  const isSure = plugins.every(({ id }) => id !== undefined);
  const unknown = (id: string) =>
    ids.includes(id) || !isSure ? undefined : `there is no plugin "${id}"${suggestion(id, ids)}`;
  const problems: SettingProblem[] = Object.entries(allowed).flatMap(([key, names]) => {
    const path = ["gateway", "allowed_plugins", key];
    const parts = key.split(":");
    const chat = parts.length === 2 ? parts.join("::") : key;
    const ofKey =
      conversationProblem(key) ??
      (parts.length > 1 ? chatProblem(chat, PLATFORMS, rooms, ownAccounts(env)) : undefined);
    return [
      ...(ofKey === undefined ? [] : [{ path, message: ofKey, ofKey: true as const }]),
      ...names.flatMap((id, index) => {
        const message = unknown(id);
        return message === undefined ? [] : [{ path: [...path, index], message }];
      }),
    ];
  });
  if (typeof route === "string" || !("plugin" in route)) return problems;
  const named = plugins.find(({ id }) => id === route.plugin);
  if (named?.hasRoute) return problems;
  const why = named === undefined ? (unknown(route.plugin) ?? `plugin "${route.plugin}" is not loaded`) : undefined;
  const message = `${why ?? `plugin "${route.plugin}" does not call api.route(…)`}, so messages that no hook claims are not answered`;
  return [...problems, { path: ["gateway", "default_route", "plugin"], message }];
}

function conversationProblem(key: string): string | undefined {
  if (key === "*") return undefined;
  if (key.split(":").some((part) => part === ""))
    return `expected platform:bot:chat:thread, platform:bot:chat, platform:chat, platform or *, got "${key}"`;
  return platformProblem(key);
}

/** For each measure the first policy that matches holds. */
function secondPolicies({ sla }: Config): SettingProblem[] {
  return sla.policies.flatMap((policy, index): SettingProblem[] => {
    const measure = measureOf(policy);
    const before = sla.policies
      .slice(0, index)
      .find(
        (one) =>
          one.for === policy.for &&
          measureOf(one) === measure &&
          (one.match === undefined || one.match.trim() === policy.match?.trim()),
      );
    if (before === undefined) return [];
    const why =
      before.match === undefined ? "has no `match` and takes every" : "has the same `match` and takes every such";
    return [
      {
        path: ["sla", "policies", index],
        message: `the policy ${policy.id} never matches: ${before.id} comes before it, ${why} ${policy.for}. Give ${before.id} a \`match\`, or write it after ${policy.id}`,
      },
    ];
  });
}

function measureOf({ measure, target }: Config["sla"]["policies"][number]): string {
  return measure ?? (target === undefined ? "deadline" : "completion");
}

/** `policy=…` for a policy that does not exist. */
function alertMatchers({ alerts, sla }: Config): SettingProblem[] {
  const known = sla.policies.map(({ id }) => id);
  const all: { path: (string | number)[]; texts: readonly string[] }[] = [
    ...Object.entries(alerts.routes).map(([name, { match = [] }]) => ({
      path: ["alerts", "routes", name, "match"],
      texts: match,
    })),
    ...alerts.maintenance.map(({ match }, index) => ({
      path: ["alerts", "maintenance", index, "match"],
      texts: match,
    })),
    ...alerts.inhibit.flatMap(({ by, mutes }, index) => [
      { path: ["alerts", "inhibit", index, "by"], texts: by },
      { path: ["alerts", "inhibit", index, "mutes"], texts: mutes },
    ]),
  ];
  return all.flatMap(({ path, texts }) =>
    texts.flatMap((text, index): SettingProblem[] => {
      const policy = policyOf(text);
      if (policy === undefined || known.includes(policy)) return [];
      return [
        {
          path: [...path, index],
          message: `there is no policy "${policy}"${suggestion(policy, known)}: this never matches`,
        },
      ];
    }),
  );
}

function runnerPrograms({ config, env, file }: Examined): SettingProblem[] {
  const folder = file === undefined ? process.cwd() : dirname(resolve(file));
  const searchPath = env.forPrograms().PATH ?? "";
  return Object.entries(config.orchestrator.runners).flatMap(([name, { shell }]): SettingProblem[] => {
    const missing = shell === undefined ? [] : missingProgram(shell, { folder, searchPath });
    return missing.map((message) => ({ path: ["orchestrator", "runners", name, "shell"], message }));
  });
}

/** Secrets that runners name and the environment does not have: each of their tasks fails. */
function runnerVariables({ config, env }: Examined): SettingProblem[] {
  return Object.entries(config.orchestrator.runners).flatMap(([name, { shell, http }]): SettingProblem[] => {
    const named = [
      ...(shell?.secrets ?? []).map((variable, index) => ({ variable, path: ["shell", "secrets", index] })),
      ...(["bearer_env", "sign_env"] as const).map((key) => ({ variable: http?.[key], path: ["http", key] })),
    ];
    return named.flatMap(({ variable, path }): SettingProblem[] => {
      if (variable === undefined || env.variable(variable) !== undefined) return [];
      const message = `the environment variable ${variable} is missing, so tasks of this runner fail: set it and restart`;
      return [{ path: ["orchestrator", "runners", name, ...path], message }];
    });
  });
}
