/**
 * Tells which files of a selection may have changed, as long as it runs: through a folder that is not there yet, that vanishes and
 * comes back, that is too big, or that the system cannot watch. It never says what changed: whoever is told looks at the file.
 */
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { FSWatcher } from "chokidar";
import type { FileSnapshot } from "../../../domain/automation.js";
import type { Clock, Timer } from "../../../lib/clock.js";
import { errorMessage } from "../../../lib/errors.js";
import type { Logger } from "../../../lib/logger.js";
import { isGone, snapshotOf } from "./change.js";
import { moved, type Selection } from "./selection.js";

/** Files and folders of one selection; the memory and the handles that they take are not without bound. */
export const MAX_WATCHED = 20_000;
const LOOK_AGAIN_MS = 2_000;
/** Where the system has no room for another watch (inotify limits), files are looked at this often instead. */
const POLL_MS = 2_000;

export interface SourceParts {
  /** A file of the selection is there and may be new or changed, or (without a snapshot) may be gone. */
  touched(path: string, now: FileSnapshot | undefined): void;
  /** The root is gone, and all in it. */
  vanished(): void;
  clock: Clock;
  logger: Logger;
}

export interface Source {
  /** Resolves when everything that is there now was told, also when nothing is there. */
  readonly ready: Promise<void>;
  readonly problem: string | undefined;
  stop(): Promise<void>;
}

export function openSource(selection: Selection, parts: SourceParts): Source {
  let watcher: FSWatcher | undefined;
  let timer: Timer | undefined;
  let problem: string | undefined;
  let place: Place = { kind: "nowhere" };
  let isStopped = false;
  let isPolling = false;
  /** Turns of opening and closing, one after the other. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (step: () => Promise<void>) => {
    turn = turn.then(() => (isStopped ? undefined : step())).catch(report);
    return turn;
  };

  function report(error: unknown): void {
    problem = `${selection.pattern} cannot be watched: ${errorMessage(error)}`;
    parts.logger.warn({ path: selection.root, error: errorMessage(error) }, problem);
    lookAgain();
  }

  function lookAgain(): void {
    timer?.cancel();
    timer = parts.clock.after(LOOK_AGAIN_MS, () => void inTurn(open));
  }

  /** Resolves when what is there was told. */
  async function open(): Promise<void> {
    await close();
    problem = undefined;
    place = await placeOf(selection.root);
    if (place.kind === "nowhere") return lookAgain();
    await begin(place);
  }

  async function begin(at: Exclude<Place, { kind: "nowhere" }>): Promise<void> {
    const { real } = at;
    const isFolder = at.kind === "folder";
    const shown = (path: string) => moved(path, real, selection.root);
    const watchedRoot = isFolder ? real : dirname(real);
    // Loaded when there is something to watch: a start without files need not pay for it.
    const { watch } = await import("chokidar");
    let count = 0;
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
        return selection.ignores(shown(path)) || (stats?.isFile() === true && !selection.selects(shown(path)));
      },
    });
    watcher = opened;
    const counted = () => {
      if (++count === MAX_WATCHED + 1) void inTurn(giveUp);
    };
    const isSelected = (path: string) => (isFolder ? selection.selects(shown(path)) : path === real);
    opened
      .on("add", (path, stats) => {
        counted();
        if (path === real) place = { kind: "file", real };
        if (stats && isSelected(path)) parts.touched(shown(path), snapshotOf(shown(path), stats));
      })
      .on("change", (path, stats) => {
        if (stats && isSelected(path)) parts.touched(shown(path), snapshotOf(shown(path), stats));
      })
      .on("unlink", (path) => {
        count--;
        if (path === real) place = { kind: "absent", real };
        if (isSelected(path)) parts.touched(shown(path), undefined);
      })
      .on("addDir", (path) => {
        counted();
        if (!isFolder && path === real) void inTurn(open);
      })
      .on("unlinkDir", (path) => {
        count--;
        if (path === watchedRoot && watcher === opened) void inTurn(vanish);
      })
      .on("error", (error) => onError(error, opened));
    await new Promise<void>((done) => {
      opened.once("ready", done);
      opened.once("error", () => done());
    });
  }

  async function vanish(): Promise<void> {
    parts.logger.warn({ path: selection.root }, `${selection.pattern} is gone`);
    parts.vanished();
    await open();
  }

  async function giveUp(): Promise<void> {
    await close();
    problem = `${selection.pattern} has more than ${MAX_WATCHED} files and folders and is not watched: narrow \`paths\` or add to \`ignore\``;
    parts.logger.warn({ path: selection.root }, problem);
  }

  function onError(error: unknown, of: FSWatcher): void {
    if (watcher !== of) return;
    if (isOutOfRoom(error) && !isPolling) {
      isPolling = true;
      parts.logger.warn({ path: selection.root }, `${selection.pattern} is polled: ${errorMessage(error)}`);
      void inTurn(open);
    } else if (!isGone(error)) void inTurn(() => Promise.reject(error));
  }

  async function close(): Promise<void> {
    timer?.cancel();
    const open = watcher;
    watcher = undefined;
    await open?.close();
  }

  const ready = inTurn(open);
  return {
    ready,
    get problem() {
      const isThere = place.kind === "folder" || place.kind === "file";
      return problem ?? (isThere ? undefined : `${selection.pattern} is not there; it is watched as soon as it is`);
    },
    async stop() {
      isStopped = true;
      await turn;
      await close();
    },
  };
}

/** Links are resolved: events name real paths. Of what is not there (yet), the folder that it would be in is watched. */
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

function isOutOfRoom(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EMFILE");
}
