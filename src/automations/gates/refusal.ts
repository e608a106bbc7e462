/** Why a hook may not run. `gate` comes first in the record. */
export interface Refusal {
  kind: "refused";
  gate: "cap" | "concurrency" | "cooldown" | "rate" | "breaker";
  reason: string;
}
