/**
 * Which deliveries and inbox rows wait for an operator, by chat, age and reason: ids only, so that all of them can be counted and acted
 * upon.
 */
import {
  HOOKS_MAY_CRASH,
  type InboxLetterRef,
  type LetterFilter,
  type LetterRef,
  MAY_CRASH,
  MAY_HAVE_BEEN_HANDLED,
  MAY_HAVE_BEEN_SENT,
} from "../../domain/deliveries/letters.js";
import type { DeliveryStatus } from "../../domain/store.js";
import type { Connection } from "../connection.js";
import { IS_EXCEPTION, IS_OPEN } from "./delivery-rows.js";

type Parameters = (string | number)[];

export function createDeliveryLetters({ database, read }: Connection) {
  return (statuses: readonly DeliveryStatus[], filter: LetterFilter): Promise<LetterRef[]> =>
    read(() => {
      const { sql, parameters } = conditions(filter, { chat: "conversation", at: "created_at", reason: "reason" });
      const isOpen = statuses.every((one) => one === "waiting" || one === "sending");
      // A part that was written to the wire without an answer, or a row that does not show whether it was sent.
      const found = database.prepare<
        Parameters,
        { id: string; at: number; reason: string | null; isAmbiguous: number; mayCrash: number }
      >(
        `SELECT id, created_at AS at, reason, status = 'held' AND (instr(ifnull(parts, ''), '"status":"sending"') > 0 OR instr(ifnull(reason, ''), ?) = 1) AS isAmbiguous,
           status = 'held' AND instr(ifnull(reason, ''), ?) > 0 AS mayCrash
         FROM deliveries WHERE ${isOpen ? IS_OPEN : IS_EXCEPTION} AND status IN (${statuses.map(() => "?").join(", ")})${sql} ORDER BY seq`,
      );
      return found
        .all(MAY_HAVE_BEEN_SENT, HOOKS_MAY_CRASH, ...statuses, ...parameters)
        .map(({ id, at, reason, isAmbiguous, mayCrash }) => ({
          id,
          at,
          ...withReason(reason),
          isAmbiguous: isAmbiguous === 1,
          mayCrash: mayCrash === 1,
        }));
    });
}

export function createInboxLetters({ database, read }: Connection) {
  return (filter: LetterFilter): Promise<InboxLetterRef[]> =>
    read(() => {
      const { sql, parameters } = conditions(filter, { chat: "lane", at: "received_at", reason: "error" });
      const found = database.prepare<
        Parameters,
        { id: number; at: number; reason: string | null; isAmbiguous: number; mayCrash: number }
      >(
        `SELECT id, received_at AS at, error AS reason, instr(ifnull(error, ''), ?) = 1 AS isAmbiguous, instr(ifnull(error, ''), ?) > 0 AS mayCrash
         FROM inbox WHERE status = 'dead'${sql} ORDER BY id`,
      );
      return found
        .all(MAY_HAVE_BEEN_HANDLED, MAY_CRASH, ...parameters)
        .map(({ id, at, reason, isAmbiguous, mayCrash }) => ({
          id,
          at,
          ...withReason(reason),
          isAmbiguous: isAmbiguous === 1,
          mayCrash: mayCrash === 1,
        }));
    });
}

const withReason = (reason: string | null) => (reason === null ? undefined : { reason });

/** A chat means its threads and its commands, too. */
function conditions(
  { chats, olderThan, reason }: LetterFilter,
  column: { chat: string; at: string; reason: string },
): { sql: string; parameters: Parameters } {
  const parts: string[] = [];
  const parameters: Parameters = [];
  if (chats !== undefined) {
    const one = `${column.chat} = ? OR substr(${column.chat}, 1, length(?) + 1) IN (? || ':', ? || '#')`;
    parts.push(`(${chats.map(() => one).join(" OR ")})`);
    parameters.push(...chats.flatMap((chat) => [chat, chat, chat, chat]));
  }
  if (olderThan !== undefined) {
    parts.push(`${column.at} < ?`);
    parameters.push(olderThan);
  }
  if (reason !== undefined) {
    parts.push(`instr(lower(ifnull(${column.reason}, '')), lower(?)) > 0`);
    parameters.push(reason);
  }
  return { sql: parts.map((part) => ` AND ${part}`).join(""), parameters };
}
