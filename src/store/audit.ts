/** The audit log, newest entries first. */
import type { AuditEntry, AuditStore } from "../domain/store.js";
import { boundedMap } from "../fast/bounded-map.js";
import type { Connection } from "./connection.js";

/** How long one row counts repetitions of the same refusal. */
const FOLD_FOR_MS = 3_600_000;

interface AuditRecord {
  id: number;
  at: number;
  operator: string;
  action: string;
  target: string | null;
  details: string | null;
  outcome: AuditEntry["outcome"];
}

export function createAudit({ database, read, write }: Connection): AuditStore {
  const insert = database.prepare<[number, string, string, string | null, string | null, string]>(
    "INSERT INTO audit (at, operator, action, target, details, outcome) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const list = database.prepare<[number, number], AuditRecord>(
    "SELECT id, at, operator, action, target, details, outcome FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?",
  );
  const fold = database.prepare<[number, number, string | null, string]>(
    `UPDATE audit SET details = json_set(coalesce(details, '{}'),
       '$.times', coalesce(json_extract(details, '$.times'), 1) + 1, '$.lastAt', ?)
     WHERE id = ? AND target IS ? AND outcome = ?`,
  );
  const recent = boundedMap<{ id: number; at: number }>();

  /** May run twice: the row of a write that was undone is gone, and a new one is written. */
  function put(entry: Omit<AuditEntry, "id">): void {
    const { at, operator, action, target = null, details, outcome } = entry;
    const key = foldKey(entry);
    const known = key === undefined ? undefined : recent.take(key);
    const isFolded =
      known !== undefined &&
      Math.abs(at - known.at) < FOLD_FOR_MS &&
      fold.run(at, known.id, target, outcome).changes > 0;
    const detailsJson: string | undefined = JSON.stringify(details);
    const row = isFolded
      ? known
      : {
          id: Number(
            insert.run(at, JSON.stringify(operator), action, target, detailsJson ?? null, outcome).lastInsertRowid,
          ),
          at,
        };
    if (key !== undefined) recent.set(key, row);
  }

  return {
    record: (entry) => write(() => put(entry)),
    list: ({ limit, before }) => read(() => list.all(before ?? Number.MAX_SAFE_INTEGER, limit).map(toEntry)),
  };
}

/**
 * Refused commands, and all commands of people without a role, are one row per person, command and outcome in an hour: anybody can send
 * them without end, and they must not displace the actions of operators. Undefined: a row of its own.
 */
function foldKey({ operator, action, target, outcome }: Omit<AuditEntry, "id">): string | undefined {
  if (action !== "command" || (outcome !== "refused" && operator.role !== undefined)) return undefined;
  return JSON.stringify([operator.platform, operator.userId, target, outcome]);
}

function toEntry({ id, at, operator, action, target, details, outcome }: AuditRecord): AuditEntry {
  return {
    id,
    at,
    operator: JSON.parse(operator),
    action,
    outcome,
    target: target ?? undefined,
    details: details === null ? undefined : JSON.parse(details),
  };
}
