/** Tells when a plugin's file changed, came or went. Editors write in several steps, so a change counts once the file has been quiet for a moment. */
import type { Clock, Timer } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

const QUIET_MS = 100;

export interface FileWatch {
  /** Watches these files and no others. */
  set(files: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export function watchFiles(
  { clock, logger }: { clock: Clock; logger: Logger },
  changed: (file: string) => void,
): FileWatch {
  let watcher: import("chokidar").FSWatcher | undefined;
  const watched = new Set<string>();
  const quiet = new Map<string, Timer>();
  const onChange = (file: string) => {
    quiet.get(file)?.cancel();
    quiet.set(
      file,
      clock.after(QUIET_MS, () => {
        quiet.delete(file);
        changed(file);
      }),
    );
  };
  return {
    async set(files) {
      const wanted = new Set(files);
      const fresh = files.filter((file) => !watched.has(file));
      const gone = [...watched].filter((file) => !wanted.has(file));
      if (fresh.length === 0 && gone.length === 0) return;
      const isFirst = watcher === undefined;
      if (!watcher) {
        // Loaded when there is a file to watch: start-up without plugins need not pay for it.
        const { watch } = await import("chokidar");
        watcher = watch([], { ignoreInitial: true, persistent: false, atomic: true });
        watcher.on("add", onChange).on("change", onChange).on("unlink", onChange);
        // Without a listener an error would end the process.
        watcher.on("error", (error) =>
          logger.warn({ error: errorMessage(error) }, "the file of a plugin cannot be watched"),
        );
      }
      // It says so once only, so what comes later must not wait for it.
      const ready = isFirst ? new Promise<void>((done) => watcher?.once("ready", done)) : undefined;
      if (gone.length > 0) watcher.unwatch(gone);
      watcher.add(fresh);
      for (const file of gone) watched.delete(file);
      for (const file of fresh) watched.add(file);
      await ready;
    },
    async stop() {
      for (const timer of quiet.values()) timer.cancel();
      quiet.clear();
      await watcher?.close();
    },
  };
}
