/** Settings that are right by themselves and change nothing in their hook: the hook would do less than was written, and not report it. */

import { DUE_POINT, isTimed } from "../../domain/automation.js";
import { failureStopsNothing, type LifecyclePhase } from "../../hooks/point.js";
import { defaultTimeoutMs } from "../../hooks/registration/entry.js";
import type { Execution } from "../../hooks/registration/registration.js";
import type { AnyPoint } from "../../hooks/signatures.js";
import { formatDuration, writeDuration } from "../../lib/time/duration.js";
import type { Issue } from "../../lib/validation/schema-issues.js";
import { pointResult } from "../run/point-result.js";
import { isTemplate } from "../template/is-template.js";
import type { Trigger } from "./definition.js";
import type { ParsedBody } from "./parse.js";
import type { DefinitionForm } from "./schema.js";

/** The hook as far as it is known: its written form, and its meaning. */
export interface CheckedForm {
  readonly form: DefinitionForm;
  /** The definition as written, without defaults. */
  readonly raw: unknown;
  readonly body: ParsedBody;
  readonly trigger: Trigger;
  readonly point: AnyPoint;
  readonly phase: LifecyclePhase | undefined;
  readonly execution: Execution;
}

/** The gateway waits for the decision of the hook. */
export function isWaitedFor(execution: Execution): boolean {
  return execution === "blocking" || execution === "deadline";
}

export function checkPolicies({ form, execution, point, phase }: CheckedForm, issues: Issue[]): void {
  const isDetached = !isWaitedFor(execution);
  if (form.retry !== undefined && execution !== "background")
    issues.push({ path: ["retry"], message: `only background hooks are retried, and this one is ${execution}` });
  if (form.on_failure !== "open" && isDetached)
    issues.push({
      path: ["on_failure"],
      message: `no event waits for a hook that is ${execution}, so on_failure can only be open`,
    });
  else if (form.on_failure !== "open" && failureStopsNothing(point, phase))
    issues.push({
      path: ["on_failure"],
      message: `a failure at ${point.name} stops nothing, so on_failure can only be open`,
    });
  else if (form.fallback !== undefined && changesNothing(form.fallback, point))
    issues.push({
      path: ["fallback"],
      message:
        "this fallback changes nothing, as if the hook had not run: write on_failure: open, and remove `fallback`",
    });
  for (const path of templatesIn(form.fallback, ["fallback"]))
    issues.push({
      path,
      message: "a fallback is used as it is written, so no template in it is filled in: write a fixed text",
    });
  if ((form.on_failure === "fallback") !== (form.fallback !== undefined))
    issues.push({ path: ["fallback"], message: "on_failure: fallback and `fallback:` belong together" });
  if (form.when_busy === "coalesce" && execution !== "background")
    issues.push({
      path: ["when_busy"],
      message: `only background runs can be merged, and this hook is ${execution}`,
    });
}

function templatesIn(value: unknown, path: (string | number)[]): (string | number)[][] {
  if (typeof value === "string") return isTemplate(value) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    templatesIn(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** A result of a hook that passes. */
function changesNothing(fallback: unknown, { model }: AnyPoint): boolean {
  if (typeof fallback !== "object" || fallback === null) return false;
  if (model === "claiming") return "handled" in fallback && fallback.handled === false;
  const isNothing = ([field, value]: [string, unknown]) => field === "cancel" && value === false;
  if (model === "modifying") return Object.entries(fallback).every(isNothing);
  return model === "lifecycle" && Object.keys(fallback).length === 0;
}

export function checkEffects(checked: CheckedForm, issues: Issue[]): void {
  const { form, raw, body, point } = checked;
  const none = (message: string, ...path: (string | number)[]) => issues.push({ path, message });
  const whenBusy = form.when_busy ?? defaultWhenBusy(checked);
  if (valueAt(raw, "max_queued") !== undefined && whenBusy !== "queue")
    none(
      `no run waits with when_busy: ${whenBusy}${form.when_busy === undefined ? `, the default of trigger ${checked.trigger.kind}` : ""}: remove max_queued, or set when_busy: queue`,
      "max_queued",
    );
  if (valueAt(raw, "skip_when") !== undefined && !body.context.some((step) => step === undefined || step.skipIf))
    none("no step has a skip_if, so no run is skipped: add one, or remove skip_when", "skip_when");
  if (form.sees !== undefined && point.model !== "modifying")
    none(`${point.name} is a ${point.model} point, and sees has an effect at modifying points only: remove it`, "sees");
  if (point.name === DUE_POINT)
    for (const setting of ["priority", "after", "before"])
      if (valueAt(raw, setting) !== undefined)
        none("each run of this hook starts alone, so it has no place among other hooks: remove it", setting);
  const blocked = form.notify?.on.indexOf("blocked") ?? -1;
  if (blocked >= 0 && valueAt(raw, "notify", "on") !== undefined && !canBlock(checked))
    none("nothing that this hook decides can block anything, so no run is blocked: remove it", "notify", "on", blocked);
  const skipped = form.notify?.on.indexOf("skipped") ?? -1;
  const maySkip = body.run?.handler.maySkip === true || body.context.some((step) => step === undefined || step.skipIf);
  if (skipped >= 0 && checked.trigger.kind === "manual" && !maySkip)
    none(
      "no step has a skip_if, and the person who fires the hook reads what a gate refused, so nothing is notified: add one, or remove it",
      "notify",
      "on",
      skipped,
    );
  checkUnused(checked, issues);
  checkDeadlines(checked, issues);
}

function checkUnused({ raw, body: { run } }: CheckedForm, issues: Issue[]): void {
  if (run === undefined) return;
  const at = ["run", run.handler.name];
  const isWritten = (setting: string) => valueAt(raw, ...at, setting) !== undefined;
  for (const { setting, message } of run.handler.unused?.(run.options, isWritten) ?? [])
    issues.push({ path: [...at, setting], message, ofKey: true });
}

/** Whether a block has an effect: a run fails when nothing carries its decision. */
function canBlock({ point, phase, execution, body: { run } }: CheckedForm): boolean {
  if (run?.handler.decidesNothing) return false;
  const { kind } = pointResult({ kind: "block", reason: "" }, point, phase);
  return kind !== "impossible" && (isWaitedFor(execution) || point.model === "turn");
}

/** A busy hook that time or a person starts again may skip a run; of an event that happens once, every occurrence counts. */
export function defaultWhenBusy({ trigger, execution }: Pick<CheckedForm, "trigger" | "execution">) {
  const comesAgain = (isTimed(trigger) && trigger.kind !== "at") || trigger.kind === "manual";
  return isWaitedFor(execution) || !comesAgain ? "queue" : "skip";
}

/** A step or an attempt with a deadline after that of the run. */
function checkDeadlines({ form, raw, body, point, phase, execution }: CheckedForm, issues: Issue[]): void {
  const runMs = form.timeout ?? defaultTimeoutMs(point, phase, execution);
  const longer = (what: string, path: (string | number)[], timeoutMs = 0) => {
    if (timeoutMs <= runMs || valueAt(raw, ...path) === undefined) return;
    const source = form.timeout === undefined ? "the default" : "`timeout` of the hook";
    issues.push({
      path,
      message: `${what} cannot take ${formatDuration(timeoutMs)}, because the run ends after ${formatDuration(runMs)} (${source}): set \`timeout\` of the hook to ${writeDuration(timeoutMs)} or more`,
    });
  };
  body.context.forEach((one, index) => {
    if (one) longer("the step", ["context", index, one.step.name, "timeout"], one.timeoutMs);
  });
  const { run } = body;
  if (run) longer("an attempt", ["run", run.handler.name, "timeout"], run.handler.attemptMs?.(run.options));
}

function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<string | number, unknown>)[key] : undefined),
    value,
  );
}
