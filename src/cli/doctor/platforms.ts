/** Asks each platform that has a token whether it knows it, and reads its clock on the way. */
import { z } from "zod";
import type { Probed } from "../../app/probe.js";
import type { Environment } from "../../config/env.js";
import type { Config } from "../../config/schema.js";
import type { PlatformName } from "../../domain/chat/platform.js";
import { errorMessage } from "../../lib/errors.js";
import type { Finding } from "./finding.js";

const TIMEOUT_MS = 10_000;
/** HTTP dates have whole seconds; a slow answer adds to it. Beyond this, signatures and dedup by time go wrong. */
const SKEW_WARNING_MS = 30_000;

const discordUser = z.object({ id: z.string(), username: z.string() });
/** https://docs.discord.com/developers/resources/application#application-object-application-flags */
const MESSAGE_CONTENT_FLAGS = (1 << 18) | (1 << 19);
const discordApplication = z.object({ flags: z.number() });
const telegramUser = z.object({
  id: z.number(),
  username: z.string(),
  can_read_all_group_messages: z.boolean().optional(),
});
const telegramWebhook = z.object({ url: z.string() });

/** `whyBroken`: why a platform's settings cannot be used; such a platform is not asked. */
export async function checkPlatforms(
  config: Config,
  env: Environment,
  whyBroken: (platform: PlatformName) => string | undefined,
): Promise<Finding[]> {
  const checks = await Promise.all([
    env.DISCORD_TOKEN === undefined
      ? off("discord", "DISCORD_TOKEN")
      : (broken("discord", whyBroken) ??
        checkDiscord(config, env.DISCORD_API_URL ?? "https://discord.com/api", env.DISCORD_TOKEN)),
    env.TELEGRAM_TOKEN === undefined
      ? off("telegram", "TELEGRAM_TOKEN")
      : (broken("telegram", whyBroken) ??
        checkTelegram(config, env.TELEGRAM_API_URL ?? "https://api.telegram.org", env.TELEGRAM_TOKEN)),
  ]);
  return checks.flat();
}

function broken(name: PlatformName, whyBroken: (platform: PlatformName) => string | undefined): Finding[] | undefined {
  const detail = whyBroken(name);
  return detail === undefined ? undefined : [{ name, state: "bad", detail: `stays offline: ${detail}` }];
}

function off(platform: string, variable: string): Finding[] {
  return [{ name: platform, state: "ok", detail: `off: ${variable} is not set` }];
}

async function checkDiscord(config: Config, apiUrl: string, token: string): Promise<Finding[]> {
  const ask = (path: string) => request(DISCORD, `${trimmed(apiUrl)}/v10${path}`, { authorization: `Bot ${token}` });
  const me = await whoAmI(DISCORD, () => ask("/users/@me"));
  if (me.kind === "finding") return [me.finding];
  const user = discordUser.safeParse(me.data);
  if (!user.success) return [unexpected("discord")];
  const findings: Finding[] = [
    { name: "discord", state: "ok", detail: `the token is ${user.data.username}'s (${user.data.id})` },
  ];
  const application = discordApplication.safeParse(await ask("/applications/@me").then(dataOf));
  if (config.discord.message_content && application.success && (application.data.flags & MESSAGE_CONTENT_FLAGS) === 0)
    findings.push({
      name: "discord intents",
      state: "bad",
      detail: "the Message Content intent is off, so Discord will refuse the connection (4014)",
      hint: "Switch it on at https://discord.com/developers/applications → Bot, or set discord.message_content: false.",
    });
  return [...findings, ...skew("discord", me.date)];
}

async function checkTelegram(config: Config, apiUrl: string, token: string): Promise<Finding[]> {
  const ask = (method: string) => request(TELEGRAM, `${trimmed(apiUrl)}/bot${token}/${method}`, {});
  const me = await whoAmI(TELEGRAM, () => ask("getMe"));
  if (me.kind === "finding") return [me.finding];
  const user = telegramUser.safeParse(me.data);
  if (!user.success) return [unexpected("telegram")];
  const { id, username, can_read_all_group_messages: readsAll } = user.data;
  const findings: Finding[] = [{ name: "telegram", state: "ok", detail: `the token is @${username}'s (${id})` }];
  if (config.telegram.access.mention === "always" && readsAll === false)
    findings.push({
      name: "telegram privacy",
      state: "warning",
      detail: "telegram.access.mention is always, but in groups the bot only sees commands, replies and mentions",
      hint: "Switch privacy mode off: @BotFather → /setprivacy → Disable; then remove the bot from the group and add it again.",
    });
  const webhook = telegramWebhook.safeParse(await ask("getWebhookInfo").then(dataOf));
  if (config.telegram.mode === "polling" && webhook.success && webhook.data.url !== "")
    findings.push({
      name: "telegram webhook",
      state: "warning",
      detail: `a webhook is set (${hostOf(webhook.data.url)}); the gateway removes it when it starts only if it set it itself`,
      hint: `Is it another program's? Stop that program, then remove it: curl "${trimmed(apiUrl)}/bot$TELEGRAM_TOKEN/deleteWebhook"`,
    });
  return [...findings, ...skew("telegram", me.date)];
}

interface Platform {
  name: "discord" | "telegram";
  title: string;
  variable: string;
  apiVariable: string;
  newToken: string;
  read(status: number, text: string): Promise<Probed>;
}

const DISCORD: Platform = {
  name: "discord",
  title: "Discord",
  variable: "DISCORD_TOKEN",
  apiVariable: "DISCORD_API_URL",
  newToken: "https://discord.com/developers/applications → Bot → Reset Token.",
  read: async (status, text) => (await import("../../app/probe.js")).readDiscord(status, text),
};

const TELEGRAM: Platform = {
  name: "telegram",
  title: "Telegram",
  variable: "TELEGRAM_TOKEN",
  apiVariable: "TELEGRAM_API_URL",
  newToken: "Ask @BotFather for /token.",
  read: async (status, text) => (await import("../../app/probe.js")).readTelegram(status, text),
};

type Answer = { kind: "answered"; probed: Probed; date: string | null } | { kind: "unreachable"; finding: Finding };

/** The first refusal of a token may be a mistake of a server in between: the second counts, as for a running gateway. */
async function whoAmI(
  platform: Platform,
  ask: () => Promise<Answer>,
): Promise<{ kind: "data"; data: unknown; date: string | null } | { kind: "finding"; finding: Finding }> {
  const first = await ask();
  const answer = first.kind === "answered" && first.probed.kind === "refused" ? await ask() : first;
  if (answer.kind === "unreachable") return { kind: "finding", finding: answer.finding };
  const { probed, date } = answer;
  switch (probed.kind) {
    case "data":
      return { kind: "data", data: probed.data, date };
    case "refused":
      return { kind: "finding", finding: refused(platform) };
    case "trouble":
      return { kind: "finding", finding: troubled(platform, probed) };
  }
}

const dataOf = (answer: Answer): unknown =>
  answer.kind === "answered" && answer.probed.kind === "data" ? answer.probed.data : undefined;

/** The address may hold the token, so no error shows it. */
async function request(platform: Platform, url: string, headers: Record<string, string>): Promise<Answer> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // A redirect is no answer of the platform's.
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    const probed = await platform.read(response.status, await response.text());
    return { kind: "answered", probed, date: response.headers.get("date") };
  } catch (error) {
    const why = errorMessage(error instanceof Error && error.cause ? error.cause : error);
    return {
      kind: "unreachable",
      finding: {
        name: platform.name,
        state: "bad",
        detail: `${hostOf(url)} cannot be reached: ${why.replaceAll(url, hostOf(url))}`,
        hint: "Check the network, a proxy or firewall, and the configured API address.",
      },
    };
  }
}

function refused({ name, variable, newToken }: Platform): Finding {
  return { name, state: "bad", detail: `${variable} is not accepted`, hint: `Get a new one: ${newToken}` };
}

function troubled(
  { name, title, variable, apiVariable }: Platform,
  { why, isPassing }: Extract<Probed, { kind: "trouble" }>,
): Finding {
  const then = isPassing
    ? "It may pass: Hookgate tries again by itself. Run `doctor` again later."
    : `Check the network, and ${apiVariable} when it is set.`;
  return {
    name,
    state: "bad",
    detail: `${title} cannot be asked: ${why}`,
    hint: `${then} ${variable} may be right.`,
  };
}

function unexpected(name: string): Finding {
  return {
    name,
    state: "bad",
    detail: "its API answered with nothing that we know",
    hint: "Check the configured API address; try again later.",
  };
}

function skew(platform: string, date: string | null): Finding[] {
  const theirs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirs)) return [];
  const skewMs = Date.now() - theirs;
  if (Math.abs(skewMs) < SKEW_WARNING_MS) return [{ name: "clock", state: "ok", detail: `agrees with ${platform}'s` }];
  return [
    {
      name: "clock",
      state: "warning",
      detail: `${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? "ahead of" : "behind"} ${platform}'s`,
      hint: "Switch on time synchronisation (NTP).",
    },
  ];
}

const trimmed = (url: string) => url.replace(/\/+$/, "");
const hostOf = (url: string) => new URL(url).host;
