/**
 * Reports which files of a selection may have changed, as long as it runs: through a folder that is not there yet, that vanishes and
 * comes back, that cannot be read for a while, that is too big, or that the system cannot watch. It never reports what changed: the
 * receiver reads the file.
 */
import type { Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { FSWatcher } from "chokidar";
import type { FileSnapshot } from "../../../domain/automation.js";
import type { Clock, Timer } from "../../../lib/clock.js";
import { errorMessage } from "../../../lib/errors.js";
import { isDenied, unreadAt, whyUnread } from "../../../lib/list-folder.js";
import type { Logger } from "../../../lib/logger.js";
import { isGone, snapshotOf } from "./change.js";
import { createFreshFolders, type FreshFolders } from "./fresh-folders.js";
import { createIdentities, type Identities } from "./identities.js";
import { moved, type Selection, within } from "./selection.js";
import { blockOf, type Unread, unreadText } from "./unread.js";

const CHECK_AGAIN_MS = 2_000;
/** How often the root is checked where the system usually reports a change of it. It does not where a link leads to it. */
const WATCH_OVER_MS = 5_000;
/** All watches of a folder that was replaced have let go of it by then: the system's watch of the old one is shared. */
const LET_GO_MS = 500;
/** Where the system has no room for another watch (inotify limits), files are looked at this often instead. */
const POLL_MS = 2_000;

export interface SourceDeps {
  /** A file of the selection is there and may be new or changed, or (without a snapshot) may be gone. */
  touched(path: string, now: FileSnapshot | undefined): void;
  /** This folder is gone or is another one: all that was in it may be. */
  gone(folder: string): void;
  /** Changes in this folder were not seen for a while, or a link on the way to it leads elsewhere now. */
  missed(folder: string): void;
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
  /** It is in a folder that cannot be read; what changes in it is reported when that can be read. */
  isUnread(path: string): boolean;
  stop(): Promise<void>;
}

export function openSource(selection: Selection, deps: SourceDeps): Source {
  let watcher: FSWatcher | undefined;
  let identities: Identities | undefined;
  let freshFolders: FreshFolders | undefined;
  let timer: Timer | undefined;
  let problem: string | undefined;
  let unread: Unread = new Map();
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

  function setUnread(now: Unread): void {
    const before = unread;
    unread = now;
    const text = unreadText(selection, now);
    if (text !== undefined && text !== unreadText(selection, before)) deps.logger.warn({}, text);
    for (const folder of before.keys()) if (!now.has(folder)) deps.missed(folder);
  }

  function checkAgain(afterMs = CHECK_AGAIN_MS): void {
    timer?.cancel();
    timer = deps.clock.after(afterMs, () => void inTurn(open));
  }

  /** Resolves when what is there was told. */
  async function open(): Promise<void> {
    await close();
    problem = undefined;
    const block = await blockOf(selection);
    if (block !== undefined) {
      setUnread(block);
      return checkAgain();
    }
    place = await placeOf(selection.root);
    if (place.kind !== "nowhere") return begin(place);
    setUnread(new Map());
    checkAgain();
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
        if (selection.enters(shown(path)) && !deps.isOwnFile(path)) opened.add(path);
      },
      onError: (error) => onError(error, opened),
    });
    freshFolders = fresh;
    /** What is not in a folder that cannot be listed is not known to be gone. */
    const isKnownGone = (path: string) => whyUnread(dirname(path)) === undefined;
    const denied = new Map<string, string>();
    let isReady = false;
    opened
      .on("add", (path, stats) => {
        counted();
        if (path === real && stats?.isSymbolicLink()) return; // it leads nowhere yet
        if (path === real) place = { kind: "file", real };
        touched(path, stats);
      })
      .on("change", touched)
      .on("unlink", (path) => {
        count--;
        if (path === real) place = { kind: "absent", real };
        if (isSelected(path) && isKnownGone(path)) deps.touched(shown(path), undefined);
      })
      .on("addDir", (path, stats) => {
        counted();
        if (path === watchedRoot || selection.enters(shown(path))) {
          const why = whyUnread(path);
          folders.seen(path, stats, why !== undefined);
          if (why !== undefined) denied.set(shown(path), why);
          if (why !== undefined && isReady) setUnread(new Map(denied));
        }
        if (isReady && isFolder) fresh.seen(path);
        if (!isFolder && path === real) void inTurn(open);
      })
      .on("unlinkDir", (path) => {
        count--;
        // It need not be gone: the watcher reports one that cannot be listed like this, too.
        if (path === watchedRoot || whyUnread(path) !== undefined) return folders.suspect(path);
        folders.forget(path);
        if (denied.delete(shown(path))) setUnread(new Map(denied));
      })
      .on("raw", (_event, name, details) => {
        const at = watchedPathOf(details);
        if (at !== undefined) folders.suspect(at);
        // A file is named by its folder, or by itself where it is polled.
        const path = at === undefined ? name : folders.knows(at) && name ? join(at, name) : undefined;
        if (path && folders.knows(path)) folders.suspect(path);
        if (path && isSelected(path)) fresh.named(path);
      })
      .on("error", (error) => onError(error, opened));
    await new Promise<void>((done) => {
      opened.once("ready", done);
      opened.once("error", () => done());
    });
    isReady = true;
    setUnread(new Map(denied));
    if (folders.knows(watchedRoot)) void watchOver(opened, folders, watchedRoot, real);
    else checkAgain(); // it went between the look at it and the watch
  }

  /** What happens to the root itself, to a link on the way to it, and to what cannot be read, is not always told. */
  async function watchOver(of: FSWatcher, folders: Identities, root: string, real: string): Promise<void> {
    for (const folder of unread.keys()) folders.suspect(moved(folder, selection.root, real));
    folders.suspect(root);
    const leadsTo = await placeOf(selection.root).catch(() => undefined); // opening it again reports why
    if (watcher !== of) return;
    if (leadsTo?.real !== real) return inTurn(() => reopen([selection.root], deps.missed));
    const isTold = real === selection.root && unread.size === 0;
    timer?.cancel();
    timer = deps.clock.after(isTold ? WATCH_OVER_MS : CHECK_AGAIN_MS, () => void watchOver(of, folders, root, real));
  }

  async function reopen(replaced: readonly string[], changed = deps.gone): Promise<void> {
    deps.logger.debug(
      { folders: replaced },
      "folders were removed, replaced, linked elsewhere or made readable or not; they are watched again",
    );
    await close();
    for (const folder of replaced) {
      const at = await unreadAt(folder);
      if (at !== undefined) setUnread(new Map([...unread, at]));
      else if (!unread.has(folder)) changed(folder);
    }
    if (unread.size === 0) place = await placeOf(selection.root);
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
    } else if (!isGone(error) && !isDenied(error)) void inTurn(() => Promise.reject(error));
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
  const problemNow = () => problem ?? unreadText(selection, unread);
  return {
    ready,
    get problem() {
      return problemNow();
    },
    get isWaiting() {
      return problemNow() === undefined && place.kind !== "folder" && place.kind !== "file";
    },
    get isOwnOnly() {
      const isOwnFile = place.kind !== "nowhere" && deps.isOwnFile(place.real);
      return isOwnFile || (hasOwn && !hasOther);
    },
    isUnread: (path) => [...unread.keys()].some((folder) => within(path, folder)),
    async stop() {
      isStopped = true;
      await turn;
      await close();
    },
  };
}

/** Links are resolved: events name real paths. For a path that does not exist (yet), its folder is watched. */
type Place = { kind: "folder" | "file" | "absent"; real: string } | { kind: "nowhere"; real?: undefined };

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
