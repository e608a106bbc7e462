/** `/alerts show ID`: one alert with its history, and every button. The answer to "More…" on its card. */

import type { Coming } from "../../src/alerts/coming.js";
import { formatAddress } from "../../src/domain/chat/address.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { HookgateError } from "../../src/lib/errors.js";
import type { CommandDeps } from "../deps.js";
import { clip } from "../show/text.js";
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
    data: {
      ...alertData(alert),
      coming: (await desk.coming(id)).flatMap(comingData),
      notes: alert.notes,
      history: await desk.history(id),
    },
  };
}

interface ComingData {
  kind: "reminder" | "step";
  route: string;
  step?: number;
  at?: number;
  reminders?: number;
}

function comingData(one: Coming): ComingData[] {
  const { kind, route, at } = one;
  switch (kind) {
    case "reminder":
      return [{ kind, route: route.name, at }];
    case "step":
      return [{ kind, route: route.name, step: one.number, at }];
    case "counted":
      return [{ kind: "step", route: route.name, step: one.number, reminders: one.reminders }];
    case "end":
      return [];
  }
}
