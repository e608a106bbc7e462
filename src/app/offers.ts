/** The names in the configuration and its folders that commands can use: for completion and choices. */
import type { Config } from "../config/schema.js";
import type { Address } from "../domain/chat/address.js";
import type { GatewayOptions } from "../gateway/contract.js";
import type { MissionDesk } from "../orchestrator/missions/missions.js";
import { isPlansFolder } from "../orchestrator/missions/plans.js";

/** `config`: the configuration in force, which a reload changes. */
export function offersOf(
  config: () => Config,
  missions: Pick<MissionDesk, "plans">,
  personName: (ref: string) => string | undefined,
  placeName: (at: Address) => string | undefined,
): NonNullable<GatewayOptions["offers"]> {
  return {
    plans: () =>
      missions
        .plans()
        .filter((file) => !isPlansFolder(file))
        // A broken plan is offered, too: a person who runs it gets the problem.
        .map((file) => ({
          name: "plan" in file ? `${file.plan.title ?? file.id} · ${file.id}` : `broken · ${file.id}`,
          value: file.id,
        })),
    assignees: () =>
      Object.entries(config().orchestrator.runners).map(([name, runner]) => ({
        name: `${name} · ${kindOf(runner)}`,
        value: name,
      })),
    policies: () => config().sla.policies.map(({ id }) => ({ name: id, value: id })),
    personName,
    placeName,
    rotas: () => Object.keys(config().alerts.rotas).map((name) => ({ name, value: name })),
  };
}

function kindOf({ shell, http, agent }: Config["orchestrator"]["runners"][string]): string {
  if (shell) return "a program";
  if (http) return "a request";
  return agent ? "an agent" : "a person";
}
