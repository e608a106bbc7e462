/** Follows a mission's change, after its commit: notifies hooks (`after`), and writes the last words on its card. */
import type { Cause } from "../../domain/journal.js";
import type { Mission } from "../../domain/orchestrator/mission.js";
import type { NewPending } from "../../domain/pending.js";
import type { Attempts } from "../../hooks/attempts.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Pending } from "../../pending/pending.js";
import { firing } from "./firing.js";

const HOOKS = "mission.hooks";
/** The card of a mission that has ended; its key is the mission's id. */
export const CARD = "mission.card";
export const MISSION_KINDS = [HOOKS, CARD] as const;

interface Notification {
  point: "mission:execute" | "mission:complete" | "quality:gate" | "schedule:trigger";
  dispatchId: string;
  payload: unknown;
}

interface Firing {
  cause?: Cause;
  conversation?: string;
}

/** Written with the change that hooks are notified of. */
export function notification(mission: Mission, { point, dispatchId, payload }: Notification): NewPending {
  const { cause, conversation } = firing(mission, dispatchId);
  return {
    id: dispatchId,
    kind: HOOKS,
    key: dispatchId,
    dueAt: 0,
    payload: { point, payload, firing: { cause, conversation } },
  };
}

export function cardOfEnd({ id }: Mission): NewPending {
  return { id: `${id}:card`, kind: CARD, key: id, dueAt: 0, payload: {} };
}

export function handleNotifications(
  pending: Pick<Pending, "handle">,
  registry: Pick<HookRegistry, "dispatch">,
  attempts: Pick<Attempts, "notify">,
): void {
  pending.handle(
    HOOKS,
    async ({ id: dispatchId, attempt, stops, payload: item }) => {
      const { point, payload, firing } = item as Pick<Notification, "point" | "payload"> & { firing: Firing };
      await attempts.notify(point, { dispatchId, attempt, stops }, async () => {
        await registry.dispatch(point, payload, { phase: "after", dispatchId, attempt, ...firing });
      });
    },
    { callsHooks: true },
  );
}
