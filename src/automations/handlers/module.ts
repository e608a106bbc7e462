/**
 * `run: module`: an exported function of a local JavaScript module. It runs inside the gateway, so that only a file that the owner
 * controls may be named, and it is loaded again when that file, or a local file that it imports, has changed.
 */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { causedBy } from "../../hooks/dry-run.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { addressOf, importAnew, localFiles } from "../../lib/files/fresh-imports.js";
import { isMissing, whyFileUnread } from "../../lib/files/list-folder.js";
import { placeInOrBelow, placeOfSyntaxError, unreadFileOf } from "../../lib/files/module-place.js";
import { systemClock, wait } from "../../lib/time/clock.js";
import type { Handler, HandlerResult } from "../handler.js";
import { errorWithoutPaths } from "../paths.js";
import type { RunContext } from "../run-context.js";
import { isTemplate } from "../template/is-template.js";
import { decisionFromValue } from "./decision.js";

const moduleOptions = z.strictObject({
  path: z
    .string()
    .min(1)
    .refine((path) => !isTemplate(path), "a module's path is no template")
    .refine((path) => /\.[cm]?js$/.test(path), "expected a JavaScript file: .js, .mjs or .cjs")
    .describe("The module: .js, .mjs or .cjs, relative to the folder of the definition."),
  export: z.string().min(1).default("default").describe("The name of the exported function."),
  with: z
    .record(z.string(), z.json())
    .default({})
    .describe("Given to the function as `context.options`; with templates."),
});
type ModuleOptions = z.output<typeof moduleOptions>;

/** The context that the function gets besides the payload. */
export interface ModuleContext {
  readonly hookId: string;
  readonly runId: string;
  readonly attempt: number;
  readonly event: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Aborts at the deadline: a later result of the function is ignored. */
  readonly signal: AbortSignal;
  readonly logger: RunContext["logger"];
}

export const moduleHandler: Handler<ModuleOptions> = {
  name: "module",
  summary: "Calls an exported function of a local module; what it returns decides.",
  options: moduleOptions,
  verbatim: ["path", "export"],
  missing({ path }, { folder }) {
    const file = resolve(folder, path);
    return isMissing(file) ? [`there is no module ${file}`] : [];
  },
  version: ({ path }, folder) => versionOf(resolve(folder, path)),
  async faults(options, folder) {
    const file = resolve(folder, options.path);
    const version = versionOf(file);
    if (version === undefined) return []; // it is listed as missing
    const known = examined.get(options);
    if (known?.version === version) return known.faults;
    const faults = await faultsOf(options, folder, file);
    examined.set(options, { version, faults });
    return faults;
  },
  ownerOnly: true,
  async run(options, context) {
    const rendered = `${options.path}#${options.export}`;
    try {
      const call = await load(options, context, { mayBeOld: true });
      if (context.dryRun) return { kind: "decided", decision: { kind: "pass" }, rendered, output: { dryRun: true } };
      const returned = await untilAborted(callNamed(call, options, context), context.signal);
      return { ...resultOf(returned), rendered, output: kept(returned) };
    } catch (error) {
      const timedOut = context.signal.aborted;
      const isRetryable = !(error instanceof HookgateError) || error.retryable;
      return {
        kind: "failed",
        error: errorWithoutPaths(error, context.folder),
        timedOut: timedOut || undefined,
        isRetryable,
        rendered,
      };
    }
  },
};

/** Calls the function under the name of its hook and module, which is reported when the function calls `process.exit`. */
function callNamed(call: Call, options: ModuleOptions, context: RunContext): unknown {
  const { hookId, runId: dispatchId, cause, folder, event } = context;
  const handler = { hookId, module: resolve(folder, options.path), context: { dispatchId }, isCalled: true };
  try {
    return causedBy(cause, () => call(copyOf(event), given(options, context)), handler);
  } finally {
    handler.isCalled = false;
  }
}

function given(options: ModuleOptions, context: RunContext): ModuleContext {
  const { hookId, runId, attempt, eventName, signal, logger } = context;
  return { hookId, runId, attempt, event: eventName, options: options.with, signal, logger };
}

function resultOf(returned: unknown): HandlerResult {
  const read = decisionFromValue(returned);
  switch (read.kind) {
    case "decision":
      return { kind: "decided", decision: read.decision };
    case "none":
      return { kind: "decided", decision: { kind: "pass" }, undecided: { given: returned } };
    case "unreadable":
      return {
        kind: "failed",
        error: `what the function returned means to decide, but ${read.error}`,
        isRetryable: false,
      };
  }
}

type Call = (event: unknown, context: ModuleContext) => unknown;

/** The problems that were found: a file is examined once for each time that it changes. */
const examined = new WeakMap<ModuleOptions, { version: string; faults: readonly string[] }>();

async function faultsOf(options: ModuleOptions, folder: string, file: string): Promise<string[]> {
  const late = new AbortController();
  try {
    await Promise.race([load(options, { folder }), tooLate(late.signal)]);
    return [];
  } catch (error) {
    if (error instanceof HookgateError) return [error.message];
    const place =
      placeInOrBelow(error, { file }) || (error instanceof SyntaxError ? await placeOfSyntaxError({ file }) : "");
    return [`the module ${options.path} cannot be loaded: ${errorMessage(error)}${place}`];
  } finally {
    late.abort();
  }
}

/** By path: the version of a module that was imported last, and its exports. */
const imported = new Map<string, { version: string; loaded?: Record<string, unknown> }>();

/** `mayBeOld`: the module that was loaded before stays in force while its files may not be read. */
async function load(
  options: ModuleOptions,
  { folder }: Pick<RunContext, "folder">,
  { mayBeOld = false } = {},
): Promise<Call> {
  const path = resolve(folder, options.path);
  const unread = unreadFileOf(path);
  const old = mayBeOld && unread !== undefined ? imported.get(path)?.loaded : undefined;
  // Before it is imported: Node keeps for good that an import failed.
  if (unread !== undefined && old === undefined)
    throw new HookgateError({
      code: "MODULE_UNREAD",
      message: `the module ${options.path} cannot be loaded: ${unread}`,
      retryable: true,
    });
  const loaded = old ?? (await importVersion(path));
  const call = loaded[options.export];
  if (typeof call === "function") return call as Call;
  const known = Object.keys(loaded).filter((name) => typeof loaded[name] === "function");
  throw new HookgateError({
    code: "MODULE_EXPORT_MISSING",
    message: `${options.path} exports no function "${options.export}"${known.length === 0 ? "" : `; it exports ${known.join(", ")}`}`,
  });
}

/** Node keeps a module for good under its address: the times and sizes of its files in it make a changed one new. */
async function importVersion(path: string): Promise<Record<string, unknown>> {
  const version = versionOf(path);
  if (version === undefined) throw new HookgateError({ code: "MODULE_MISSING", message: `there is no module ${path}` });
  // Not at each run: a module that is required during a run keeps its state until a file changes.
  if (imported.get(path)?.version !== version) {
    importAnew(localFiles(path));
    imported.set(path, { version });
  }
  const loaded = (await import(`${addressOf(path)}?version=${version}`)) as Record<string, unknown>;
  imported.set(path, { version, loaded });
  return loaded;
}

/**
 * A digest of the times and sizes of the module's file and the local files that it imports, or of why one cannot be read. Undefined when
 * the module's file is not there.
 */
function versionOf(path: string): string | undefined {
  const texts = localFiles(path).map(fileVersion);
  if (texts[0] === undefined) return undefined;
  return createHash("sha256").update(texts.join()).digest("hex").slice(0, 16);
}

function fileVersion(path: string): string | undefined {
  const unread = whyFileUnread(path);
  if (unread !== undefined) return unread;
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs}-${size}-${ino}`;
  } catch {
    return undefined; // not there
  }
}

/** A module that waits for ever while it is loaded is not waited for. */
function tooLate(signal: AbortSignal): Promise<never> {
  const message = `its module is not loaded after ${LOADED_WITHIN_MS / 1000} s`;
  return wait(systemClock, LOADED_WITHIN_MS, signal).then(() => {
    throw new HookgateError({ code: "MODULE_LATE", message });
  });
}

const LOADED_WITHIN_MS = 5_000;

/** A copy that the function may change. */
function copyOf(event: unknown): unknown {
  try {
    return structuredClone(event);
  } catch {
    return JSON.parse(JSON.stringify(event)); // a payload of a plugin's point may hold functions
  }
}

/** The result in the form that the history keeps: JSON. */
function kept(returned: unknown): unknown {
  try {
    return returned === undefined ? undefined : JSON.parse(JSON.stringify(returned) ?? "null");
  } catch {
    return String(returned);
  }
}

/** A function cannot be stopped from outside; it is not waited for any longer. */
function untilAborted(value: unknown, signal: AbortSignal): Promise<unknown> {
  return new Promise((done, fail) => {
    const onAbort = () => fail(signal.reason instanceof Error ? signal.reason : new Error("the run was ended"));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    Promise.resolve(value)
      .then(done, fail)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}
