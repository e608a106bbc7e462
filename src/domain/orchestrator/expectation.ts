/**
 * The conditions for a task to count as done, as a plan and chat write them and as hooks see them: each names its check by one key. Nothing
 * is filled in here, so that the written form is the stored form.
 */
import { RE2JS } from "re2js";
import { z } from "zod";
import { argumentList } from "../../lib/process/argument-list.js";
import { writtenDeadline } from "../../lib/validation/config-fields.js";

const pattern = z
  .string()
  .min(1)
  .refine(isPattern, { error: ({ input }) => `"${String(input)}" is no RE2 pattern` });

const common = {
  name: z.string().min(1).max(80).optional().describe("How it is called in feedback and reports."),
  weight: z.number().positive().max(1_000).optional().describe("Its share of the score; 1 when absent."),
  required: z.boolean().optional().describe("Whether it must hold (the default), or only adds to the score."),
  timeout: writtenDeadline().optional().describe("How long checking it may take."),
};
const output = {
  exit: z.int().min(0).max(255).optional().describe("The exit code that it must end with; 0 when absent."),
  contains: z.string().min(1).optional().describe("Text that standard output must hold."),
  matches: pattern.optional().describe("An RE2 pattern that standard output must match."),
  cwd: z.string().min(1).optional().describe("Where it runs; relative to the folder of the task."),
};
const text = {
  contains: z.string().min(1).optional().describe("Text that it must hold."),
  matches: pattern.optional().describe("An RE2 pattern that it must match."),
};

/** Expectations by the key that names their kind. */
export const expectationKinds = {
  command: z.strictObject({ command: argumentList(z.string(), { hasSh: false }), ...output, ...common }),
  sh: z.strictObject({ sh: z.string().min(1), ...output, ...common }),
  file: z.strictObject({
    file: z.string().min(1),
    exists: z.boolean().optional().describe("False: it must not be there."),
    minBytes: z.int().min(0).optional(),
    ...text,
    ...common,
  }),
  http: z.strictObject({
    http: z.url({ protocol: /^https?$/ }),
    method: z.enum(["GET", "HEAD", "POST"]).optional(),
    status: z.int().min(100).max(599).optional().describe("Any 2xx when absent."),
    ...text,
    ...common,
  }),
  when: z.strictObject({
    when: z.string().min(1).describe("CEL over `result` and `task`. All conditions of a task may take 5 s together."),
    ...common,
  }),
  judge: z.strictObject({
    judge: z.string().min(1).max(20_000).describe("The rubric: what a model looks for in the result."),
    model: z.string().min(1).optional(),
    minScore: z.number().min(0).max(1).optional().describe("0.7 when absent."),
    ...common,
  }),
} as const;

export type ExpectationKind = keyof typeof expectationKinds;
export const EXPECTATION_KINDS = Object.keys(expectationKinds) as ExpectationKind[];
export type ExpectationOf<K extends ExpectationKind> = z.output<(typeof expectationKinds)[K]>;
export type Expectation = { [K in ExpectationKind]: ExpectationOf<K> }[ExpectationKind];

/** Exactly one kind, with its settings. Problems carry their path. */
export const expectation = z.unknown().transform((value, context): Expectation => {
  const kind = kindOf(value);
  if (kind === undefined) {
    context.addIssue({
      code: "custom",
      message: `expected exactly one of ${EXPECTATION_KINDS.join(", ")}`,
      input: value,
    });
    return z.NEVER;
  }
  const parsed = expectationKinds[kind].safeParse(value);
  if (parsed.success) return parsed.data;
  context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, input: value }) as z.core.$ZodRawIssue));
  return z.NEVER;
});

/** The name of an expectation for people: its own name, or its check. */
export function expectationName(one: Expectation): string {
  if (one.name !== undefined) return one.name;
  if ("command" in one) return `command ${one.command.join(" ")}`.slice(0, 80);
  if ("sh" in one) return `sh ${one.sh}`.slice(0, 80);
  if ("file" in one) return `file ${one.file}`;
  if ("http" in one) return `http ${one.http}`;
  return "when" in one ? `when ${one.when}`.slice(0, 80) : "judge";
}

function kindOf(value: unknown): ExpectationKind | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const given = EXPECTATION_KINDS.filter((kind) => Object.hasOwn(value, kind));
  return given.length === 1 ? given[0] : undefined;
}

function isPattern(text: string): boolean {
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false;
  }
}
