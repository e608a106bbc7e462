/** SLA policies whose match had no answer for some work: they do not watch that work, and only the settings can change it. */
import type { CommandDeps } from "../deps.js";
import { code } from "../show/text.js";

/** Their ids. */
export async function unansweredPolicies({ sla }: CommandDeps): Promise<string[]> {
  const policies = (await sla?.policies()) ?? [];
  return policies.flatMap(({ id, unanswered }) => (unanswered === undefined ? [] : [id]));
}

export const unansweredLines = (ids: readonly string[]): string[] =>
  ids.map(
    (id) =>
      `⚠ The match of the SLA policy ${code(id)} had no answer for some work, which this policy does not watch: ${code("/sla policies")} shows it`,
  );
