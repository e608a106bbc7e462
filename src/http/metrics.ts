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
  // Metrics are shown in the order in which they are made.
  const totals = makeTotals(registry);
  const gauges = makeGauges(registry);
  return {
    contentType: registry.contentType,
    observer: {
      eventAccepted: (event) => totals.accepted(addressOf(event).platform, event.kind),
      eventSettled(platform, outcome, latencyMs) {
        totals.settled(platform, outcome);
        totals.settleTime(platform, latencyMs);
      },
      deliverySettled(platform, status, latencyMs) {
        totals.deliveries(platform, status);
        totals.deliveryTime(platform, latencyMs);
      },
      requestAnswered(platform, result, latencyMs) {
        totals.requests(platform, result);
        totals.requestTime(platform, latencyMs);
      },
    },
    journal: (next) => ({
      leavesOutRaw: next.leavesOutRaw,
      record(dispatch, names) {
        next.record(dispatch, names);
        totals.dispatches(dispatch.point, dispatch.outcome);
        totals.dispatchTime(dispatch.point, dispatch.latencyMs);
        for (const run of dispatch.runs) totals.runs(run.hookId, run.outcome);
      },
    }),
    tokenFailed: totals.failedTokens,
    ingested: totals.ingested,
    async text(status, waitingRuns) {
      if (status) setStatus(gauges, status);
      gauges.runsWaiting.reset();
      for (const [hook, waiting] of waitingRuns) gauges.runsWaiting.set({ hook }, waiting);
      setProcess(gauges);
      return registry.metrics();
    },
  };
}

/** Counters and timers of things that happen. */
function makeTotals(registry: Registry) {
  const counter = (name: string, help: string, labelNames: [string, string]) =>
    countBetweenScrapes({ name: `hookgate_${name}`, help, labelNames, registers: [registry] });
  const timer = (name: string, help: string, labelName: string) =>
    timeBetweenScrapes({ name: `hookgate_${name}`, help, labelName, registry });
  return {
    accepted: counter("events_accepted_total", "Events stored in the inbox, duplicates left out.", [
      "platform",
      "kind",
    ]),
    settled: counter("events_settled_total", "Events handled, by what became of them.", ["platform", "outcome"]),
    settleTime: timer("event_seconds", "From arrival to settled.", "platform"),
    deliveries: counter("deliveries_total", "Deliveries that reached a lasting status.", ["platform", "status"]),
    deliveryTime: timer("delivery_seconds", "From enqueued to a lasting status.", "platform"),
    requests: counter("platform_requests_total", "Requests to platforms, by result.", ["platform", "result"]),
    requestTime: timer("platform_request_seconds", "How long platforms took to answer.", "platform"),
    dispatches: counter("dispatches_total", "Firings of hook points, by outcome.", ["point", "outcome"]),
    dispatchTime: timer("dispatch_seconds", "How long a hook point took, all its hooks together.", "point"),
    runs: counter("hook_runs_total", "Executions of hooks, by outcome.", ["hook", "outcome"]),
    failedTokens: counter("failed_tokens_total", "Requests with an unknown token, by way and answer.", [
      "way",
      "answer",
    ]),
    ingested: counter("ingested_events_total", "Signed events of other systems, by answer.", ["event", "answer"]),
  };
}

type Gauges = ReturnType<typeof makeGauges>;

/** Their values are read when metrics are asked for. */
function makeGauges(registry: Registry) {
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name: `hookgate_${name}`, help, labelNames, registers });
  return {
    inbox: gauge("inbox_rows", "Rows of the inbox, by status.", ["status"]),
    outbox: gauge("outbox_deliveries", "Deliveries in the outbox, by status.", ["status"]),
    depth: gauge("queue_depth", "Lanes and conversations under way or waiting for room.", ["queue", "state"]),
    platforms: gauge("platform_state", "1 for the phase that a platform is in.", ["platform", "phase"]),
    restarts: gauge("platform_restarts", "How often a platform had to be started again.", ["platform"]),
    runsWaiting: gauge("hook_runs_waiting", "Stored runs of hooks that wait to be started.", ["hook"]),
    running: gauge("running", "1 while the gateway runs.", []),
    memory: new Gauge({ name: "process_resident_memory_bytes", help: "Resident memory.", registers }),
    cpu: new Gauge({ name: "process_cpu_seconds_total", help: "User and system CPU time.", registers }),
    uptime: new Gauge({ name: "process_uptime_seconds", help: "Since the process started.", registers }),
  };
}

function setStatus({ inbox, outbox, depth, platforms, restarts, running }: Gauges, status: GatewayStatus): void {
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

function setProcess({ memory, cpu, uptime }: Gauges): void {
  const { user, system } = process.cpuUsage();
  memory.set(process.memoryUsage.rss());
  cpu.set((user + system) / 1e6);
  uptime.set(process.uptime());
}
