/** Retention of the journal: asks the writer to delete a little, and again, until nothing is left to delete. */
import { HookgateError } from "../../lib/errors.js";
import type { WriterLink } from "./link.js";
import type { JournalReply } from "./protocol.js";
import type { Sender } from "./sender.js";

interface PendingSweep {
  id: number;
  before: number;
  maxRows: number;
  removed: Record<string, number>;
  resolve(removed: Record<string, number>): void;
  reject(error: HookgateError): void;
}

/** Deletes a bounded number of rows at a time; a sweep ends when its writer dies before the answer. */
export function createSweeps(link: WriterLink, sender: Sender) {
  const pending = new Map<number, PendingSweep>();
  let lastId = 0;
  const ask = ({ id, before, maxRows }: PendingSweep) => link.post({ kind: "sweep", id, before, maxRows });
  return {
    sweep: (before: number, maxRows: number): Promise<Record<string, number>> =>
      new Promise((resolve, reject) => {
        const sweep = { id: ++lastId, before, maxRows, removed: {}, resolve, reject };
        pending.set(sweep.id, sweep);
        if (sender.wake()) ask(sweep);
      }),
    onReady(): void {
      for (const sweep of pending.values()) ask(sweep);
    },
    onReply(reply: Extract<JournalReply, { kind: "swept" | "sweep-failed" }>): void {
      const sweep = pending.get(reply.id);
      if (!sweep) return;
      if (reply.kind === "swept") {
        for (const [table, rows] of Object.entries(reply.removed))
          sweep.removed[table] = (sweep.removed[table] ?? 0) + rows;
        if (reply.more) {
          ask(sweep);
          return;
        }
      }
      pending.delete(reply.id);
      if (reply.kind === "swept") sweep.resolve(sweep.removed);
      else sweep.reject(new HookgateError({ code: reply.code, message: reply.message }));
    },
    /** The writer is gone. The numbers of rows removed so far are the answer; the next sweep goes on. */
    end(): void {
      for (const { resolve, removed } of pending.values()) resolve(removed);
      pending.clear();
    },
  };
}
