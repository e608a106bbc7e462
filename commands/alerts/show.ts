/** `/alerts show ID`, or its name: one alert with its history, and every button. The answer to "More…" on its card. */

import type { Coming } from "../../src/alerts/coming.js";
import { type Alert, isOpen } from "../../src/domain/alerts/alert.js";
import { formatAddress } from "../../src/domain/chat/address.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { answer, commandButton } from "../answer.js";
import type { AlertDesk, CommandDeps } from "../deps.js";
import { ago, count, plain } from "../show/text.js";
import { alertData, idOf, needAlerts, noAlert } from "./need.js";

/** The limit of alerts that are searched for a name. */
const REACH = 2_000;
const PAGE_SIZE = 10;

export async function showAlert(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { at, options } = context;
  const desk = needAlerts(deps);
  const name = [options.id, options.text].filter((part) => typeof part === "string").join(" ");
  const named = await alertsNamed(desk, options.id, name);
  if (named.length > 1) return several(named, name, { desk, now: deps.clock.now() });
  const id = named[0]?.id ?? (await idOf(desk, options.id, context, name));
  const alert = named[0] ?? (await desk.get(id));
  if (!alert) throw noAlert(id);
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

/** The alerts with this name, else with these words in their name; those that are open come before those that ended. Empty for an id. */
async function alertsNamed(desk: AlertDesk, id: unknown, name: string): Promise<Alert[]> {
  const wanted = name.trim().toLowerCase();
  if (typeof id !== "string" || wanted === "" || id === "last" || (await desk.get(id))) return [];
  const all = await desk.list({ limit: REACH });
  const titled = all.filter(({ signal }) => signal.title.toLowerCase() === wanted);
  const found = titled.length > 0 ? titled : all.filter(({ signal }) => signal.title.toLowerCase().includes(wanted));
  const open = found.filter(({ state }) => isOpen(state));
  return open.length > 0 ? open : found;
}

async function several(
  found: readonly Alert[],
  name: string,
  { desk, now }: { desk: AlertDesk; now: number },
): Promise<CommandAnswer> {
  const shown = found.slice(0, PAGE_SIZE);
  const lines = await Promise.all(
    shown.map(async (alert, index) => `${index + 1}. ${await desk.line(alert)}, raised ${ago(alert.raisedAt, now)}`),
  );
  const more = found.length - shown.length;
  return answer({
    text: [
      `${count(found.length, "alert")} have the name "${plain(name, 80)}". Which one?`,
      lines.join("\n"),
      more > 0 && `And ${more} more: \`/alerts all\` lists them.`,
    ],
    data: { alerts: shown.map(alertData), total: found.length },
    buttons: [shown.slice(0, 4).map(({ id }, index) => commandButton(`Show ${index + 1}`, `/alerts show ${id}`))],
    outcome: "failed",
  });
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
