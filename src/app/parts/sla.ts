/** The functions that the composition hands to SLA clocks: the truth about work, and the answers to alerts about policies and clocks. */

import type { AlertPolicy } from "../../alerts/alerting.js";
import type { SlaConfig } from "../../alerts/sla/config.js";
import type { SlaDesk } from "../../alerts/sla/desk.js";
import { severitiesOf } from "../../alerts/sla/policies/policies.js";
import type { SlaDeps } from "../../alerts/sla/sla.js";
import type { Actor } from "../../domain/alerts/alert.js";
import type { ClockStanding } from "../../domain/alerts/alert-signal.js";
import { extensionText } from "../../domain/alerts/sla.js";
import type { WatchedEntity } from "../../domain/alerts/watched.js";
import { isEnded } from "../../domain/orchestrator/task.js";
import type { Store } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import { withoutUndefined } from "../../lib/without-undefined.js";
import type { MissionDesk } from "../../orchestrator/missions/missions.js";
import { watchedMission } from "../../orchestrator/missions/watched.js";
import type { Orchestrator } from "../../orchestrator/orchestrator.js";
import { watchedOf } from "../../orchestrator/tasks/watched.js";
import type { AnswerOf, CopyOf, LinkOf } from "./links.js";

const PAGE = 500;

/** Tasks and missions in the form that clocks watch. */
export function watchedWork({
  tasks,
  missions,
}: Pick<Store, "tasks" | "missions">): Required<Pick<SlaDeps, "current" | "openWork">> {
  async function mission(id: string) {
    const found = await missions.rows.get(id);
    return found && watchedMission(found.mission);
  }
  return {
    async current(type, id) {
      if (type === "mission") return mission(id);
      const found = type === "task" ? await tasks.get(id) : undefined;
      return found && watchedOf(found);
    },
    async *openWork() {
      for (let last = ""; ; ) {
        const page = await tasks.open(last, PAGE);
        for (const task of page) yield watchedOf(task);
        last = page.at(-1)?.id ?? last;
        if (page.length < PAGE) break;
      }
      for (const id of await missions.rows.open()) {
        const found = await mission(id);
        if (found !== undefined) yield found;
      }
    },
  };
}

/** Fails a task for a policy with `on_violated: fail`. A task that cannot fail in its state (a draft) is left, and the log reports that. */
export async function failLate(
  { fail }: Pick<Orchestrator, "fail">,
  taskId: string,
  policyId: string,
  logger: Logger,
): Promise<void> {
  await fail(taskId, {
    actor: { by: `sla:${policyId}` },
    error: `sla: it was not done within the time of the policy "${policyId}"`,
    still: ({ status }) => !isEnded(status),
    mayRetry: false,
  }).catch((error: unknown) =>
    logger.warn({ task: taskId, policy: policyId, error: errorMessage(error) }, "a late task could not be failed"),
  );
}

/** The facts that alerts need of a policy, as it is configured. The configuration is known before calendars are loaded. */
export function policyOf({ policies }: SlaConfig, id: string | undefined): AlertPolicy | undefined {
  const found = policies.find((policy) => policy.id === id);
  if (found === undefined) return undefined;
  const { routes, buttons, remind: { every, times, at_least } = {} } = found;
  return {
    routes,
    buttons,
    severity: severitiesOf(found),
    remind: withoutUndefined({ every, times, at_least }),
  };
}

/** A person moves the date of a task or a mission, as `/task deadline` does. */
export async function moveDeadline(
  { type, id }: WatchedEntity,
  at: number,
  { id: who, name }: Actor,
  reason: string | undefined,
  { tasks, missions }: { tasks: Pick<Orchestrator, "setDeadline">; missions: Pick<MissionDesk, "setDeadline"> },
): Promise<void> {
  const by = name === who ? who : `${who} (${name})`;
  if (type === "mission") await missions.setDeadline(id, at, by);
  else await tasks.setDeadline(id, at, { by, reason });
}

/** The entity with a link to the place where it can be read now. */
async function linked(entity: WatchedEntity, linkOf: LinkOf): Promise<WatchedEntity> {
  const link = await linkOf(entity);
  return link === undefined ? entity : { ...entity, link };
}

/** The standing of a clock as cards of alerts show it. */
export async function standingOf(
  desk: Pick<SlaDesk, "find" | "standOf">,
  clockId: string,
  { linkOf, copyOf, answerOf }: { linkOf: LinkOf; copyOf: CopyOf; answerOf: AnswerOf },
): Promise<ClockStanding | undefined> {
  const [view] = await desk.find(clockId);
  if (view?.clock.id !== clockId) return undefined;
  const { clock, usedMs, percentUsed, leftMs } = view;
  return {
    entity: await linked(clock.entity, linkOf),
    elapsedMs: usedMs,
    leftMs,
    targetMs: clock.targetMs,
    addedMs: clock.addedMs,
    percentUsed,
    given: desk.standOf(clock),
    extension: extensionText(clock),
    copy: await copyOf(clock.entity),
    answer: await answerOf(clock.entity),
    dueAt: clock.dueAt,
    pausedFor: clock.pausedFor,
  };
}
