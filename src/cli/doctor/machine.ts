/** What the gateway needs of this machine: Node, room on the disk, a database that can be written. */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { readOwnSecret } from "../../store/read-own-secret.js";
import type { Finding } from "./finding.js";

const NODE_FLOOR = [20, 19] as const;
const LOW_BYTES = 1_000_000_000;
const FULL_BYTES = 100_000_000;

export function checkMachine(database: string): Finding[] {
  const folder = nearestFolder(resolve(dirname(database)));
  return [checkNode(), checkDisk(folder), checkDatabase(resolve(database), folder)];
}

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isGood = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  return {
    name: "node",
    state: isGood ? "ok" : "bad",
    detail: process.versions.node,
    ...(isGood ? {} : { hint: `Node ${NODE_FLOOR.join(".")} or newer is needed.` }),
  };
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
function checkDatabase(file: string, folder: string): Finding {
  const name = "database";
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
    readOwnSecret(file, "");
    return { name, state: "ok", detail: `${file}, ${(statSync(file).size / 1e6).toFixed(1)} MB` };
  } catch (error) {
    return {
      name,
      state: "bad",
      detail: errorMessage(error),
      hint: (error instanceof HookgateError && error.hint) || "Give this user the right to write the file.",
    };
  }
}
