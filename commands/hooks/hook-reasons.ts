/**
 * The reasons with which hooks refuse and block may quote people's words, in forms that no mask finds: operators read them, viewers do not.
 */
import { hasRole } from "../../src/domain/chat/identity.js";
import type { CommandContext } from "../../src/gateway/commands.js";

export const maySeeReasons = ({ operator }: Pick<CommandContext, "operator">): boolean =>
  hasRole(operator.role, "operator");

/** In place of such a reason. */
export const REASON_WITHHELD = "operators see the reason";

/** The fields that hold the decision of a hook: in results of runs, and in tasks, missions, gates, schedules and clocks that it refused. */
const KEYS: ReadonlySet<string> = new Set(["cancel", "cancelReason", "reason"]);

/** The value as this reader may see it. Not for whole tasks and runs: their other reasons are for all readers. */
export function readableReasons<T>(context: Pick<CommandContext, "operator">, value: T): T {
  return withoutReasons(value, maySeeReasons(context) ? undefined : REASON_WITHHELD);
}

/** The value with `instead` in place of each reason; unchanged without `instead`. */
export function withoutReasons<T>(value: T, instead: string | undefined): T {
  return instead === undefined ? value : (replaced(value, instead) as T);
}

function replaced(value: unknown, instead: string): unknown {
  if (Array.isArray(value)) return value.map((one) => replaced(one, instead));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      KEYS.has(key) && typeof one === "string" ? instead : replaced(one, instead),
    ]),
  );
}
