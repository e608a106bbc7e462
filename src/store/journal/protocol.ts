/** The messages between the gateway's thread and the journal's writer. */

export type JournalRequest =
  /** Dispatches (pack.ts). Batches of a session are numbered from 1 and written in order. */
  | { kind: "write"; batch: number; pack: Uint8Array }
  /** Removes a bounded number of rows, so that writing goes on in between. */
  | { kind: "sweep"; id: number; before: number; maxRows: number }
  | { kind: "close" };

export type JournalReply =
  /** The writer has opened the file; `lastBatch` = the last one of this session that is on disk. */
  | { kind: "ready"; lastBatch: number }
  | { kind: "written"; batch: number }
  | { kind: "refused"; batch: number; code: string; message: string; hint?: string }
  /** `more`: there is more to remove; ask again. */
  | { kind: "swept"; id: number; removed: Record<string, number>; more: boolean }
  | { kind: "sweep-failed"; id: number; code: string; message: string };

export type ThreadRequest =
  | JournalRequest
  /** The new entries of the list of secrets. */
  | { kind: "secrets"; more: (string | undefined)[] };

/** The facts with which a writer is started. */
export interface WriterFacts {
  file: string;
  /** Names a run of a gateway process. */
  session: string;
  /** Secrets that must not reach the disk. May grow. */
  secrets: (string | undefined)[];
}
