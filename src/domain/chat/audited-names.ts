/** The names of people who gave commands, by their accounts (`platform:id`): the newest that the audit log has of each. */
import type { Store } from "../store.js";

/** How far back names are known. */
const NEWEST_ENTRIES = 1_000;

/** The newest first; without a name, the text is empty. */
export async function auditedNames({ audit }: Pick<Store, "audit">): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const { operator } of await audit.list({ limit: NEWEST_ENTRIES })) {
    const account = `${operator.platform}:${operator.userId}`;
    if (!names.get(account)) names.set(account, operator.displayName ?? "");
  }
  return names;
}
