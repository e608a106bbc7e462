/** Reads a secret that this installation made for itself, beside a running gateway: read-only, takes no lock, makes no file. */
import { existsSync } from "node:fs";
import { openDatabase } from "./connection.js";

/** Undefined when there is no such file, no such secret, or the file belongs to an older version. */
export function readOwnSecret(file: string, name: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const database = openDatabase(file, { durability: "normal", readonly: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'own_secrets'").get();
    if (table === undefined) return undefined;
    const value: unknown = database.prepare("SELECT value FROM own_secrets WHERE name = ?").pluck().get(name);
    return typeof value === "string" ? value : undefined;
  } finally {
    database.close();
  }
}
