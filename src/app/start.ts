/** The order in which everything starts. Started parts are closed in the reverse order, also when the start fails on the way. */
import type { Alerts } from "../alerts/alerts.js";
import type { Sla } from "../alerts/sla/sla.js";
import type { Automations } from "../automations/automations.js";
import type { Gateway } from "../gateway/gateway.js";
import type { HttpServer } from "../http/server.js";
import { within } from "../lib/concurrency/within.js";
import type { Processes } from "../lib/process/process.js";
import type { Clock } from "../lib/time/clock.js";
import type { Orchestrator } from "../orchestrator/orchestrator.js";
import type { MissionAssembly } from "./parts/missions.js";
import type { Stopping } from "./stopping.js";

interface Deps extends Pick<MissionAssembly, "missions" | "schedules" | "resumeAssessments" | "stopMissions"> {
  processes: Processes;
  http: HttpServer;
  gateway: Gateway;
  /** Its hooks are loaded. */
  automations: Automations;
  alerts: Alerts;
  sla: Sla;
  orchestrator: Orchestrator;
  /** The time that the gateway and its hooks may take to end, also hooks that nothing else waits for. */
  shutdownTimeoutMs: number;
  detachedEnded(): Promise<void>;
  /** Work that is still under way then counts as cut off. */
  cutOff(): void;
  stopping: Stopping;
  clock: Clock;
}

export async function startInOrder(deps: Deps): Promise<void> {
  const { processes, http, gateway, automations, alerts, sla, orchestrator, missions, schedules, stopping } = deps;
  /** For parts that wait for hooks: the stop goes on when one takes longer, and the next start sends the notifications that are left. */
  const stopInTime = (stop: () => Promise<void>) => async () =>
    void (await within(deps.clock, stopping.leftMs, stop()));
  await processes.sweep();
  stopping.push(() => processes.stop());
  // Before their programs are ended: that would look like a failure of theirs.
  stopping.push(async () => deps.cutOff());
  stopping.push(() => http.stop());
  await http.start();
  stopping.push(async () => {
    const stopBy = deps.clock.monotonic() + deps.shutdownTimeoutMs;
    await Promise.all([gateway.stop(), automations.stop(deps.shutdownTimeoutMs)]);
    await within(deps.clock, Math.max(0, stopBy - deps.clock.monotonic()), deps.detachedEnded());
  });
  await sla.load();
  await gateway.start();
  await automations.start();
  stopping.push(stopInTime(() => alerts.stop()));
  await alerts.start();
  stopping.push(stopInTime(() => sla.stop()));
  await sla.start();
  // The orchestrator first: its end is reported to missions.
  stopping.push(stopInTime(deps.stopMissions));
  stopping.push(() => orchestrator.stop());
  await deps.resumeAssessments();
  await orchestrator.start();
  await missions.start();
  await schedules.start();
}
