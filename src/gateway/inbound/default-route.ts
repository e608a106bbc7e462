/** Handles a message that no hook claimed as the configuration asks: does nothing, forwards it, or hands it to a plugin. */
import type { Operator } from "../../domain/chat/identity.js";
import type { InboundMessage } from "../../domain/chat/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import type { LaneRow } from "../conversation.js";
import { TOOK_TOO_LONG, withDeadline } from "../deadline.js";
import { destinationProblem } from "../destination-problem.js";
import type { Route, RouteResult } from "../routes.js";
import { forward, isEcho } from "./forward.js";
import { type Handling, settled } from "./handling.js";
import { causeId, causeOf, type Inbound, startsSeen } from "./receiving.js";
import { reply } from "./reply.js";
import { withReplySight } from "./sights-of.js";
import { misdirectedReply, unanswered } from "./unanswered.js";

export async function defaultRoute(
  row: LaneRow,
  message: InboundMessage,
  operator: Operator,
  inbound: Inbound,
): Promise<Handling> {
  const route = inbound.config.default_route;
  const misdirected = await misdirectedReply(row, message, inbound);
  if (misdirected) return misdirected;
  if (route === "none") return unanswered(row, message, operator, inbound);
  const deliveries: NewDelivery[] = [];
  if ("forward" in route) {
    if (isEcho(message, route.forward, inbound)) {
      const handling = await unanswered(row, message, operator, inbound);
      return handling.kind === "settled" ? { reason: "the default route leads to this chat", ...handling } : handling;
    }
    const copy = await forward(row, message, route.forward, inbound);
    if (copy) deliveries.push(copy);
    return settled("forwarded", deliveries);
  }
  const handler = inbound.routes.get(route.plugin);
  if (!handler) {
    // The missing route is among the listed problems until it is fixed; the messages are not held up for it.
    inbound.logger.warn(
      { plugin: route.plugin, id: row.id },
      `gateway.default_route names the plugin "${route.plugin}", which has no route: handled as with none`,
    );
    return unanswered(row, message, operator, inbound);
  }
  const result = await callRoute(row, message, route.plugin, handler, inbound);
  const problem = result?.routeTo && destinationProblem(result.routeTo, inbound.adapters);
  if (problem)
    throw new HookgateError({
      code: "ROUTE_UNREACHABLE",
      message: `The route of "${route.plugin}": routeTo: ${problem}`,
    });
  if (result?.reply !== undefined) deliveries.push(...reply(row, message, result.reply, inbound));
  const copy = result?.routeTo && (await forward(row, message, result.routeTo, inbound));
  return settled("routed", copy ? [...deliveries, copy] : withReplySight(row, deliveries, inbound));
}

/**
 * Calls the route once. The call is on the row as long as it blocks the conversation: also after its time limit, until the message is
 * handled.
 */
async function callRoute(
  row: LaneRow,
  message: InboundMessage,
  plugin: string,
  handler: Route,
  { clock, config }: Inbound,
): Promise<RouteResult | undefined> {
  const { timeouts = 0 } = row.route ?? {};
  row.route = { plugin, timeouts, sinceMs: clock.monotonic() };
  const context = { causeId: causeId(row), cause: causeOf(row, "message"), attempt: startsSeen(row) };
  let isLate = false;
  try {
    return await withDeadline(clock, config.command_timeout, `The default route of plugin "${plugin}"`, (signal) =>
      handler(message, { ...context, signal }),
    );
  } catch (error) {
    isLate = error instanceof HookgateError && error.code === TOOK_TOO_LONG;
    throw error;
  } finally {
    if (isLate) row.route = { plugin, timeouts: timeouts + 1 };
    else delete row.route;
  }
}
