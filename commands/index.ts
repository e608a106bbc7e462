/** The table of operator commands, one command a file, in the order in which they are listed within their subject (`groups.ts`). */
import type { CommandSpec } from "../src/domain/chat/command.js";
import type { Command } from "../src/gateway/commands.js";
import { ack } from "./ack.js";
import { addTask } from "./add-task.js";
import { alerts } from "./alerts.js";
import { audit } from "./audit.js";
import { claim } from "./claim.js";
import type { CommandDeps } from "./deps.js";
import { digest } from "./digest.js";
import { fireHook } from "./fire-hook.js";
import { gate } from "./gate.js";
import { help } from "./help.js";
import { hooks } from "./hooks.js";
import { mission } from "./mission.js";
import { oncall } from "./oncall.js";
import { outbox } from "./outbox.js";
import { pauses } from "./pauses.js";
import { replay } from "./replay.js";
import { run } from "./run.js";
import { runs } from "./runs.js";
import { schedule } from "./schedule.js";
import { silence } from "./silence.js";
import { sla } from "./sla.js";
import { snooze } from "./snooze.js";
import { status } from "./status.js";
import { task } from "./task.js";
import { whoami } from "./whoami.js";

export type { CommandDeps } from "./deps.js";
export { HooksInFlight } from "./status/in-flight.js";

const DEFINITIONS = [
  ...[help, status, whoami, claim],
  ...[hooks, runs, run, fireHook, replay],
  ...[outbox, pauses, audit],
  ...[task, addTask, mission, schedule, gate],
  ...[alerts, ack, snooze, silence, sla, digest, oncall],
];

/** The specs of the commands, without the parts that they use: for the command line, the docs and the platforms' own menus. */
export const commandSpecs: readonly CommandSpec[] = DEFINITIONS.map(({ spec }) => spec);

export function createCommands(deps: CommandDeps): Command[] {
  const specs = () => [...commandSpecs, ...(deps.pluginCommands?.() ?? [])];
  return DEFINITIONS.map(({ create }) => create(deps, specs));
}
