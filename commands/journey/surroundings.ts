/** What stands around a message at this moment: the hooks at work on it, what it waits for, what operators decided, what sent it. */
import type { Cause } from "../../src/domain/journal.js";
import { rootOf } from "../../src/domain/journal.js";
import { queueOf } from "../../src/domain/outbox-queue.js";
import type { Delivery, InboxRow } from "../../src/domain/store.js";
import type { RunningHook } from "../../src/hooks/running.js";
import { formatDuration } from "../../src/lib/duration.js";
import type { CommandDeps } from "../deps.js";
import { code, plain } from "../text.js";
import { type Decision, decisionsOn } from "./audit.js";

export interface Surroundings {
  /** Hooks that run for it now, the longest first. */
  running: readonly RunningHook[];
  /** The message at the head of its lane, when it waits behind one. */
  ahead: InboxRow | undefined;
  /** By delivery: the one at the head of its queue, when it waits behind one. */
  blockers: ReadonlyMap<string, Delivery>;
  /** What operators decided about the message and its deliveries, oldest first. */
  decisions: readonly Decision[];
  /** What sent the delivery that was named, when that is no message. */
  origin: Origin | undefined;
}

export interface Origin {
  /** Markdown: `hook x, run r_1 (fired by Ann)`. */
  text: string;
  hookId: string | undefined;
}

export async function surroundingsOf(
  deps: CommandDeps,
  row: InboxRow | undefined,
  own: Delivery | undefined,
  deliveries: readonly Delivery[],
): Promise<Surroundings> {
  const { inbox, outbox } = deps.store;
  const roots = new Set([...(row ? [`m${row.id}`] : []), ...deliveries.map(({ id }) => id)]);
  const blockers = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    if (delivery.status !== "waiting" && delivery.status !== "sending") continue;
    const head = await outbox.next(queueOf(delivery));
    if (head && head.id !== delivery.id) blockers.set(delivery.id, head);
  }
  const [head] = row?.status === "waiting" ? await inbox.lane(row.lane, 0, 1) : [];
  return {
    running: deps.registry.running().filter(({ dispatchId }) => roots.has(rootOf(dispatchId))),
    ahead: head?.id === row?.id ? undefined : head,
    blockers,
    decisions: await decisionsOn(deps, row, deliveries),
    origin: own && (await originOf(deps, own.cause)),
  };
}

/** Undefined for what answers a message: its path shows that. */
async function originOf(deps: CommandDeps, { kind, id }: Cause): Promise<Origin | undefined> {
  switch (kind) {
    case "alert":
      return { text: `alert ${code(id)}`, hookId: undefined };
    case "task":
      return { text: `task ${code(id)}`, hookId: undefined };
    case "command":
    case "api":
    case "adapter":
      return { text: `${kind === "api" ? "a request to the API" : `${kind} ${code(id)}`}`, hookId: undefined };
    case "hook":
    case "agent":
    case "file":
      return ofRun(deps, id);
    default:
      return undefined;
  }
}

async function ofRun({ automations, store }: CommandDeps, id: string): Promise<Origin> {
  const configured = await automations?.runs.get(id);
  if (configured)
    return {
      text: `hook ${code(configured.hookId)}, run ${code(id)} (${plain(configured.reason)})`,
      hookId: configured.hookId,
    };
  const run = (await store.journal.getByRun(id))?.runs.find((one) => one.id === id);
  if (run) return { text: `hook ${code(run.hookId)}, run ${code(id)}`, hookId: run.hookId };
  const [, plugin] = /^plugin:(.+)$/.exec(id) ?? [];
  return {
    text: plugin === undefined ? `a hook, because of ${code(id)}` : `plugin ${code(plugin)}`,
    hookId: undefined,
  };
}

/** `` `slow` has been running at `inbound_claim` for 2 s ``, for each. */
export function runningText(running: readonly RunningHook[]): string {
  return running
    .map(({ hookId, dispatchId, forMs }) => {
      const [, point = ""] = dispatchId.split(/[:/]/);
      return `${code(hookId)} has been running at ${code(point)} for ${formatDuration(forMs)}`;
    })
    .join(", ");
}
