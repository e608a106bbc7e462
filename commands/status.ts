/** `/status`: is everything up, is anything stuck, is any hook broken. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Card } from "../src/domain/message.js";
import type { Command } from "../src/gateway/commands.js";
import type { AdapterStatus, GatewayStatus } from "../src/gateway/status.js";
import type { Problem } from "../src/hooks/registry.js";
import { formatDuration } from "../src/lib/duration.js";
import { errorMessage } from "../src/lib/errors.js";
import type { PluginInfo } from "../src/plugins/plugins.js";
import { answer, commandButton } from "./answer.js";
import type { CommandDeps } from "./deps.js";
import { type HookRow, readHookRows } from "./hooks/rows.js";
import { code, count, plain } from "./text.js";

export const statusSpec: CommandSpec = {
  name: "status",
  summary: "Platforms, queues, store and hooks at a glance",
  role: "viewer",
  options: [],
};

export function status(deps: CommandDeps): Command {
  return {
    ...statusSpec,
    async run() {
      const health = await examine(deps);
      const { gateway, hooks, plugins, storeError, journalRemark, attention, now } = health;
      const uptimeMs = Math.max(0, now - deps.about.startedAt);
      return answer({
        text: [],
        card: {
          ...verdict(health),
          fields: [
            {
              name: "Platforms",
              value: gateway.adapters.map((adapter) => adapterLine(adapter, now)).join("\n") || "none is switched on",
            },
            { name: "Queues", value: queueLines(gateway, now) },
            { name: "Hooks", value: hookLines(hooks) },
            ...(plugins.length > 0 ? [{ name: "Plugins", value: pluginLines(plugins) }] : []),
            { name: "Store", value: storeLines(storeError, journalRemark) },
          ],
          footer: `hookgate ${deps.about.version} · node ${process.versions.node} · up ${formatDuration(uptimeMs)}`,
        },
        data: {
          ...gateway,
          hooks: {
            total: hooks.all.length,
            enabled: hooks.enabled.length,
            failing: hooks.failing.map(({ id }) => id),
            neverFired: hooks.never.map(({ id }) => id),
            problems: hooks.problems,
          },
          plugins: plugins.map(({ module, id, state, reason }) => ({ module, id, state, reason })),
          store: {
            ok: storeError === undefined,
            database: deps.about.database,
            error: storeError,
            journal: journalRemark,
          },
          version: deps.about.version,
          node: process.versions.node,
          uptimeMs,
        },
        buttons: buttonsFor(attention, hooks),
      });
    },
  };
}

interface Health {
  now: number;
  gateway: GatewayStatus;
  hooks: HookHealth;
  plugins: readonly PluginInfo[];
  storeError: string | undefined;
  journalRemark: string | undefined;
  /** Messages that wait for an operator. */
  attention: number;
}

interface HookHealth {
  all: HookRow[];
  enabled: HookRow[];
  failing: HookRow[];
  never: HookRow[];
  problems: readonly Problem[];
}

async function examine(deps: CommandDeps): Promise<Health> {
  const [gateway, { rows: all, remark }, storeError] = await Promise.all([
    deps.status(),
    readHookRows(deps),
    checkStore(deps),
  ]);
  const enabled = all.filter((hook) => hook.enabled);
  return {
    now: deps.clock.now(),
    gateway,
    hooks: {
      all,
      enabled,
      failing: all.filter((hook) => hook.failures > 0),
      never: enabled.filter((hook) => hook.neverFired),
      problems: deps.registry.validate(),
    },
    plugins: deps.plugins?.() ?? [],
    storeError,
    journalRemark: remark,
    attention: gateway.outbox.held + gateway.outbox.dead + gateway.inbox.dead,
  };
}

function verdict({
  gateway,
  hooks,
  plugins,
  storeError,
  journalRemark,
  attention,
}: Health): Pick<Card, "title" | "tone"> {
  if (storeError !== undefined || gateway.adapters.some(({ phase }) => phase === "offline"))
    return { title: "Something is down", tone: "bad" };
  const isTroubled =
    hooks.failing.length + hooks.problems.length + attention > 0 ||
    journalRemark !== undefined ||
    plugins.some(({ reason }) => reason);
  if (isTroubled) return { title: "Up, and something wants your attention", tone: "warning" };
  const away = gateway.adapters.filter(({ phase }) => phase === "connecting" || phase === "reconnecting");
  return away.length > 0
    ? { title: `Up, waiting for ${away.map(({ platform }) => platform).join(" and ")}`, tone: "warning" }
    : { title: "All is well", tone: "good" };
}

async function checkStore({ store }: CommandDeps): Promise<string | undefined> {
  try {
    await store.check();
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

const SIGNS = { online: "●", connecting: "◌", reconnecting: "◌", offline: "✗", off: "○" } as const satisfies Record<
  AdapterStatus["phase"],
  string
>;

function adapterLine(adapter: AdapterStatus, now: number): string {
  const facts = [
    `${SIGNS[adapter.phase]} ${plain(adapter.platform)} ${adapter.phase} for ${formatDuration(Math.max(0, now - adapter.since))}`,
    ...(adapter.botName ? [plain(adapter.botName)] : []),
    ...(adapter.reason ? [plain(adapter.reason, 160)] : []),
    ...(adapter.restarts > 0 ? [`restarted ${adapter.restarts} times`] : []),
    ...(adapter.pausedUntil !== undefined && adapter.pausedUntil > now
      ? [
          `paused for ${formatDuration(adapter.pausedUntil - now)}${adapter.pauseReason ? `: ${plain(adapter.pauseReason, 80)}` : ""}`,
        ]
      : []),
    ...(adapter.conversationsWaiting > 0 ? [`${count(adapter.conversationsWaiting, "conversation")} waiting`] : []),
  ];
  return facts.join(" · ");
}

function queueLines({ inbox, outbox, lanes, sending, pauses }: GatewayStatus, now: number): string {
  const lines = [
    `in: ${inbox.waiting + inbox.running} open, ${inbox.deferred} put off, ${inbox.dead} dead`,
    `out: ${outbox.waiting + outbox.sending} open, ${outbox.held} held, ${outbox.dead} dead`,
    `now: ${count(lanes.active, "conversation")} handled (${lanes.waiting} waiting), ${sending.active} sent to (${sending.waiting} waiting)`,
  ];
  const lasting = pauses.filter(({ until }) => until > now);
  if (lasting.length > 0)
    lines.push(
      `pauses: ${lasting
        .slice(0, 5)
        .map(({ key, until }) => `${code(key)} ${formatDuration(until - now)}`)
        .join(", ")}${lasting.length > 5 ? ` and ${lasting.length - 5} more` : ""}`,
    );
  return lines.join("\n");
}

function hookLines({ all, enabled, failing, never, problems }: HookHealth): string {
  return [
    `${count(all.length, "hook")}, ${enabled.length} enabled`,
    ...(failing.length > 0 ? [`✗ failing in 24 h: ${named(failing)}`] : []),
    ...(never.length > 0 ? [`never fired: ${named(never)}`] : []),
    ...problems.slice(0, MAX_NAMED).map(({ message }) => `⚠ ${plain(message, 120)}`),
  ].join("\n");
}

function pluginLines(plugins: readonly PluginInfo[]): string {
  const loaded = plugins.filter(({ state }) => state === "loaded").length;
  const broken = plugins.filter(({ reason }) => reason !== undefined);
  return [
    `${loaded} of ${plugins.length} loaded`,
    ...broken.slice(0, MAX_NAMED).map(({ module, reason }) => `✗ ${code(module)}: ${plain(reason ?? "", 120)}`),
  ].join("\n");
}

function storeLines(storeError: string | undefined, journalRemark: string | undefined): string {
  const store = storeError === undefined ? "writable" : `✗ ${plain(storeError)}`;
  return journalRemark === undefined ? store : `${store}\n⚠ ${plain(journalRemark)}`;
}

const MAX_NAMED = 5;

function named(rows: readonly HookRow[]): string {
  const ids = rows.slice(0, MAX_NAMED).map(({ id }) => code(id));
  return `${ids.join(", ")}${rows.length > MAX_NAMED ? ` and ${rows.length - MAX_NAMED} more` : ""}`;
}

function buttonsFor(attention: number, { failing, never }: HookHealth) {
  return [
    [
      commandButton("Refresh", "/status"),
      commandButton("Hooks", "/hooks list"),
      ...(attention > 0 ? [commandButton(`Outbox (${attention})`, "/outbox list", "primary")] : []),
      ...(failing.length > 0 ? [commandButton("Failed runs", "/runs failed", "primary")] : []),
      ...(never.length > 0 ? [commandButton("Never fired", "/hooks list never")] : []),
    ],
  ];
}
