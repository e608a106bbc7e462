/** The event that a watch fires: `file.changed` for one file, or `folder.changed` for all files that changed together. */
import { relative } from "node:path";
import type { fileChanged, folderChanged } from "../../../hooks/catalogue/automation.js";
import type { Definition, TriggerOf } from "../../definition/definition.js";
import type { Change } from "./change.js";
import { asPosix, selectionOf } from "./selection.js";

export type WatchFiring =
  | { point: "file.changed"; payload: (typeof fileChanged)["example"] }
  | { point: "folder.changed"; payload: (typeof folderChanged)["example"] };

/** Files that one `folder.changed` names; it counts them all. */
const MAX_NAMED = 1_000;

export function firingOf(
  { id: watchId, folder }: Definition,
  { as, paths }: TriggerOf<"files">,
  changes: readonly Change[],
): WatchFiring | undefined {
  const files = changes.slice(0, MAX_NAMED).map(({ path, operation, now }) => ({
    path,
    relativePath: asPosix(relative(folder, path)),
    operation,
    sizeBytes: now?.sizeBytes ?? 0,
  }));
  const [first] = files;
  if (first === undefined) return undefined;
  if (as === "file") return { point: "file.changed", payload: { ...first, watchId } };
  const [only, ...others] = paths;
  const path = only !== undefined && others.length === 0 ? selectionOf(only, [], folder).root : folder;
  return { point: "folder.changed", payload: { path, changes: files, count: changes.length, watchId } };
}
