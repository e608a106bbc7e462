/** Who has the database open: a remark for the person who starts a second gateway. The lock itself is elsewhere. */
import Database from "better-sqlite3";
import { storeError } from "./errors.js";

export function writeOwner(database: Database.Database, file: string, at: number): void {
  try {
    database
      .prepare<[string]>("INSERT OR REPLACE INTO facts (name, value) VALUES ('owner', ?)")
      .run(`process ${process.pid}, since ${new Date(at).toISOString()}`);
  } catch (thrown) {
    throw storeError(thrown, file);
  }
}

export function readOwner(file: string): string | undefined {
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { readonly: true, fileMustExist: true, timeout: 100 });
    return database.prepare<[], { value: string }>("SELECT value FROM facts WHERE name = 'owner'").get()?.value;
  } catch {
    return undefined; // Only a remark: the refusal stands without it.
  } finally {
    database?.close();
  }
}
