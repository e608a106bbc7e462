/**
 * The SQLite driver for the Node version that runs. better-sqlite3 13 is built on Node-API and ships its binaries; it needs Node-API 10
 * (Node 22.14 and newer) and crashes on Node 20. better-sqlite3 12 runs on Node 20, and aborts the process in garbage collections on
 * Node 24.19 and newer (https://github.com/nodejs/node/issues/65446). So both are installed, and this module is the only one that chooses.
 */
import { createRequire } from "node:module";
import type Database from "better-sqlite3";
import { errorMessage, HookgateError } from "../lib/errors.js";

export type DriverPackage = "better-sqlite3" | "better-sqlite3-node20";

/** The versions for which `chooseDriver` returns a package, as package.json's `engines` names them. */
export const SUPPORTED_NODE = ">=20.19 <21 || >=22.14";
export const RECOMMENDED_NODE = "Node 24 or 26 (long-term support)";

/** The fields of `process.versions`: the version of Node, and the newest Node-API version that it offers. */
export interface NodeVersions {
  node: string;
  napi?: string;
}

/** The npm package that this Node can load. Throws NODE_UNSUPPORTED when there is none. */
export function chooseDriver({ node, napi }: NodeVersions): DriverPackage {
  const [major = 0, minor = 0] = node.split(".").map(Number);
  if (Number(napi) >= 10 && major >= 22) return "better-sqlite3";
  if (major === 20 && minor >= 19) return "better-sqlite3-node20";
  throw new HookgateError({
    code: "NODE_UNSUPPORTED",
    message: `Hookgate cannot run on Node ${node}: no SQLite driver works there`,
    hint: `Install ${RECOMMENDED_NODE}. Node 22.14 or newer and Node 20.19 or newer of the 20 series work, too.`,
  });
}

/** Opens a database file with the driver for this Node. Throws NODE_UNSUPPORTED, STORE_DRIVER_MISSING, or SQLite's errors. */
export function openSqlite(file: string, options?: Database.Options): Database.Database {
  return new (loadDriver(chooseDriver(process.versions)))(file, options);
}

/** Closes the database and leaves its log as it is: the last connection that closes and may write would move the log into the file. */
export function closeLeavingLog(database: Database.Database, file: string): void {
  let reader: Database.Database | undefined;
  try {
    reader = openSqlite(file, { readonly: true, fileMustExist: true });
    reader.pragma("schema_version");
  } catch {
    // Then the log goes into the file.
  }
  database.close();
  reader?.close();
}

function loadDriver(name: DriverPackage): typeof Database {
  try {
    return createRequire(import.meta.url)(name);
  } catch (thrown) {
    throw driverMissing(name, thrown);
  }
}

/** The packages are installed for one Node version: a change of Node needs another installation. */
function driverMissing(name: DriverPackage, cause: unknown): HookgateError {
  return new HookgateError({
    code: "STORE_DRIVER_MISSING",
    message: `the SQLite driver for Node ${process.versions.node} (${name}) cannot be loaded: ${errorMessage(cause).split("\n")[0]}`,
    hint: "Run `npm ci` (or `npm install`) again with the Node version that starts the gateway.",
    cause,
  });
}
