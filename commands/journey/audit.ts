/** The records of the audit about hooks and deliveries: who switched a hook, who purged, released and retried deliveries. */
import { DELETED_BEFORE } from "../../src/domain/deliveries/given-up.js";
import {
  entriesSince,
  type FormerEnd,
  formerEndOf,
  formerEndsKept,
  idsOf,
} from "../../src/domain/deliveries/purges.js";
import type { AuditEntry, Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { readableEnd } from "../automations/owner-only.js";
import type { CommandDeps } from "../deps.js";
/** A command is recorded when it has ended; the deliveries that it settled may be settled just before. */
export const SETTLING_MS = 1_000;

export interface Switching {
  at: number;
  enabled: boolean;
  by: AuditEntry["operator"];
}

/** Newest first. A command that repeats the one before it, or the value of a plugin or the configuration, switched nothing. */
export async function switchesOf(deps: CommandDeps, hookId: string): Promise<Switching[]> {
  const entries = await entriesSince(deps, 0, (one) => isCommand(one, "hooks"));
  const asked = entries.flatMap(({ at, operator, details }): Switching[] => {
    const { id, action } = optionsOf(details);
    if (id !== hookId || (action !== "enable" && action !== "disable") || hasChangedNothing(details)) return [];
    return [{ at, enabled: action === "enable", by: operator }];
  });
  return asked.filter(({ enabled }, index) => asked[index + 1]?.enabled !== enabled);
}

const hasChangedNothing = (details: unknown): boolean =>
  typeof details === "object" && details !== null && "changed" in details && details.changed === false;

/** The switching that held at a time; undefined when none is known: then the hook's own default held. */
export function heldAt(switches: readonly Switching[], at: number): Switching | undefined {
  return switches.find((one) => one.at <= at);
}

export interface Decision {
  at: number;
  /** The delivery or the message of the inbox that it was about. */
  id: string;
  kind: "released" | "retried" | "confirmed";
  by: AuditEntry["operator"];
  /** The end that the decision changed; undefined when the entry does not list the delivery. */
  was: FormerEnd | undefined;
}

const KINDS: Readonly<Record<string, Decision["kind"]>> = {
  release: "released",
  retry: "retried",
  confirm: "confirmed",
};

/** Oldest first. A decision about many messages has their ids in an entry of its own. */
export async function decisionsOn(
  deps: CommandDeps,
  row: InboxRow | undefined,
  deliveries: readonly Delivery[],
  gone: readonly { id: string }[],
): Promise<Decision[]> {
  const letters = [
    ...(row ? [{ id: `m${row.id}`, since: row.receivedAt, wasReleased: false }] : []),
    ...deliveries.map(({ id, createdAt, round, reason }) => ({
      id,
      since: createdAt,
      // A message that its author had deleted meanwhile ends when it is released.
      wasReleased: round > 1 || reason === DELETED_BEFORE,
    })),
    ...gone.map(({ id }) => ({ id, since: row?.receivedAt ?? 0, wasReleased: true })),
  ];
  // A message that was handled at once was never waiting for a decision.
  const open = letters.filter(({ id, wasReleased }) => wasReleased || (id.startsWith("m") && (row?.round ?? 1) > 1));
  if (open.length === 0) return [];
  const since = Math.min(...open.map((one) => one.since));
  const entries = await entriesSince(deps, since, (one) => one.action in KINDS || isCommand(one, "outbox"));
  return entries.reverse().flatMap((entry): Decision[] => {
    const { at, operator: by, action, details } = entry;
    const recorded = KINDS[action];
    if (recorded)
      return open
        .filter(({ id }) => idsOf(entry).includes(id))
        .map(({ id }) => ({ at, id, kind: recorded, by, was: formerEndOf(id, details) }));
    const { action: asked, id: named, confirmed } = optionsOf(details);
    if (asked !== "release" && asked !== "retry") return [];
    const kind = asked === "retry" ? "retried" : confirmed === true ? "confirmed" : "released";
    return open.filter(({ id }) => named === id).map(({ id }) => ({ at, id, kind, by, was: formerEndOf(id, details) }));
  });
}

/** A command that had its effect. */
const isCommand = ({ action, target, outcome }: AuditEntry, command: string) =>
  action === "command" && target === command && outcome === "done";

/** The entry as the reader may see it: the reason of a former end may be the words of a program. */
export async function readableEntry(
  deps: CommandDeps,
  context: CommandContext,
  entry: AuditEntry,
): Promise<AuditEntry> {
  const { data } = formerEndsKept.safeParse(entry.details);
  if (data === undefined) return entry;
  const was = await Promise.all(data.was.map((end) => readableFormerEnd(deps, context, end)));
  return { ...entry, details: { ...data, was } };
}

/** One entry covers several messages that ended alike, with the same reason. */
async function readableFormerEnd<T extends { ids: string[]; status: string; reason?: string | undefined }>(
  deps: CommandDeps,
  context: CommandContext,
  end: T,
): Promise<T> {
  if (end.reason === undefined) return end;
  let shown = { ...end, reason: end.reason };
  for (const id of end.ids) shown = await readableEnd(deps, context, shown, { id });
  return shown;
}

/** The options of an audited command. */
export function optionsOf(details: unknown): Readonly<Record<string, unknown>> {
  if (typeof details !== "object" || details === null || !("options" in details)) return {};
  const { options } = details;
  return typeof options === "object" && options !== null ? (options as Record<string, unknown>) : {};
}
