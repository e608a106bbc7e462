/** What the audit knows of hooks and deliveries: who switched a hook, who purged, released and retried what. */
import type { AuditEntry, Delivery, InboxRow } from "../../src/domain/store.js";
import type { CommandDeps } from "../deps.js";

/** How far the audit is read back. */
const MAX_ENTRIES = 2_000;
const PER_READ = 200;
/** A command is recorded when it has ended, and what it settled may be settled just before. */
export const SETTLING_MS = 1_000;

export interface Switching {
  at: number;
  enabled: boolean;
  by: AuditEntry["operator"];
}

/** Newest first. A command that repeats the one before it switched nothing. */
export async function switchesOf(deps: CommandDeps, hookId: string): Promise<Switching[]> {
  const entries = await commandsSince(deps, "hooks", 0);
  const asked = entries.flatMap(({ at, operator, details }): Switching[] => {
    const { id, action } = optionsOf(details);
    if (id !== hookId || (action !== "enable" && action !== "disable")) return [];
    return [{ at, enabled: action === "enable", by: operator }];
  });
  return asked.filter(({ enabled }, index) => asked[index + 1]?.enabled !== enabled);
}

/** The switching that held at a time; undefined when none is known: then the hook's own default held. */
export function heldAt(switches: readonly Switching[], at: number): Switching | undefined {
  return switches.find((one) => one.at <= at);
}

export interface Purge {
  at: number;
  /** What was named: a delivery, a status. */
  what: string;
  by: AuditEntry["operator"];
}

/** The first purge since then that named this delivery or message of the inbox, or more than one. */
export async function purgeOf(deps: CommandDeps, letterId: string, since: number): Promise<Purge | undefined> {
  const entries = await commandsSince(deps, "outbox", since);
  const purges = entries.flatMap(({ at, operator, details }): Purge[] => {
    const { action, id } = optionsOf(details);
    const what = typeof id === "string" ? id : "";
    if (action !== "purge" || (/^(d_|m\d)/.test(what) && what !== letterId)) return [];
    // The other words are those of deliveries.
    if (letterId.startsWith("m") && what !== letterId && !["", "all", "dead", "inbox"].includes(what)) return [];
    return [{ at, what, by: operator }];
  });
  return purges.find(({ what }) => what === letterId) ?? purges.at(-1);
}

export interface Decision {
  at: number;
  /** The delivery or the message of the inbox that it was about. */
  id: string;
  kind: "released" | "retried" | "confirmed";
  by: AuditEntry["operator"];
}

/** Oldest first. One for many counts for a delivery that was still open then. */
export async function decisionsOn(
  deps: CommandDeps,
  row: InboxRow | undefined,
  deliveries: readonly Delivery[],
  gone: readonly { id: string }[],
): Promise<Decision[]> {
  const letters = [
    ...(row ? [{ id: `m${row.id}`, since: row.receivedAt, until: row.settledAt, wasReleased: false }] : []),
    ...deliveries.map(({ id, createdAt, settledAt, round }) => ({
      id,
      since: createdAt,
      until: settledAt,
      wasReleased: round > 1,
    })),
    // A deleted delivery is known only where its id was named.
    ...gone.map(({ id }) => ({ id, since: row?.receivedAt ?? 0, until: 0, wasReleased: true })),
  ];
  // A message that was handled at once was never waiting for a decision.
  const open = letters.filter(({ id, wasReleased }) => wasReleased || (id.startsWith("m") && (row?.round ?? 1) > 1));
  if (open.length === 0) return [];
  const entries = await commandsSince(deps, "outbox", Math.min(...open.map(({ since }) => since)));
  return entries.reverse().flatMap(({ at, operator, details }): Decision[] => {
    const { action, id: named, confirmed } = optionsOf(details);
    if (action !== "release" && action !== "retry") return [];
    const isOne = typeof named === "string" && /^(d_|m\d)/.test(named);
    const kind = action === "retry" ? "retried" : confirmed === true ? "confirmed" : "released";
    return open
      .filter(({ id, since, until = at }) => (isOne ? named === id : since <= at && at <= until + SETTLING_MS))
      .map(({ id }) => ({ at, id, kind, by: operator }));
  });
}

/** Newest first. */
async function commandsSince({ store }: CommandDeps, command: string, since: number): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  let before: number | undefined;
  for (let read = 0; read < MAX_ENTRIES; read += PER_READ) {
    const entries = await store.audit.list(before === undefined ? { limit: PER_READ } : { limit: PER_READ, before });
    for (const entry of entries)
      if (entry.at >= since && entry.action === "command" && entry.target === command && entry.outcome === "done")
        found.push(entry);
    const last = entries.at(-1);
    if (entries.length < PER_READ || last === undefined || last.at < since) break;
    before = last.id;
  }
  return found;
}

/** The options of an audited command. */
export function optionsOf(details: unknown): Readonly<Record<string, unknown>> {
  if (typeof details !== "object" || details === null || !("options" in details)) return {};
  const { options } = details;
  return typeof options === "object" && options !== null ? (options as Record<string, unknown>) : {};
}
