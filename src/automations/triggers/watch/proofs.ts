/** That a hook starts itself by what it writes, once it is proven: kept on disk, until its runs prove the opposite. */
import { z } from "zod";
import type { AutomationRunStatus, AutomationRunStore } from "../../../domain/automation.js";
import type { KeyValueStore } from "../../../domain/store.js";

const proof = z.object({
  /** Runs that began since then. */
  since: z.number(),
  /** How long after the end of a run its output came. */
  lateMs: z.number(),
  quietMs: z.number(),
  /** The other hooks of the round. */
  via: z.array(z.string()),
  lastCutAt: z.number(),
});
export type Proof = z.output<typeof proof>;

export interface ProofDeps {
  hookId: string;
  /** The watch's. */
  key: string;
  runs: Pick<AutomationRunStore, "list">;
  keyValue: Pick<KeyValueStore, "get" | "set" | "delete" | "list">;
}

export interface Proofs {
  read(): Promise<Proof | undefined>;
  keep(proof: Proof): Promise<void>;
  drop(): Promise<void>;
  /** Some runs ended without a change after them: the hook was fixed. */
  isOutdated(proof: Proof, now: number): Promise<boolean>;
}

export const PROOF_SCOPE = "automations.own-output";
const RUNS_WITHOUT = 3;
const ENDED: readonly AutomationRunStatus[] = ["succeeded", "failed", "timed_out", "blocked"];

export function createProofs({ hookId, key, runs, keyValue }: ProofDeps): Proofs {
  return {
    async read() {
      const { data } = proof.safeParse(await keyValue.get(PROOF_SCOPE, key));
      return data;
    },
    keep: (one) => keyValue.set(PROOF_SCOPE, key, proof.parse(one)),
    drop: () => keyValue.delete(PROOF_SCOPE, key),
    async isOutdated({ lastCutAt, quietMs, lateMs }, now) {
      const last = await runs.list({ hookId, status: ENDED, limit: RUNS_WITHOUT });
      const isQuiet = (run: { startedAt?: number; endedAt?: number }) =>
        (run.startedAt ?? 0) > lastCutAt && (run.endedAt ?? now) + quietMs + lateMs < now;
      return last.length === RUNS_WITHOUT && last.every(isQuiet);
    },
  };
}
