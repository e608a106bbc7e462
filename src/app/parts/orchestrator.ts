/** The orchestrator, put together from the parts of the product, and its methods for commands. */
import { dirname, resolve } from "node:path";
import type { Asker, Passed, TaskDesk } from "../../../commands/tasks/desk.js";
import { passedOn } from "../../../commands/tasks/rows.js";
import type { Environment } from "../../config/env.js";
import type { Config } from "../../config/schema.js";
import type { EntityChanged } from "../../domain/alerts/watched.js";
import { formatAddress } from "../../domain/chat/address.js";
import { auditedNames } from "../../domain/chat/audited-names.js";
import { hasRole, highestRole, type Operator, type Role } from "../../domain/chat/identity.js";
import { wasPurged } from "../../domain/deliveries/purges.js";
import type { Models } from "../../domain/model.js";
import type { Assess, Task, TaskChanged } from "../../domain/orchestrator/task.js";
import type { Store } from "../../domain/store.js";
import type { Gateway, RepliedTo } from "../../gateway/contract.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import { newId } from "../../lib/id.js";
import type { Logger } from "../../lib/logger.js";
import type { Destinations } from "../../lib/outgoing/destinations.js";
import type { Processes } from "../../lib/process/process.js";
import type { Clock } from "../../lib/time/clock.js";
import { expectationProblem } from "../../orchestrator/assessments/problem.js";
import { roleToAssign, roleToHear } from "../../orchestrator/assignee.js";
import type { OrchestratorDeps } from "../../orchestrator/deps.js";
import { createOrchestrator, type Orchestrator } from "../../orchestrator/orchestrator.js";
import type { OrdinaryStops } from "../../pending/ordinary-stops.js";
import type { Pending } from "../../pending/pending.js";
import type { FixedConfig } from "../taken-over.js";
import type { DeliveryLinks } from "./delivery-links.js";
import { directAddress, directPerson } from "./direct.js";
import type { LinkOf } from "./links.js";

export interface OrchestratorAppDeps {
  fixedConfig: FixedConfig;
  /** The name of an account or a runner. */
  nameOf(ref: string): string | undefined;
  /** The configuration in force: a reload changes it. */
  orchestratorNow(): Config["orchestrator"];
  env: Environment;
  /** The variable in force, as for `orchestratorNow`. */
  variable(name: string): string | undefined;
  /** The configuration file. */
  file: string;
  store: Pick<Store, "tasks" | "outbox" | "audit" | "keyValue">;
  registry: HookRegistry;
  attempts: Attempts;
  pending: Pending;
  stops: Pick<OrdinaryStops, "wasLast">;
  gateway: Pick<Gateway, "send" | "edit">;
  posted: DeliveryLinks;
  linkOf: LinkOf;
  processes: Processes;
  models: Models;
  destinations: Destinations;
  mask(text: string): string;
  /** The role of an account. */
  roleOf(platform: string, userId: string): Role | undefined;
  assess?: Assess;
  taskChanged?: TaskChanged;
  heldBack?: (task: Task) => Promise<string | undefined>;
  entityChanged?: EntityChanged;
  clock: Clock;
  logger: Logger;
}

export function assembleOrchestrator(deps: OrchestratorAppDeps): {
  orchestrator: Orchestrator;
  desk: TaskDesk;
  repliedTo: RepliedTo;
} {
  const { store, clock } = deps;
  const orchestrator = createOrchestrator({
    config: deps.orchestratorNow,
    store: store.tasks,
    registry: deps.registry,
    attempts: deps.attempts,
    keyValue: store.keyValue,
    pending: deps.pending,
    stops: deps.stops,
    chat: chatOf(deps),
    processes: deps.processes,
    models: deps.models,
    variable: deps.variable,
    destinations: deps.destinations,
    folder: dirname(resolve(deps.file)),
    mask: deps.mask,
    nameOf: deps.nameOf,
    // Runners have no account.
    commandName: async (ref) => (ref.includes(":") ? (await auditedNames(store)).get(ref) || undefined : undefined),
    readerRole(at) {
      const [platform = "", userId = ""] = directPerson(at)?.split(":") ?? [];
      return highestRole(["operator", deps.roleOf(platform, userId) ?? "operator"]);
    },
    assess: deps.assess,
    taskChanged: deps.taskChanged,
    heldBack: deps.heldBack,
    entityChanged: deps.entityChanged,
    owner: newId("o", clock.now()),
    clock,
    logger: deps.logger.child({ flow: "orchestrator" }),
  });
  const desk = deskOf(orchestrator, deps);
  return { orchestrator, desk, repliedTo: (...reply) => noteReply(reply, desk, deps) };
}

/** The messages of tasks: sent, edited and looked up. */
function chatOf({ fixedConfig, env, store, gateway, posted }: OrchestratorAppDeps): OrchestratorDeps["chat"] {
  return {
    send: gateway.send,
    edit: gateway.edit,
    isThere: async (deliveryId) => (await store.outbox.get(deliveryId)) !== undefined,
    async fateOf(deliveryId) {
      const delivery = await store.outbox.get(deliveryId);
      // A newer text of the same message replaced it.
      const [newest] =
        delivery?.status === "superseded" ? await store.outbox.list({ targetId: deliveryId, limit: 1 }) : [];
      return newest ?? delivery;
    },
    wasPurged: (deliveryId, since) => wasPurged({ store }, deliveryId, since),
    threadUnder: posted.threadUnder,
    direct: (platform, userId) => directAddress(platform, userId, fixedConfig, env),
  };
}

/** The methods for commands. */
function deskOf(orchestrator: Orchestrator, deps: OrchestratorAppDeps): TaskDesk {
  return {
    ...orchestrator,
    create: (...task) => orchestrator.create(...task),
    progressOf: (taskId) => orchestrator.progressOf(taskId),
    status: () => orchestrator.status(),
    linkOf: deps.linkOf,
    nameOf: deps.nameOf,
    assignees: () => Object.keys(deps.orchestratorNow().runners),
    expectationProblem: (one) => expectationProblem(one, deps.models.names),
    // Creating the task refuses an unknown name, with the nearest one.
    roleFor: (assignTo) => roleToAssign(assignTo, deps.orchestratorNow()) ?? "operator",
    roleToHear: (task) => roleToHear(task, deps.orchestratorNow()),
    pass: (task, text, asker, id) => passText(task, text, asker, id, deps),
  };
}

/** Sends a text of the assignee to those who gave the task, and theirs to the assignee. */
async function passText(
  task: Task,
  text: string,
  { from, operator, at: askedAt }: Asker,
  id: string,
  { fixedConfig, env, gateway }: OrchestratorAppDeps,
): Promise<Passed> {
  const theirs = task.cards?.findLast(({ person }) => person)?.at;
  const at = from === "worker" ? task.address : theirs;
  // Where both are in one conversation, the text has been posted there.
  if (at === undefined || (task.address && theirs && formatAddress(task.address) === formatAddress(theirs)))
    return "nowhere";
  const { platform, userId, role } = operator;
  const reportAt = askedAt ?? directAddress(platform, userId, fixedConfig, env);
  const answers = reportAt && { role, author: userId, askedAt: reportAt };
  await gateway.send(at, { text }, { cause: { kind: "task", id: task.id, depth: 0 }, deliveryId: id, answers });
  return answers ? "reported" : "unreported";
}

/** A message from the assignee of the task, or from an operator, in reply to its card. */
async function noteReply(
  [message, to, operator, causeId]: Parameters<RepliedTo>,
  desk: TaskDesk,
  { store }: OrchestratorAppDeps,
): ReturnType<RepliedTo> {
  if (to.cause.kind !== "task") return undefined;
  const task = await store.tasks.get(to.cause.id);
  const isTheirs = task?.owner === `person:${operator.platform}:${operator.userId}`;
  if (task === undefined || !(isTheirs || hasRole(operator.role, "operator"))) return undefined;
  const words = message.text.trim();
  if (words === "") return undefined;
  const cause = { kind: "message", id: causeId, depth: 0 } as const;
  const known = await store.tasks.events(task.id, RECENT);
  if (!known.some((event) => event.cause?.id === causeId))
    await desk.note(task.id, words.slice(0, 4_000), { by: nameOf(operator), cause });
  const from = isTheirs ? "worker" : "others";
  const passed = await desk.pass(
    task,
    passedOn("💬", nameOf(operator), task, words, desk),
    { from, operator, at: to.address },
    `d_${task.id}_${causeId}`,
  );
  return { text: passed === "nowhere" ? "Noted on the task." : ON_ITS_WAY };
}

const ON_ITS_WAY = "Noted on the task, and on its way. You will be notified if it does not arrive.";

/** The number of newest events of a task among which a report that is handled again after a crash is searched. */
const RECENT = 50;

const nameOf = ({ platform, userId, displayName }: Operator) =>
  displayName === undefined ? `${platform}:${userId}` : `${platform}:${userId} (${displayName})`;

/** The secrets of runners: the output of runners is masked with them. */
export function runnerSecrets({ orchestrator }: Config): string[] {
  return Object.values(orchestrator.runners).flatMap(({ shell, http }) => [
    ...(shell?.secrets ?? []),
    ...[http?.bearer_env, http?.sign_env].filter((name) => name !== undefined),
  ]);
}
