/** JSON bodies: the bodies of one person are parsed one after another, so that others wait for one of them and not for all. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HookgateError } from "../lib/errors.js";
import { jsonExcess } from "../lib/validation/json-depth.js";
import type { Limits } from "./limits.js";
import type { Person } from "./people.js";

/** Many clients name the type of a body that they do not send. */
export function takeJson(
  app: FastifyInstance,
  senders: WeakMap<FastifyRequest, Person>,
  limits: Pick<Limits, "reading">,
): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, async (request: FastifyRequest, text: string) => {
    if (text === "") return undefined;
    const sender = senders.get(request);
    if (sender) await limits.reading(sender);
    const excess = jsonExcess(text);
    if (excess !== undefined) throw new HookgateError({ code: "BODY_INVALID", message: `the body ${excess}` });
    return new Promise((resolve, reject) => {
      parse(request, text, (error, value) => (error ? reject(error) : resolve(value)));
    });
  });
}
