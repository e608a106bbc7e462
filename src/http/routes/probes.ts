/** For monitoring of the process: alive, ready, metrics. */
import type { AdapterState } from "../../domain/chat/adapter.js";
import { HookgateError } from "../../lib/errors.js";
import { storeWords } from "../errors.js";
import { type HttpDeps, openRoute } from "../route.js";

export const probeRoutes = [
  openRoute({
    method: "GET",
    path: "/healthz",
    access: "probe",
    summary: "200 while the process answers.",
    handle: async () => ({ status: "ok" }),
  }),
  openRoute({
    method: "GET",
    path: "/readyz",
    access: "probe",
    summary:
      "200 when all has started, the store takes writes and a platform is online (one that is down does not affect the others); else 503. Shows the state of each platform, with the reason and what to do about it; `degraded` while a platform is away or needs attention, new messages are held back because too many wait to be handled (`heldBack`), `/status` warns about the store, the log cannot be written or the reader of its pipe has stopped or ended, or the configuration has problems (`/hooks broken` lists them).",
    async handle(deps, { reply }) {
      const answer = await readiness(deps);
      reply.code(answer.ready ? 200 : 503);
      return answer;
    },
  }),
  openRoute({
    method: "GET",
    path: "/metrics",
    access: "anyone",
    shownAccess: "a person, or anyone on this machine",
    summary:
      "Counters and gauges for Prometheus. A token of a person is needed behind a proxy, and unless only this machine can connect; `http.metrics_need_token` decides otherwise.",
    async handle(deps, { request, reply }) {
      if (deps.metricsNeedToken) await deps.auth.need(request);
      const text = await deps.metrics.text(await deps.gateway.status(), deps.waitingRuns());
      return reply.header("content-type", deps.metrics.contentType).send(text);
    },
  }),
];

/** The time that a platform may take to connect at start before the others are ready without it. */
const CONNECTING_MS = 5_000;

/** Away, or online with a remark that an operator must act on. */
const isTroubled = ({ phase, hint }: AdapterState) => (phase === "online" ? hint !== undefined : phase !== "off");

async function readiness(deps: HttpDeps) {
  const { hasStarted, problems, gateway, stopping, clock } = deps;
  const warnings = deps.storeWarnings();
  const store = await deps.checkStore().then(
    () => ({ state: "ok", warnings: warnings || undefined }),
    (error: unknown) => ({
      state: "failed",
      // Anyone may ask: no path and no cause, which the log has.
      reason: (error instanceof HookgateError && storeWords(error.code)) || "the database failed",
    }),
  );
  const { running, adapters, heldBack } = await gateway.status();
  const reachable = adapters.length === 0 || adapters.some(({ phase }) => phase === "online");
  const now = clock.now();
  const isConnecting = adapters.some(
    ({ phase, restarts, since }) => phase === "connecting" && restarts === 0 && now - since < CONNECTING_MS,
  );
  const ready = store.state === "ok" && hasStarted() && running && reachable && !isConnecting && !stopping.aborted;
  const configuration = { problems: await problems() };
  const log = { state: deps.hasLogFailed() ? "failed" : "ok" };
  const isDegraded =
    configuration.problems + warnings > 0 || log.state !== "ok" || heldBack !== undefined || adapters.some(isTroubled);
  return {
    ready,
    state: ready ? (isDegraded ? "degraded" : "ready") : "not ready",
    configuration,
    store,
    log,
    // Anyone may ask: no conversation by name.
    heldBack:
      heldBack &&
      `${heldBack.unfinished} messages wait to be handled, and new ones wait on their platforms (gateway.max_waiting); /status shows where most of them wait`,
    platforms: Object.fromEntries(
      adapters.map(({ platform, phase, reason, hint }) => [platform, { state: phase, reason, hint }]),
    ),
  };
}
