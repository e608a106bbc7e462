/** What the config does with a message that no hook claimed: nothing, forward it, or hand it to a plugin. */
import type { InboundMessage } from "../../domain/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import { withDeadline } from "../deadline.js";
import { forward } from "./forward.js";
import { type Handling, settled } from "./handling.js";
import type { LaneRow } from "./lanes.js";
import { attemptOf, causeId, type Inbound } from "./receiving.js";
import { reply } from "./reply.js";

export async function defaultRoute(row: LaneRow, message: InboundMessage, inbound: Inbound): Promise<Handling> {
  const route = inbound.config.default_route;
  if (route === "none") return settled("unrouted");
  const deliveries: NewDelivery[] = [];
  if ("forward" in route) {
    const copy = await forward(row, message, route.forward, inbound);
    if (copy) deliveries.push(copy);
    return settled("forwarded", deliveries);
  }
  const handler = inbound.routes.get(route.plugin);
  if (!handler)
    throw new HookgateError({
      code: "ROUTE_MISSING",
      message: `The plugin "${route.plugin}" has no default route.`,
      hint: "See gateway.default_route in the configuration, and whether the plugin was loaded.",
      retryable: true,
    });
  const context = { causeId: causeId(row), attempt: attemptOf(row) };
  const result = await withDeadline(
    inbound.clock,
    inbound.config.command_timeout,
    `The route of "${route.plugin}"`,
    () => handler(message, context),
  );
  if (result?.reply !== undefined) deliveries.push(reply(row, message, result.reply, inbound));
  const copy = result?.routeTo && (await forward(row, message, result.routeTo, inbound));
  if (copy) deliveries.push(copy);
  return settled("routed", deliveries);
}
