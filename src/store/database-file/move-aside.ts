/** Moves a database out of the way without deleting it: its content may still be wanted. */
import { existsSync, renameSync } from "node:fs";
import { storeError } from "../errors.js";

/**
 * The files that SQLite keeps beside a database. The log goes with its file: beside another file it would damage that one. The file itself
 * goes last, so that a call after a kill with the same `at` moves the rest to the same name.
 */
const SUFFIXES = ["-wal", "-shm", "-journal", ""];

/** Returns the new path, `FILE.damaged-20261122T204500Z` for example; undefined when there was nothing to move. */
export function moveAside(file: string, why: "damaged" | "replaced", at: number): string | undefined {
  const stamp = new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
  let target = `${file}.${why}-${stamp}`;
  for (let n = 2; existsSync(target); n++) target = `${file}.${why}-${stamp}-${n}`;
  let hasMoved = false;
  try {
    for (const suffix of SUFFIXES) {
      if (!existsSync(file + suffix)) continue;
      renameSync(file + suffix, target + suffix);
      hasMoved = true;
    }
  } catch (thrown) {
    throw storeError(thrown, file);
  }
  return hasMoved ? target : undefined;
}
