/** A dispatch as the JSON that is stored, and back: compact, without platforms' raw payloads, without secrets, never too long. */
import type { DispatchRecord, Outcome, RunRecord } from "../../domain/journal.js";
import { errorMessage } from "../../lib/errors.js";

/** Above this, long texts in a record are cut. */
const MAX_RECORD_CHARS = 256 * 1024;
const MAX_TEXT_CHARS = 8 * 1024;

export interface PackedDispatch {
  json: string;
  failed: boolean;
}

type Mask = (text: string) => string;

/** A dispatch with its runs as lists; most runs are an id, an outcome and a time. */
type StoredDispatch = Omit<DispatchRecord, "runs"> & { runs: StoredRun[] };
type StoredRun = [hookId: string, position: number, outcome: Outcome, latencyMs: number, rest?: StoredRest];
/** `id` and `attempt` only where they are not what the dispatch says. */
type StoredRest = Partial<Pick<RunRecord, "id" | "pluginId" | "reason" | "attempt" | "error" | "diff">>;

export function unpackDispatch(json: string): DispatchRecord {
  const stored: StoredDispatch = JSON.parse(json);
  const { id, attempt } = stored;
  return {
    ...stored,
    runs: stored.runs.map(([hookId, position, outcome, latencyMs, rest]) => ({
      id: `${id}/${position}`,
      hookId,
      position,
      outcome,
      latencyMs,
      attempt,
      ...rest,
    })),
  };
}

export function createPack(mask: Mask | undefined): (dispatch: DispatchRecord) => PackedDispatch {
  return (dispatch) => {
    // Written out, because a spread costs more than all of the rest here.
    const { id, point, model, phase, at, latencyMs, cause, attempt, dryRun, outcome, result, provenance } = dispatch;
    const { conversation, messageId } = dispatch;
    const runs = dispatch.runs.map((run) => packRun(run, id, attempt));
    const payload = withoutRaw(dispatch.payload);
    const record: StoredDispatch = {
      id,
      point,
      model,
      phase,
      at,
      latencyMs,
      payload,
      cause,
      attempt,
      dryRun,
      outcome,
      result,
      provenance,
      conversation,
      messageId,
      runs,
    };
    return { json: hide(stringify(record), mask), failed: hasFailed(dispatch) };
  };
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

function hasFailed({ outcome, runs }: DispatchRecord): boolean {
  const isFailure = (word: string) => word === "failed" || word === "timed_out";
  return isFailure(outcome) || runs.some((run) => isFailure(run.outcome));
}

/** `raw` is a platform's own payload: of the message itself, or of a message or event inside. */
function withoutRaw(payload: unknown): unknown {
  if (!isObject(payload)) return payload;
  let copy = payload;
  if ("raw" in payload) {
    copy = { ...payload };
    delete copy.raw;
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

function stringify(record: StoredDispatch): string {
  try {
    return JSON.stringify(record);
  } catch (thrown) {
    // A payload with a cycle or a BigInt: the rest of the record is worth keeping.
    const note = `not recorded: ${errorMessage(thrown)}`;
    const runs = record.runs.map(([hookId, position, outcome, latencyMs, rest]): StoredRun => {
      return [hookId, position, outcome, latencyMs, { ...rest, diff: undefined }];
    });
    return JSON.stringify({ ...record, payload: note, result: undefined, provenance: undefined, runs });
  }
}

/**
 * Looking through the whole text at once is the usual, quick way; only when something has to change are the texts inside
 * looked at one by one.
 */
function hide(json: string, mask: Mask | undefined): string {
  const isTooLong = json.length > MAX_RECORD_CHARS;
  if (!isTooLong && (mask === undefined || isClean(json, mask))) return json;
  return JSON.stringify(JSON.parse(json), (_key, value: unknown) => {
    if (typeof value === "string") return shorten(mask ? mask(value) : value, isTooLong);
    return mask && isObject(value) ? withMaskedKeys(value, mask) : value;
  });
}

/** A secret with a quote or a backslash in it stands escaped in JSON, so the text is also looked at without escapes. */
function isClean(json: string, mask: Mask): boolean {
  if (mask(json) !== json) return false;
  if (!/\\["\\]/.test(json)) return true;
  const plain = json.replace(/\\(["\\])/g, "$1");
  return mask(plain) === plain;
}

function withMaskedKeys(value: Record<string, unknown>, mask: Mask): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [mask(key), inner]));
}

function shorten(text: string, isTooLong: boolean): string {
  if (!isTooLong || text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS)}… (${text.length - MAX_TEXT_CHARS} more characters)`;
}
