/** Alerts in the product: the parts that they reach, and who reports to them that a card of theirs has arrived. */
import { type Alerts, type AlertsDeps, createAlerts } from "../../alerts/alerts.js";
import type { Environment } from "../../config/env.js";
import type { Config } from "../../config/schema.js";
import type { Adapter } from "../../domain/chat/adapter.js";
import { hasRole } from "../../domain/chat/identity.js";
import type { Store } from "../../domain/store.js";
import type { RepliedTo } from "../../gateway/contract.js";
import type { Gateway } from "../../gateway/gateway.js";
import type { Observer } from "../../gateway/observe.js";
import { parseDestinations } from "../../lib/outgoing/destinations.js";
import { accountProblem, nameIn } from "../people.js";
import type { FixedConfig } from "../taken-over.js";
import { adminsOf } from "./admins.js";
import { directAddress, directPerson, spelled } from "./direct.js";

interface Deps
  extends Pick<
    AlertsDeps,
    "linkTo" | "placeName" | "standing" | "taken" | "end" | "policy" | "mask" | "clock" | "logger"
  > {
  fixedConfig: FixedConfig;
  /** The settings of alerts at the start. A reload passes on its own. */
  alertsAtStart: Config["alerts"];
  store: AlertsDeps["store"] & Pick<Store, "health">;
  env: Environment;
  consoleId: string;
  /** Owners who claimed their role in chat. */
  owners: ReadonlyMap<string, unknown>;
  gateway(): Gateway;
  adapters: readonly Adapter[];
}

/** A platform that does not report in time who can read a chat is treated as one that never reports it. */
const ASK_MS = 5_000;

export function assembleAlerts({ fixedConfig, env, consoleId, owners, gateway, adapters, ...parts }: Deps): Alerts {
  return createAlerts({
    ...parts,
    config: parts.alertsAtStart,
    gateway: {
      send: (at, message, sending) => gateway().send(at, message, sending),
      discard: (deliveryIds, reason) => gateway().discard(deliveryIds, reason),
      withdraw: (deliveryId, reason) => gateway().withdraw(deliveryId, reason),
      edit: (deliveryId, message, sending) => gateway().edit(deliveryId, message, sending),
    },
    pauseOf: (at) => gateway().chatPause(at),
    nameOf: (ref) => nameIn(fixedConfig, ref),
    direct(ref) {
      const [platform = "", id, ...more] = ref.split(":");
      const isAccount = id !== undefined && more.length === 0 && accountProblem(ref, fixedConfig) === undefined;
      return !isAccount ? undefined : directAddress(platform, id, fixedConfig, env);
    },
    isReader: async (at, userId) =>
      adapters.find(({ platform }) => platform === at.platform)?.isReader?.(at, userId, AbortSignal.timeout(ASK_MS)),
    personOf: directPerson,
    spelled: (at) => spelled(at, env),
    admins: () => adminsOf(fixedConfig, env, consoleId, owners),
    status: async () => ({ ...(await gateway().status()), store: parts.store.health() }),
    destinations: parseDestinations(fixedConfig.outgoing.allow),
  });
}

/**
 * An operator replies to the message of an alert: the reply is no customer's message, and is not forwarded. Messages in a thread under it
 * are left alone. Replies of people without a role, and to other messages of ours: `misdirectedReply` (gateway/inbound/unanswered.ts).
 */
export const repliedToAlert: RepliedTo = async ({ replyToId }, to, operator) => {
  const isDirect = to.parts.some(({ messageId }) => messageId !== undefined && messageId === replyToId);
  if (to.cause.kind !== "alert" || !isDirect || !hasRole(operator.role, "operator")) return undefined;
  return {
    text: "Your reply was not sent to anyone: this message is Hookgate's own. To answer the customer, reply to the copy of their message, which the card leads to; to note something, press Note under More….",
  };
};

/** The events that the gateway reports to the metrics, and to alerts: about their own deliveries, and about people who write. */
export function tellingAlerts(
  observer: Observer,
  alerts: Pick<Alerts, "delivered" | "deleted" | "heardFrom">,
): Observer {
  return {
    ...observer,
    eventAccepted(event) {
      observer.eventAccepted?.(event);
      if ("message" in event && event.message.isDm)
        alerts.heardFrom(`${event.message.platform}:${event.message.userId}`);
    },
    deliverySettled(platform, status, latencyMs, cause) {
      observer.deliverySettled?.(platform, status, latencyMs, cause);
      if (cause.kind !== "alert") return;
      alerts.delivered(cause.id);
    },
    ownMessageDeleted(cause) {
      observer.ownMessageDeleted?.(cause);
      if (cause.kind === "alert") alerts.deleted(cause.id);
    },
  };
}
