/** Files of messages beside the database, and the folders of the gateway that no text shows. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Environment } from "../config/env.js";
import type { LoadedConfig } from "../config/load.js";
import { asAnswered } from "../http/uploads.js";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../lib/files/private-files.js";
import { type RelativePaths, relativePaths } from "../lib/files/relative-paths.js";
import { newToken } from "../lib/id.js";
import { databaseFiles } from "../store/database-file/files.js";

/** Beside the web chat's uploads, and swept with them. Rejects with DISK_FULL or UPLOADS_UNAVAILABLE. */
export async function keepFile(folder: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, newToken(18));
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    await writeFile(path, bytes, { flush: true, mode: PRIVATE_FILE });
  } catch (error) {
    await rm(path, { force: true }).catch(() => {}); // a full disk leaves half of it
    throw asAnswered(error);
  }
  return pathToFileURL(path).href;
}

export function uploadsFolder(databaseUrl: string): string {
  return databaseFiles(databaseUrl).uploads;
}

const PRODUCT = resolve(fileURLToPath(new URL("../..", import.meta.url)));

/** Texts without the path of the folder of hookgate.yaml, of the database's folder, and of the product's. */
export function shownPaths({ file = "hookgate.yaml" }: Pick<LoadedConfig, "file">, env: Environment): RelativePaths {
  return relativePaths([dirname(resolve(file)), databaseFiles(env.DATABASE_URL).folder, PRODUCT]);
}
