/** Entries of the audit about deliveries and messages that an operator deleted, or had sent or handled again. */
import { z } from "zod";
import { type AuditEntry, DELIVERY_STATUSES, type DeliveryStatus, type Store } from "../store.js";

/** How far the audit is read back. */
const MAX_ENTRIES = 2_000;
const PER_READ = 200;

/** How a message had ended before an operator acted on it. */
export interface FormerEnd {
  id: string;
  status: DeliveryStatus;
  reason?: string | undefined;
}

export interface Purge {
  at: number;
  /** The target that the operator named: a delivery, a status. */
  what: string;
  by: AuditEntry["operator"];
  /** Undefined when the entry does not list the delivery. */
  was: FormerEnd | undefined;
}

interface Deps {
  store: Pick<Store, "audit">;
}

type FindPurge = (letterId: string, since: number) => Promise<Purge | undefined>;

/** The purge since then that deleted this delivery or message of the inbox, as it was recorded. */
export async function purgeOf(deps: Deps, letterId: string, since: number): Promise<Purge | undefined> {
  return purgeIn(await entriesSince(deps, since, isPurge), letterId, since);
}

/** An operator deleted this delivery since then, and got the answer that nothing more of it is sent. */
export async function wasPurged(deps: Deps, deliveryId: string, since: number): Promise<boolean> {
  return (await purgeOf(deps, deliveryId, since)) !== undefined;
}

/** `purgeOf` for many deliveries or messages: the audit is read once, when the first is asked for. */
export function purgeFinder(deps: Deps): FindPurge {
  let purges: Promise<AuditEntry[]> | undefined;
  return async (letterId, since) => {
    purges ??= entriesSince(deps, 0, isPurge);
    return purgeIn(await purges, letterId, since);
  };
}

/**
 * Gives the last message or delivery that was deleted with these words in its reason: the audit is read once, when the first is asked for.
 */
export function purgedBecauseFinder(deps: Deps): (words: string) => Promise<string | undefined> {
  let purges: Promise<AuditEntry[]> | undefined;
  return async (words) => {
    purges ??= entriesSince(deps, 0, isPurge);
    for (const { details } of await purges) {
      const was = formerEndsKept.safeParse(details).data?.was.find(({ reason }) => reason?.includes(words) === true);
      if (was !== undefined) return was.ids.at(-1);
    }
    return undefined;
  };
}

const isPurge = ({ action }: AuditEntry) => action === "purge";

function purgeIn(purges: readonly AuditEntry[], letterId: string, since: number): Purge | undefined {
  const purge = purges.find((one) => one.at >= since && idsOf(one).includes(letterId));
  if (purge === undefined) return undefined;
  return { at: purge.at, what: purge.target ?? "", by: purge.operator, was: formerEndOf(letterId, purge.details) };
}

/** Newest first. */
export async function entriesSince(
  { store }: Deps,
  since: number,
  isWanted: (entry: AuditEntry) => boolean,
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  let before: number | undefined;
  for (let read = 0; read < MAX_ENTRIES; read += PER_READ) {
    const entries = await store.audit.list(before === undefined ? { limit: PER_READ } : { limit: PER_READ, before });
    found.push(...entries.filter((entry) => entry.at >= since && isWanted(entry)));
    const last = entries.at(-1);
    if (entries.length < PER_READ || last === undefined || last.at < since) break;
    before = last.id;
  }
  return found;
}

/** The messages that an entry is about. */
export function idsOf({ details }: AuditEntry): readonly unknown[] {
  return typeof details === "object" && details !== null && "ids" in details && Array.isArray(details.ids)
    ? details.ids
    : [];
}

/** The former ends of messages, as an entry keeps them. */
export const formerEndsKept = z.looseObject({
  was: z.array(
    z.object({ status: z.enum(DELIVERY_STATUSES), reason: z.string().optional(), ids: z.array(z.string()) }),
  ),
});

export function formerEndOf(id: string, details: unknown): FormerEnd | undefined {
  const end = formerEndsKept.safeParse(details).data?.was.find(({ ids }) => ids.includes(id));
  return end && { id, status: end.status, reason: end.reason };
}
