/** Notifies when the configuration, a file under `hooks/` or `.env` was changed: once, when it has been quiet for a moment. */
import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { FSWatcher } from "chokidar";
import { errorMessage } from "../lib/errors.js";
import { fileMark, markText } from "../lib/files/file-mark.js";
import type { Logger } from "../lib/logger.js";
import type { Clock, Timer } from "../lib/time/clock.js";
import { hookFiles } from "./definition/sources.js";
import { isHookFile } from "./definition/unread-files.js";

const QUIET_MS = 300;
/**
 * The system reports nothing when a link on the way to a file goes elsewhere, and nothing of a folder that came into the place of
 * another. chokidar goes on watching a file that was replaced within 5 ms after a write, or by one with the same number on the disk
 * (compare https://github.com/paulmillr/chokidar/pull/1003). All of these changes are found by comparing.
 */
const COMPARE_EVERY_MS = 2_000;

export interface DefinitionWatch {
  stop(): Promise<void>;
}

/**
 * Resolves when it watches; a difference from what was `read` is a change. Folders and files that are not there yet are seen when they
 * appear.
 */
export async function watchDefinitions(
  { read, ...watched }: Watched & { read: Marks },
  { clock, logger }: { clock: Clock; logger: Logger },
  changed: () => void,
): Promise<DefinitionWatch> {
  const { file, folder } = watched;
  const { watch } = await import("chokidar");
  let quiet: Timer | undefined;
  let isStopped = false;
  let lastError = "";
  // Without names: hook files that came since then are found, too.
  let seen = { ...read, names: "" };
  let watcher = await open();
  /** Comparisons, one after the other. */
  let last: Promise<void> = Promise.resolve();
  let next: Timer | undefined;
  await compare();
  next = clock.after(COMPARE_EVERY_MS, compareAgain);

  async function open(): Promise<FSWatcher> {
    const opened = watch([file, folder], {
      ignoreInitial: true,
      persistent: false,
      atomic: true,
      ignored: (path, stats) => stats?.isFile() === true && !isHookFile(path),
    });
    for (const event of ["add", "change", "unlink"] as const) opened.on(event, onChange);
    opened.on("error", onError);
    await new Promise<void>((done) => {
      opened.once("ready", done);
      // An error may keep the watcher from being ready.
      opened.once("error", () => done());
    });
    return opened;
  }

  /** A link in a circle, a folder that cannot be read: reading the hooks reports that file. All others are watched. */
  function onError(error: unknown): void {
    const why = errorMessage(error);
    // Every look at the folder meets it again.
    if (why !== lastError) logger.warn({ folder, error: why }, "a hook file or a folder cannot be watched");
    lastError = why;
  }

  function onChange(): void {
    quiet?.cancel();
    if (!isStopped)
      quiet = clock.after(QUIET_MS, () => {
        last = last.then(() => notify().catch(onError));
      });
  }

  async function notify(): Promise<void> {
    // Before the files are read: a change during the reading is found at the next comparison.
    seen = { ...(await marksOf(watched)), place: seen.place };
    if (!isStopped) changed();
  }

  function compareAgain(): void {
    // A file that cannot be read now may be readable the next time.
    last = last
      .then(() => compare().catch(onError))
      .then(() => {
        if (!isStopped) next = clock.after(COMPARE_EVERY_MS, compareAgain);
      });
  }

  async function compare(): Promise<void> {
    const before = seen;
    seen = await marksOf(watched, before);
    if (seen.place !== before.place) {
      await watcher.close();
      if (!isStopped) watcher = await open();
    }
    if (HELD_AGAINST.some((one) => seen[one] !== before[one])) onChange();
  }

  return {
    async stop() {
      isStopped = true;
      quiet?.cancel();
      next?.cancel();
      await last;
      await watcher.close();
    },
  };
}

/** `variables`: the file `.env`, which is compared only. */
export interface Watched {
  file: string;
  folder: string;
  variables: string;
}

const HELD_AGAINST = ["place", "file", "hooks", "variables"] as const satisfies readonly (keyof Marks)[];

/** Texts that change with the files and folders that they are of. */
export interface Marks {
  file: string;
  variables: string;
  /** Which file and which folder the system watches. */
  place: string;
  /** The folders of hook files, as one text: it changes with the names in them. */
  names: string;
  /**
   * The hook files, and folders that cannot be listed. They are listed again when a name changed since `before`, and while there is such
   * a folder.
   */
  files: readonly string[];
  /** The hook files as they were, as one text. */
  hooks: string;
}

/** To be called before the files are read. */
export async function marksOf({ file, folder, variables }: Watched, before?: Marks): Promise<Marks> {
  const [ofFile, ofFolder, ofVariables, ...places] = await Promise.all([
    fileMark(file),
    fileMark(folder),
    fileMark(variables),
    placeOf(file),
    placeOf(folder),
  ]);
  const place = `${places.join("\n")}\n${ofFolder.identity}`;
  const known = before?.files ?? hookFiles(folder);
  const names = await marksText([folder, ...known.map(dirname)]);
  const isKnown = before === undefined || (before.names === names && known.every(isHookFile));
  const files = isKnown ? known : hookFiles(folder);
  return {
    file: markText(ofFile),
    variables: markText(ofVariables),
    place,
    names,
    files,
    hooks: await marksText(files),
  };
}

async function marksText(paths: readonly string[]): Promise<string> {
  const marks = [...new Set(paths)].map(async (path) => `${path} ${markText(await fileMark(path))}`);
  return (await Promise.all(marks)).join("\n");
}

const placeOf = (path: string) => realpath(path).catch(() => "");
