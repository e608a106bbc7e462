/** Every step that a definition may name under `context:`. */
import type { Step } from "../step.js";
import { createTaskStep } from "./create-task.js";
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
  create_task: createTaskStep,
} as const satisfies Record<string, Step>;

/** Steps that exist together with their feature: an operator who names one gets this text. */
export const LATER_STEPS: Readonly<Record<string, string>> = {
  memory_search: "memory_search comes with the agents' memory, which this version does not have",
};
