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
    summary: "`{ token, name? }`: logs in with a token, sets the session cookie; `name` is what others see.",
    perMinute: 10,
    body: z.strictObject({ token: z.string().min(1).max(500), name: name.optional() }),
    async handle({ auth, people }, { body, reply }) {
      const person = await auth.login(reply, body.token);
      const renamed = body.name === undefined ? undefined : await people.rename(person.id, body.name);
      return { person: renamed ?? person };
    },
  }),
  openRoute({
    method: "POST",
    path: "/api/logout",
    access: "anyone",
    summary: "Ends the session of this browser.",
    async handle({ auth }, { request, reply }) {
      auth.logout(request, reply);
      return {};
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/me",
    summary: "Who one is: person, role, and the limits of the web chat.",
    async handle({ gateway, config }, { person }) {
      return {
        person,
        role: gateway.identify("web", person.id) ?? null,
        maxUploadBytes: config.max_upload_mb * 1_000_000,
        publicUrl: config.public_url ?? null,
      };
    },
  }),
  personRoute({
    method: "PATCH",
    path: "/api/me",
    summary: "`{ name }`: changes the name that others see; the numeric id stays.",
    body: z.strictObject({ name }),
    async handle({ people }, { person, body }) {
      const renamed = await people.rename(person.id, body.name);
      if (!renamed) throw new HookgateError({ code: "UNAUTHORIZED", message: "nobody is logged in" });
      return { person: renamed };
    },
  }),
];
