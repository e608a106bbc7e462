/** Taking over changed hooks: checked first, swapped whole. What is refused is said to admins in chat, and nothing changes. */

import { dirname, join } from "node:path";
import { type Automations, type Reloaded, tellRejected } from "../automations/automations.js";
import type { LoadedHooks } from "../automations/definition/load.js";
import { HOOKS_FOLDER } from "../automations/definition/sources.js";
import type { Notifier } from "../automations/notify.js";
import { watchDefinitions } from "../automations/watch.js";
import type { LoadedConfig } from "../config/load.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

interface Parts {
  /** Rejects when the configuration has problems. */
  read(next: LoadedConfig): Promise<LoadedHooks>;
  automations: Automations;
  notifier: Notifier;
  mask(text: string): string;
}

/** One after the other. Rejects with what was wrong; admins have been told. */
export function reloader({ read, automations, notifier, mask }: Parts): (next: LoadedConfig) => Promise<Reloaded> {
  let last: Promise<unknown> = Promise.resolve();
  const reload = async (next: LoadedConfig): Promise<Reloaded> => {
    const hooks = await read(next).catch(async (error: unknown) => {
      await tellRejected(notifier, mask(errorMessage(error)));
      throw error;
    });
    return automations.reload(hooks, next.file);
  };
  return (next) => {
    const reloaded = last.then(() => reload(next));
    last = reloaded.catch(() => {
      // whoever asked for it has the rejection
    });
    return reloaded;
  };
}

interface WatchParts {
  reread(): LoadedConfig;
  reload(next: LoadedConfig): Promise<unknown>;
  clock: Clock;
  logger: Logger;
}

/** Changes of the file, and of those under `hooks/` beside it, are taken over as they are saved. */
export async function watchConfig(file: string, parts: WatchParts): Promise<() => Promise<void>> {
  const { reread, reload, clock, logger } = parts;
  const watch = await watchDefinitions([file, join(dirname(file), HOOKS_FOLDER)], clock, () => {
    void (async () => reload(reread()))().catch((error: unknown) =>
      logger.error({ file, error: errorMessage(error) }, "a changed configuration was not taken over"),
    );
  });
  return () => watch.stop();
}
