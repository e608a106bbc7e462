import { lchownSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterTest } from "./clean-up.js";

const NOBODY = 65_534;

/** Root may read everything: from here to the end of the test, this process has the rights of an ordinary user who owns the folder. */
export function asOrdinaryUser(folder: string): void {
  if (process.geteuid?.() !== 0) return;
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })])
    lchownSync(join(folder, name), NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  afterTest(() => process.seteuid?.(0));
}
