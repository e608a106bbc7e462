/** A plugin at all points of work: it notes every call, before and after, and refuses what `rules.json` beside it names at that moment. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { catalogue } from "../../../src/hooks/catalogue/index.js";
import { jsonLines } from "../../support/lines.js";

/** All of the orchestration family. */
export const WORK_POINTS = [
  "task:create",
  "task:spawn",
  "task:transition",
  "task:complete",
  "task:fail",
  "task:retry",
  "mission:execute",
  "mission:complete",
  "assessment:run",
  "assessment:complete",
  "quality:gate",
  "quality:sla",
  "schedule:trigger",
  "orchestrator:tick",
  "orchestrator:shutdown",
] as const;
export type WorkPoint = (typeof WORK_POINTS)[number];

/** The body of a plugin's `setup(api)`. */
export const WATCH = `
  const { appendFileSync, existsSync, readFileSync } = process.getBuiltinModule("node:fs");
  const beside = (name) => new URL("./" + name, import.meta.url);
  const rules = () => (existsSync(beside("rules.json")) ? JSON.parse(readFileSync(beside("rules.json"), "utf8")) : []);
  for (const hook of ${JSON.stringify(WORK_POINTS)})
    for (const phase of ["before", "after"])
      api.hooks.register({
        hook,
        phase,
        id: phase + "-" + hook.replace(":", "-"),
        failurePolicy: phase === "before" && hook !== "orchestrator:shutdown" ? "fail-closed" : "fail-open",
        handler(context) {
          const seen = JSON.stringify(context.data);
          const { dispatchId, attempt } = context;
          const rule = phase === "before" && rules().find((one) => one.hook === hook && seen.includes(one.has));
          appendFileSync(
            beside("hooks.log"),
            JSON.stringify({ hook, phase, dispatchId, attempt, isRefused: Boolean(rule), data: context.data }) + "\\n",
          );
          if (rule?.fails) throw new Error(rule.reason);
          if (rule) context.cancel(rule.reason);
        },
      });
`;

export interface Watched {
  hook: WorkPoint;
  phase: "before" | "after";
  dispatchId: string;
  /** Of the telling: above 1 it was told once more after a crash. */
  attempt: number;
  isRefused: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of all points, read by the tests field by field
  data: any;
}

export interface Refusal {
  hook: WorkPoint;
  /** Text that is in the payload as JSON; `""`: always. */
  has: string;
  reason: string;
  /** It throws instead: it must not fail, so that is a refusal, too. */
  fails?: true;
}

/** What is refused from now on; nothing when empty. */
export function refuse(folder: string, ...rules: Refusal[]): void {
  writeFileSync(join(folder, "rules.new"), JSON.stringify(rules));
  renameSync(join(folder, "rules.new"), join(folder, "rules.json"));
}

export function watched(folder: string, hook?: WorkPoint, phase?: Watched["phase"]): Watched[] {
  return jsonLines<Watched>(join(folder, "hooks.log")).filter(
    (one) => (hook === undefined || one.hook === hook) && (phase === undefined || one.phase === phase),
  );
}

/** What of this payload is not as the catalogue says: a field that is wrong, or one that it does not name. */
export function problemsOf({ hook, data }: Watched): string[] {
  const schema = catalogue.find(({ name }) => name === hook)?.payload;
  if (schema === undefined) return [`${hook} is not in the catalogue`];
  const parsed = schema.safeParse(data);
  if (!parsed.success) return [`${hook}: ${parsed.error.message}`];
  // zod leaves out what a schema does not name.
  const known = Object.keys(parsed.data as object);
  return Object.keys(data).flatMap((key) => (known.includes(key) ? [] : [`${hook}: "${key}" is not declared`]));
}
