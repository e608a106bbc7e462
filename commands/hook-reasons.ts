/** The reasons with which hooks refuse and block may quote what people wrote, in forms that no mask finds: operators read them, viewers do not. */
import { hasRole } from "../src/domain/identity.js";
import type { CommandContext } from "../src/gateway/commands.js";

export const maySeeReasons = ({ operator }: Pick<CommandContext, "operator">): boolean =>
  hasRole(operator.role, "operator");

/** In place of such a reason. */
export const REASON_WITHHELD = "operators see the reason";

/** Where what a hook decided is kept: in results of runs, and in tasks, missions, gates, schedules and clocks that it refused. */
const KEYS: ReadonlySet<string> = new Set(["cancel", "cancelReason", "reason"]);

/** The value as this reader may see it. Not for whole tasks and runs: of those other reasons are for everybody. */
export function readableReasons<T>(context: Pick<CommandContext, "operator">, value: T): T {
  return maySeeReasons(context) ? value : (withheld(value) as T);
}

function withheld(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withheld);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      KEYS.has(key) && typeof one === "string" ? REASON_WITHHELD : withheld(one),
    ]),
  );
}
