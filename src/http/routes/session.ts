/** Logging in and out, and who one is. */
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { openRoute, personRoute } from "../route.js";

const name = z.string().trim().min(1, "expected a name").max(60, "expected at most 60 characters");

export const sessionRoutes = [
  openRoute({
    method: "POST",
    path: "/api/login",
    access: "anyone",
    summary:
      "`{ token, name? }`: logs in with a token, sets the session cookie; `name` is what others see. Answers with `pageKey`, which goes with the cookie as the header `x-hookgate-page` or as `?page=`.",
    body: z.strictObject({ token: z.string().min(1).max(500), name: name.optional() }),
    async handle({ auth }, { body, request, reply }) {
      return auth.login(request, reply, body.token, body.name);
    },
  }),
  openRoute({
    method: "POST",
    path: "/api/logout",
    access: "anyone",
    summary:
      "`{ everywhere? }`: revokes the session of this browser, or all sessions of its person (which needs the page key, too); ends their live pages.",
    body: z.strictObject({ everywhere: z.boolean().default(false) }).prefault({}),
    async handle({ auth, streams }, { body, request, reply }) {
      const personId = await auth.logout(request, reply, body.everywhere);
      // Pages that are still logged in connect again by themselves.
      if (personId !== undefined) streams.end(personId);
      return {};
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/me",
    summary: "The current user: person, role, and the limits of the web chat.",
    async handle({ gateway, config, web }, { person }) {
      return {
        person,
        role: gateway.identify("web", person.id) ?? null,
        maxUploadBytes: config.max_upload_mb * 1_000_000,
        maxText: web?.maxText ?? null,
        publicUrl: config.public_url ?? null,
      };
    },
  }),
  personRoute({
    method: "PATCH",
    path: "/api/me",
    counts: "messages",
    summary: "`{ name }`: changes the name that others see; the numeric id stays.",
    body: z.strictObject({ name }),
    async handle({ people }, { person, body }) {
      const renamed = await people.rename(person.id, body.name);
      if (!renamed) throw new HookgateError({ code: "UNAUTHORIZED", message: "you are not logged in" });
      return { person: renamed };
    },
  }),
];
