/** `/status`: is everything up, is anything stuck, is any hook broken. */
import type { OpenBreaker } from "../src/automations/gates/breaker.js";
import { ALERT_STATES, isOpen } from "../src/domain/alerts/alert.js";
import { parseAddress } from "../src/domain/chat/address.js";
import type { Card } from "../src/domain/chat/message.js";
import type { FailingDeliveries } from "../src/domain/store.js";
import type { AdapterStatus, GatewayStatus, RouteCall } from "../src/gateway/status.js";
import type { CrashedDispatch } from "../src/hooks/attempts.js";
import type { Problem } from "../src/hooks/registry.js";
import { errorMessage } from "../src/lib/errors.js";
import { formatDuration } from "../src/lib/time/duration.js";
import type { PluginInfo } from "../src/plugins/infos.js";
import { answer, commandButton } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { outrankedHooks } from "./hooks/outranked.js";
import { pausedText } from "./hooks/pause.js";
import { type HookRow, readHookRows } from "./hooks/rows.js";
import { stoppedText } from "./hooks/stopped.js";
import { silentlyGivenUp } from "./journey/cut-off-points.js";
import { code, count, plain } from "./show/text.js";
import {
  endersText,
  givenUpLines,
  type HeldAfterCrashes,
  heldAfterCrashes,
  heldLines,
} from "./status/held-after-crashes.js";
import { failingDeliveries, failingText, isRefused, lastingPauses, queueLines } from "./status/queue-lines.js";
import { unansweredLines, unansweredPolicies } from "./status/unanswered-policies.js";
import { conversationName } from "./who.js";

export const status = defineCommand({
  name: "status",
  group: "start",
  summary: "Platforms, queues, store and hooks at a glance",
  role: "viewer",
  options: [],
  async run(deps) {
    const health = await examine(deps);
    return answer({
      text: [],
      card: cardOf(deps, health),
      data: dataOf(deps, health),
      buttons: buttonsFor(health),
    });
  },
});

function cardOf(deps: CommandDeps, health: Health): Card {
  const { gateway, hooks, plugins, problems, needRestart, now, held, givenUp, unanswered } = health;
  const work = [...heldLines(held), ...givenUpLines(givenUp, now), ...unansweredLines(unanswered)];
  return {
    ...verdict(deps, health),
    fields: [
      {
        name: "Platforms",
        value: gateway.adapters.map((adapter) => adapterLine(adapter, now)).join("\n") || "none is switched on",
      },
      ...deafFields(gateway),
      { name: "Queues", value: queueLines(deps, health) },
      { name: "Hooks", value: hookLines(hooks, now) },
      ...(work.length > 0 ? [{ name: "Work", value: work.join("\n") }] : []),
      ...(plugins.length > 0 ? [{ name: "Plugins", value: pluginLines(deps, health) }] : []),
      ...(problems.length + needRestart.length > 0
        ? [{ name: "Configuration", value: configurationLines(health) }]
        : []),
      { name: "Store", value: storeLines(health) },
    ],
    footer: `hookgate ${deps.about.version} · node ${process.versions.node} · up ${formatDuration(uptimeMs(deps, now))}`,
  };
}

function dataOf(deps: CommandDeps, { gateway, hooks, plugins, problems, needRestart, ...health }: Health) {
  const { held, givenUp, storeError, storeRemarks, journalRemark, now } = health;
  return {
    ...gateway,
    hooks: {
      total: hooks.all.length,
      enabled: hooks.enabled.length,
      paused: deps.automations?.paused(),
      failing: hooks.failing.map(({ id }) => id),
      waitingRuns: Object.fromEntries(deps.automations?.waitingRuns() ?? []),
      breakers: hooks.breakers,
      neverFired: hooks.never.map(({ id }) => id),
      alwaysSkipped: hooks.skipped.map(({ id, alwaysSkipped }) => ({ id, ...alwaysSkipped })),
      problems: hooks.problems,
      switched: hooks.switched.map(({ id }) => id),
    },
    heldAfterCrashes: {
      tasks: held.tasks.map(({ id }) => id),
      dispatches: givenUp.map(({ dispatchId }) => dispatchId).filter((id) => id !== ""),
      missions: held.missions.map(({ id }) => id),
      schedules: held.schedules.map(({ id }) => id),
      runs: held.runs.map(({ id }) => id),
    },
    events: deps.eventLoad?.() ?? [],
    plugins: plugins.map(({ module, id, state, reason }) => ({ module, id, state, reason })),
    problems,
    needRestart,
    store: {
      ok: storeError === undefined,
      database: deps.about.database,
      error: storeError,
      remarks: storeRemarks,
      journal: journalRemark,
    },
    version: deps.about.version,
    node: process.versions.node,
    uptimeMs: uptimeMs(deps, now),
  };
}

const uptimeMs = ({ about }: CommandDeps, now: number) => Math.max(0, now - about.startedAt);

interface Health {
  now: number;
  gateway: GatewayStatus;
  /** When the oldest open delivery was created. */
  oldestOpen: number | undefined;
  failing: readonly FailingDeliveries[];
  /** Why background runs that are due wait for a place. */
  heldUp: string | undefined;
  hooks: HookHealth;
  plugins: readonly PluginInfo[];
  /** Problems of the configuration, one line each. */
  problems: readonly string[];
  /** Changes in the configuration that wait for a restart. */
  needRestart: readonly string[];
  storeError: string | undefined;
  /** Losses that were noticed in the store's files. */
  storeRemarks: readonly string[];
  journalRemark: string | undefined;
  /** Messages that wait for an operator. */
  attention: number;
  held: HeldAfterCrashes;
  /** Dispatches of the last day that crashed the gateway, and that no work waits for. */
  givenUp: readonly CrashedDispatch[];
  openAlerts: number;
  /** SLA policies whose match had no answer. */
  unanswered: readonly string[];
}

interface HookHealth {
  all: HookRow[];
  enabled: HookRow[];
  /** `/hooks pause` is in force: since when, and by whom. */
  paused: string | undefined;
  failing: HookRow[];
  never: HookRow[];
  /** Started, and skipped each time. */
  skipped: HookRow[];
  /** Not run because they failed again and again. */
  breakers: readonly OpenBreaker[];
  problems: readonly Problem[];
  /** Hooks that a person switched in chat, while the configuration, the file or the plugin has another value. */
  switched: readonly { id: string; text: string }[];
}

async function examine(deps: CommandDeps): Promise<Health> {
  const now = deps.clock.now();
  const [
    gateway,
    { rows: all, remark },
    storeError,
    problems = [],
    oldestOpen,
    failing,
    heldUp,
    held,
    givenUp,
    alerts = {},
    unanswered,
  ] = await Promise.all([
    deps.status(),
    readHookRows(deps),
    checkStore(deps),
    deps.problems?.(),
    deps.store.outbox.oldestOpen().catch(() => undefined), // problems of the store are shown as such
    failingDeliveries(deps.store.outbox, now).catch(() => []), // as above
    deps.automations?.heldUp().catch(() => undefined), // as above
    heldAfterCrashes(deps).catch(() => ({ tasks: [], missions: [], schedules: [], runs: [] })), // as above
    silentlyGivenUp(deps).catch(() => []), // as above
    deps.alerts?.counts({}).catch(() => undefined), // as above
    unansweredPolicies(deps).catch(() => []), // as above
  ]);
  const enabled = all.filter((hook) => hook.enabled);
  return {
    now,
    gateway,
    oldestOpen,
    failing,
    heldUp,
    hooks: {
      all,
      enabled,
      paused: pausedText(deps),
      // A disabled hook fails no more.
      failing: enabled.filter((hook) => hook.failures > 0),
      never: enabled.filter((hook) => hook.neverFired),
      skipped: enabled.filter((hook) => hook.alwaysSkipped !== undefined),
      problems: deps.registry.validate(),
      breakers: deps.automations?.breakers() ?? [],
      switched: outrankedHooks(deps),
    },
    plugins: deps.plugins?.() ?? [],
    problems: problems.map(({ text }) => text),
    needRestart: deps.needRestart?.() ?? [],
    storeError,
    // A damaged journal is among them, too.
    storeRemarks: deps.store.health().remarks.filter((one) => !remark?.includes(one)),
    journalRemark: remark,
    attention: gateway.outbox.held + gateway.outbox.dead + gateway.inbox.dead,
    held,
    givenUp,
    openAlerts: ALERT_STATES.filter(isOpen).reduce((sum, state) => sum + (alerts[state] ?? 0), 0),
    unanswered,
  };
}

function verdict(
  deps: CommandDeps,
  {
    now,
    gateway,
    hooks,
    plugins,
    problems,
    needRestart,
    storeError,
    storeRemarks,
    journalRemark,
    attention,
    failing,
    heldUp,
    held,
    givenUp,
    openAlerts,
    unanswered,
  }: Health,
): Pick<Card, "title" | "tone"> {
  if (storeError !== undefined || gateway.adapters.some(({ phase }) => phase === "offline"))
    return { title: "Something is down", tone: "bad" };
  const broken = plugins.filter(({ reason }) => reason !== undefined).length;
  const deaf = gateway.adapters.filter(({ listening }) => listening?.isNothing);
  const limping = gateway.adapters.filter(({ phase, hint }) => phase === "online" && hint !== undefined);
  const away = gateway.adapters.filter(({ phase }) => phase === "connecting" || phase === "reconnecting");
  const paused = lastingPauses(gateway, now).filter(
    ({ key, isPutOff, isOwnLimit, askedMs }) =>
      !isPutOff &&
      !isOwnLimit &&
      askedMs >= LONG_PAUSE_MS &&
      !away.some(({ platform }) => key.startsWith(`${platform}:`)),
  );
  const endings = givenUp.flatMap(({ endedBy }) => endedBy ?? []);
  const changes = givenUp.length - endings.length;
  const late = gateway.routed.filter(isLate);
  const troubles = [
    gateway.heldBack && "new messages are held back",
    ...(deps.eventLoad?.() ?? []).filter(isRefused).map(({ name }) => `no more events ${code(name)} are taken`),
    paused[0] &&
      `sending to ${pausedPlace(deps, paused[0].key)}${paused.length > 1 ? ` and ${paused.length - 1} more` : ""} is paused`,
    deaf.length > 0 &&
      `${deaf.map(({ platform }) => platform).join(" and ")} ${deaf.length === 1 ? "listens" : "listen"} to nothing`,
    limping.length > 0 &&
      `${limping.map(({ platform }) => platform).join(" and ")} ${limping.length === 1 ? "needs" : "need"} attention`,
    attention > 0 && `${count(attention, "message")} ${attention === 1 ? "waits" : "wait"} for an operator`,
    failingText(failing),
    heldUp !== undefined && "background runs wait for a place",
    heldText(held),
    changes > 0 && `hooks crashed the gateway ${changes === 1 ? "at one change" : `at ${changes} changes`} in 24 h`,
    endings.length > 0 && `${endersText(endings)} ended the gateway in 24 h`,
    late.length > 0 &&
      `the default route of ${[...new Set(late.map(({ plugin }) => plugin))].join(" and ")} blocks ${count(late.length, "conversation")}`,
    hooks.paused !== undefined && "configured hooks are paused",
    hooks.breakers.length > 0 && `${count(hooks.breakers.length, "hook")} stopped after failures`,
    hooks.failing.length > 0 && `${count(hooks.failing.length, "hook")} failing`,
    hooks.problems.length > 0 && `${count(hooks.problems.length, "problem")} with hooks`,
    broken > 0 && `${count(broken, "plugin")} broken`,
    problems.length > 0 && `${count(problems.length, "problem")} of the configuration`,
    unanswered.length > 0 && `the match of ${count(unanswered.length, "SLA policy", "SLA policies")} had no answer`,
    needRestart.length > 0 && "a restart is needed",
    journalRemark !== undefined && "the journal has gaps",
    storeRemarks.length > 0 && `${count(storeRemarks.length, "warning")} about the store`,
  ].filter((trouble) => typeof trouble === "string");
  if (troubles.length === 0 && away.length === 0) {
    const others = openAlerts === 0 ? "" : `; ${count(openAlerts, "alert")} ${openAlerts === 1 ? "is" : "are"} open`;
    return { title: `The gateway is well${others}`, tone: "good" };
  }
  const waiting = away.length === 0 ? "" : `, waiting for ${away.map(({ platform }) => platform).join(" and ")}`;
  return { title: `Up${waiting}${troubles.length === 0 ? "" : `, but ${troubles.join(", ")}`}`, tone: "warning" };
}

function heldText({ tasks, missions, schedules, runs }: HeldAfterCrashes): string | undefined {
  const held = [
    tasks.length > 0 && count(tasks.length, "task"),
    missions.length > 0 && count(missions.length, "mission"),
    schedules.length > 0 && count(schedules.length, "schedule"),
    runs.length > 0 && count(runs.length, "background run"),
  ].filter((one) => typeof one === "string");
  return held.length === 0 ? undefined : `${held.join(" and ")} stopped by an end of the gateway`;
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
    ...(adapter.hint ? [plain(adapter.hint, 240)] : []),
    ...(adapter.listening ? [`listens to ${plain(adapter.listening.text, 200)}`] : []),
    ...(adapter.restarts > 0 ? [`restarted ${count(adapter.restarts, "time")}`] : []),
    ...(adapter.pausedUntil !== undefined && adapter.pausedUntil > now
      ? [
          `paused for ${formatDuration(adapter.pausedUntil - now)}${adapter.pauseReason ? `: ${plain(adapter.pauseReason, 80)}` : ""}`,
        ]
      : []),
    ...(adapter.conversationsWaiting > 0 ? [`${count(adapter.conversationsWaiting, "conversation")} waiting`] : []),
  ];
  return facts.join(" · ");
}

/** The advice for a platform that answers no one. */
function deafFields({ adapters }: GatewayStatus) {
  return adapters.flatMap(({ platform, listening, inviteUrl }) =>
    listening?.isNothing
      ? [
          {
            name: `${plain(platform)} listens to nothing`,
            value: `${listening.hint ?? ""}${inviteUrl === undefined ? "" : `\nAdd the bot to a server or group: ${inviteUrl}`}`,
          },
        ]
      : [],
  );
}

/** A chat by its name, else the platform. */
const pausedPlace = (deps: CommandDeps, key: string) =>
  parseAddress(key) === undefined ? key.split(":")[0] : conversationName(deps, key);

function hookLines(
  { all, enabled, paused, failing, never, skipped, problems, breakers, switched }: HookHealth,
  now: number,
): string {
  return [
    `${count(all.length, "hook")}, ${enabled.length} enabled`,
    ...(paused === undefined ? [] : [`⏸ ${paused} ${code("/hooks resume")} runs them again.`]),
    ...breakers.slice(0, MAX_NAMED).map((one) => `⛔ ${stoppedText(one, now)}`),
    ...switched.slice(0, MAX_NAMED).map(({ id, text }) => `⚠ ${code(id)} was ${text}`),
    ...(switched.length > MAX_NAMED ? [`and ${switched.length - MAX_NAMED} more that were switched in chat`] : []),
    ...(failing.length > 0 ? [`✗ failing in 24 h: ${named(failing)}`] : []),
    ...(never.length > 0 ? [`never fired: ${named(never)}`] : []),
    ...(skipped.length > 0 ? [`always skipped: ${named(skipped)}`] : []),
    ...problems.slice(0, MAX_NAMED).map(({ message }) => `⚠ ${plain(message, 120)}`),
  ].join("\n");
}

const isLate = ({ timeouts }: RouteCall) => timeouts > 0;

function pluginLines(deps: CommandDeps, { plugins, gateway }: Health): string {
  const loaded = plugins.filter(({ state }) => state === "loaded").length;
  const broken = plugins.filter(({ reason }) => reason !== undefined);
  return [
    `${loaded} of ${plugins.length} loaded`,
    ...broken.slice(0, MAX_NAMED).map(({ module, reason }) => `✗ ${code(module)}: ${plain(reason ?? "", 120)}`),
    ...gateway.routed
      .filter(isLate)
      .slice(0, MAX_NAMED)
      .map(({ plugin, messageId, conversation, timeouts }) => {
        const times = timeouts === 1 ? "once" : `${timeouts} times`;
        return `⚠ ${code(plugin)}: its default route did not answer ${code(messageId)} in ${plain(conversationName(deps, conversation), 64)} in time, ${times}. Later messages there wait. ${code(`/hooks why ${messageId}`)} shows it`;
      }),
  ].join("\n");
}

function configurationLines({ problems, needRestart }: Pick<Health, "problems" | "needRestart">): string {
  return [
    ...problems.slice(0, MAX_NAMED).map((text) => `✗ ${plain(text, 200)}`),
    ...(problems.length > MAX_NAMED
      ? [`and ${problems.length - MAX_NAMED} more: ${code("/hooks broken")} lists them`]
      : []),
    ...(needRestart.length > 0
      ? [`⚠ A restart is required to apply changes of: ${needRestart.map(code).join(", ")}`]
      : []),
  ].join("\n");
}

function storeLines({ storeError, storeRemarks, journalRemark }: Health): string {
  const store = storeError === undefined ? "writable" : `✗ ${plain(storeError)}`;
  const remarks = journalRemark === undefined ? storeRemarks : [...storeRemarks, journalRemark];
  return [store, ...remarks.map((remark) => `⚠ ${plain(remark)}`)].join("\n");
}

const MAX_NAMED = 5;
/** A busy chat has shorter ones all the time. */
const LONG_PAUSE_MS = 10_000;

function named(rows: readonly HookRow[]): string {
  const ids = rows.slice(0, MAX_NAMED).map(({ id }) => code(id));
  return `${ids.join(", ")}${rows.length > MAX_NAMED ? ` and ${rows.length - MAX_NAMED} more` : ""}`;
}

function buttonsFor({ attention, openAlerts, problems, hooks: { failing, never } }: Health) {
  return [
    [
      commandButton("Refresh", "/status"),
      commandButton("Hooks", "/hooks list"),
      ...(openAlerts > 0 ? [commandButton(`Alerts (${openAlerts})`, "/alerts open", "primary")] : []),
      ...(attention > 0 ? [commandButton(`Outbox (${attention})`, "/outbox list", "primary")] : []),
      ...(problems.length > 0 ? [commandButton(`Problems (${problems.length})`, "/hooks broken", "primary")] : []),
      ...(failing.length > 0 ? [commandButton("Failed runs", "/runs failed", "primary")] : []),
      ...(never.length > 0 ? [commandButton("Never fired", "/hooks list never")] : []),
    ],
  ];
}
