/** The rows of deliveries, as the outbox reads them before it changes them, inside the open transaction. */
import type { Database } from "better-sqlite3";
import { type DeliveryStatus, isUnderWay } from "../../domain/store.js";
import { HookgateError } from "../../lib/errors.js";
import type { Parts } from "./delivery-parts.js";
import { DELIVERY_COLUMNS, type DeliveryRecord } from "./delivery-rows.js";

export class DeliveryTable {
  readonly #select;
  readonly #setParts;

  constructor(database: Database) {
    this.#select = database.prepare<[string], DeliveryRecord>(
      `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`,
    );
    this.#setParts = database.prepare<[string, number]>("UPDATE deliveries SET parts = ? WHERE seq = ?");
  }

  find(id: string): DeliveryRecord | undefined {
    return this.#select.get(id);
  }

  /** Undefined: there is no such delivery, or it is settled or with an operator. */
  findOpen(id: string): DeliveryRecord | undefined {
    const record = this.find(id);
    return record && isUnderWay(record) ? record : undefined;
  }

  /** Throws STORE_FAILED for a delivery that is not open. */
  requireOpen(id: string): DeliveryRecord {
    const record = this.find(id);
    return record && isUnderWay(record) ? record : notOpen(id, record?.status);
  }

  setParts(seq: number, parts: Parts): void {
    this.#setParts.run(JSON.stringify(parts), seq);
  }
}

export function notOpen(id: string, status: DeliveryStatus | "corrected" | undefined): never {
  const state = status === undefined ? "does not exist" : `is ${status}`;
  throw new HookgateError({ code: "STORE_FAILED", message: `delivery ${id} ${state}, so it cannot be sent` });
}
