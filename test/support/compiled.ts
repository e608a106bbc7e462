/**
 * A program of the tests, written in TypeScript and compiled into one file: a child process that is started again and again would
 * otherwise compile the whole product at each start.
 */
import { basename, resolve } from "node:path";
import { build } from "esbuild";

/** Beside the compiled product, whose journal's thread and pages it looks for there. */
const FOLDER = resolve(import.meta.dirname, "../../dist/src");

/** Resolves with the path of what was compiled. */
export async function compiled(entry: string): Promise<string> {
  const outfile = `${FOLDER}/test-${basename(entry, ".ts")}.js`;
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["@resvg/resvg-js", "pino-pretty"],
    banner: {
      js: 'import { createRequire as nodeRequire } from "node:module"; const require = nodeRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  return outfile;
}
