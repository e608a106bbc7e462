/** Examines a database file beside a running gateway: read-only, takes no lock, creates no file. */
import type { Database } from "better-sqlite3";
import type { HookgateError } from "../../lib/errors.js";
import { openDatabase } from "../connection.js";
import { storeError } from "../errors.js";

/** Throws STORE_CORRUPT when the file is damaged, or another STORE_… error when it cannot be opened. */
export function inspectDatabase(file: string): void {
  const database = openDatabase(file, { durability: "normal", readonly: true });
  try {
    requireSound(database, file);
  } finally {
    database.close();
  }
}

/**
 * Throws STORE_CORRUPT when the structure of the file is damaged. Reads all of it: about a second for a gigabyte, and four with
 * `integrity_check`, which compares indexes with their tables, too.
 */
export function requireSound(
  database: Database,
  file: string,
  check: "quick_check" | "integrity_check" = "quick_check",
): void {
  let problem: unknown;
  try {
    problem = database.pragma(`${check}(1)`, { simple: true });
  } catch (thrown) {
    throw storeError(thrown, file);
  }
  if (problem !== "ok") throw corrupt(file, String(problem));
}

function corrupt(file: string, problem: string): HookgateError {
  return storeError(
    Object.assign(new Error(problem.replace(/^\*{3} in database \w+ \*{3}\s*/, "").replaceAll("\n", " ")), {
      code: "SQLITE_CORRUPT",
    }),
    file,
  );
}
