/**
 * A dispatch as one line of text, and back: a header with what the journal is searched by, a tab, and a body that is only read
 * when somebody looks at it. Compact, without platforms' raw payloads, never too long. (JSON writes tabs and line breaks as escapes.)
 */
import type { DispatchRecord, Outcome, RunRecord } from "../../domain/journal.js";
import { errorMessage } from "../../lib/errors.js";

/** Above this, long texts in a record are cut. */
const MAX_LINE_CHARS = 256 * 1024;
const MAX_TEXT_CHARS = 8 * 1024;

export interface PackedDispatch {
  line: string;
  failed: boolean;
}

/** What the writer reads of a record. A list, because it is written and read for every dispatch. */
export type Header = [
  id: string,
  point: string,
  at: number,
  outcome: Outcome,
  isDryRun: 0 | 1,
  conversation: string | null,
  messageId: string | null,
  runs: StoredRun[],
];
/** Most runs are an id, an outcome and a time. */
type StoredRun = [hookId: string, position: number, outcome: Outcome, latencyMs: number, rest?: StoredRest];
/** `id` and `attempt` only where they are not what the dispatch says. */
type StoredRest = Partial<Pick<RunRecord, "id" | "pluginId" | "reason" | "attempt" | "error" | "diff">>;
type Body = Pick<
  DispatchRecord,
  "model" | "phase" | "latencyMs" | "payload" | "cause" | "attempt" | "result" | "provenance"
>;

export function packDispatch(dispatch: DispatchRecord): PackedDispatch {
  // Written out, because a spread costs more than all of the rest here.
  const { id, point, model, phase, at, latencyMs, cause, attempt, dryRun, outcome, result, provenance } = dispatch;
  const runs = dispatch.runs.map((run) => packRun(run, id, attempt));
  const { conversation = null, messageId = null } = dispatch;
  const header: Header = [id, point, at, outcome, dryRun ? 1 : 0, conversation, messageId, runs];
  const payload = withoutRaw(dispatch.payload);
  const line = stringify(header, { model, phase, latencyMs, payload, cause, attempt, result, provenance });
  return {
    line: line.length > MAX_LINE_CHARS ? mapTexts(line, shorten) : line,
    failed: isFailure(outcome) || dispatch.runs.some((run) => isFailure(run.outcome)),
  };
}

/** The header of a line; the body is not looked at. */
export function readHeader(line: string): Header {
  return JSON.parse(line.slice(0, line.indexOf("\t")));
}

export function unpackDispatch(line: string): DispatchRecord {
  const [id, point, at, outcome, isDryRun, conversation, messageId, runs] = readHeader(line);
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

/** A line with every text in it, keys included, as `change` gives it back. */
export function mapTexts(line: string, change: (text: string) => string): string {
  return line
    .split("\t")
    .map((json) =>
      JSON.stringify(JSON.parse(json), (_key, value: unknown) => {
        if (typeof value === "string") return change(value);
        if (!isObject(value)) return value;
        return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), inner]));
      }),
    )
    .join("\t");
}

export function isFailure(outcome: Outcome): boolean {
  return outcome === "failed" || outcome === "timed_out";
}

function packRun(run: RunRecord, dispatchId: string, attempt: number): StoredRun {
  const { hookId, position, outcome, latencyMs, pluginId, reason, error, diff } = run;
  const isNamedAfter = run.id === `${dispatchId}/${position}`;
  const isPlain = pluginId === undefined && reason === undefined && error === undefined && diff === undefined;
  if (isPlain && isNamedAfter && run.attempt === attempt) return [hookId, position, outcome, latencyMs];
  const rest: StoredRest = { pluginId, reason, error, diff };
  if (!isNamedAfter) rest.id = run.id;
  if (run.attempt !== attempt) rest.attempt = run.attempt;
  return [hookId, position, outcome, latencyMs, rest];
}

/** `raw` is a platform's own payload: of the message itself, or of a message or event inside. */
function withoutRaw(payload: unknown): unknown {
  if (!isObject(payload)) return payload;
  let copy = payload;
  if ("raw" in payload) {
    // Left out, not deleted: an object that lost a key is slow to write.
    const { raw: _raw, ...rest } = payload;
    copy = rest;
  }
  for (const key of ["message", "event", "original"]) {
    const inner = payload[key];
    if (!isObject(inner)) continue;
    const cleaned = withoutRaw(inner);
    if (cleaned === inner) continue;
    if (copy === payload) copy = { ...payload };
    copy[key] = cleaned;
  }
  return copy;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stringify(header: Header, body: Body): string {
  try {
    return `${JSON.stringify(header)}\t${JSON.stringify(body)}`;
  } catch (thrown) {
    // A payload with a cycle or a BigInt: the rest of the record is worth keeping.
    const payload = `not recorded: ${errorMessage(thrown)}`;
    for (const [, , , , rest] of header[7]) delete rest?.diff;
    return `${JSON.stringify(header)}\t${JSON.stringify({ ...body, payload, result: undefined, provenance: undefined })}`;
  }
}

function shorten(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS)}… (${text.length - MAX_TEXT_CHARS} more characters)`;
}
