/** Gives the payload that a hook would have seen in a dispatch on record, so that its `match` is explained by that payload. */
import type { RunRecord } from "../domain/journal.js";
import { isRecord } from "../lib/record.js";
import type { HookInfo } from "./registration/registration.js";
import { withPatch } from "./results.js";

/** `earlier`: ids of the hooks before it, for a hook that is not in the record. */
export function seenThen(
  hook: HookInfo,
  { payload, runs }: { payload: unknown; runs: readonly RunRecord[] },
  earlier: readonly string[],
): unknown {
  if (!seesChanges(hook) || !isRecord(payload)) return payload;
  const own = runs.find(({ hookId }) => hookId === hook.id)?.position;
  const before = runs.filter(({ hookId, position }) => (own === undefined ? earlier.includes(hookId) : position < own));
  return before.reduce((seen, { diff }) => (isRecord(diff) ? withPatch(seen, diff) : seen), payload);
}

function seesChanges({ execution, sees, phase }: HookInfo): boolean {
  if (execution === "background") return false;
  return sees === "merged" || (phase === "before" && execution !== "fire_and_record");
}
