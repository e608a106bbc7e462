/** The contributions that a turn handler may make. A registration declares the kinds that it uses as its capabilities. */
import { z } from "zod";

export const CONTRIBUTION_KINDS = [
  "policy",
  "prompt_context",
  "prompt_section",
  "tool_bundle",
  "audit",
  "background_job",
  "noop",
] as const;
export type ContributionKind = (typeof CONTRIBUTION_KINDS)[number];

export const contribution = z.discriminatedUnion("kind", [
  /** Turn-scoped domain policy, such as memory read and write rules. */
  z.strictObject({ kind: z.literal("policy"), domain: z.string(), values: z.record(z.string(), z.unknown()) }),
  /** Structured context that later phases consume. */
  z.strictObject({
    kind: z.literal("prompt_context"),
    set: z.string(),
    entries: z.array(z.object({ text: z.string() }).loose()),
  }),
  /** Rendered prompt text; lower `order` comes first. */
  z.strictObject({
    kind: z.literal("prompt_section"),
    title: z.string().optional(),
    text: z.string(),
    order: z.number().optional(),
  }),
  /** Tools for the model to see, with where a call is routed. */
  z.strictObject({
    kind: z.literal("tool_bundle"),
    name: z.string(),
    tools: z.array(z.object({ name: z.string() }).loose()),
  }),
  /** Safe facts for debugging and the journal. */
  z.strictObject({
    kind: z.literal("audit"),
    message: z.string(),
    facts: z.record(z.string(), z.unknown()).optional(),
  }),
  /** Work to be recorded and done later. */
  z.strictObject({ kind: z.literal("background_job"), job: z.string(), input: z.unknown().optional() }),
  z.strictObject({ kind: z.literal("noop"), reason: z.string().optional() }),
]);
export type Contribution = z.infer<typeof contribution>;

/** Background runs may contribute only these. */
export const BACKGROUND_KINDS: readonly ContributionKind[] = ["audit", "background_job", "noop"];
