/** Checks the needs of the gateway on this machine: Node, room on the disk, a database that can be written. */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { changeableFiles, exposedVariables } from "../../config/warnings.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { requireSoundLock } from "../../store/database-file/exclusive-lock.js";
import {
  type DatabaseFiles,
  databaseFiles,
  exposedFiles,
  isOpenFolder,
  requireFolder,
  requireRegularFiles,
  requireUploadsFolder,
} from "../../store/database-file/files.js";
import { refuseForeign } from "../../store/database-file/identity.js";
import { inspectDatabase } from "../../store/database-file/inspect.js";
import { readLog } from "../../store/database-file/lost-log.js";
import { refuseLost, refuseOtherSchema } from "../../store/database-file/open-own.js";
import { ownerProblem, takenFolder } from "../../store/database-file/owned.js";
import { chooseDriver, RECOMMENDED_NODE, SUPPORTED_NODE } from "../../store/driver.js";
import type { Finding } from "./finding.js";

const LOW_BYTES = 1_000_000_000;
const FULL_BYTES = 100_000_000;

/** `file`: the configuration file, when there is one. */
export function checkMachine(databaseUrl: string, file: string | undefined): Finding[] {
  const files = databaseFiles(databaseUrl);
  const folder = nearestFolder(files.folder);
  // Opening the database renews the index, by which a log that was cut short is known.
  const log = checkLog(files.database);
  return [
    checkNode(),
    checkDisk(folder),
    checkDatabase(files, folder),
    ...log,
    ...checkUploads(files),
    ...checkOwner(files),
    ...checkPrivacy(files, file),
  ];
}

function checkNode(): Finding {
  const detail = `${process.versions.node} (supported: ${SUPPORTED_NODE}; recommended: ${RECOMMENDED_NODE})`;
  try {
    chooseDriver(process.versions);
    return { name: "node", state: "ok", detail };
  } catch (error) {
    return { name: "node", state: "bad", detail, hint: hintOf(error) };
  }
}

function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}

function checkDisk(folder: string): Finding {
  try {
    const { bavail, bsize } = statfsSync(folder);
    const freeBytes = bavail * bsize;
    const free = `${(freeBytes / 1e9).toFixed(1)} GB free in ${folder}`;
    if (freeBytes < FULL_BYTES)
      return { name: "disk", state: "bad", detail: free, hint: "Make room: without it no message can be taken in." };
    if (freeBytes < LOW_BYTES)
      return { name: "disk", state: "warning", detail: free, hint: "Make room soon, or shorten store.retention." };
    return { name: "disk", state: "ok", detail: free };
  } catch (error) {
    return { name: "disk", state: "warning", detail: `cannot be measured: ${errorMessage(error)}` };
  }
}

/** Looked at, not written: a running gateway may have it open. */
function checkDatabase(files: DatabaseFiles, folder: string): Finding {
  const file = files.database;
  const name = "database";
  try {
    requireFolder(files);
    requireRegularFiles(files);
    requireSoundLock(files);
    refuseLost(files);
  } catch (error) {
    return { name, state: "bad", detail: errorMessage(error), hint: hintOf(error) };
  }
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    return {
      name,
      state: "bad",
      detail: `the folder ${folder} cannot be written: ${errorMessage(error)}`,
      hint: "Give this user the right to write there, or set DATABASE_URL.",
    };
  }
  if (!existsSync(file)) return { name, state: "ok", detail: `${file} will be made at the first start` };
  try {
    accessSync(file, constants.W_OK);
    refuseForeign(files);
    refuseOtherSchema(files);
    inspectDatabase(file);
    return { name, state: "ok", detail: `${file}, ${(statSync(file).size / 1e6).toFixed(1)} MB` };
  } catch (error) {
    return {
      name,
      state: "bad",
      detail: errorMessage(error),
      hint: hintOf(error) ?? "Give this user the right to write the file.",
    };
  }
}

/** Checks the database log that a crashed gateway left. The log of a running gateway shows no false damage: see lost-log.ts. */
function checkLog(file: string): Finding[] {
  const log = readLog(file);
  if (log.kind === "missing" || (log.isHeaderSound && log.missingFrames === 0)) return [];
  return [
    {
      name: "database log",
      state: "bad",
      detail: log.isHeaderSound
        ? `${file}-wal was cut short: its last changes are lost, so messages may be handled or sent again`
        : `${file}-wal is damaged at its start: all changes in it are lost, so messages may be handled or sent again`,
      hint: "Start the gateway again when it runs: the start checks the database. If it is damaged, restore a backup with `npx hookgate restore FILE`.",
    },
  ];
}

function checkUploads(files: DatabaseFiles): Finding[] {
  try {
    requireUploadsFolder(files);
    return [];
  } catch (error) {
    if (!(error instanceof HookgateError)) return []; // the finding of the database names the reason
    return [{ name: "uploads", state: "bad", detail: errorMessage(error), hint: hintOf(error) }];
  }
}

/** Root may examine the gateway of another user, which then starts as that user. */
function checkOwner(files: DatabaseFiles): Finding[] {
  const problem = ownerProblem(files);
  const state = process.geteuid?.() === 0 ? "warning" : "bad";
  if (problem !== undefined) return [{ name: "file owner", state, detail: problem.message, hint: problem.hint }];
  const taken = takenFolder(files);
  return taken === undefined ? [] : [{ name: "file owner", state: "warning", detail: taken }];
}

function hintOf(error: unknown): string | undefined {
  return error instanceof HookgateError ? error.hint : undefined;
}

const MAX_NAMED = 5;

function checkPrivacy(files: DatabaseFiles, file: string | undefined): Finding[] {
  const exposed = exposedFiles(files);
  const findings = [...exposedVariables(), ...changeableFiles(file)].map(
    (detail): Finding => ({ name: "file modes", state: "warning", detail }),
  );
  if (exposed.length > 0)
    findings.push({
      name: "file modes",
      state: "warning",
      detail: `other users of this machine can open ${exposed.slice(0, MAX_NAMED).join(", ")}${exposed.length > MAX_NAMED ? ` and ${exposed.length - MAX_NAMED} more` : ""}`,
      hint: "They contain messages and keys. The next start corrects the modes of files that belong to the gateway's user, except behind links; `chmod go= PATH` does it now.",
    });
  if (isOpenFolder(files.folder))
    findings.push({
      name: "file modes",
      state: "warning",
      detail: `other users of this machine can replace files in ${files.folder}`,
      hint: `Run \`chmod go-w ${files.folder}\`, or set DATABASE_URL to a file in a folder of its own.`,
    });
  return findings;
}
