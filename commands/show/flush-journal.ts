/** Before the journal is read: lets it write the latest records; does not wait long, nor for a broken journal. */

import { errorMessage } from "../../src/lib/errors.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";

/** An answer is due within three seconds. */
const PATIENCE_MS = 2000;

/** Undefined when everything up to now can be read; else a remark for the operator. Never rejects. */
export function flushJournal({ store, clock }: Pick<CommandDeps, "store" | "clock">): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = clock.after(PATIENCE_MS, () =>
      resolve(`The journal is more than ${formatDuration(PATIENCE_MS)} behind; the newest runs are missing.`),
    );
    store.journal.flush().then(
      () => {
        timer.cancel();
        resolve(undefined);
      },
      (error: unknown) => {
        timer.cancel();
        resolve(`The journal cannot be written: ${errorMessage(error)}`);
      },
    );
  });
}
