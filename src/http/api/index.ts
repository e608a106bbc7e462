/** /api/v1: its endpoints, and the document that describes them. */
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

export const apiRoutes: readonly Route[] = [
  ...endpoints,
  openRoute({
    method: "GET",
    path: `${API_ROOT}/openapi.json`,
    access: "anyone",
    summary: "This part of the API as an OpenAPI 3.1 document.",
    handle: async () => openApiDocument(endpoints),
  }),
];
