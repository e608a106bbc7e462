/** The default route of a plugin: its errors name the plugin, the file and the line. */
import { address } from "../domain/chat/address.js";
import type { Route, RouteResult } from "../gateway/routes.js";
import { errorPlace } from "../lib/error-place.js";
import { errorMessage, HookgateError } from "../lib/errors.js";
import { shown } from "../lib/validation/plain-issues.js";
import { strictly } from "../lib/validation/strictly.js";
import { unknownKey } from "../lib/validation/unknown-key.js";
import { valueProblem } from "../lib/validation/value-problem.js";
import { outbound } from "./stage.js";

/** A failure (PLUGIN_ROUTE) or a wrong result is a failed handling: the message is tried again, and may end as a dead letter. */
export function namedRoute(id: string, handler: Route): Route {
  const of = `The default route of plugin "${id}"`;
  return async (message, context) => {
    let result: unknown;
    try {
      result = await handler(message, context);
    } catch (error) {
      if (error instanceof HookgateError) throw error;
      const place = errorPlace(error);
      const text = `${of} failed: ${errorMessage(error)}${place === undefined ? "" : ` (${place})`}`;
      throw new HookgateError({ code: "PLUGIN_ROUTE", message: text, cause: error });
    }
    const problem = routeProblem(result, of);
    if (problem !== undefined) throw new HookgateError({ code: "PLUGIN_ROUTE", message: problem });
    return (result ?? undefined) as RouteResult | undefined;
  };
}

function routeProblem(result: unknown, of: string): string | undefined {
  if (result === undefined || result === null) return undefined;
  if (typeof result !== "object") return `${of} returned ${shown(result)}: return { reply } or nothing`;
  const unknown = unknownKey("key", result, ["reply", "routeTo"]);
  if (unknown !== undefined) return `${of} returned what is no result: ${unknown}`;
  const { reply, routeTo } = result as RouteResult;
  const problem = routeTo === undefined ? undefined : valueProblem(strictly(address), routeTo, ["routeTo"]);
  if (problem !== undefined) return `${of} returned what is no result: ${problem}`;
  if (reply !== undefined) outbound(reply, `${of}: its reply`);
  return undefined;
}
