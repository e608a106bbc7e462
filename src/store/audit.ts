/** Who did what, newest first. */
import type { AuditEntry, AuditStore } from "../domain/store.js";
import type { Connection } from "./connection.js";

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
  return {
    async record({ at, operator, action, target, details, outcome }) {
      const detailsJson: string | undefined = JSON.stringify(details);
      await write(
        () => void insert.run(at, JSON.stringify(operator), action, target ?? null, detailsJson ?? null, outcome),
      );
    },
    list: ({ limit, before }) => read(() => list.all(before ?? Number.MAX_SAFE_INTEGER, limit).map(toEntry)),
  };
}

function toEntry({ id, at, operator, action, target, details, outcome }: AuditRecord): AuditEntry {
  return {
    id,
    at,
    operator: JSON.parse(operator),
    action,
    outcome,
    ...(target === null ? {} : { target }),
    ...(details === null ? {} : { details: JSON.parse(details) }),
  };
}
