/** All settings of hookgate.yaml, composed of the schemas that are beside their owners. */
import { z } from "zod";
import { discordConfig } from "../../adapters/discord/config.js";
import { telegramConfig } from "../../adapters/telegram/config.js";
import { webConfig } from "../../adapters/web/config.js";
import { modelsConfig } from "../agent/models/config.js";
import { alertsConfig } from "../alerts/config.js";
import { slaConfig } from "../alerts/sla/config.js";
import { automationsConfig } from "../automations/config.js";
import { eventsConfig } from "../automations/ingest/config.js";
import { accessConfig } from "../domain/chat/access.js";
import { PLATFORMS, type PlatformName } from "../domain/chat/platform.js";
import { gatewayConfig, operatorsConfig } from "../gateway/config.js";
import { httpConfig } from "../http/config.js";
import { outgoingConfig } from "../lib/outgoing/config.js";
import { someDeadline } from "../lib/validation/config-fields.js";
import { orchestratorConfig } from "../orchestrator/config.js";
import { pluginsConfig } from "../plugins/config.js";
import { storeConfig } from "../store/config.js";

/** A section that may be left out: its own defaults hold. */
const section = <S extends z.ZodType>(schema: S, description: string) =>
  schema.prefault({} as z.input<S>).describe(description);

/** Everyone in the web chat has logged in with a token: its rooms are listened to unless the configuration turns that off. */
const webAccess = accessConfig.extend({
  chats: accessConfig.shape.chats
    .unwrap()
    .default(["*"])
    .describe(accessConfig.shape.chats.description ?? ""),
});

const hookOverride = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe(
      "Whether the hook is on. A saved change of it, and each start, ends what `/hooks enable` or `/hooks disable` switched.",
    ),
  timeout: someDeadline().optional().describe("The deadline of each run of the hook."),
  failure_policy: z
    .enum(["fail-open", "fail-closed"])
    .optional()
    .describe("What a failure of the hook does: the step goes on (fail-open), or is stopped (fail-closed)."),
});

export const configSchema = z.strictObject({
  operators: section(operatorsConfig, "Who may run commands. Default: only the holder of the local console's token."),
  gateway: section(gatewayConfig, "The flow of messages in and out."),
  store: section(storeConfig, "What is kept, how safely and for how long."),
  http: section(httpConfig, "The server of the web chat, the API and the probes."),
  web: section(
    webConfig.extend({ access: section(webAccess, "Who is listened to in the web chat.") }),
    "The web chat, the platform that Hookgate serves itself.",
  ),
  discord: section(
    discordConfig.extend({ access: section(accessConfig, "Who is listened to on Discord.") }),
    "Discord; on when DISCORD_TOKEN is set.",
  ),
  telegram: section(
    telegramConfig.extend({ access: section(accessConfig, "Who is listened to on Telegram.") }),
    "Telegram; on when TELEGRAM_TOKEN is set.",
  ),
  outgoing: section(outgoingConfig, "Requests to places that messages and hooks name, such as attachments."),
  models: section(modelsConfig, "Language models, for the agents of hooks."),
  events: eventsConfig.describe("Events that other systems send to POST /ingest/<name>, by name."),
  plugins: pluginsConfig.describe("Modules with hooks, points and commands of their own."),
  automations: section(automationsConfig, "Settings of all configured hooks together."),
  orchestrator: section(orchestratorConfig, "Tasks, and the runners and people who do them."),
  sla: section(slaConfig, "SLAs: clocks of tasks, missions and conversations."),
  alerts: section(alertsConfig, "Where alerts are sent, whom they mention, when and how often. Without it: to admins."),
  hooks: z
    .array(z.unknown())
    .default([])
    .describe("Configured hooks; more of them in the YAML files of the folder `hooks` beside this file."),
  overrides: z
    .record(z.string(), hookOverride)
    .default({})
    .describe("Per-hook overrides, by id. They take precedence over the hook's own settings."),
});
export type Config = z.output<typeof configSchema>;

/** A section that concerns one platform alone has its name: an error in it switches that platform off, and nothing else. */
export function platformOf(section: unknown): (PlatformName & keyof Config) | undefined {
  return PLATFORMS.find((platform) => platform === section);
}
