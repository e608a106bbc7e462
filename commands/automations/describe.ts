/** A configured hook in words: its trigger, its action and its place. */
import { basename } from "node:path";
import type { Definition, Place } from "../../src/automations/definition/definition.js";
import { formatDuration, writeDuration } from "../../src/lib/time/duration.js";
import { code } from "../show/text.js";

export function triggerText({ trigger, point, phase }: Definition): string {
  switch (trigger.kind) {
    case "on":
      return `${code(point)}${phase === undefined ? "" : ` (${phase})`}`;
    case "every":
      return `every ${writeDuration(trigger.everyMs)}`;
    case "cron":
      return `cron ${code(trigger.cron)} (${trigger.timezone})`;
    case "at":
      return `once, at <t:${Math.floor(trigger.at / 1000)}:f>`;
    case "event":
      return `the event ${code(trigger.event)}`;
    case "files":
      return `${trigger.as === "file" ? "files" : "folders"} ${trigger.paths.map(code).join(", ")}`;
    case "manual":
      return "by hand only";
  }
}

/** `shell → http → agent`: the steps, then the handler. */
export function pipelineText({ context, run }: Definition): string {
  return [...context.map(({ step }) => step.name), `**${run.handler.name}**`].join(" → ");
}

/** Only values that differ from the default. */
export function gatesText({ cooldownMs, concurrency, maxPerHour, whenBusy, retry }: Definition): string {
  return [
    concurrency === 1 ? "one at a time" : `${concurrency} at a time`,
    ...(cooldownMs > 0 ? [`cooldown ${formatDuration(cooldownMs)}`] : []),
    ...(maxPerHour === undefined ? [] : [`at most ${maxPerHour} an hour`]),
    `when busy: ${whenBusy}`,
    ...(retry === undefined ? [] : [`${retry.attempts} attempts`]),
  ].join(", ");
}

/** The file without its folder, which is this machine's business. */
export function sourceText({ file, line }: Place): string {
  return line === undefined ? basename(file) : `${basename(file)}:${line}`;
}

/** The definition for `--json` and the API, without the values of its options. */
export function definitionData(definition: Definition): Record<string, unknown> {
  const { description, trigger, place, context, run, execution, cooldownMs, concurrency, maxPerHour } = definition;
  return {
    description,
    trigger,
    place: sourceText(place),
    steps: context.map(({ step }) => step.name),
    handler: run.handler.name,
    execution,
    cooldownMs,
    concurrency,
    maxPerHour,
    whenBusy: definition.whenBusy,
  };
}
