/** Starts one of our worker threads: compiled where we are compiled, and from source where tests and `npx tsx` run. */
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/**
 * `source`: the thread's own file, of any folder of src. `compiled`: its name in dist/src, beside the chunk that starts it.
 * From source it is the file that was compiled last, when that is up to date; else the thread has to learn TypeScript first, by itself
 * (on Node 20 `--import tsx` is not heeded in a thread), which costs a third of a second.
 */
export function startThread(name: string, source: URL, compiled: string, workerData?: unknown): Worker {
  if (!import.meta.url.endsWith(".ts"))
    return new Worker(new URL(`./${compiled}`, import.meta.url), { workerData, name });
  const options = { workerData, name, execArgv: [] };
  const file = new URL(`../../dist/src/${compiled}`, import.meta.url);
  if (isUpToDate(file, new URL(".", source))) return new Worker(file, options);
  // Its module build: the other one cannot register hooks. (`import.meta.resolve` is missing where tests run.)
  const tsxFile = createRequire(import.meta.url)
    .resolve("tsx/esm/api")
    .replace(/\.cjs$/, ".mjs");
  const tsx = JSON.stringify(pathToFileURL(tsxFile).href);
  const code = `import(${tsx}).then(({ register }) => (register(), import(${JSON.stringify(source.href)})))`;
  return new Worker(code, { ...options, eval: true });
}

/** Whether a file is there and younger than all files in the folder of its sources. */
function isUpToDate(file: URL, sources: URL): boolean {
  const changedAt = (url: URL) => statSync(url, { throwIfNoEntry: false })?.mtimeMs;
  const at = changedAt(file);
  return at !== undefined && readdirSync(sources).every((name) => (changedAt(new URL(name, sources)) ?? 0) <= at);
}
