/** Firing a configured hook by hand, for /fire-hook and /hooks test: its steps tick off in the answer while it runs. */
import type { Definition } from "../../src/automations/definition/definition.js";
import type { AutomationDesk } from "../../src/automations/desk.js";
import { type AutomationRun, isTimed, type StepRecord } from "../../src/domain/automation.js";
import type { CommandContext } from "../../src/gateway/commands.js";
import { newId } from "../../src/lib/id.js";
import { isRecord } from "../../src/lib/record.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { badUsage } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { type FirePayload, readObject, readPayload } from "../runs/payload.js";
import { code } from "../show/text.js";
import { needForRunning } from "./owner-only.js";
import { STEP_SIGNS } from "./show-run.js";

export interface HandPayload {
  payload: Readonly<Record<string, unknown>>;
  source: FirePayload["source"] | "none";
  last?: FirePayload["last"];
  isChanged?: boolean;
}

/** A quick run gets one answer; from here on the answer shows how far it is. */
export const PROGRESS_AFTER_MS = 800;

export async function fireConfigured(
  deps: CommandDeps & { automations: AutomationDesk },
  context: CommandContext,
  definition: Definition,
  { payload, dryRun }: HandPayload & { dryRun: boolean },
): Promise<AutomationRun> {
  if (!dryRun) context.need("operator");
  needForRunning(deps, context, [definition.id], dryRun);
  const { clock } = deps;
  const runId = context.causeId === undefined ? newId("r", clock.now()) : `r_${context.causeId}`;
  const progress = createProgress(definition, dryRun, clock.now());
  let isShown = false;
  const show = () => context.progress({ text: progress.text(clock.now()) });
  const timer = clock.after(PROGRESS_AFTER_MS, () => {
    isShown = true;
    show();
  });
  const changed = () => {
    if (isShown) show();
  };
  try {
    return await deps.automations.fire({
      hookId: definition.id,
      runId,
      payload,
      dryRun,
      reason: `fired by ${context.operator.displayName ?? `${context.operator.platform}:${context.operator.userId}`}`,
      // Without a message that gave the command, the run is the one record of the firing: it names itself, as a firing of a point does.
      cause: context.givenBy ?? { kind: "command", id: context.causeId ?? runId, depth: 0 },
      signal: context.signal,
      began: (runId) => {
        progress.began(runId);
        changed();
      },
      stepBegan: (index) => {
        progress.stepBegan(index);
        changed();
      },
      stepEnded: (index, record) => {
        progress.stepEnded(index, record);
        changed();
      },
      handlerBegan: () => {
        progress.handlerBegan();
        changed();
      },
    });
  } finally {
    timer.cancel();
  }
}

/** A hook that time or a person starts takes any fields, as `event.input`; others take a payload of their point. */
export async function readHandPayload(deps: CommandDeps, definition: Definition, text: string): Promise<HandPayload> {
  if (!isStartedAlone(definition)) {
    const given = await readPayload(deps, deps.registry.point(definition.point), text, definition.id);
    return { ...given, payload: fieldsOf(given.payload) };
  }
  if (text === "last")
    throw badUsage(
      `${definition.id} is started by ${definition.trigger.kind === "manual" ? "a person" : "time"}, so it has no last payload.`,
      "Leave the payload out, or type one as JSON: templates see it as event.input.",
    );
  if (text === "" || text === "example") return { payload: {}, source: "none" };
  const such = 'Such as `{"branch": "main"}`; templates see it as event.input.';
  return { payload: readObject(text, such), source: "typed" };
}

/** By time or by a person, not by something that happened and has a payload. */
export function isStartedAlone({ trigger }: Definition): boolean {
  return isTimed(trigger) || trigger.kind === "manual";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return { ...value };
  throw badUsage("The payload must be a JSON object.");
}

/** Shows the steps that are done, under way and to come. */
function createProgress({ id, context, run }: Definition, dryRun: boolean, since: number) {
  const signs: string[] = [...context.map(() => "·"), "·"];
  const names = [
    ...context.map(({ step }) => step.name),
    dryRun ? `${run.handler.name} (not in a dry run)` : run.handler.name,
  ];
  const took: string[] = [];
  let runId: string | undefined;
  return {
    began(given: string) {
      runId = given;
    },
    stepBegan(index: number) {
      signs[index] = "▸";
    },
    stepEnded(index: number, { outcome, latencyMs }: StepRecord) {
      signs[index] = STEP_SIGNS[outcome];
      took[index] = ` ${formatDuration(latencyMs)}`;
    },
    handlerBegan() {
      signs[context.length] = "▸";
    },
    text(now: number): string {
      return [
        `${dryRun ? "Dry run of" : "Firing live:"} ${code(id)}, for ${formatDuration(now - since)}`,
        names.map((name, index) => `${signs[index]} ${index + 1}. ${name}${took[index] ?? ""}`).join("\n"),
        ...(runId === undefined ? [] : [`run ${code(runId)}`]),
      ].join("\n\n");
    },
  };
}
