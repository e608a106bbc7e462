/** Silences that people set. Ended ones stay for the record for a while. */
import type { AlertStore, Silence } from "../../domain/alerts/alert.js";
import type { Connection } from "../connection.js";

interface SilenceRecord {
  id: string;
  matchers: string;
  from_at: number;
  until_at: number;
  comment: string;
  by: string;
  ended_at: number | null;
}

export function createSilences({ database, read, write }: Connection): Pick<AlertStore, "silences" | "saveSilence"> {
  const all = database.prepare<[], SilenceRecord>("SELECT * FROM alert_silences ORDER BY until_at DESC, id LIMIT 500");
  const save = database.prepare<[string, string, number, number, string, string, number | null]>(
    `INSERT OR REPLACE INTO alert_silences (id, matchers, from_at, until_at, comment, by, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  return {
    silences: () => read(() => all.all().map(silenceOf)),
    saveSilence: ({ id, matchers, from, until, comment, by, endedAt }) =>
      write(
        () => void save.run(id, JSON.stringify(matchers), from, until, comment, JSON.stringify(by), endedAt ?? null),
      ),
  };
}

function silenceOf(row: SilenceRecord): Silence {
  return {
    id: row.id,
    matchers: JSON.parse(row.matchers) as string[],
    from: row.from_at,
    until: row.until_at,
    comment: row.comment,
    by: JSON.parse(row.by) as Silence["by"],
    endedAt: row.ended_at ?? undefined,
  };
}
