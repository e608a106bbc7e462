/** Why a hook may not run. `gate` comes first in the record. */
export interface Refusal {
  kind: "refused";
  gate: "cap" | "concurrency" | "cooldown" | "rate" | "breaker";
  reason: string;
}

const MAX_HOOKS = 3;

/** No more runs at once than this, over all hooks. `taken`: places by hook. Those with most of them are named. */
export function capRefusal(taken: ReadonlyMap<string, number>, max: number): Refusal {
  const most = [...taken].sort(([, one], [, other]) => other - one);
  const named = most.slice(0, MAX_HOOKS).map(([hookId, places]) => `${places} by ${hookId}`);
  const others = most.slice(MAX_HOOKS).reduce((sum, [, places]) => sum + places, 0);
  const holders = others === 0 ? named : [...named, `${others} by other hooks`];
  return {
    kind: "refused",
    gate: "cap",
    reason: `all places (automations.max_running: ${max}) are taken: ${holders.join(", ")}`,
  };
}
