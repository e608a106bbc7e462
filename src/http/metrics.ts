/** The metrics at /metrics. The gateway's observer and the journal feed them; queue depths and platform states are read on request. */
import { Gauge, Registry } from "prom-client";
import { addressOf } from "../domain/chat/event.js";
import type { JournalPort } from "../domain/journal.js";
import type { Observer } from "../gateway/observe.js";
import type { GatewayStatus } from "../gateway/status.js";
import { countBetweenScrapes, timeBetweenScrapes } from "./between-scrapes.js";

export interface Metrics {
  /** For the gateway. */
  observer: Observer;
  /** Counts every dispatch on its way to the journal. */
  journal(next: JournalPort): JournalPort;
  /** A token that no person has: `way` is `bearer` or `login`, `answer` is `refused` or `limited`. */
  tokenFailed(way: string, answer: string): void;
  /** An event from another system, whose signature is right: `answer` is `accepted`, `duplicate` or `refused` (too many wait). */
  ingested(event: string, answer: string): void;
  /** In Prometheus' text format. Without a status the gauges that come from it are left out. `waitingRuns`: by hook. */
  text(status: GatewayStatus | undefined, waitingRuns: ReadonlyMap<string, number>): Promise<string>;
  contentType: string;
}

const PHASES = ["off", "connecting", "online", "reconnecting", "offline"] as const;

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: [string, string]) =>
    countBetweenScrapes({ name: `hookgate_${name}`, help, labelNames, registers });
  const timer = (name: string, help: string, labelName: string) =>
    timeBetweenScrapes({ name: `hookgate_${name}`, help, labelName, registry });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name: `hookgate_${name}`, help, labelNames, registers });

  const accepted = counter("events_accepted_total", "Events stored in the inbox, duplicates left out.", [
    "platform",
    "kind",
  ]);
  const settled = counter("events_settled_total", "Events handled, by what became of them.", ["platform", "outcome"]);
  const settleTime = timer("event_seconds", "From arrival to settled.", "platform");
  const deliveries = counter("deliveries_total", "Deliveries that reached a lasting status.", ["platform", "status"]);
  const deliveryTime = timer("delivery_seconds", "From enqueued to a lasting status.", "platform");
  const requests = counter("platform_requests_total", "Requests to platforms, by result.", ["platform", "result"]);
  const requestTime = timer("platform_request_seconds", "How long platforms took to answer.", "platform");
  const dispatches = counter("dispatches_total", "Firings of hook points, by outcome.", ["point", "outcome"]);
  const dispatchTime = timer("dispatch_seconds", "How long a hook point took, all its hooks together.", "point");
  const runs = counter("hook_runs_total", "Executions of hooks, by outcome.", ["hook", "outcome"]);

  const failedTokens = counter("failed_tokens_total", "Requests with an unknown token, by way and answer.", [
    "way",
    "answer",
  ]);

  const ingested = counter("ingested_events_total", "Signed events of other systems, by answer.", ["event", "answer"]);

  const inbox = gauge("inbox_rows", "Rows of the inbox, by status.", ["status"]);
  const outbox = gauge("outbox_deliveries", "Deliveries in the outbox, by status.", ["status"]);
  const depth = gauge("queue_depth", "Lanes and conversations under way or waiting for room.", ["queue", "state"]);
  const platforms = gauge("platform_state", "1 for the phase that a platform is in.", ["platform", "phase"]);
  const restarts = gauge("platform_restarts", "How often a platform had to be started again.", ["platform"]);
  const runsWaiting = gauge("hook_runs_waiting", "Stored runs of hooks that wait to be started.", ["hook"]);
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
      eventAccepted: (event) => accepted(addressOf(event).platform, event.kind),
      eventSettled(platform, outcome, latencyMs) {
        settled(platform, outcome);
        settleTime(platform, latencyMs);
      },
      deliverySettled(platform, status, latencyMs) {
        deliveries(platform, status);
        deliveryTime(platform, latencyMs);
      },
      requestAnswered(platform, result, latencyMs) {
        requests(platform, result);
        requestTime(platform, latencyMs);
      },
    },
    journal: (next) => ({
      leavesOutRaw: next.leavesOutRaw,
      record(dispatch, names) {
        next.record(dispatch, names);
        dispatches(dispatch.point, dispatch.outcome);
        dispatchTime(dispatch.point, dispatch.latencyMs);
        for (const run of dispatch.runs) runs(run.hookId, run.outcome);
      },
    }),
    tokenFailed: failedTokens,
    ingested,
    async text(status, waitingRuns) {
      if (status) readStatus(status);
      runsWaiting.reset();
      for (const [hook, waiting] of waitingRuns) runsWaiting.set({ hook }, waiting);
      const { user, system } = process.cpuUsage();
      memory.set(process.memoryUsage.rss());
      cpu.set((user + system) / 1e6);
      uptime.set(process.uptime());
      return registry.metrics();
    },
  };
}
