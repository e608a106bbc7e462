/** `files: { paths: [...] }`: when files change. */
import { isAbsolute } from "node:path";
import picomatch from "picomatch";
import { z } from "zod";
import { duration } from "../../lib/validation/config-fields.js";
import { FILE_OPERATIONS, type TriggerOf } from "../definition/definition.js";
import { wholeFolder } from "../paths.js";

const DEFAULT_IGNORE = ["**/.git/**", "**/node_modules/**"];

const glob = z
  .string()
  .min(1)
  .refine((text) => !text.startsWith("!"), "list what to leave out under `ignore`")
  .refine(
    (text) => !/^[a-z][a-z0-9+.-]+:\/\//i.test(text),
    "expected a path on this machine, got the address of a server",
  )
  .refine((text) => !isBadGlob(text), "expected a file, a folder or a glob with balanced brackets");
const globs = z.union([glob.transform((one) => [one]), z.array(glob).min(1)]);

/** Compared with the path below the folder of the file and below each of `paths`: nothing else is ever left out. */
const ignored = globs.superRefine((patterns, context) => {
  patterns.forEach((pattern, index) => {
    if (!isAbsolute(pattern) && !/^(\.\/)*\.\.(\/|$)/.test(pattern)) return;
    const message = `"${pattern}" leaves out nothing: a pattern is compared with paths below the folder of this file and below each of \`paths\`, so write it from there on, such as "**/tmp/**"`;
    context.addIssue({ code: "custom", message, path: [index] });
  });
});

export const filesOptions = z
  .strictObject({
    files: z.strictObject({
      paths: globs.describe(
        "Files, folders (everything in them) and globs, relative to the file that defines the hook. `*` and `**` match names that start with a dot (`.env`, `.github`), too. The gateway's own files (its database, uploads and so on) start no hook, and a hook that names only these is refused.",
      ),
      ignore: ignored
        .default(DEFAULT_IGNORE)
        .describe(
          "Globs of what to leave out, such as `**/.*` and `**/.*/**` for names that start with a dot; replaces the default. `build/` leaves out that folder with all that is in it, and `**/build/` every folder of that name.",
        ),
      operations: z
        .array(z.enum(FILE_OPERATIONS))
        .min(1)
        .default([...FILE_OPERATIONS])
        .describe("Which changes count."),
      debounce: duration("500ms").describe("How long a file must be quiet before its change counts."),
      as: z.enum(["file", "folder"]).default("file").describe("One run a file, or one for all that changed together."),
    }),
  })
  .transform(({ files: { debounce, ...files } }, context): TriggerOf<"files"> => {
    const by = files.ignore.find((pattern) => files.paths.every((path) => covers(pattern, path)));
    if (by !== undefined)
      context.addIssue({
        code: "custom",
        message: `"${by}" leaves out everything that \`paths\` names, so no change starts the hook`,
        path: ["files", "ignore"],
        input: files.ignore,
      });
    return { kind: "files", ...files, debounceMs: debounce };
  });

/** Whether, beyond doubt, the pattern matches every state of the path. A path without a glob may be a file, which no pattern leaves out. */
function covers(ignore: string, path: string): boolean {
  const { isGlob, glob } = picomatch.scan(path);
  const isWhole =
    [path, ...(isGlob ? [glob, `**/${glob}`] : [])].includes(ignore) ||
    /^(\.\/)*(\*\*\/)*(\*\*|\*\*\/\*)$/.test(wholeFolder(ignore));
  return (isGlob || path.endsWith("/")) && isWhole;
}

function isBadGlob(text: string): boolean {
  try {
    picomatch.makeRe(text, { strictBrackets: true });
    return false;
  } catch {
    return true;
  }
}
