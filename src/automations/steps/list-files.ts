/** `- list_files:`: which files there are. Links are listed and never followed. */
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import picomatch from "picomatch";
import { z } from "zod";
import { jsonSchemaOf } from "../../lib/validation/json-schema.js";
import { locate, pathProblems, rootField, wholeFolder } from "../paths.js";
import type { Step } from "../step.js";

const globs = z.array(z.string().min(1));

const listFilesForm = z.strictObject({
  path: z.string().min(1).default(".").describe("The folder to look in."),
  glob: z
    .union([z.string().min(1), globs.min(1)])
    .default("**/*")
    .describe("Which files, from that folder: `**/*.md`. `*` and `**` match names that start with a dot, too."),
  ignore: globs.default(["**/.git/**", "**/node_modules/**"]).describe("Which not."),
  limit: z.int().min(1).max(10_000).default(500).describe("How many at most."),
  root: rootField,
});

const listFilesOptions = listFilesForm.superRefine(({ glob, ignore }, context) => {
  const all = ignore.findIndex((pattern) => /^(\*\*\/)*(\*\*|\*\*\/\*)$/.test(wholeFolder(pattern)));
  if (all >= 0)
    context.addIssue({
      code: "custom",
      path: ["ignore", all],
      message: `"${ignore[all]}" leaves out every file, so the list is always empty`,
    });
  const lost = [glob].flat().find((pattern) => /^(\.\.)?\//.test(pattern));
  if (lost === undefined) return;
  const message = `"${lost}" matches nothing: a pattern is compared with paths below \`path\`. Name the folder with \`path\``;
  context.addIssue({ code: "custom", path: ["glob"], message });
});

const listedFile = z.object({ path: z.string(), sizeBytes: z.number(), modifiedAt: z.string() });

/** A tree with more entries is not walked to its end; the result shows this. */
const MAX_ENTRIES = 100_000;

export const listFilesStep: Step<z.output<typeof listFilesOptions>> = {
  name: "list_files",
  summary: "Lists files: their paths, sizes and times, by name.",
  options: listFilesOptions,
  verbatim: ["root"],
  places: ["path"],
  fields: { files: "array", paths: "array", count: "number", truncated: "boolean" },
  itemsOf: () => ({ files: jsonSchemaOf(listedFile), paths: { type: "string" } }),
  missing: ({ path, root }, machine) => pathProblems(path, "folder", { ...machine, root }),
  async run({ path, root, glob, ignore, limit }, context) {
    const { maxBytes, signal } = context;
    const { path: top } = await locate(path, root, context, context.folders.path);
    const isWanted = picomatch([glob].flat().map(wholeFolder), { dot: true });
    const isIgnored = picomatch(ignore, { dot: true });
    const walked = await walk(top, isIgnored, signal);
    const wanted = walked.names.filter((name) => isWanted(name)).sort();
    const files: z.output<typeof listedFile>[] = [];
    let bytes = 0;
    for (const name of wanted) {
      bytes += Buffer.byteLength(name) + 1;
      if (files.length === limit || bytes > maxBytes) break;
      signal.throwIfAborted();
      const stat = await lstat(join(top, name)).catch(() => undefined); // deleted meanwhile
      if (stat !== undefined) files.push({ path: name, sizeBytes: stat.size, modifiedAt: stat.mtime.toISOString() });
    }
    const paths = files.map((file) => file.path);
    return {
      value: { files, paths, count: wanted.length, truncated: walked.isCut || files.length < wanted.length },
      text: paths.join("\n"),
      // A tree that was not walked to its end is not known to be empty.
      isEmpty: wanted.length === 0 && !walked.isCut,
    };
  },
};

async function walk(top: string, isIgnored: (name: string) => boolean, signal: AbortSignal) {
  const names: string[] = [];
  const folders = [top];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    for (const entry of await entriesOf(folder, folder === top)) {
      if (++entries > MAX_ENTRIES) return { names, isCut: true };
      const path = join(folder, entry.name);
      const name = relative(top, path).split(sep).join("/");
      if (isIgnored(name) || isIgnored(`${name}/`)) continue;
      if (entry.isDirectory()) folders.push(path);
      else names.push(name);
    }
  }
  return { names, isCut: false };
}

async function entriesOf(folder: string, isTop: boolean): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // Deleted while we walked. A folder that may not be read is an error: its files would be missing without a word.
    if (!isTop && code === "ENOENT") return [];
    throw error;
  }
}
