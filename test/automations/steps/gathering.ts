/** Steps as a definition would name them, run as the pipeline runs them: options parsed and compiled, conditions and deadlines in place. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gathered, type GatheredStep, gather } from "../../../src/automations/gather.js";
import { compileSkipIf } from "../../../src/automations/short-circuit.js";
import type { Step, StepResult } from "../../../src/automations/step.js";
import { steps as table } from "../../../src/automations/steps/index.js";
import { compileOptions, type TemplateNames } from "../../../src/automations/template.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { type FixtureOptions, handlerContext } from "../handler-context.js";

interface Common {
  timeout?: number;
  max_bytes?: number;
  required?: boolean;
  skip_if?: string;
}

export type WrittenStep = { [name in keyof typeof table]?: Record<string, unknown> & Common };

export interface GatherOptions extends FixtureOptions {
  skipWhen?: "any" | "all";
  /** Other steps than those of the product. */
  table?: Readonly<Record<string, Step>>;
}

export function gatherSteps(written: readonly WrittenStep[], options: GatherOptions = {}): Promise<Gathered> {
  const { skipWhen = "any", table: known = table, ...fixture } = options;
  const { context } = handlerContext({ clock: systemClock, event: {}, ...fixture });
  return gather(prepare(written, known), skipWhen, context);
}

function prepare(written: readonly WrittenStep[], known: Readonly<Record<string, Step>>): GatheredStep[] {
  const before: TemplateNames["steps"][number][] = [];
  return written.map((one) => {
    const [[name, given]] = Object.entries(one) as [[string, Record<string, unknown> & Common]];
    const { timeout = 20_000, max_bytes = 64_000, required = false, skip_if, ...own } = given;
    const step = known[name] as Step;
    const names: TemplateNames = { steps: [...before] };
    const rendering = compileOptions(step.options.parse(own), names, step);
    if (rendering.problems.length > 0) throw new Error(rendering.problems.map(({ message }) => message).join("; "));
    before.push(step);
    return {
      step,
      rendering,
      timeoutMs: timeout,
      maxBytes: max_bytes,
      required,
      skip: skip_if === undefined ? undefined : compileSkipIf(skip_if, step, names),
    };
  });
}

/** The result of a single step; throws when it failed. */
export async function oneStep(written: WrittenStep, options: GatherOptions = {}): Promise<StepResult> {
  const [outcome] = (await gatherSteps([written], options)).outcomes;
  if (outcome === undefined || "error" in outcome) throw new Error(outcome?.error ?? "no outcome");
  return outcome;
}

/** What a failed single step says. */
export async function failureOf(written: WrittenStep, options: GatherOptions = {}): Promise<string> {
  const [outcome] = (await gatherSteps([written], options)).outcomes;
  if (outcome === undefined || !("error" in outcome)) throw new Error(`it did not fail: ${JSON.stringify(outcome)}`);
  return outcome.error;
}

/** What the options of a step are refused for; empty when they are taken. */
export function refusals(written: WrittenStep): string[] {
  const [[name, given]] = Object.entries(written) as [[string, Record<string, unknown>]];
  const parsed = (table as Readonly<Record<string, Step>>)[name]?.options.safeParse(given);
  return parsed?.success ? [] : (parsed?.error.issues.map(({ message }) => message) ?? []);
}

/** A folder of one test file. */
export function ownFolder(name: string): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `hookgate-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
