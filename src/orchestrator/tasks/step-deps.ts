/** The shared dependencies of the steps of a task. */
import type { OrchestratorDeps } from "../deps.js";
import type { Rooms } from "../rooms.js";
import type { Running } from "../running.js";
import type { Finish } from "./finish.js";
import type { RunEnds } from "./run-ends.js";
import type { Transitions } from "./transition.js";

export interface StepDeps extends OrchestratorDeps {
  transitions: Transitions;
  finish: Finish;
  runEnds: RunEnds;
  rooms: Rooms;
  running: Running;
  /** Ends the judging when the gateway stops. */
  stopping: AbortSignal;
}
