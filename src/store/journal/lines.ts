/**
 * Segments as they were written before there were packs: a record is a line of text, a header with what the journal is searched
 * by, a tab, and a body. (JSON writes tabs and line breaks as escapes.) They are read until retention has removed them.
 */
import type { DispatchRecord, Outcome, RunRecord } from "../../domain/journal.js";
import type { Header, Records } from "./records.js";

type StoredHeader = [
  id: string,
  point: string,
  at: number,
  outcome: Outcome,
  isDryRun: 0 | 1,
  conversation: string | null,
  messageId: string | null,
  runs: StoredRun[],
];
type StoredRun = [hookId: string, position: number, outcome: Outcome, latencyMs: number, rest?: Partial<RunRecord>];
type Body = Pick<
  DispatchRecord,
  "model" | "phase" | "latencyMs" | "payload" | "cause" | "attempt" | "result" | "provenance"
>;

export class Lines implements Records {
  readonly #lines: string[];

  constructor(text: string) {
    this.#lines = text.split("\n");
  }

  get length(): number {
    return this.#lines.length;
  }

  header(index: number): Header {
    const [id, point, at, outcome, isDryRun, conversation, messageId, runs] = this.#stored(index);
    return {
      id,
      point,
      at,
      outcome,
      isDryRun: isDryRun === 1,
      conversation: conversation ?? undefined,
      messageId: messageId ?? undefined,
      runs: runs.map(([hookId, position, runOutcome, latencyMs, rest]) => ({
        hookId,
        position,
        outcome: runOutcome,
        latencyMs,
        ownId: rest?.id,
      })),
    };
  }

  dispatch(index: number): DispatchRecord {
    const line = this.#lines[index] ?? "";
    const [id, point, at, outcome, isDryRun, conversation, messageId, runs] = this.#stored(index);
    const body: Body = JSON.parse(line.slice(line.indexOf("\t") + 1));
    return {
      ...body,
      id,
      point,
      at,
      outcome,
      dryRun: isDryRun === 1,
      ...(conversation === null ? {} : { conversation }),
      ...(messageId === null ? {} : { messageId }),
      runs: runs.map(([hookId, position, runOutcome, latencyMs, rest]) => ({
        id: `${id}/${position}`,
        hookId,
        position,
        outcome: runOutcome,
        latencyMs,
        attempt: body.attempt,
        ...rest,
      })),
    };
  }

  #stored(index: number): StoredHeader {
    const line = this.#lines[index] ?? "";
    return JSON.parse(line.slice(0, line.indexOf("\t")));
  }
}
