/** The table of operator commands, one a file. Slash commands, menus, completion, /help and docs/commands.md come from it. */
import type { CommandSpec } from "../src/domain/command.js";
import type { Command } from "../src/gateway/commands.js";
import { ack, ackSpec } from "./ack.js";
import { addTaskCommand, addTaskSpec } from "./add-task.js";
import { alerts, alertsSpec } from "./alerts.js";
import { audit, auditSpec } from "./audit.js";
import { claim, claimSpec } from "./claim.js";
import type { CommandDeps } from "./deps.js";
import { digest, digestSpec } from "./digest.js";
import { fireHook, fireHookSpec } from "./fire-hook.js";
import { gate, gateSpec } from "./gate.js";
import { inGroupOrder } from "./groups.js";
import { help, helpSpec } from "./help.js";
import { hooks, hooksSpec } from "./hooks.js";
import { mission, missionSpec } from "./mission.js";
import { oncall, oncallSpec } from "./oncall.js";
import { outbox, outboxSpec } from "./outbox.js";
import { pauses, pausesSpec } from "./pauses.js";
import { replay, replaySpec } from "./replay.js";
import { run, runSpec } from "./run.js";
import { runs, runsSpec } from "./runs.js";
import { schedule, scheduleSpec } from "./schedule.js";
import { silence, silenceSpec } from "./silence.js";
import { sla, slaSpec } from "./sla.js";
import { snooze, snoozeSpec } from "./snooze.js";
import { status, statusSpec } from "./status.js";
import { task, taskSpec } from "./task.js";
import { hasWork } from "./tasks/act.js";
import { whoami, whoamiSpec } from "./whoami.js";

export type { CommandDeps } from "./deps.js";
export { HooksInFlight } from "./in-flight.js";

/** What the commands are, without what they drive: for the docs and the platforms' own menus. */
export const commandSpecs: readonly CommandSpec[] = inGroupOrder([
  hooksSpec,
  fireHookSpec,
  runsSpec,
  runSpec,
  replaySpec,
  taskSpec,
  addTaskSpec,
  missionSpec,
  scheduleSpec,
  gateSpec,
  outboxSpec,
  auditSpec,
  pausesSpec,
  slaSpec,
  alertsSpec,
  ackSpec,
  snoozeSpec,
  silenceSpec,
  digestSpec,
  oncallSpec,
  statusSpec,
  whoamiSpec,
  claimSpec,
  helpSpec,
]);

/** In the order of `commandSpecs`. */
export function createCommands(deps: CommandDeps): Command[] {
  const specs = () => inGroupOrder([...commandSpecs, ...(deps.pluginCommands?.() ?? [])]);
  return inGroupOrder([
    hooks(deps),
    fireHook(deps),
    runs(deps),
    run(deps),
    replay(deps),
    task(deps),
    addTaskCommand(deps),
    mission(deps),
    schedule(deps),
    gate(deps),
    outbox(deps),
    audit(deps, specs),
    pauses(deps),
    sla(deps),
    alerts(deps),
    ack(deps),
    snooze(deps),
    silence(deps),
    digest(deps),
    oncall(deps),
    status(deps),
    whoami(),
    claim(deps),
    help(specs, async (operator) => deps.tasks !== undefined && hasWork(deps.tasks, operator)),
  ]);
}
