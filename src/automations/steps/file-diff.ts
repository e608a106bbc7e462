/** `- file_diff:`: the changes in a file, against another file or against the text that this hook saw when it ran before. */
import { normalize } from "node:path";
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { locate, openFile, pathProblems, readStart, rootField } from "../paths.js";
import type { Step, StepContext } from "../step.js";

const fileDiffForm = z.strictObject({
  path: z.string().min(1).describe("The file."),
  against: z
    .string()
    .min(1)
    .optional()
    .describe("The file that it is compared with. Default: itself, at the last run."),
  lines: z.int().min(0).max(100).default(3).describe("How many lines around each change."),
  root: rootField,
});

const fileDiffOptions = fileDiffForm.superRefine(({ path, against }, context) => {
  if (against === undefined || normalize(path) !== normalize(against)) return;
  const message =
    "is the file itself, so nothing ever differs: remove it, and the file is compared with itself at the last run";
  context.addIssue({ code: "custom", path: ["against"], message });
});

/** The comparison is synchronous: beyond these bounds it reports that the files differ, without the details. */
const MAX_COMPARING_MS = 500;
const MAX_COMPARED_BYTES = 1_000_000;

/** The text that a run saw, kept over restarts. A run that is tried again compares with the same text as its first attempt. */
interface Seen {
  runId: string;
  before?: string;
  text: string;
}

export const fileDiffStep: Step<z.output<typeof fileDiffOptions>> = {
  name: "file_diff",
  summary: "Compares a file with another, or with itself at the last run, also one that failed: a unified diff.",
  options: fileDiffOptions,
  verbatim: ["root"],
  places: ["path", "against"],
  fields: {
    diff: "string",
    added: "number",
    removed: "number",
    changed: "boolean",
    isFirst: "boolean",
    truncated: "boolean",
  },
  missing: ({ path, against = path, root }, machine) =>
    [...new Set([path, against])].flatMap((one) => pathProblems(one, "file", { ...machine, root })),
  async run({ path, against, lines, root }, context) {
    const after = await textOf(path, root, context, context.folders.path);
    const before =
      against === undefined
        ? await seenBefore(path, after, context)
        : await textOf(against, root, context, context.folders.against);
    if (before === undefined) return nothing(true);
    if (before === after) return nothing(false);
    const { createTwoFilesPatch, structuredPatch } = await import("diff");
    const names = [against ?? path, path] as const;
    const options = { context: lines, timeout: MAX_COMPARING_MS };
    const patch = structuredPatch(...names, before, after, undefined, undefined, options);
    const whole =
      patch === undefined
        ? `${path} differs; too much has changed to show what`
        : (createTwoFilesPatch(...names, before, after, undefined, undefined, options) ?? "");
    const changed = patch?.hunks.flatMap((hunk) => hunk.lines) ?? [];
    const diff = whole.slice(0, context.maxBytes);
    return {
      value: {
        diff,
        added: changed.filter((line) => line.startsWith("+")).length,
        removed: changed.filter((line) => line.startsWith("-")).length,
        changed: true,
        isFirst: false,
        truncated: diff.length < whole.length,
      },
      text: diff,
      isEmpty: false,
    };
  },
};

/** At its first run there is nothing to compare with: the file is noted, and nothing has changed. */
function nothing(isFirst: boolean) {
  return {
    value: { diff: "", added: 0, removed: 0, changed: false, isFirst, truncated: false },
    text: "",
    isEmpty: true,
  };
}

async function textOf(path: string, root: string | undefined, context: StepContext, begins?: string): Promise<string> {
  const place = await locate(path, root, context, begins);
  const file = await openFile(place);
  try {
    const { size } = await file.stat();
    if (size > MAX_COMPARED_BYTES)
      throw new HookgateError({
        code: "FILE_TOO_LARGE",
        message: `${place.name} has ${size} bytes, and no more than ${MAX_COMPARED_BYTES} are compared`,
      });
    return (await readStart(file, MAX_COMPARED_BYTES)).toString("utf8");
  } finally {
    await file.close();
  }
}

async function seenBefore(path: string, text: string, context: StepContext): Promise<string | undefined> {
  const key = `file_diff:${path}`;
  const seen = (await context.reach.recall(key)) as Seen | undefined;
  const before = seen?.runId === context.runId ? seen.before : seen?.text;
  const note: Seen = { runId: context.runId, before, text };
  if (!context.dryRun) await context.reach.remember(key, note);
  return before;
}
