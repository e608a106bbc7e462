/** The place of a delivery of ours in its chat: the thread under it, and a link to it. */
import type { Adapter } from "../../domain/chat/adapter.js";
import type { Address } from "../../domain/chat/address.js";
import { isThreadRefused } from "../../domain/chat/thread.js";
import type { Delivery, Store } from "../../domain/store.js";
import { errorMessage } from "../../lib/errors.js";
import type { Logger } from "../../lib/logger.js";
import type { NoteNoThread } from "./threads.js";

export interface DeliveryLinkDeps {
  outbox: Pick<Store["outbox"], "get">;
  adapters: readonly Adapter[];
  noteNoThread: NoteNoThread;
  logger: Logger;
}

export interface DeliveryLinks {
  /** `later`: the delivery is not posted yet, or the platform does not answer. */
  threadUnder(deliveryId: string, name: string): Promise<Address | "none" | "later">;
  linkTo(deliveryId: string): Promise<string | undefined>;
}

export function createDeliveryLinks({ outbox, adapters, noteNoThread, logger }: DeliveryLinkDeps): DeliveryLinks {
  const adapterOf = ({ platform }: Address) => adapters.find((one) => one.platform === platform);
  const messageOf = ({ parts }: Delivery) => parts.find(({ status }) => status === "sent")?.messageId;
  return {
    async threadUnder(deliveryId, name) {
      const delivery = await outbox.get(deliveryId);
      if (delivery === undefined) return "none";
      const { address } = delivery;
      const adapter = adapterOf(address);
      // Threads do not hang under threads.
      if (adapter?.openThread === undefined || address.threadId !== undefined) return "none";
      const messageId = messageOf(delivery);
      if (messageId === undefined) return "later";
      try {
        return (await adapter.openThread(address, messageId, name)) ?? "none";
      } catch (error) {
        if (isThreadRefused(error)) {
          noteNoThread(address, error);
          return "none";
        }
        logger.warn({ delivery: deliveryId, error: errorMessage(error) }, "a thread could not be opened; tried again");
        return "later";
      }
    },
    async linkTo(deliveryId) {
      const delivery = await outbox.get(deliveryId);
      const messageId = delivery && messageOf(delivery);
      if (delivery === undefined || messageId === undefined) return undefined;
      return adapterOf(delivery.address)?.traits.linkTo?.(delivery.address, messageId, undefined);
    },
  };
}
