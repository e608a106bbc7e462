/**
 * The schemas of the two database files, each one file of SQL. An empty file gets its tables; a file of another version or another
 * program is refused, never guessed at. Migrations start with the first release.
 */
import { existsSync, readFileSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { HookgateError } from "../lib/errors.js";
import { storeError } from "./errors.js";

export interface Schema {
  /** The name in its table `hookgate_schema`. */
  readonly name: string;
  /** For people. */
  readonly what: string;
  readonly file: string;
  /** The version that its file writes into `hookgate_schema`: raised with every change of its tables. */
  readonly version: number;
  readonly hint: string;
}

export const GATEWAY_SCHEMA: Schema = {
  name: "gateway",
  what: "the database of a gateway",
  file: "schema.sql",
  version: 7,
  hint: "Put each file back under its own name. If the database is lost, restore a backup with `npx hookgate restore FILE`: this file is kept under another name.",
};

export const HISTORY_SCHEMA: Schema = {
  name: "history",
  what: "the history of a gateway",
  file: "journal-schema.sql",
  version: 1,
  hint: "Put each file back under its own name. If the history is lost, move this file to another folder: the gateway starts an empty history.",
};

/** Creates the tables of an empty file. Throws STORE_FOREIGN, STORE_TOO_NEW, STORE_TOO_OLD, or another STORE_… error. */
export function createSchema(database: Database, file: string, schema: Schema): void {
  try {
    if (!hasSchema(database, file, schema)) database.transaction(() => database.exec(textOf(schema)))();
  } catch (thrown) {
    throw storeError(thrown, file);
  }
}

/** For connections that only read. Throws like `hasSchema`, and STORE_EMPTY. */
export function requireSchema(database: Database, file: string, schema: Schema): void {
  if (hasSchema(database, file, schema)) return;
  throw new HookgateError({
    code: "STORE_EMPTY",
    message: `the database ${file} has no tables yet`,
    hint: "Start the gateway once: it creates them.",
  });
}

/** False for an empty file. Throws STORE_FOREIGN, STORE_TOO_NEW or STORE_TOO_OLD. */
export function hasSchema(database: Database, file: string, schema: Schema): boolean {
  const tables = database
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all();
  if (tables.length === 0) return false;
  if (!tables.some(({ name }) => name === "hookgate_schema")) throw withoutName(database, file, schema);
  const { name, version } = database
    .prepare<[], { name: string; version: number }>("SELECT name, version FROM hookgate_schema")
    .get() ?? { name: "", version: 0 };
  if (name !== schema.name) throw foreign(file, schema, name);
  if (version > schema.version)
    throw new HookgateError({
      code: "STORE_TOO_NEW",
      message: `the database ${file} was written by a newer Hookgate (its schema is version ${version}, this Hookgate knows ${schema.version})`,
      hint: "Update Hookgate, or restore the backup that was made before the update.",
    });
  if (version < schema.version) throw tooOld(file);
  return true;
}

function foreign(file: string, schema: Schema, name: string): HookgateError {
  const other = [GATEWAY_SCHEMA, HISTORY_SCHEMA].find((one) => one.name === name);
  return new HookgateError({
    code: "STORE_FOREIGN",
    message: `${file} is ${other?.what ?? "the database of another program"}, and not ${schema.what}: files were exchanged, or another file was copied over it`,
    hint: schema.hint,
  });
}

/** Before there was a schema.sql, the list of migrations showed the kind of a file. */
function withoutName(database: Database, file: string, schema: Schema): HookgateError {
  const isOld = database
    .prepare(
      "SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration' AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name IN ('inbox', 'segments'))",
    )
    .get();
  return isOld ? tooOld(file) : foreign(file, schema, "");
}

const tooOld = (file: string) =>
  new HookgateError({
    code: "STORE_TOO_OLD",
    message: `the database ${file} was written by a Hookgate from before the first release, which this one cannot read`,
    hint: "Move the database and the files beside it to another folder; the start then creates an empty database.",
  });

/** The file is beside this file in the sources; in dist, all bundled code is in dist/src. */
function textOf({ file }: Schema): string {
  const bundled = new URL(`./store/${file}`, import.meta.url);
  return readFileSync(existsSync(bundled) ? bundled : new URL(`./${file}`, import.meta.url), "utf8");
}
