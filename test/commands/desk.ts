/** The commands on a real registry, a real store and a clock that stands still; only the gateway's two verbs are recorded. */

import { type CommandDeps, createCommands, HooksInFlight } from "../../commands/index.js";
import { createOverrides } from "../../src/app/overrides.js";
import type { OptionValue } from "../../src/domain/chat/command.js";
import { hasRole, type Role } from "../../src/domain/chat/identity.js";
import { type OutboundMessage, outboundMessage } from "../../src/domain/chat/message.js";
import type { Store } from "../../src/domain/store.js";
import type { Command, CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { CommandTable, parseOptions } from "../../src/gateway/inbound/parse-command.js";
import type { GatewayStatus } from "../../src/gateway/status.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { HookgateError } from "../../src/lib/errors.js";
import { silentLogger } from "../../src/lib/logger.js";
import { storeConfig } from "../../src/store/config.js";
import { openStore } from "../../src/store/open.js";
import { ManualClock } from "../support/manual-clock.js";

export interface Desk {
  registry: HookRegistry;
  store: Store;
  clock: ManualClock;
  deps: CommandDeps;
  released: { id: string; confirmed: boolean }[];
  run(
    name: string,
    options?: Record<string, OptionValue>,
    by?: Partial<CommandContext> & { role?: Role },
  ): Promise<Answered>;
  /** Runs a whole line, as in chat: through the gateway's parser. */
  say(line: string, by?: Partial<CommandContext> & { role?: Role }): Promise<Answered>;
  close(): Promise<void>;
}

export interface Answered extends CommandAnswer {
  /** Text and card, as one. */
  shown: string;
  lines: string[];
  progress: OutboundMessage[];
}

export async function openDesk(): Promise<Desk> {
  const clock = new ManualClock();
  const { retention, dedup_for } = storeConfig.parse({});
  const store = await openStore({
    url: ":memory:",
    durability: "normal",
    retention: { ...retention, dedup_for },
    clock,
    logger: silentLogger,
  });
  const overrides = createOverrides({ pinned: { enabled: true } }, [], {
    store: store.hookState,
    declared: (id) => registry.declaredEnabled(id),
    clock,
  });
  const registry = new HookRegistry({
    journal: store.journal,
    clock,
    logger: silentLogger,
    overrides: overrides.byHook,
  });
  const released: Desk["released"] = [];
  const deps: CommandDeps = {
    registry,
    store,
    clock,
    status: () => idleStatus(store),
    release: async (id, confirmed) => {
      released.push({ id, confirmed });
      return store.outbox.release(id, clock.now(), { confirmed });
    },
    revive: (id) => store.inbox.revive(id, clock.now()),
    liftPauses: async () => [],
    discard: async (ids) => {
      await store.outbox.purge({ ids: [...ids] });
      await store.inbox.discard(ids.flatMap((id) => (/^m\d/.test(id) ? [Number(id.slice(1))] : [])));
      return [...ids];
    },
    withdraw: (id, reason) => store.outbox.withdraw(id, reason, clock.now(), false),
    cancelRest: (id, reason) => store.outbox.cancelRest(id, reason, clock.now(), false),
    switches: {
      async set(hookId, enabled, by) {
        await overrides.switchInChat(hookId, enabled, by);
        registry.setEnabled(hookId, enabled);
      },
      configured: overrides.configured,
      inForce: overrides.inForce,
    },
    roleToHear: async () => "operator",
    inFlight: new HooksInFlight(),
    about: { version: "0.0.0-test", startedAt: clock.now(), database: ":memory:" },
  };
  const commands = createCommands(deps);
  const desk: Desk = {
    registry,
    store,
    clock,
    deps,
    released,
    say(line, by) {
      const read = new CommandTable(commands).read(line);
      const parsed = read && parseOptions(read.command, read.rest);
      if (parsed?.kind !== "options") throw new Error(parsed?.message ?? `no command: ${line}`);
      return desk.run(read?.command.name ?? "", parsed.options, by);
    },
    async run(name, options = {}, by = {}) {
      const command = commands.find((one) => one.name === name);
      if (!command) throw new Error(`no command ${name}`);
      const { role = "owner", ...rest } = by;
      const progress: OutboundMessage[] = [];
      const answer = await command.run({
        source: "api",
        operator: { platform: "web", userId: "1", displayName: "Ada", role },
        options,
        progress: (message) => void progress.push(message),
        need(needed) {
          if (!hasRole(role, needed)) throw new HookgateError({ code: "REFUSED", message: `needs ${needed}` });
        },
        logger: silentLogger,
        signal: new AbortController().signal,
        ...rest,
      });
      outboundMessage.parse(answer.message);
      checkSizes(answer.message);
      for (const line of buttonLines(answer.message)) checkLine(commands, line);
      return { ...answer, shown: shownText(answer.message), lines: buttonLines(answer.message), progress };
    },
    async close() {
      await store.close();
    },
  };
  return desk;
}

async function idleStatus(store: Store): Promise<GatewayStatus> {
  return {
    running: true,
    adapters: [
      { platform: "web", phase: "online", since: 0, restarts: 0, conversationsWaiting: 0 },
      {
        platform: "other",
        phase: "offline",
        reason: "the token was refused",
        since: 0,
        restarts: 2,
        conversationsWaiting: 1,
      },
    ],
    inbox: await store.inbox.counts(),
    outbox: await store.outbox.counts(),
    lanes: { active: 0, waiting: 0 },
    sending: { active: 0, waiting: 0 },
    routed: [],
    ignored: [],
    pauses: [],
  };
}

function shownText(message: OutboundMessage): string {
  const { card } = message;
  const fields = (card?.fields ?? []).map(({ name, value }) => `${name}: ${value}`);
  return [message.text, card?.title, ...fields, card?.footer]
    .filter((part) => part !== undefined && part !== "")
    .join("\n");
}

/** The narrowest limits of any platform, so that nothing of an answer is cut or refused there. */
function checkSizes({ card, buttons = [] }: OutboundMessage): void {
  const tooBig = [
    ...(card?.fields ?? []).filter(({ name, value }) => value === "" || value.length > 1024 || name.length > 256),
    ...buttons.flat().filter(({ label }) => label.length > 80),
    ...buttons.filter((row) => row.length === 0 || row.length > 5),
  ];
  if (tooBig.length > 0 || buttons.length > 5 || (card?.fields ?? []).length > 25)
    throw new Error(`an answer is more than every platform takes: ${JSON.stringify(tooBig)}`);
}

/** Every button leads somewhere: its line names a command and options that the gateway's own parser takes. */
function checkLine(commands: readonly Command[], line: string): void {
  const read = new CommandTable(commands).read(line);
  const parsed = read && parseOptions(read.command, read.rest);
  if (parsed?.kind !== "options")
    throw new Error(`a button's line is no command: ${line} (${parsed?.message ?? "unknown"})`);
}

function buttonLines(message: OutboundMessage): string[] {
  return (message.buttons ?? []).flat().flatMap(({ action }) => (action?.kind === "command" ? [action.line] : []));
}
