/** Which deliveries' ends hooks are still owed: written in the transaction that ends a delivery, cleared when they have been told. */
import type { Delivery, OutboxStore } from "../domain/store.js";
import type { Connection } from "./connection.js";
import { DELIVERY_COLUMNS, type DeliveryRecord, toDelivery } from "./delivery-rows.js";
import { readable } from "./unreadable.js";

export interface OwedHooks extends Pick<OutboxStore, "owed" | "told"> {
  /** Inside the open transaction. */
  owe(deliveryId: string): void;
}

export function createOwedHooks({ database, read, write }: Connection): OwedHooks {
  const add = database.prepare<[string]>("INSERT OR IGNORE INTO owed_hooks (delivery) VALUES (?)");
  const remove = database.prepare<[string]>("DELETE FROM owed_hooks WHERE delivery = ?");
  const list = database.prepare<[], DeliveryRecord>(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id IN (SELECT delivery FROM owed_hooks) ORDER BY seq`,
  );
  // Purged or swept before anybody was told.
  const forget = database.prepare("DELETE FROM owed_hooks WHERE delivery NOT IN (SELECT id FROM deliveries)");
  return {
    owe: (deliveryId) => void add.run(deliveryId),
    async owed(): Promise<Delivery[]> {
      await write(() => void forget.run());
      return read(() => readable(list.all(), toDelivery));
    },
    told: (deliveryIds) =>
      write(() => {
        for (const id of deliveryIds) remove.run(id);
      }),
  };
}
