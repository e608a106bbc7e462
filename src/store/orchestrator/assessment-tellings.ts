/** What hooks are to be told of assessments: owed before it is told, and known to be told afterwards. */
import type { AssessmentStore, AssessmentTelling } from "../../domain/assessment.js";
import type { Connection } from "../connection.js";

interface Row {
  task_id: string;
  attempt: number;
  point: AssessmentTelling["point"];
  tries: number;
  told: number;
  payload: string;
}

const CHUNK = 500;

type Tellings = Pick<AssessmentStore, "owe" | "letGo" | "untold" | "telling" | "told">;

export function createAssessmentTellings({ database, read, write }: Connection): Tellings & {
  sweep(before: number): Promise<void>;
} {
  const insert = database.prepare<[string, number, string, number, string]>(
    "INSERT OR IGNORE INTO assessment_tellings (task_id, attempt, point, at, tries, told, payload) VALUES (?, ?, ?, ?, 0, 0, ?)",
  );
  const get = database.prepare<[string, number, string], Row>(
    "SELECT * FROM assessment_tellings WHERE task_id = ? AND attempt = ? AND point = ?",
  );
  const untold = database.prepare<[number], Row>(
    "SELECT * FROM assessment_tellings INDEXED BY assessment_tellings_untold WHERE told = 0 ORDER BY at LIMIT ?",
  );
  const count = database.prepare<[string, number, string], { tries: number }>(
    "UPDATE assessment_tellings SET tries = tries + 1 WHERE (task_id, attempt, point) = (?, ?, ?) RETURNING tries",
  );
  const tell = database.prepare<[string, number, string]>(
    "UPDATE assessment_tellings SET told = 1 WHERE (task_id, attempt, point) = (?, ?, ?)",
  );
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM assessment_tellings WHERE (task_id, attempt, point) IN
     (SELECT task_id, attempt, point FROM assessment_tellings WHERE at < ? AND told = 1 ORDER BY at LIMIT ?)`,
  );
  return {
    owe: ({ taskId, attempt, point, payload }, at) =>
      write(() => void insert.run(taskId, attempt, point, at, JSON.stringify(payload))),
    letGo: (taskId, attempt, point) =>
      read(() => {
        const row = get.get(taskId, attempt, point);
        return row && tellingOf(row);
      }),
    untold: (limit) => read(() => untold.all(limit).map(tellingOf)),
    telling: ({ taskId, attempt, point }) => write(() => count.get(taskId, attempt, point)?.tries ?? 1),
    told: ({ taskId, attempt, point }) => write(() => void tell.run(taskId, attempt, point)),
    async sweep(before) {
      for (let some = CHUNK; some === CHUNK; ) some = await write(() => sweep.run(before, CHUNK).changes);
    },
  };
}

function tellingOf({ task_id, attempt, point, told, payload }: Row): AssessmentTelling & { isTold: boolean } {
  return { taskId: task_id, attempt, point, payload: JSON.parse(payload), isTold: told === 1 };
}
