/** Makes a new delivery from the message and the options of its sender. */
import type { Delivery, NewDelivery } from "../../domain/store.js";
import { newId } from "../../lib/id.js";
import type { SendOptions } from "../contract.js";
import type { Deps } from "../deps.js";
import { newlyStored } from "../new-rows.js";
import { noteReusedKey } from "../note-reused-key.js";
import { sightOfHook } from "./sight-of-hook.js";

export type NewContent = Pick<NewDelivery, "operation" | "address" | "message" | "targetId">;

/** Resolves when it is stored. Nothing is woken. */
export async function enqueue(what: NewContent, options: SendOptions, deps: Deps): Promise<Delivery> {
  const { store, clock, config, watch } = deps;
  const { cause, deliveryId, ttlMs, interaction, visibleTo, isCourtesy, urgency, plugin, skipsHooks, answers } =
    options;
  const now = clock.now();
  const delivery: NewDelivery = {
    ...what,
    id: deliveryId ?? newId("d"),
    cause,
    expiresAt: now + (ttlMs ?? config.ttl),
    plugin,
    isCourtesy: isCourtesy || undefined,
    skipsHooks: skipsHooks || undefined,
    interaction,
    visibleTo,
    urgency,
    answers,
  };
  if (watch?.hearsHooks()) delivery.sight = await sightOfHook(delivery, now, store);
  if (deliveryId !== undefined && plugin !== undefined) await noteReusedKey(delivery, plugin, deps);
  const [seq = 0] = await store.outbox.enqueue([delivery], now);
  return newlyStored(delivery, seq, now);
}
