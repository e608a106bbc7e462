/** What went wrong with the files of an open store: damage that a read or a write met, files that were deleted under the gateway. */
import { statSync } from "node:fs";
import type { StoreHealth } from "../domain/store.js";
import { HookgateError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { DatabaseFiles } from "./files.js";

export interface Damage {
  /** Remembers an error that shows damage; others are ignored. */
  note(error: HookgateError): void;
  /** A loss that was found at the start, or a part that works no more. Logged, and shown until a restart. */
  remark(message: string, facts?: object): void;
  /** The files are open: from now on it is noticed when one is deleted or replaced. */
  filesAreOpen(): void;
  health(): StoreHealth;
}

export function watchForDamage(files: Pick<DatabaseFiles, "database" | "journal">, logger: Logger): Damage {
  let opened: { database: string | undefined; journal: string | undefined } | undefined;
  let found: HookgateError | undefined;
  const remarks: string[] = [];

  const missing = (): HookgateError | undefined => {
    if (!opened || identityOf(files.database) === opened.database) return undefined;
    return new HookgateError({
      code: "STORE_GONE",
      message: `the database ${files.database} was deleted or replaced while the gateway runs: what it stores now is lost when it stops`,
      hint: "Stop the gateway, then restore a backup with `npx hookgate restore FILE`.",
    });
  };
  const lostHistory = (): string[] => {
    return !opened || identityOf(files.journal) === opened.journal
      ? []
      : [`the history ${files.journal} was deleted or replaced while the gateway runs: a restart starts an empty one`];
  };

  return {
    note(error) {
      if (error.code !== "STORE_CORRUPT" || found !== undefined) return;
      found = error;
      logger.error({ code: error.code, hint: error.hint }, error.message);
    },
    remark(message, facts = {}) {
      remarks.push(message);
      logger.warn(facts, message);
    },
    filesAreOpen() {
      opened = { database: identityOf(files.database), journal: identityOf(files.journal) };
    },
    health: () => ({ problem: found ?? missing(), remarks: [...remarks, ...lostHistory()] }),
  };
}

function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return undefined; // gone, or out of reach: both are what is asked
  }
}
