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
import { errorMessage } from "../../../lib/errors.js";
import { isDenied, unreadAt, whyUnread } from "../../../lib/files/list-folder.js";
import type { Logger } from "../../../lib/logger.js";
import type { Clock, Timer } from "../../../lib/time/clock.js";
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
  /** This folder is gone or is another one: all files that were in it may be gone. */
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
  /** Resolves when everything that is there now was reported, also when nothing is there. */
  readonly ready: Promise<void>;
  readonly problem: string | undefined;
  /** The file or folder that it waits for is not there yet; it is watched as soon as it is there. */
  readonly isWaiting: boolean;
  /** All that is there now are files of the gateway itself. */
  readonly isOwnOnly: boolean;
  /** The path is in a folder that cannot be read; changes in it are reported when that can be read. */
  isUnread(path: string): boolean;
  stop(): Promise<void>;
}

export function openSource(selection: Selection, deps: SourceDeps): Source {
  return new WatchedSource(selection, deps);
}

/** A watcher of the system at work, with the place that it reports and the facts known of its folders. */
interface Opened {
  watcher: FSWatcher;
  at: Exclude<Place, { kind: "nowhere" }>;
  /** The folder that the system watches: the selected folder, or that of the selected file. */
  root: string;
  folders: Identities;
  fresh: FreshFolders;
  /** Folders that cannot be listed, with the reason. */
  denied: Map<string, string>;
  /** Files and folders. */
  count: number;
  isReady: boolean;
}

class WatchedSource implements Source {
  readonly #selection: Selection;
  readonly #deps: SourceDeps;
  readonly ready: Promise<void>;
  #opened: Opened | undefined;
  #timer: Timer | undefined;
  #problem: string | undefined;
  #unread: Unread = new Map();
  #place: Place = { kind: "nowhere" };
  #isStopped = false;
  #isPolling = false;
  /** The selection has files of the gateway itself, and others. */
  #hasOwn = false;
  #hasOther = false;
  /** Turns of opening and closing, one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(selection: Selection, deps: SourceDeps) {
    this.#selection = selection;
    this.#deps = deps;
    this.ready = this.#inTurn(() => this.#open());
  }

  get problem(): string | undefined {
    return this.#problem ?? unreadText(this.#selection, this.#unread);
  }

  get isWaiting(): boolean {
    return this.problem === undefined && this.#place.kind !== "folder" && this.#place.kind !== "file";
  }

  get isOwnOnly(): boolean {
    const isOwnFile = this.#place.kind !== "nowhere" && this.#deps.isOwnFile(this.#place.real);
    return isOwnFile || (this.#hasOwn && !this.#hasOther);
  }

  isUnread(path: string): boolean {
    return [...this.#unread.keys()].some((folder) => within(path, folder));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#turn;
    await this.#close();
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn
      .then(() => (this.#isStopped ? undefined : step()))
      .catch((error: unknown) => this.#report(error));
    return this.#turn;
  }

  #report(error: unknown): void {
    const { pattern, root } = this.#selection;
    this.#problem = `${pattern} cannot be watched: ${errorMessage(error)}`;
    this.#deps.logger.warn({ path: root, error: errorMessage(error) }, this.#problem);
    this.#checkAgain();
  }

  #setUnread(now: Unread): void {
    const before = this.#unread;
    this.#unread = now;
    const text = unreadText(this.#selection, now);
    if (text !== undefined && text !== unreadText(this.#selection, before)) this.#deps.logger.warn({}, text);
    for (const folder of before.keys()) if (!now.has(folder)) this.#deps.missed(folder);
  }

  #checkAgain(afterMs = CHECK_AGAIN_MS): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(afterMs, () => void this.#inTurn(() => this.#open()));
  }

  /** Resolves when everything that is there was reported. */
  async #open(): Promise<void> {
    await this.#close();
    this.#problem = undefined;
    const block = await blockOf(this.#selection);
    if (block !== undefined) {
      this.#setUnread(block);
      return this.#checkAgain();
    }
    this.#place = await placeOf(this.#selection.root);
    if (this.#place.kind !== "nowhere") return this.#watch(this.#place);
    this.#setUnread(new Map());
    this.#checkAgain();
  }

  async #watch(at: Opened["at"]): Promise<void> {
    const { clock } = this.#deps;
    const root = at.kind === "folder" ? at.real : dirname(at.real);
    // Loaded when there is something to watch: a start without files need not pay for it.
    const { watch } = await import("chokidar");
    const folders = createIdentities(clock, (replaced) => {
      if (this.#opened === opened) void this.#inTurn(() => this.#reopen(replaced.map((path) => this.#shown(path, at))));
    });
    const watcher = watch(root, {
      persistent: false,
      followSymlinks: false,
      ignorePermissionErrors: true,
      alwaysStat: true,
      atomic: false, // what was deleted and created again must be seen as such
      usePolling: this.#isPolling,
      interval: POLL_MS,
      depth: at.kind === "folder" ? this.#selection.depth : 0,
      ignored: (path, stats) => path !== root && this.#ignores(path, stats, at),
    });
    const fresh = createFreshFolders({
      clock,
      file: (path, stats) => this.#touched(path, stats, opened),
      folder: (path) => {
        if (this.#opened !== opened || folders.knows(path)) return;
        if (this.#selection.enters(this.#shown(path, at)) && !this.#deps.isOwnFile(path)) watcher.add(path);
      },
      onError: (error) => this.#onError(error, opened),
    });
    const opened: Opened = { watcher, at, root, folders, fresh, denied: new Map(), count: 0, isReady: false };
    this.#opened = opened;
    this.#listen(opened);
    await new Promise<void>((done) => {
      watcher.once("ready", done);
      watcher.once("error", () => done());
    });
    opened.isReady = true;
    this.#setUnread(new Map(opened.denied));
    if (folders.knows(root)) void this.#watchOver(opened);
    else this.#checkAgain(); // it went between the look at it and the watch
  }

  #listen(opened: Opened): void {
    const { watcher, at, root, folders, fresh, denied } = opened;
    watcher
      .on("add", (path, stats) => {
        this.#counted(opened);
        if (path === at.real && stats?.isSymbolicLink()) return; // it leads nowhere yet
        if (path === at.real) this.#place = { kind: "file", real: at.real };
        this.#touched(path, stats, opened);
      })
      .on("change", (path, stats) => this.#touched(path, stats, opened))
      .on("unlink", (path) => {
        opened.count--;
        if (path === at.real) this.#place = { kind: "absent", real: at.real };
        // A file in a folder that cannot be listed is not known to be gone.
        const isKnownGone = whyUnread(dirname(path)) === undefined;
        if (this.#isSelected(path, at) && isKnownGone) this.#deps.touched(this.#shown(path, at), undefined);
      })
      .on("addDir", (path, stats) => {
        this.#counted(opened);
        if (path === root || this.#selection.enters(this.#shown(path, at))) {
          const why = whyUnread(path);
          folders.seen(path, stats, why !== undefined);
          if (why !== undefined) denied.set(this.#shown(path, at), why);
          if (why !== undefined && opened.isReady) this.#setUnread(new Map(denied));
        }
        if (opened.isReady && at.kind === "folder") fresh.seen(path);
        if (at.kind !== "folder" && path === at.real) void this.#inTurn(() => this.#open());
      })
      .on("unlinkDir", (path) => {
        opened.count--;
        // The folder need not be gone: the watcher reports a folder that cannot be listed like this, too.
        if (path === root || whyUnread(path) !== undefined) return folders.suspect(path);
        folders.forget(path);
        if (denied.delete(this.#shown(path, at))) this.#setUnread(new Map(denied));
      })
      .on("raw", (_event, name, details) => {
        const watched = watchedPathOf(details);
        if (watched !== undefined) folders.suspect(watched);
        // A file is named by its folder, or by itself where it is polled.
        const isKnown = watched !== undefined && folders.knows(watched);
        const path = watched === undefined ? name : isKnown && name ? join(watched, name) : undefined;
        if (path && folders.knows(path)) folders.suspect(path);
        if (path && this.#isSelected(path, at)) fresh.named(path);
      })
      .on("error", (error) => this.#onError(error, opened));
  }

  /** The path as the selection names it. */
  #shown(path: string, { real }: Opened["at"]): string {
    return moved(path, real, this.#selection.root);
  }

  #ignores(path: string, stats: Stats | undefined, at: Opened["at"]): boolean {
    if (at.kind !== "folder") return path !== at.real;
    const shown = this.#shown(path, at);
    const isOwn = this.#deps.isOwnFile(path);
    if (isOwn && this.#selection.selects(shown)) this.#hasOwn = true;
    return isOwn || this.#selection.ignores(shown) || (stats?.isFile() === true && !this.#selection.selects(shown));
  }

  #isSelected(path: string, at: Opened["at"]): boolean {
    if (this.#deps.isOwnFile(path)) return false;
    return at.kind === "folder" ? this.#selection.selects(this.#shown(path, at)) : path === at.real;
  }

  #touched(path: string, stats: Stats | undefined, { at, fresh }: Opened): void {
    if (!stats || !this.#isSelected(path, at)) return;
    this.#hasOther = true;
    fresh.reported(path, stats);
    const shown = this.#shown(path, at);
    this.#deps.touched(shown, snapshotOf(shown, stats));
  }

  #counted(opened: Opened): void {
    if (++opened.count === this.#deps.maxWatched + 1) void this.#inTurn(() => this.#giveUp());
  }

  /** Changes of the root itself, of a link on the way to it, and of paths that cannot be read, are not always reported. */
  async #watchOver(opened: Opened): Promise<void> {
    const { at, root, folders } = opened;
    const { clock, missed } = this.#deps;
    for (const folder of this.#unread.keys()) folders.suspect(moved(folder, this.#selection.root, at.real));
    folders.suspect(root);
    const leadsTo = await placeOf(this.#selection.root).catch(() => undefined); // opening it again reports why
    if (this.#opened !== opened) return;
    if (leadsTo?.real !== at.real) return this.#inTurn(() => this.#reopen([this.#selection.root], missed));
    const isTold = at.real === this.#selection.root && this.#unread.size === 0;
    this.#timer?.cancel();
    this.#timer = clock.after(isTold ? WATCH_OVER_MS : CHECK_AGAIN_MS, () => void this.#watchOver(opened));
  }

  async #reopen(replaced: readonly string[], changed = this.#deps.gone): Promise<void> {
    this.#deps.logger.debug(
      { folders: replaced },
      "folders were removed, replaced, linked elsewhere or made readable or not; they are watched again",
    );
    await this.#close();
    for (const folder of replaced) {
      const at = await unreadAt(folder);
      if (at !== undefined) this.#setUnread(new Map([...this.#unread, at]));
      else if (!this.#unread.has(folder)) changed(folder);
    }
    if (this.#unread.size === 0) this.#place = await placeOf(this.#selection.root);
    this.#checkAgain(LET_GO_MS);
  }

  async #giveUp(): Promise<void> {
    const { maxWatched, logger } = this.#deps;
    await this.#close();
    this.#problem = `${this.#selection.pattern} has more than ${maxWatched.toLocaleString("en-US")} files and folders and is not watched: narrow \`paths\` or add to \`ignore\``;
    logger.warn({ path: this.#selection.root }, this.#problem);
  }

  #onError(error: unknown, of: Opened): void {
    if (this.#opened !== of) return;
    const { root, pattern } = this.#selection;
    if (isOutOfRoom(error) && !this.#isPolling) {
      this.#isPolling = true;
      this.#deps.logger.warn({ path: root }, `${pattern} is polled: ${errorMessage(error)}`);
      void this.#inTurn(() => this.#open());
    } else if (!isGone(error) && !isDenied(error)) void this.#inTurn(() => Promise.reject(error));
  }

  async #close(): Promise<void> {
    this.#timer?.cancel();
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.folders.stop();
    opened?.fresh.stop();
    await opened?.watcher.close();
  }
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
