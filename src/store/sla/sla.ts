/** All data of the SLA part; `apply` is the one transaction that moves clocks, announcements and cases together. */
import type { SlaStore } from "../../domain/alerts/sla.js";
import type { Connection } from "../connection.js";
import { createAnnouncements } from "./announcements.js";
import { createClocks } from "./clocks.js";
import { createConversations } from "./conversations.js";

/** Clocks removed in one transaction. */
const CHUNK = 200;

export function createSlaStore(connection: Connection): SlaStore {
  const { put, ...clocks } = createClocks(connection);
  const { insert, ...announcements } = createAnnouncements(connection);
  const { putCase, forgetSight, ...conversations } = createConversations(connection);
  const sweep = createSweep(connection);
  return {
    ...clocks,
    ...announcements,
    ...conversations,
    apply: (change, now) =>
      connection.write(() => {
        for (const clock of change.clocks) put(clock);
        for (const announcement of change.announced) insert(announcement, now);
        if (change.case) putCase(change.case);
        for (const id of change.seen ?? []) forgetSight(id);
      }),
    sweep,
  };
}

function createSweep({ database, write }: Connection): SlaStore["sweep"] {
  const old = database.prepare<[number, number], { id: string }>(
    "SELECT id FROM sla_clocks WHERE ended_at IS NOT NULL AND ended_at < ? LIMIT ?",
  );
  const remove = database.prepare<[string]>("DELETE FROM sla_clocks WHERE id = ?");
  const unsay = database.prepare<[string]>("DELETE FROM sla_announcements WHERE clock_id = ?");
  const cases = database.prepare<[number, number]>(
    "DELETE FROM sla_cases WHERE id IN (SELECT id FROM sla_cases WHERE ended_at IS NOT NULL AND ended_at < ? LIMIT ?)",
  );
  return async (endedBefore) => {
    let removed = 0;
    for (let some = CHUNK; some === CHUNK; removed += some)
      some = await write(() => {
        const gone = old.all(endedBefore, CHUNK);
        for (const { id } of gone) {
          remove.run(id);
          unsay.run(id);
        }
        return gone.length;
      });
    for (let some = CHUNK; some === CHUNK; removed += some)
      some = await write(() => cases.run(endedBefore, CHUNK).changes);
    return removed;
  };
}
