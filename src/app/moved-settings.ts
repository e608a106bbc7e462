/**
 * Settings that hold an id that a chat had before it moved (a Telegram group that became a supergroup). Most of them follow the move, as
 * long as the database knows of it; with another database, or a restored one, they would stop without a report.
 */
import type { Definition } from "../automations/definition/definition.js";
import { namedPlatforms } from "../config/named-platforms.js";
import type { Config } from "../config/schema.js";
import type { CursorStore } from "../domain/chat/adapter.js";
import { type Address, formatAddress, parseAddress } from "../domain/chat/address.js";
import { PLATFORMS } from "../domain/chat/platform.js";
import { MovedChats } from "../gateway/moved-chats.js";
import type { Matcher } from "../hooks/registration/matcher.js";
import type { SettingProblem } from "./problems/setting-problem.js";

export type Moves = Pick<MovedChats, "current">;

/** The moves of chats that cursors record; nothing is written. */
export function movesOf(list: CursorStore["list"]): Moves {
  return new MovedChats({ list, set: async () => {} });
}

/** These settings still work. */
export function movedSettings(config: Config, moves: Moves): SettingProblem[] {
  const access = PLATFORMS.flatMap((platform) =>
    config[platform].access.chats.flatMap((chatId, index): SettingProblem[] => {
      const now = changed({ platform, botId: "", chatId }, moves, (at) => at.chatId);
      return now === undefined ? [] : [{ path: [platform, "access", "chats", index], message: followedWords(now) }];
    }),
  );
  const allowed = Object.keys(config.gateway.allowed_plugins).map((text) => ({
    path: ["gateway", "allowed_plugins", text],
    text,
    ofKey: true as const,
  }));
  const followed = [...namedPlatforms(config), ...allowed].flatMap(({ text, ...place }): SettingProblem[] => {
    const now = placeNow(text, moves);
    return now === undefined ? [] : [{ ...place, message: followedWords(now) }];
  });
  const ofPlugins = config.plugins.flatMap(({ config: own }, index) =>
    textsOf(own, ["plugins", index, "config"]).flatMap(({ path, text }): SettingProblem[] => {
      const now = placeNow(text, moves) ?? chatNow(text, moves);
      if (now === undefined) return [];
      const message = `this chat moved, and has the id ${now} now. The plugin may or may not follow the move: write ${now} instead`;
      return [{ path, message }];
    }),
  );
  const ofPolicies = config.sla.policies.flatMap(({ match }, index) =>
    (match?.match(/-\d+/g) ?? []).flatMap((text): SettingProblem[] => {
      const now = chatNow(text, moves);
      return now === undefined
        ? []
        : [{ path: ["sla", "policies", index, "match"], message: `${text}: ${followedWords(now)}` }];
    }),
  );
  return [...access, ...followed, ...ofPlugins, ...ofPolicies];
}

export interface MovedPart {
  message: string;
  /** The setting still works. */
  isWarning?: true | undefined;
}

/** The parts of a hook that name a former id. `match.when` does not follow a move. */
export function movedInHook(
  { match, chats = [] }: { match?: Matcher | undefined; chats?: Definition["chats"] },
  moves: Moves,
): MovedPart[] {
  const inMatch = (match?.chats ?? []).flatMap((text) => {
    const now = placeNow(text, moves) ?? chatNow(text, moves);
    return now === undefined
      ? []
      : [{ message: `match.chats: ${text}: ${followedWords(now)}`, isWarning: true as const }];
  });
  const inWhen = (match?.when?.match(/-\d+/g) ?? []).flatMap((text) => {
    const now = chatNow(text, moves);
    if (now === undefined) return [];
    return [
      {
        message: `match.when: ${text}: this chat moved, and has the id ${now} now, which payloads carry: write ${now} instead`,
      },
    ];
  });
  const inChats = chats.flatMap(({ path, text }) => {
    const now = placeNow(text.trim(), moves);
    return now === undefined
      ? []
      : [{ message: `${path.join(".")}: ${text}: ${followedWords(now)}`, isWarning: true as const }];
  });
  const all: MovedPart[] = [...inMatch, ...inWhen, ...inChats];
  return all.filter(({ message }, index) => all.findIndex((one) => one.message === message) === index);
}

function followedWords(now: string): string {
  return `this chat moved. The old id works only as long as the database knows of the move: write ${now} instead`;
}

/** An address, or `platform:chat`, with the id that the chat has now; undefined when it did not move. */
function placeNow(text: string, moves: Moves): string | undefined {
  const at = parseAddress(text);
  if (at !== undefined) return changed(at, moves, formatAddress);
  const [, platform, chatId] = /^([a-z]+):([^:]+)$/.exec(text) ?? [];
  if (platform === undefined || chatId === undefined) return undefined;
  return changed({ platform, botId: "", chatId }, moves, (now) => `${platform}:${now.chatId}`);
}

function chatNow(chatId: string, moves: Moves): string | undefined {
  for (const platform of PLATFORMS) {
    const now = changed({ platform, botId: "", chatId }, moves, (at) => at.chatId);
    if (now !== undefined) return now;
  }
  return undefined;
}

function changed(at: Address, moves: Moves, write: (at: Address) => string): string | undefined {
  const now = moves.current(at);
  return now === at ? undefined : write(now);
}

/** All texts and numbers in the settings of a plugin, whatever their shape. */
function textsOf(value: unknown, path: (string | number)[]): { path: (string | number)[]; text: string }[] {
  if (typeof value === "string" || typeof value === "number") return [{ path, text: String(value) }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    textsOf(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}
