/** The change of a file between two reads of it. Events in between are merged: created and deleted is nothing. */
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import type { FileSnapshot } from "../../../domain/automation.js";
import type { FileOperation } from "../../definition/definition.js";

export interface Change {
  readonly path: string;
  readonly operation: FileOperation;
  readonly before: FileSnapshot | undefined;
  readonly now: FileSnapshot | undefined;
}

/** The file as it is; undefined when there is none. */
export async function snapshotAt(path: string): Promise<FileSnapshot | undefined> {
  try {
    const stats = await stat(path);
    return stats.isFile() ? snapshotOf(path, stats) : undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

export function snapshotOf(
  path: string,
  { size, mtimeMs, ctimeMs }: { size: number; mtimeMs: number; ctimeMs: number },
): FileSnapshot {
  return { path, sizeBytes: size, mtimeMs, ctimeMs };
}

/** `wasDeleted`: it was gone in between, so that the same size and date do not mean the same file. */
export function operationOf(
  before: FileSnapshot | undefined,
  now: FileSnapshot | undefined,
  wasDeleted: boolean,
): FileOperation | undefined {
  if (before === undefined) return now === undefined ? undefined : "created";
  if (now === undefined) return "deleted";
  const isSame = before.sizeBytes === now.sizeBytes && before.mtimeMs === now.mtimeMs;
  return isSame && !(wasDeleted && before.ctimeMs !== now.ctimeMs) ? undefined : "modified";
}

/** Gives the same id for the same change, each time it is found, and another id for every other change. */
export function dispatchIdOf(watchId: string, changes: readonly Change[]): string {
  const hash = createHash("sha256").update(watchId);
  for (const { path, operation, before, now } of changes)
    hash.update(`\0${path}\0${operation}\0${before?.ctimeMs ?? ""}\0${now?.ctimeMs ?? ""}`);
  return `d_files_${hash.digest("hex").slice(0, 24)}`;
}

export function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
