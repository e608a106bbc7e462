/**
 * The ends of deliveries that hooks listen to are pending work: one row for all that end in one transaction, because a row for each was
 * written and deleted for every message. Which deliveries are in a row of this process is kept in memory.
 */
import { DELIVERY_ENDS } from "../../domain/pending.js";
import type { OutboxStore } from "../../domain/store.js";
import { TransientMap } from "../../fast/transient-map.js";
import { newId } from "../../lib/id.js";
import type { Connection } from "../connection.js";
import type { AddPending } from "../pending.js";

export interface PendingEnds extends Pick<OutboxStore, "isEndPending" | "endNotified"> {
  /** Inside the open transaction. */
  addEnd(deliveryId: string): void;
}

/** A row. */
interface Row {
  id: string;
  /** How many of its deliveries hooks have not been notified of. */
  left: number;
}

export function createPendingEnds({ onTransaction }: Connection, addPending: AddPending): PendingEnds {
  /** By delivery, until hooks have been notified of it. */
  const rows = new TransientMap<string, Row>();
  /** The deliveries that ended in the open transaction. */
  let ended: string[] = [];
  let id = "";

  onTransaction({
    begin() {
      ended = [];
    },
    end() {
      if (ended.length === 0) return;
      id = newId("ends");
      addPending([{ id, kind: DELIVERY_ENDS, key: "", dueAt: 0, payload: { deliveries: ended } }]);
    },
    committed() {
      if (ended.length === 0) return;
      const row: Row = { id, left: 0 };
      const before = rows.size;
      for (const deliveryId of ended) rows.set(deliveryId, row);
      // A delivery that ended twice counts once.
      row.left = rows.size - before;
    },
  });

  return {
    addEnd(deliveryId) {
      if (!rows.get(deliveryId)) ended.push(deliveryId);
    },
    isEndPending: (deliveryId) => rows.get(deliveryId) !== undefined,
    endNotified(deliveryId) {
      const row = rows.delete(deliveryId);
      if (!row) return undefined;
      row.left--;
      return row.left === 0 ? row.id : undefined;
    },
  };
}
