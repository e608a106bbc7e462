/** `/alerts show ID`: one alert with its history, and every button. The answer to "More…" on its card. */
import { formatAddress } from "../../src/domain/address.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { CommandDeps } from "../deps.js";
import { clip } from "../text.js";
import { alertData, needAlerts } from "./need.js";

export async function showAlert(deps: CommandDeps, { at }: CommandContext, id: string): Promise<CommandAnswer> {
  const desk = needAlerts(deps);
  const alert = await desk.get(id);
  if (!alert)
    throw new HookgateError({
      code: "NOT_FOUND",
      message: `There is no alert "${clip(id, 80)}".`,
      hint: "/alerts lists those that are open.",
    });
  return {
    message: await desk.details(id, at === undefined ? "" : formatAddress(at)),
    data: { ...alertData(alert), notes: alert.notes, history: await desk.history(id) },
  };
}
