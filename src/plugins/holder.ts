/** An entry of the list `plugins:`, with the plugin that is loaded for it. */
import { resolve } from "node:path";
import { UnknownHookError } from "../hooks/errors.js";
import type { Problem } from "../hooks/registry.js";
import { HookgateError } from "../lib/errors.js";
import type { PluginEntry } from "./config.js";
import { type Candidate, EXIT_CALLED, type LivePlugin } from "./reload.js";

export interface Holder {
  entry: PluginEntry;
  live: LivePlugin | undefined;
  file: string | undefined;
  /** The plugin's file, and the local files that it imports. Until the file is found: the path that the configuration names. */
  files: readonly string[];
  reason: string | undefined;
  /** Its newest version was refused, maybe because of another plugin's points or hooks: it is tried again with the next one. */
  isRefused: boolean;
  /** One of the plugin's hooks has `critical: true`. Undefined: `setup` did not end. */
  isCritical: boolean | undefined;
  /** The plugin's entry was removed from the list: it leaves when every entry is loaded, because one of them may be its new version. */
  isGone: boolean;
  loadedAt: number | undefined;
}

export interface Ready {
  holder: Holder;
  candidate: Candidate;
}

export type Prepared = Ready | { holder: Holder; error: unknown };

/** The plugin was not put in place, or setup needs a change of another plugin, for example a missing point or a taken command name. */
export function mayDependOnOthers(prepared: Prepared): boolean {
  if ("candidate" in prepared) return true;
  const { error } = prepared;
  const cause = error instanceof HookgateError && error.code === "PLUGIN_SETUP" ? error.cause : undefined;
  return cause instanceof HookgateError && cause.code !== EXIT_CALLED;
}

/** The missing point that the plugin's setup needs. */
export function missingPoint(prepared: Prepared | undefined): string | undefined {
  const error = prepared !== undefined && "error" in prepared ? prepared.error : undefined;
  const cause = error instanceof HookgateError ? error.cause : undefined;
  return cause instanceof UnknownHookError ? cause.hook : undefined;
}

/** The first id of a problem is the hook that has it; a cycle belongs to all its hooks. */
export function blames(hookId: string): (problem: Problem) => boolean {
  return ({ code, ids }) => (code === "DEPENDENCY_CYCLE" ? ids.includes(hookId) : ids[0] === hookId);
}

export function holderFor(entry: PluginEntry, baseDir: string): Holder {
  return {
    entry,
    live: undefined,
    file: undefined,
    files: [resolve(baseDir, entry.module)],
    reason: undefined,
    isRefused: false,
    isCritical: undefined,
    isGone: false,
    loadedAt: undefined,
  };
}
