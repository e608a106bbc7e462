/** Every step that a definition may name under `context:`. */
import { nearest } from "../../lib/nearest.js";
import type { Step } from "../step.js";
import { dbQueryStep } from "./db-query.js";
import { fileDiffStep } from "./file-diff.js";
import { gitDiffStep } from "./git-diff.js";
import { httpStep } from "./http.js";
import { journalStep } from "./journal.js";
import { listFilesStep } from "./list-files.js";
import { readFileStep } from "./read-file.js";
import { runTestsStep } from "./run-tests.js";
import { shellStep } from "./shell.js";

export const steps = {
  shell: shellStep,
  read_file: readFileStep,
  list_files: listFilesStep,
  file_diff: fileDiffStep,
  git_diff: gitDiffStep,
  run_tests: runTestsStep,
  http: httpStep,
  db_query: dbQueryStep,
  journal: journalStep,
} as const satisfies Record<string, Step>;

/** Steps that come with what they are about. */
const LATER: Readonly<Record<string, string>> = {
  memory_search: "memory_search comes with the agents' memory, which this version does not have",
  create_task: "create_task comes with the orchestrator, which this version does not have",
};

/** The step of this name, or why there is none. */
export function findStep(name: string): Step | string {
  if (Object.hasOwn(steps, name)) return steps[name as keyof typeof steps];
  const later = LATER[name];
  if (later !== undefined) return later;
  const known = Object.keys(steps);
  const near = nearest(name, known);
  return `there is no step "${name}"${near === undefined ? `; there are ${known.join(", ")}` : `; did you mean "${near}"?`}`;
}
