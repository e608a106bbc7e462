/** The watches of all `files:` hooks. A watch is replaced only when its hook selects other files. */

import { errorMessage } from "../../lib/errors.js";
import { isMissing } from "../../lib/files/list-folder.js";
import { wait } from "../../lib/time/clock.js";
import type { Definition, TriggerOf } from "../definition/definition.js";
import type { TriggerProblem } from "./trigger.js";
import { HELD_SCOPE } from "./watch/own-output.js";
import { selectionOf } from "./watch/selection.js";
import { unreadIn, unreadText } from "./watch/unread.js";
import { FIRED_SCOPE, openWatch, type Watch, type WatchDeps, watchKey } from "./watch/watch.js";

/** A big or slow tree does not delay the start for longer; it is added when it is ready. */
const PATIENCE_MS = 15_000;

export interface Watches {
  sync(definitions: readonly Definition[], broken?: readonly string[]): Promise<void>;
  problems(): TriggerProblem[];
  /** Starts the hook with the changes that were held because it seems to start itself. True when something was held. */
  release(hookId: string): Promise<boolean>;
  stop(): Promise<void>;
}

export function createWatches(deps: WatchDeps): Watches {
  /** By the text of all that the watch depends on. */
  let open = new Map<string, { hookId: string; hash: string; watch: Watch }>();

  async function sync(definitions: readonly Definition[], broken: readonly string[] = []): Promise<void> {
    const before = open;
    open = new Map();
    const fresh: Watch[] = [];
    const wanted = definitions.flatMap((definition) => watchedOf(definition) ?? []);
    const names = new Set(wanted.map(({ name }) => name));
    for (const [name, { watch }] of before) if (!names.has(name)) await watch.stop();
    for (const { name, definition, trigger } of wanted) {
      const kept = before.get(name);
      if (kept === undefined) await carryOver(definition, trigger);
      const watch = kept?.watch ?? openWatch(definition, trigger, deps);
      if (kept === undefined) fresh.push(watch);
      open.set(name, { hookId: definition.id, hash: definition.hash, watch });
      // The hook may have been corrected.
      if (kept !== undefined && kept.hash !== definition.hash) await watch.release();
    }
    await forgetOthers(new Set(broken));
    await inPatience(Promise.all(fresh.map(taken)));
  }

  /** A hook that is held and selects other files from now on, as a correction of it does: changes in the meantime are still found. */
  async function carryOver(definition: Definition, trigger: TriggerOf<"files">): Promise<void> {
    const key = watchKey(definition.id, trigger, definition.folder);
    if ((await deps.store.get(key)) !== undefined) return;
    const selections = trigger.paths.map((pattern) => selectionOf(pattern, trigger.ignore, definition.folder));
    for (const { key: held } of await deps.keyValue.list(HELD_SCOPE, `${definition.id}#`)) {
      const known = (await deps.store.get(held)) ?? [];
      const selected = known.filter(({ path }) => selections.some((one) => one.selects(path)));
      await deps.store.update(key, selected, []);
    }
  }

  /** Snapshots of hooks that are gone, or that select other files now. */
  async function forgetOthers(broken: ReadonlySet<string>): Promise<void> {
    const keys = new Set([...open.values()].map(({ watch }) => watch.key));
    const isGone = (key: string) => !keys.has(key) && !broken.has(key.slice(0, key.lastIndexOf("#")));
    for (const key of await deps.store.watches()) if (isGone(key)) await deps.store.forget(key);
    for (const scope of [HELD_SCOPE, FIRED_SCOPE])
      for (const { key } of await deps.keyValue.list(scope, ""))
        if (isGone(key.split(" ", 1)[0] ?? key)) await deps.keyValue.delete(scope, key);
  }

  async function taken(watch: Watch): Promise<void> {
    await watch.ready.catch((error: unknown) =>
      deps.logger.error({ watch: watch.key, error: errorMessage(error) }, "files are not watched"),
    );
  }

  async function inPatience(ready: Promise<unknown>): Promise<void> {
    const enough = new AbortController();
    const late = wait(deps.clock, PATIENCE_MS, enough.signal).then(
      () => deps.logger.warn({}, "file watches are slow to start; the gateway starts without waiting for them"),
      () => {}, // all were ready in time
    );
    await Promise.race([ready, late]);
    enough.abort();
  }

  return {
    sync,
    problems: () =>
      [...open.values()].flatMap(({ hookId, watch }) => [
        ...watch.problems().map((message) => ({ hookId, message })),
        ...watch.waitsFor().map((pattern) => waitingNote(hookId, pattern)),
        ...(watch.isOwnOnly() ? [{ hookId, message: OWN_ONLY, isNote: true as const }] : []),
      ]),
    async release(hookId) {
      const own = [...open.values()].filter((one) => one.hookId === hookId);
      const released = await Promise.all(own.map(({ watch }) => watch.release()));
      return released.includes(true);
    },
    async stop() {
      await Promise.all([...open.values()].map(({ watch }) => watch.stop()));
    },
  };
}

const OWN_ONLY =
  "the files that `paths` names at present are all of the gateway itself, whose changes start no hook; another file there does";

/** For a check, which watches nothing. */
export function notThereYet({ id, trigger, folder }: Definition): TriggerProblem[] {
  if (trigger.kind !== "files") return [];
  const absent = trigger.paths.filter((pattern) => isMissing(selectionOf(pattern, trigger.ignore, folder).root));
  return absent.map((pattern) => waitingNote(id, pattern));
}

/** For a check: folders that `paths` names, or that are in one, and that cannot be read. */
export async function unreadFolders({ id, trigger, folder }: Definition): Promise<TriggerProblem[]> {
  if (trigger.kind !== "files") return [];
  const selections = trigger.paths.map((pattern) => selectionOf(pattern, trigger.ignore, folder));
  const texts = await Promise.all(selections.map(async (one) => unreadText(one, await unreadIn(one)) ?? []));
  return texts.flat().map((message) => ({ hookId: id, message }));
}

function waitingNote(hookId: string, pattern: string): TriggerProblem {
  return { hookId, message: `${pattern} is not there yet; it is watched as soon as it is`, isNote: true };
}

function watchedOf(definition: Definition) {
  const { id, folder, trigger } = definition;
  if (trigger.kind !== "files") return undefined;
  return { name: JSON.stringify([id, folder, trigger]), definition, trigger };
}
