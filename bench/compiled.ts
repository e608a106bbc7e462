/** Compiles a subject of a benchmark, so that it runs without a loader of TypeScript. */
import { mkdtempSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";

const ROOT = resolve(import.meta.dirname, "..");

/** The compiled file, alone in a folder that the caller removes. */
export async function compiled(entry: string): Promise<string> {
  // Inside the project, so that its packages are found.
  const outfile = join(mkdtempSync(join(ROOT, "node_modules/.bench-")), "subject.mjs");
  await build({
    entryPoints: [resolve(ROOT, entry)],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
  });
  return outfile;
}
