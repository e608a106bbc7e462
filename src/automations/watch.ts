/** Tells when the configuration or a file under `hooks/` was changed: once, when it has been quiet for a moment. */
import type { Clock, Timer } from "../lib/clock.js";

const QUIET_MS = 300;

export interface DefinitionWatch {
  stop(): Promise<void>;
}

/** Resolves when it watches. Folders and files that are not there yet are seen when they appear. */
export async function watchDefinitions(
  paths: readonly string[],
  clock: Clock,
  changed: () => void,
): Promise<DefinitionWatch> {
  const { watch } = await import("chokidar");
  let quiet: Timer | undefined;
  let isStopped = false;
  const onChange = () => {
    quiet?.cancel();
    if (!isStopped) quiet = clock.after(QUIET_MS, changed);
  };
  const watcher = watch([...paths], {
    ignoreInitial: true,
    persistent: false,
    atomic: true,
    ignored: (path, stats) => stats?.isFile() === true && !/\.ya?ml$/.test(path),
  });
  for (const event of ["add", "change", "unlink"] as const) watcher.on(event, onChange);
  await new Promise<void>((ready) => watcher.once("ready", () => ready()));
  return {
    async stop() {
      isStopped = true;
      quiet?.cancel();
      await watcher.close();
    },
  };
}
