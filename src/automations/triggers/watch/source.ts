/**
 * Reports which files of a selection may have changed, as long as it runs: through a folder that is not there yet, that vanishes and
 * comes back, that is too big, or that the system cannot watch. It never reports what changed: the receiver reads the file.
 */
import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import type { FSWatcher } from "chokidar";
import type { FileSnapshot } from "../../../domain/automation.js";
import type { Clock, Timer } from "../../../lib/clock.js";
import { errorMessage } from "../../../lib/errors.js";
import type { Logger } from "../../../lib/logger.js";
import { isGone, snapshotOf } from "./change.js";
import { createFreshFolders, type FreshFolders } from "./fresh-folders.js";
import { createIdentities, type Identities } from "./identities.js";
import { moved, type Selection } from "./selection.js";

const CHECK_AGAIN_MS = 2_000;
/** All watches of a folder that was replaced have let go of it by then: the system's watch of the old one is shared. */
const LET_GO_MS = 500;
/** Where the system has no room for another watch (inotify limits), files are looked at this often instead. */
const POLL_MS = 2_000;
const WATCH_OVER_MS = 5_000;

export interface SourceDeps {
  /** A file of the selection is there and may be new or changed, or (without a snapshot) may be gone. */
  touched(path: string, now: FileSnapshot | undefined): void;
  /** This folder is gone or is another one: all that was in it may be. */
  gone(folder: string): void;
  /** Files and folders of one selection, at most: they take memory and handles. */
  maxWatched: number;
  /** A real path that the gateway itself writes: it is never watched. */
  isOwnFile(path: string): boolean;
  clock: Clock;
  logger: Logger;
}

export interface Source {
  /** Resolves when everything that is there now was told, also when nothing is there. */
  readonly ready: Promise<void>;
  readonly problem: string | undefined;
  /** What it waits for is not there yet; it is watched as soon as it is. */
  readonly isWaiting: boolean;
  /** All that is there now are files of the gateway itself. */
  readonly isOwnOnly: boolean;
  stop(): Promise<void>;
}

export function openSource(selection: Selection, deps: SourceDeps): Source {
  let watcher: FSWatcher | undefined;
  let identities: Identities | undefined;
  let freshFolders: FreshFolders | undefined;
  let timer: Timer | undefined;
  let problem: string | undefined;
  let place: Place = { kind: "nowhere" };
  let isStopped = false;
  let isPolling = false;
  let hasOwn = false;
  let hasOther = false;
  /** Turns of opening and closing, one after the other. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (step: () => Promise<void>) => {
    turn = turn.then(() => (isStopped ? undefined : step())).catch(report);
    return turn;
  };

  function report(error: unknown): void {
    problem = `${selection.pattern} cannot be watched: ${errorMessage(error)}`;
    deps.logger.warn({ path: selection.root, error: errorMessage(error) }, problem);
    checkAgain();
  }

  function checkAgain(afterMs = CHECK_AGAIN_MS): void {
    timer?.cancel();
    timer = deps.clock.after(afterMs, () => void inTurn(open));
  }

  /** Resolves when what is there was told. */
  async function open(): Promise<void> {
    await close();
    problem = undefined;
    place = await placeOf(selection.root);
    if (place.kind === "nowhere") return checkAgain();
    await begin(place);
  }

  async function begin(at: Exclude<Place, { kind: "nowhere" }>): Promise<void> {
    const { real } = at;
    const isFolder = at.kind === "folder";
    const shown = (path: string) => moved(path, real, selection.root);
    const ignores = (path: string) => deps.isOwnFile(path) || selection.ignores(shown(path));
    const watchedRoot = isFolder ? real : dirname(real);
    // Loaded when there is something to watch: a start without files need not pay for it.
    const { watch } = await import("chokidar");
    let count = 0;
    const folders = createIdentities(deps.clock, (replaced) => {
      if (watcher === opened) void inTurn(() => reopen(replaced.map(shown)));
    });
    identities = folders;
    const opened = watch(watchedRoot, {
      persistent: false,
      followSymlinks: false,
      ignorePermissionErrors: true,
      alwaysStat: true,
      atomic: false, // what was deleted and created again must be seen as such
      usePolling: isPolling,
      interval: POLL_MS,
      depth: isFolder ? selection.depth : 0,
      ignored: (path, stats) => {
        if (path === watchedRoot) return false;
        if (!isFolder) return path !== real;
        if (deps.isOwnFile(path) && selection.selects(shown(path))) hasOwn = true;
        return ignores(path) || (stats?.isFile() === true && !selection.selects(shown(path)));
      },
    });
    watcher = opened;
    const counted = () => {
      if (++count === deps.maxWatched + 1) void inTurn(giveUp);
    };
    const isSelected = (path: string) =>
      !deps.isOwnFile(path) && (isFolder ? selection.selects(shown(path)) : path === real);
    const isWithinDepth = (path: string) => relative(real, path).split(sep).length <= selection.depth;
    const touched = (path: string, stats: Stats | undefined) => {
      if (!stats || !isSelected(path)) return;
      hasOther = true;
      fresh.reported(path, stats);
      deps.touched(shown(path), snapshotOf(shown(path), stats));
    };
    const fresh = createFreshFolders({
      clock: deps.clock,
      file: touched,
      folder(path) {
        if (watcher !== opened || folders.knows(path)) return;
        if (isWithinDepth(path) && !ignores(path)) opened.add(path);
      },
      onError: (error) => onError(error, opened),
    });
    freshFolders = fresh;
    let isReady = false;
    opened
      .on("add", (path, stats) => {
        counted();
        if (path === real) place = { kind: "file", real };
        touched(path, stats);
      })
      .on("change", touched)
      .on("unlink", (path) => {
        count--;
        if (path === real) place = { kind: "absent", real };
        if (isSelected(path)) deps.touched(shown(path), undefined);
      })
      .on("addDir", (path, stats) => {
        counted();
        folders.seen(path, stats);
        if (isReady && isFolder) fresh.seen(path);
        if (!isFolder && path === real) void inTurn(open);
      })
      .on("unlinkDir", (path) => {
        count--;
        if (path === watchedRoot) folders.suspect(path);
        else folders.forget(path);
      })
      .on("raw", (_event, name, details) => {
        const at = watchedPathOf(details);
        if (at !== undefined) folders.suspect(at);
        // A file is named by its folder, or by itself where it is polled.
        const path = at === undefined ? name : folders.knows(at) && name ? join(at, name) : undefined;
        if (path && isSelected(path)) fresh.named(path);
      })
      .on("error", (error) => onError(error, opened));
    await new Promise<void>((done) => {
      opened.once("ready", done);
      opened.once("error", () => done());
    });
    isReady = true;
    if (folders.knows(watchedRoot)) watchOver(folders, watchedRoot);
    else checkAgain(); // it went between the look at it and the watch
  }

  /** What happens to the root itself is not always told. */
  function watchOver(folders: Identities, root: string): void {
    folders.suspect(root);
    timer?.cancel();
    timer = deps.clock.after(WATCH_OVER_MS, () => watchOver(folders, root));
  }

  async function reopen(replaced: readonly string[]): Promise<void> {
    deps.logger.debug({ folders: replaced }, "folders were removed or replaced; they are watched again");
    await close();
    for (const folder of replaced) deps.gone(folder);
    place = await placeOf(selection.root);
    checkAgain(LET_GO_MS);
  }

  async function giveUp(): Promise<void> {
    await close();
    problem = `${selection.pattern} has more than ${deps.maxWatched.toLocaleString("en-US")} files and folders and is not watched: narrow \`paths\` or add to \`ignore\``;
    deps.logger.warn({ path: selection.root }, problem);
  }

  function onError(error: unknown, of: FSWatcher): void {
    if (watcher !== of) return;
    if (isOutOfRoom(error) && !isPolling) {
      isPolling = true;
      deps.logger.warn({ path: selection.root }, `${selection.pattern} is polled: ${errorMessage(error)}`);
      void inTurn(open);
    } else if (!isGone(error)) void inTurn(() => Promise.reject(error));
  }

  async function close(): Promise<void> {
    timer?.cancel();
    identities?.stop();
    freshFolders?.stop();
    const open = watcher;
    watcher = undefined;
    await open?.close();
  }

  const ready = inTurn(open);
  return {
    ready,
    get problem() {
      return problem;
    },
    get isWaiting() {
      return problem === undefined && place.kind !== "folder" && place.kind !== "file";
    },
    get isOwnOnly() {
      const isOwnFile = place.kind !== "nowhere" && deps.isOwnFile(place.real);
      return isOwnFile || (hasOwn && !hasOther);
    },
    async stop() {
      isStopped = true;
      await turn;
      await close();
    },
  };
}

/** Links are resolved: events name real paths. For a path that does not exist (yet), its folder is watched. */
type Place = { kind: "folder" | "file" | "absent"; real: string } | { kind: "nowhere" };

async function placeOf(root: string): Promise<Place> {
  const real = await realPlace(root);
  if (real !== undefined) return { kind: (await stat(real)).isDirectory() ? "folder" : "file", real };
  const parent = await realPlace(dirname(root));
  return parent === undefined ? { kind: "nowhere" } : { kind: "absent", real: join(parent, basename(root)) };
}

async function realPlace(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function watchedPathOf(details: unknown): string | undefined {
  if (typeof details !== "object" || details === null || !("watchedPath" in details)) return undefined;
  return typeof details.watchedPath === "string" ? details.watchedPath : undefined;
}

function isOutOfRoom(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EMFILE");
}
