/**
 * Replaces one set of definitions by another in one go: no dispatch sees half of it. An unchanged definition keeps its registration; one
 * that the registry refuses is broken. A hook whose new version is broken stays as it was, until the file is fixed.
 */
import { dirname } from "node:path";
import { isUnfit } from "../hooks/registration/validate.js";
import type { HookRegistry, Problem, Unregister } from "../hooks/registry.js";
import { errorMessage } from "../lib/errors.js";
import type { Definition } from "./definition/definition.js";
import { type BrokenHook, isSame, type LoadedHooks } from "./definition/load.js";
import { within } from "./paths.js";
import { type Runner, registerDefinition } from "./register.js";
import { eventName } from "./triggers/event-point.js";

export interface Live {
  definition: Definition;
  unregister: Unregister;
}

export interface Installed {
  live: Map<string, Live>;
  broken: BrokenHook[];
  added: string[];
  changed: string[];
  removed: string[];
}

export function install(
  registry: HookRegistry,
  before: ReadonlyMap<string, Live>,
  next: LoadedHooks,
  run: Runner,
): Installed {
  let live = new Map<string, Live>();
  const broken = [...next.broken];
  const wanted = new Map(next.definitions.map((definition) => [definition.id, definition]));
  for (const { definition } of before.values()) {
    if (wanted.has(definition.id)) continue;
    const why = whyItStays(definition, before, next);
    if (why === undefined) continue;
    wanted.set(definition.id, definition);
    if (why.id !== definition.id && why.isWholeFile !== true) broken.push(brokenBy(definition, [goneBeside(why)]));
  }
  const replaced = new Set(
    [...before.values()].filter(({ definition }) => !isSame(wanted.get(definition.id), definition)),
  );
  for (const { definition, unregister } of replaced)
    if (wanted.has(definition.id)) registry.retire(definition.id);
    else unregister();
  for (const definition of wanted.values()) {
    const same = before.get(definition.id);
    // The place of the definition may be another one.
    if (same !== undefined && !replaced.has(same)) live.set(definition.id, { ...same, definition });
    else register(definition);
  }
  takeOutUnfit();
  putBack();
  live = inOrder(live, before, next);
  // Among equals of priority the order is the file's, regardless of which one a reload changed.
  registry.arrange([...live.keys()], "last");
  return { live, broken, ...difference(before, live, replaced) };

  function register(definition: Definition): void {
    try {
      live.set(definition.id, { definition, unregister: registerDefinition(registry, definition, run) });
    } catch (error) {
      broken.push(brokenBy(definition, [errorMessage(error)]));
    }
  }

  /** Takes out hooks in circles, and hooks with problems that show only when all are there. Taking one out may unfit another. */
  function takeOutUnfit(): void {
    for (let round = 0; round <= live.size; round++) {
      const byHook = problemsByHook(registry.validate().filter(isUnfit), live);
      if (byHook.size === 0) return;
      for (const [id, messages] of byHook) {
        const one = live.get(id);
        if (one === undefined) continue;
        one.unregister();
        live.delete(id);
        broken.push(brokenBy(one.definition, messages));
      }
    }
  }

  /** Keeps the previous version of a hook whose new version the registry refuses, where the previous one still fits. */
  function putBack(): void {
    for (const { id } of broken) {
      const old = before.get(id)?.definition;
      if (old === undefined || live.has(id)) continue;
      try {
        live.set(id, { definition: old, unregister: registerDefinition(registry, old, run) });
      } catch {
        // Its problems are listed already, as those of the new version.
      }
    }
    for (const [id] of problemsByHook(registry.validate().filter(isUnfit), live)) {
      live.get(id)?.unregister();
      live.delete(id);
    }
  }
}

/**
 * Sorts the hooks in the order of the files. A previous version takes the place of its new version; where that cannot be read, its place
 * is after the hook of its file that it followed.
 */
function inOrder(
  live: ReadonlyMap<string, Live>,
  before: ReadonlyMap<string, Live>,
  { written, files }: LoadedHooks,
): Map<string, Live> {
  const fileOrder = new Map(files.map((file, index) => [file, index]));
  // A file in a folder that cannot be listed has the place of the folder.
  const orderOf = (file: string): number =>
    fileOrder.get(file) ?? (dirname(file) === file ? files.length : orderOf(dirname(file)));
  const placeIn = (file: string, index: number) => ({ file: orderOf(file), index });
  const places = new Map([...written].map(([id, { file }], index) => [id, placeIn(file, index)]));
  const lastIn = new Map<number, number>();
  for (const [id, { definition }] of before) {
    const { file } = placeIn(definition.place.file, 0);
    const place = places.get(id) ?? { file, index: Math.floor(lastIn.get(file) ?? -1) + 0.5 };
    places.set(id, place);
    if (place.file === file) lastIn.set(file, place.index);
  }
  const placeOf = (id: string) => places.get(id) ?? placeIn("", 0);
  return new Map(
    [...live].sort(([one], [other]) => {
      const [a, b] = [placeOf(one), placeOf(other)];
      return a.file - b.file || a.index - b.index;
    }),
  );
}

/**
 * The broken entry for which a hook that is missing was not removed: its own new version, its whole file or folder, or an entry of its
 * file that may have been this hook (a new id in its place) or may have swallowed it. Undefined: the hook was removed.
 */
function whyItStays(
  { id, point, place }: Definition,
  before: ReadonlyMap<string, Live>,
  { broken, events, written }: LoadedHooks,
): BrokenHook | undefined {
  if (point.startsWith(eventName("")) && !events?.some((event) => eventName(event) === point)) return undefined;
  return (
    broken.find((one) => one.id === id) ??
    broken.find((one) => (one.isWholeFile ?? one.mayHideOthers) === true && within(place.file, one.place.file)) ??
    broken.find((one) => !before.has(one.id) && one.place.file === place.file && hasItsPlace(one.id))
  );

  function hasItsPlace(newId: string): boolean {
    const isHere = (at: { file: string }) => at.file === place.file;
    const was = [...before].flatMap(([one, { definition }]) => (isHere(definition.place) ? [one] : []));
    const is = [...written].flatMap(([one, at]) => (isHere(at) ? [one] : []));
    return placeAmong(was, id, written) === placeAmong(is, newId, before);
  }
}

/** The hook that stays before this one, and the distance from it. */
function placeAmong(ids: readonly string[], id: string, stay: ReadonlyMap<string, unknown>): string {
  const index = ids.indexOf(id);
  const last = ids.slice(0, index).findLastIndex((one) => stay.has(one));
  return `${ids[last] ?? ""} ${index - last}`;
}

function goneBeside({ place: { line } }: BrokenHook): string {
  const other = line === undefined ? "another entry of it" : `the entry at line ${line}`;
  return `it is not in its file any more, but ${other} is broken and may have been this hook, or have swallowed it. The previous version stays in force until that entry is corrected`;
}

function problemsByHook(problems: readonly Problem[], live: ReadonlyMap<string, Live>): Map<string, string[]> {
  const byHook = new Map<string, string[]>();
  for (const { code, ids, message } of problems) {
    // The first id of a problem is the hook that has it; a circle is everybody's in it.
    const guilty = code === "DEPENDENCY_CYCLE" ? ids : ids.slice(0, 1);
    for (const id of guilty) if (live.has(id)) byHook.set(id, [...(byHook.get(id) ?? []), message]);
  }
  return byHook;
}

function brokenBy({ id, place, critical }: Definition, messages: readonly string[]): BrokenHook {
  return { id, place, critical, problems: messages.map((message) => ({ hookId: id, ...place, path: "", message })) };
}

function difference(before: ReadonlyMap<string, Live>, after: ReadonlyMap<string, Live>, replaced: ReadonlySet<Live>) {
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    changed: [...before].flatMap(([id, one]) => (after.has(id) && replaced.has(one) ? [id] : [])),
    removed: [...before.keys()].filter((id) => !after.has(id)),
  };
}
