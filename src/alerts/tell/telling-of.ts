/** Composes the `Telling` of `telling.ts` from the dependencies of alerts. */
import { type Address, formatAddress, parseAddress } from "../../domain/chat/address.js";
import { isNewMessage } from "../../domain/deliveries/given-up.js";
import { HookgateError } from "../../lib/errors.js";
import type { Destinations } from "../../lib/outgoing/destinations.js";
import { guardedRequest } from "../../lib/outgoing/request.js";
import { isTransientStatus } from "../../lib/retry-after.js";
import type { AlertsConfig } from "../config.js";
import type { AlertsDeps } from "../contract.js";
import type { Inhibitors } from "../inhibitors.js";
import { createReaders } from "../readers.js";
import { knownAs } from "../rota/people.js";
import { createBudget } from "./budget.js";
import type { Telling } from "./telling.js";

/** As many as a card that is drawn every few minutes has in a day. */
const MAX_CHANGES = 1_000;

/**
 * The keys of the work of alerts. `rules`: open alerts whose silence or inhibition changed. `settings`: all open alerts.
 * `gateway`: watches the gateway and the rotas.
 */
export type Key = `to ${string}` | "time" | "rules" | "settings" | "silences" | "digests" | "heartbeat" | "gateway";

interface Own extends Pick<Telling, "silences" | "chatOf" | "run" | "raiseOwn"> {
  /** The current ones: a reload changes both. */
  config(): AlertsConfig;
  inhibitors(): Inhibitors;
  /** Looks at this key again, at this time or at once. */
  later(key: Key, at?: number): void;
}

export function tellingOf(deps: AlertsDeps, own: Own): Telling {
  const { gateway, store, isReader, policy, admins, placeName, direct, personOf, pauseOf } = deps;
  const { mask, nameOf, linkTo, standing, destinations, clock, logger } = deps;
  const { config, inhibitors, later, silences, chatOf, run, raiseOwn } = own;
  const atOf = <T>(destination: string, of: ((at: Address) => T) | undefined) => {
    const at = parseAddress(destination);
    return at && of?.(at);
  };
  return {
    ...gateway,
    get config() {
      return config();
    },
    get inhibitors() {
      return inhibitors();
    },
    store: store.alerts,
    silences,
    readers: createReaders({ isReader: async (at, userId) => isReader?.(at, userId), clock, logger }),
    policy,
    admins,
    placeName: (at) => placeName?.(at),
    direct: (ref) => {
      const at = direct?.(ref);
      return at && formatAddress(at);
    },
    personOf: (destination) => atOf(destination, personOf),
    chatOf,
    wakePlace: (destination) => later(`to ${destination}`),
    wakeAt: (at) => later("time", at),
    wakeConcerned: () => later("rules"),
    clock,
    logger,
    pauseOf: (destination) => atOf(destination, pauseOf),
    deliveryOf: (deliveryId) => store.outbox.get(deliveryId),
    wasPosted: async (targetId) =>
      (await store.outbox.list({ status: "sent", targetId, limit: MAX_CHANGES })).some(isNewMessage),
    post: (url, id, body) => postTo(url, id, body, destinations),
    run,
    raiseOwn,
    mask,
    nameOf: (ref) => knownAs(ref, config()) ?? nameOf?.(ref) ?? ref,
    linkTo: async (deliveryId) => linkTo?.(deliveryId),
    standing: async (clockId) => standing?.(clockId),
    budget: createBudget(),
  };
}

/** To a webhook. Throws WEBHOOK_REFUSED or the errors of guardedRequest. */
async function postTo(url: string, id: string, body: unknown, allow: Destinations): Promise<void> {
  const {
    status,
    headers,
    url: from,
  } = await guardedRequest(url, {
    method: "POST",
    headers: { "content-type": "application/json", "webhook-id": id },
    body: JSON.stringify(body),
    allow,
  });
  if (status < 300) return;
  const { location } = headers;
  const isRedirect = status < 400 && location !== undefined && URL.canParse(location, from);
  // Its path may be a secret.
  const to = isRedirect ? `, a redirect to ${new URL(location, from).host}: set the address that it leads to` : "";
  throw new HookgateError({
    code: "WEBHOOK_REFUSED",
    message: `it answered ${status}${to}`,
    retryable: isTransientStatus(status),
  });
}
