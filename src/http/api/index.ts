/** /api/v1: its endpoints, and the document that describes them. */
import { createHash } from "node:crypto";
import { once } from "../../lib/concurrency/on-first-use.js";
import { openRoute, type Route } from "../route.js";
import { alertEndpoints } from "./alerts.js";
import { API_ROOT, type Endpoint } from "./endpoint.js";
import { hookEndpoints } from "./hooks.js";
import { missionApi } from "./missions.js";
import { openApiDocument } from "./openapi.js";
import { runEndpoints } from "./runs.js";
import { slaEndpoints } from "./sla.js";
import { taskEndpoints } from "./tasks.js";

export const endpoints: readonly Endpoint[] = [
  ...hookEndpoints,
  ...runEndpoints,
  ...taskEndpoints,
  ...missionApi,
  ...alertEndpoints,
  ...slaEndpoints,
];

/** Made once: that takes longer than all else of its request, which needs no login. */
const openApi = once(() => {
  const text = JSON.stringify(openApiDocument(endpoints));
  return { text, tag: `"${createHash("sha256").update(text).digest("base64url")}"` };
});

export const apiRoutes: readonly Route[] = [
  ...endpoints,
  openRoute({
    method: "GET",
    path: `${API_ROOT}/openapi.json`,
    access: "anyone",
    perMinute: 60,
    summary: "This part of the API as an OpenAPI 3.1 document.",
    async handle(_parts, { request, reply }) {
      const { text, tag } = openApi();
      reply.header("etag", tag).header("cache-control", "no-cache");
      if (request.headers["if-none-match"] === tag) return reply.code(304).send();
      return reply.type("application/json; charset=utf-8").send(text);
    },
  }),
];
