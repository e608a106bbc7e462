/** The assessments, one for each attempt of a task. */
import type { Assessment, AssessmentStore } from "../../domain/orchestrator/assessment.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";
import { createPassedAssessments } from "./passed-assessments.js";

interface Row {
  data: string;
}

const CHUNK = 500;

export function createAssessments(connection: Connection, addPending: AddPending): AssessmentStore {
  const { database, read, write } = connection;
  const passed = createPassedAssessments(connection, addPending);
  const insert = database.prepare<[string, number, number, string]>(
    "INSERT OR IGNORE INTO assessments (task_id, attempt, ended_at, data) VALUES (?, ?, ?, ?)",
  );
  const get = database.prepare<[string, number], Row>("SELECT data FROM assessments WHERE task_id = ? AND attempt = ?");
  const list = database.prepare<[string], Row>("SELECT data FROM assessments WHERE task_id = ? ORDER BY attempt");
  const sweep = database.prepare<[number, number]>(
    `DELETE FROM assessments WHERE (task_id, attempt) IN
     (SELECT task_id, attempt FROM assessments WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`,
  );
  return {
    ...passed,
    keep: (assessment) =>
      write(() => {
        const { taskId, attempt, endedAt } = assessment;
        insert.run(taskId, attempt, endedAt, JSON.stringify(assessment));
        const kept = get.get(taskId, attempt);
        return kept === undefined ? assessment : assessmentOf(kept);
      }),
    get: (taskId, attempt) =>
      read(() => {
        const row = get.get(taskId, attempt);
        return row && assessmentOf(row);
      }),
    list: (taskId) => read(() => list.all(taskId).map(assessmentOf)),
    async sweep(before) {
      let removed = 0;
      await passed.sweep(before);
      for (let some = CHUNK; some === CHUNK; removed += some)
        some = await write(() => sweep.run(before, CHUNK).changes);
      return removed;
    },
  };
}

const assessmentOf = ({ data }: Row) => JSON.parse(data) as Assessment;
