/** Opens the journal's file. */
import type { Database } from "better-sqlite3";
import { openDatabase } from "../connection.js";

/** The writer's thread may wait for a lock: nothing waits for that thread. */
const WRITER_BUSY_MS = 10_000;
/** 16 MB of log: the same few index pages are written again and again, and go to the file once in that amount. */
const CHECKPOINT_PAGES = 4000;

/** Only the `creator` makes a missing file: a writer that starts again after the folder was renamed leaves nothing in its place. */
export function openJournalDatabase(file: string, role: "creator" | "writer" | "reader"): Database {
  const database = openDatabase(file, {
    durability: "normal",
    readonly: role === "reader",
    mustExist: role !== "creator",
  });
  if (role !== "reader") {
    database.pragma(`busy_timeout = ${WRITER_BUSY_MS}`);
    database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  }
  return database;
}
