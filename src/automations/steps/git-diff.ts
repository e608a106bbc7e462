/** `- git_diff:`: the changes in a git repository. Read-only: nothing that the repository configures is run. */
import { existsSync, realpathSync } from "node:fs";
import { devNull } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { SimpleGit } from "simple-git";
import { z } from "zod";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { jsonSchemaOf } from "../../lib/validation/json-schema.js";
import { within } from "../paths.js";
import type { Step, StepContext, StepResult } from "../step.js";
import { isTemplate } from "../template/is-template.js";

const revision = z
  .string()
  .min(1)
  .refine((text) => !text.startsWith("-"), { error: ({ input }) => noRevision(String(input)) })
  .optional();
const noRevision = (text: string) => `"${text}" is no commit, branch or tag`;

const gitDiffOptions = z
  .strictObject({
    repo: z
      .string()
      .min(1)
      .refine((repo) => !isTemplate(repo), "a repository is no template")
      .optional()
      .describe("The repository's folder. Default: the folder of the definition."),
    from: revision.describe("A commit, branch or tag. Default: what is committed, or staged."),
    to: revision.describe("Another one. Default: the working tree."),
    staged: z.boolean().default(false).describe("What is staged, against `from` or the last commit."),
    untracked: z.boolean().default(false).describe("Whether files that git does not know count as changes, too."),
    paths: z.array(z.string().min(1)).default([]).describe("Only these files and folders."),
  })
  .superRefine(({ from, to, staged }, context) => {
    if (to !== undefined && from === undefined)
      context.addIssue({ code: "custom", message: "`to` needs a `from`", path: ["to"] });
    if (to !== undefined && staged)
      context.addIssue({ code: "custom", message: "what is staged has no `to`", path: ["staged"] });
  });
type GitDiffOptions = z.output<typeof gitDiffOptions>;

const changedFile = z.object({
  path: z.string(),
  added: z.number().nullable(),
  removed: z.number().nullable(),
  isUntracked: z.boolean(),
});
type ChangedFile = z.output<typeof changedFile>;

export const gitDiffStep: Step<GitDiffOptions> = {
  name: "git_diff",
  summary:
    "Shows what changed in a git repository: the diff, the files, the lines. Files are compared as they are on disk: no filter (such as Git LFS) or other program of the repository runs, a partial clone fetches nothing, and of a submodule only its commit is compared.",
  options: gitDiffOptions,
  verbatim: ["repo"],
  places: ["paths"],
  fields: {
    diff: "string",
    files: "array",
    added: "number",
    removed: "number",
    count: "number",
    branch: "string",
    commit: "string",
    truncated: "boolean",
  },
  nullable: ["branch", "commit"],
  itemsOf: () => ({ files: jsonSchemaOf(changedFile) }),
  missing({ repo }, { folder, isAfterProgram }) {
    const place = resolve(folder, repo ?? ".");
    if (isAfterProgram || isRepository(place)) return [];
    return [`there is no git repository in ${repo ?? "the folder of the hook"}: name its folder with \`repo\``];
  },
  async run(options, context) {
    try {
      return await changes(options, context);
    } catch (error) {
      if (!/promisor remote|lazy fetching disabled|transport '.*' not allowed/.test(errorMessage(error))) throw error;
      const message =
        "this repository is a partial clone that lacks files, and git_diff fetches none: fetch them with git before";
      throw new HookgateError({ code: "NOT_FETCHED", message, cause: error });
    }
  },
};

async function changes(options: GitDiffOptions, context: StepContext): Promise<StepResult> {
  const git = await repository(options, context);
  const range = rangeOf(options);
  const top = (await git.raw(["rev-parse", "--show-toplevel"]).catch(() => "")).trim(); // none in a repository without a work tree
  const base = resolve(context.folder, options.repo ?? ".");
  for (const path of options.paths) refuseOutside(path, base, top === "" ? base : top);
  // Without the dashes, git takes a word that is no revision for a path, and compares any two files of the machine.
  const paths = ["--", ...options.paths];
  const [numbers, whole, branch, commit, strangers] = [
    await git.raw(["diff", ...QUIET, "--numstat", "-z", ...range, ...paths]),
    await git.raw(["diff", ...QUIET, ...range, ...paths]),
    await git.raw(["rev-parse", "--abbrev-ref", "HEAD"]).catch(() => ""), // no commit yet
    await git.raw(["rev-parse", "HEAD"]).catch(() => ""),
    options.untracked ? await git.raw(["ls-files", "--others", "--exclude-standard", "-z", ...paths]) : "",
  ];
  const untracked = strangers.split("\0").filter((path) => path !== "");
  const files: ChangedFile[] = [
    ...readNumbers(numbers),
    ...untracked.map((path) => ({ path, added: null, removed: null, isUntracked: true })),
  ];
  const note = untracked.map((path) => `untracked: ${path}\n`).join("");
  const text = `${whole}${note}`;
  const diff = Buffer.byteLength(text) > context.maxBytes ? text.slice(0, context.maxBytes) : text;
  return {
    value: {
      diff,
      files: files.slice(0, MAX_FILES),
      added: sum(files.map((file) => file.added)),
      removed: sum(files.map((file) => file.removed)),
      count: files.length,
      branch: branch.trim() || null,
      commit: commit.trim() || null,
      truncated: diff.length < text.length || files.length > MAX_FILES,
    },
    text: diff,
    isEmpty: files.length === 0 && text.trim() === "",
  };
}

/** True for a work tree, a folder in one, and a repository without a work tree. */
function isRepository(place: string): boolean {
  if (existsSync(join(place, "HEAD")) && existsSync(join(place, "objects"))) return true;
  for (let folder = place; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return existsSync(place);
    if (dirname(folder) === folder) return false;
  }
}

const MAX_FILES = 1000;
/**
 * No program that the repository's configuration names is run: what a submodule's own configuration names neither, so git
 * does not look into the work trees of submodules.
 */
const QUIET = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty"];

async function repository({ repo }: GitDiffOptions, { folder, signal, reach }: StepContext): Promise<SimpleGit> {
  const baseDir = resolve(folder, repo ?? ".");
  if (!existsSync(baseDir))
    throw new HookgateError({ code: "PATH_MISSING", message: `there is no ${repo ?? "folder of the hook"}` });
  // Nine megabytes that few gateways need.
  const { simpleGit } = await import("simple-git");
  const gitWith = (own: Readonly<Record<string, string>>) =>
    simpleGit({
      baseDir,
      abort: signal,
      // A repository may name a program that git asks for changes, and programs to call when the index is written.
      config: ["core.fsmonitor=false", `core.hooksPath=${devNull}`],
      // simple-git refuses to set these; here they are set to nothing.
      unsafe: {
        allowUnsafeFsMonitor: true,
        allowUnsafeHooksPath: true,
        allowUnsafeFilter: true,
        allowUnsafeConfigEnvCount: true,
      },
      allowEnvironment: Object.keys(own),
    }).env({ ...reach.processes.env, ...own });
  const keys = await gitWith(NOTHING_EXTRA).raw(["config", "--list", "--name-only", "-z"]);
  return gitWith({ ...NOTHING_EXTRA, ...switchedOff(keys) });
}

const NOTHING_EXTRA = {
  GIT_OPTIONAL_LOCKS: "0",
  // In a partial clone, git fetches what is missing by a program that the repository may name. The empty list is for git before
  // 2.45; the repository's `protocol.ssh.allow` overrides `protocol.allow`, and does not override this list.
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "",
};

/**
 * The variables that switch off each filter and hook among the keys of a configuration. Variables, because `-c` ends the name
 * of a filter at an equals sign.
 */
function switchedOff(keys: string): Record<string, string> {
  const off = new Map<string, string>();
  for (const key of keys.split("\0")) {
    const [, section, name] = /^(filter|hook)\.(.+)\.[^.]+$/s.exec(key) ?? [];
    // A variable cannot name bytes that are not UTF-8.
    if (name?.includes("\ufffd"))
      throw new HookgateError({
        code: "NOT_SUPPORTED",
        message: `the name of a ${section} in the configuration of git is not UTF-8: rename it`,
      });
    if (section === "hook") off.set(`hook.${name}.enabled`, "false");
    if (section === "filter")
      for (const [setting, value] of Object.entries(NO_FILTER)) off.set(`filter.${name}.${setting}`, value);
  }
  const pairs = [...off].flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(off.size) };
}
/** Git then compares the content as it is. */
const NO_FILTER = { clean: "", smudge: "", process: "", required: "false" };

/** Given two paths of which one is outside of the repository, git compares them as files. `:` starts a pattern within the repository. */
function refuseOutside(path: string, base: string, top: string): void {
  if (path.startsWith(":") || within(resolve(base, path), realpathSync(top)) || within(resolve(base, path), top))
    return;
  throw new HookgateError({ code: "PATH_OUTSIDE", message: `${path} is outside of the repository ${basename(top)}` });
}

function rangeOf({ from, to, staged }: GitDiffOptions): string[] {
  for (const one of [from, to])
    if (one?.startsWith("-")) throw new HookgateError({ code: "ARGUMENT_REFUSED", message: noRevision(one) });
  return [...(staged ? ["--cached"] : []), ...(from === undefined ? [] : [from]), ...(to === undefined ? [] : [to])];
}

/** `added TAB removed TAB path NUL`; a renamed file has an empty path and then both. Binary files have `-` for numbers. */
function readNumbers(output: string): ChangedFile[] {
  const parts = output.split("\0");
  const files: ChangedFile[] = [];
  for (let index = 0; index < parts.length; index++) {
    const [added, removed, name] = (parts[index] as string).split("\t");
    if (removed === undefined) continue;
    let path = name as string;
    if (path === "") {
      path = parts[index + 2] ?? "";
      index += 2;
    }
    files.push({ path, added: numberOf(added), removed: numberOf(removed), isUntracked: false });
  }
  return files;
}

const numberOf = (text: string | undefined) => (text === undefined || text === "-" ? null : Number(text));
const sum = (numbers: readonly (number | null)[]) => numbers.reduce<number>((total, one) => total + (one ?? 0), 0);
