/** The events of assessments that hooks let pass: hooks are not asked about them again. */
import type { AssessmentStore, PassedAssessment } from "../../domain/orchestrator/assessment.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";

interface Row {
  task_id: string;
  attempt: number;
  point: PassedAssessment["point"];
  payload: string;
}

const CHUNK = 500;

export function createPassedAssessments(
  { database, read, write }: Connection,
  addPending: AddPending,
): Pick<AssessmentStore, "pass" | "passed"> & { sweep(before: number): Promise<void> } {
  const insert = database.prepare<[string, number, string, number, string]>(
    "INSERT INTO assessments_passed (task_id, attempt, point, at, payload) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const get = database.prepare<[string, number, string], Row>(
    "SELECT task_id, attempt, point, payload FROM assessments_passed WHERE task_id = ? AND attempt = ? AND point = ?",
  );
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM assessments_passed WHERE (task_id, attempt, point) IN
     (SELECT task_id, attempt, point FROM assessments_passed WHERE at < ? ORDER BY at LIMIT ?)`,
  );
  return {
    pass: ({ taskId, attempt, point, payload }, at, pending) =>
      write(() => {
        if (insert.run(taskId, attempt, point, at, JSON.stringify(payload)).changes === 0) return false;
        addPending(pending);
        return true;
      }),
    passed: (taskId, attempt, point) =>
      read(() => {
        const row = get.get(taskId, attempt, point);
        return row && passedOf(row);
      }),
    async sweep(before) {
      for (let some = CHUNK; some === CHUNK; ) some = await write(() => sweep.run(before, CHUNK).changes);
    },
  };
}

function passedOf({ task_id, attempt, point, payload }: Row): PassedAssessment {
  return { taskId: task_id, attempt, point, payload: JSON.parse(payload) };
}
