/** Every route, in the order of docs/http-api.md. */
import { apiRoutes } from "../api/index.js";
import type { Route } from "../route.js";
import { commandRoutes } from "./commands.js";
import { eventRoutes } from "./events.js";
import { fileRoutes } from "./files.js";
import { ingestRoutes } from "./ingest.js";
import { messageRoutes } from "./messages.js";
import { probeRoutes } from "./probes.js";
import { roomRoutes } from "./rooms.js";
import { sessionRoutes } from "./session.js";

export const routes: readonly Route[] = [
  ...probeRoutes,
  ...sessionRoutes,
  ...commandRoutes,
  ...roomRoutes,
  ...messageRoutes,
  ...fileRoutes,
  ...eventRoutes,
  ...apiRoutes,
  ...ingestRoutes,
];

/** For docs/http-api.md: with the page and the webhook, which are no part of the API's declarations. */
export const routeTable: readonly { method: string; path: string; access: string; summary: string }[] = [
  {
    method: "GET",
    path: "/",
    access: "anyone",
    summary: "The page of the web chat; while it is off, a page that shows why.",
  },
  ...routes.map(({ method, path, access, shownAccess, summary }) => ({
    method,
    path,
    access: shownAccess ?? (access === "person" ? "a person" : access === "signed" ? "anyone, by signature" : "anyone"),
    summary,
  })),
  {
    method: "POST",
    path: "/telegram/webhook",
    access: "Telegram, by its secret",
    summary: "Telegram sends updates here in webhook mode; `telegram.webhook.path` names another path.",
  },
];
