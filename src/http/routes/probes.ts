/** For whoever watches over the process: alive, ready, metrics. */
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { type HttpParts, openRoute } from "../route.js";

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
      "200 when all has started, the store takes writes and a platform is online (one that is down takes nobody away from the others); else 503. Tells each state.",
    async handle(parts, { reply }) {
      const answer = await readiness(parts);
      reply.code(answer.ready ? 200 : 503);
      return answer;
    },
  }),
  openRoute({
    method: "GET",
    path: "/metrics",
    access: "anyone",
    summary: "Counters and gauges for Prometheus.",
    async handle(parts, { request, reply }) {
      if (parts.config.metrics_need_token) await parts.auth.need(request);
      const text = await parts.metrics.text(await parts.gateway.status());
      return reply.header("content-type", parts.metrics.contentType).send(text);
    },
  }),
];

async function readiness({ checkStore, hasStarted, gateway, stopping }: HttpParts) {
  const store = await checkStore().then(
    () => ({ state: "ok" }),
    (error: unknown) => ({
      state: "failed",
      reason: error instanceof HookgateError ? error.message : errorMessage(error),
    }),
  );
  const { running, adapters } = await gateway.status();
  const reachable = adapters.length === 0 || adapters.some(({ phase }) => phase === "online");
  return {
    ready: store.state === "ok" && hasStarted() && running && reachable && !stopping.aborted,
    store,
    platforms: Object.fromEntries(
      adapters.map(({ platform, phase, reason }) => [platform, { state: phase, ...(reason ? { reason } : {}) }]),
    ),
  };
}
