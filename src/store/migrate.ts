/** Brings a database file to the schema that this version knows. Forward only; a newer schema is refused, never guessed at. */
import type { Database } from "better-sqlite3";
import type { Migration } from "kysely";
import { HookgateError } from "../lib/errors.js";
import { storeError } from "./errors.js";

/** By name, in order of name. A name is never reused, and a migration that was released is never edited. */
export type Migrations = Record<string, Migration>;

/** A migration that is a list of statements, run in one transaction. */
export function migrationOf(statements: readonly string[]): Migration {
  return {
    async up(kysely) {
      const { sql } = await import("kysely");
      for (const statement of statements) await sql.raw(statement).execute(kysely);
    },
  };
}

/** Throws STORE_TOO_NEW when the file was written by a newer Hookgate, STORE_FOREIGN when it is something else, or another STORE_… error. */
export async function migrate(database: Database, file: string, migrations: Migrations): Promise<void> {
  try {
    const missing = missingMigrations(database, file, migrations);
    if (missing.length > 0) await runMigrations(database, migrations);
  } catch (thrown) {
    throw storeError(thrown, file);
  }
}

/** For connections that only read. */
export function requireMigrated(database: Database, file: string, migrations: Migrations): void {
  const missing = missingMigrations(database, file, migrations);
  if (missing.length > 0)
    throw new HookgateError({
      code: "STORE_TOO_OLD",
      message: `the database ${file} was written by an older Hookgate`,
      hint: "Start the gateway once: it brings the database up to date.",
    });
}

/** Throws STORE_TOO_NEW or STORE_FOREIGN. A file of an older version passes: the next start brings it up to date. */
export function requireKnownSchema(database: Database, file: string, migrations: Migrations): void {
  missingMigrations(database, file, migrations);
}

function missingMigrations(database: Database, file: string, migrations: Migrations): string[] {
  const exists = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'").get();
  const done = exists
    ? database
        .prepare<[], { name: string }>("SELECT name FROM kysely_migration")
        .all()
        .map(({ name }) => name)
    : [];
  const unknown = done.filter((name) => !(name in migrations));
  const [first = ""] = Object.keys(migrations);
  if (unknown.length > 0 && !done.includes(first)) throw otherKind(file, first, done);
  if (unknown.length > 0)
    throw new HookgateError({
      code: "STORE_TOO_NEW",
      message: `the database ${file} was written by a newer Hookgate (it has ${unknown.join(", ")})`,
      hint: "Update Hookgate, or restore the backup that was made before the update.",
    });
  return Object.keys(migrations).filter((name) => !done.includes(name));
}

const HISTORY = "001-journal";
/** What a database is, by its first migration. */
const KINDS: Record<string, string> = {
  "001-inbox-and-outbox": "the database of a gateway",
  [HISTORY]: "the history of a gateway",
};

function otherKind(file: string, first: string, done: readonly string[]): HookgateError {
  const [kind = "the database of another program"] = done.flatMap((name) => KINDS[name] ?? []);
  return new HookgateError({
    code: "STORE_FOREIGN",
    message: `${file} is ${kind}, and not ${KINDS[first] ?? "what belongs there"}: files were exchanged, or another file was copied over it`,
    hint:
      first === HISTORY
        ? "Put each file back under its own name. If the history is lost, move this file to another folder: the gateway starts an empty history."
        : "Put each file back under its own name. If the database is lost, restore a backup with `npx hookgate restore FILE`: this file is kept under another name.",
  });
}

async function runMigrations(database: Database, migrations: Migrations): Promise<void> {
  // Loaded only when there is something to migrate: most starts need not pay for it.
  const { Kysely, Migrator, SqliteAdapter, SqliteDialect } = await import("kysely");
  // SQLite can roll back schema changes; kysely says it cannot, and would leave half a migration behind.
  class TransactionalAdapter extends SqliteAdapter {
    override get supportsTransactionalDdl(): boolean {
      return true;
    }
  }
  class Dialect extends SqliteDialect {
    override createAdapter() {
      return new TransactionalAdapter();
    }
  }
  const kysely = new Kysely<unknown>({ dialect: new Dialect({ database }) });
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  // The connection stays ours: destroying `kysely` would close it.
  if (error !== undefined) throw error;
}
