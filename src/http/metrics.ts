/** What Prometheus sees at /metrics. Fed by the gateway's observer and the journal; queue depths and platform states are read when asked for. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { JournalPort } from "../domain/journal.js";
import type { Observer } from "../gateway/observe.js";
import type { GatewayStatus } from "../gateway/status.js";

export interface Metrics {
  /** For the gateway. */
  observer: Observer;
  /** Counts every dispatch on its way to the journal. */
  journal(next: JournalPort): JournalPort;
  /** In Prometheus' text format. Without a status the gauges that come from it are left out. */
  text(status: GatewayStatus | undefined): Promise<string>;
  contentType: string;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const PHASES = ["off", "connecting", "online", "reconnecting", "offline"] as const;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: [string, string]) =>
    countBetweenScrapes(`hookgate_${name}`, help, labelNames, registers);
  const histogram = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Histogram({ name: `hookgate_${name}`, help, labelNames, buckets: SECONDS, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name: `hookgate_${name}`, help, labelNames, registers });

  const accepted = counter("events_accepted_total", "Events stored in the inbox, duplicates left out.", [
    "platform",
    "kind",
  ]);
  const settled = counter("events_settled_total", "Events handled, by what became of them.", ["platform", "outcome"]);
  const settleTime = histogram("event_seconds", "From arrival to settled.", ["platform"]);
  const deliveries = counter("deliveries_total", "Deliveries that reached a lasting status.", ["platform", "status"]);
  const deliveryTime = histogram("delivery_seconds", "From enqueued to a lasting status.", ["platform"]);
  const requests = counter("platform_requests_total", "Requests to platforms, by result.", ["platform", "result"]);
  const requestTime = histogram("platform_request_seconds", "How long platforms took to answer.", ["platform"]);
  const dispatches = counter("dispatches_total", "Firings of hook points, by outcome.", ["point", "outcome"]);
  const dispatchTime = histogram("dispatch_seconds", "How long a hook point took, all its hooks together.", ["point"]);
  const runs = counter("hook_runs_total", "Executions of hooks, by outcome.", ["hook", "outcome"]);

  const inbox = gauge("inbox_rows", "Rows of the inbox, by status.", ["status"]);
  const outbox = gauge("outbox_deliveries", "Deliveries in the outbox, by status.", ["status"]);
  const depth = gauge("queue_depth", "Lanes and conversations under way or waiting for room.", ["queue", "state"]);
  const platforms = gauge("platform_state", "1 for the phase that a platform is in.", ["platform", "phase"]);
  const restarts = gauge("platform_restarts", "How often a platform had to be started again.", ["platform"]);
  const running = gauge("running", "1 while the gateway runs.", []);
  const memory = new Gauge({ name: "process_resident_memory_bytes", help: "Resident memory.", registers });
  const cpu = new Gauge({ name: "process_cpu_seconds_total", help: "User and system CPU time.", registers });
  const uptime = new Gauge({ name: "process_uptime_seconds", help: "Since the process started.", registers });

  function readStatus(status: GatewayStatus): void {
    for (const [name, value] of Object.entries(status.inbox)) inbox.set({ status: name }, value);
    for (const [name, value] of Object.entries(status.outbox)) outbox.set({ status: name }, value);
    for (const [queue, { active, waiting }] of [
      ["inbound", status.lanes],
      ["outbound", status.sending],
    ] as const) {
      depth.set({ queue, state: "active" }, active);
      depth.set({ queue, state: "waiting" }, waiting);
    }
    for (const { platform, phase, restarts: count } of status.adapters) {
      for (const one of PHASES) platforms.set({ platform, phase: one }, one === phase ? 1 : 0);
      restarts.set({ platform }, count);
    }
    running.set(status.running ? 1 : 0);
  }

  return {
    contentType: registry.contentType,
    observer: {
      eventAccepted: (platform, kind) => accepted(platform, kind),
      eventSettled(platform, outcome, latencyMs) {
        settled(platform, outcome);
        settleTime.observe({ platform }, latencyMs / 1000);
      },
      deliverySettled(platform, status, latencyMs) {
        deliveries(platform, status);
        deliveryTime.observe({ platform }, latencyMs / 1000);
      },
      requestAnswered(platform, result, latencyMs) {
        requests(platform, result);
        requestTime.observe({ platform }, latencyMs / 1000);
      },
    },
    journal: (next) => ({
      record(dispatch) {
        next.record(dispatch);
        dispatches(dispatch.point, dispatch.outcome);
        dispatchTime.observe({ point: dispatch.point }, dispatch.latencyMs / 1000);
        for (const run of dispatch.runs) runs(run.hookId, run.outcome);
      },
    }),
    async text(status) {
      if (status) readStatus(status);
      const { user, system } = process.cpuUsage();
      memory.set(process.memoryUsage.rss());
      cpu.set((user + system) / 1e6);
      uptime.set(process.uptime());
      return registry.metrics();
    },
  };
}

/**
 * A counter with two labels that costs a map's look-up. prom-client checks and hashes labels at every count, 17 of which
 * belong to one message; it is told the sums when somebody asks.
 */
function countBetweenScrapes(name: string, help: string, labelNames: [string, string], registers: Registry[]) {
  const counts = new Map<string, Map<string, number>>();
  new Counter({
    name,
    help,
    labelNames,
    registers,
    collect() {
      this.reset();
      const [first, second] = labelNames;
      for (const [one, byOther] of counts)
        for (const [other, count] of byOther) this.inc({ [first]: one, [second]: other }, count);
    },
  });
  return (one: string, other: string): void => {
    const byOther = counts.get(one) ?? new Map<string, number>();
    if (byOther.size === 0) counts.set(one, byOther);
    byOther.set(other, (byOther.get(other) ?? 0) + 1);
  };
}
