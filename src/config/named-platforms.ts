/** All places where the configuration names a chat or a person. Each name starts with its platform. */
import { formatAddress } from "../domain/chat/address.js";
import { ROLES } from "../domain/chat/identity.js";
import type { Config } from "./schema.js";

type Path = [section: keyof Config, ...(string | number)[]];

export interface Named {
  path: Path;
  text: string;
  /** The name is the key there, not the value. */
  ofKey?: true;
  /** The name is for an account or a role, not for a chat. */
  isPerson?: true;
}

export function namedPlatforms({ operators, gateway, automations, orchestrator, sla, alerts }: Config): Named[] {
  const route = gateway.default_route;
  return [
    ...ROLES.flatMap((role) => persons(["operators", role], operators[role])),
    ...(typeof route === "object" && "forward" in route
      ? one(["gateway", "default_route", "forward"], formatAddress(route.forward))
      : []),
    ...each(["automations", "alerts"], automations.alerts),
    ...one(["orchestrator", "show_in"], orchestrator.show_in),
    ...Object.entries(orchestrator.runners).flatMap(([name, { person }]) => [
      ...persons(["orchestrator", "runners", name, "person", "user"], person?.user),
      ...one(["orchestrator", "runners", name, "person", "at"], person?.at),
    ]),
    ...persons(["sla", "conversations", "staff", "people"], sla.conversations.staff.people),
    ...ofAlerts(alerts),
  ].filter(({ text }) => isPlace(text));
}

function ofAlerts({ routes, destinations, fallback, digests, people, rotas, heartbeat }: Config["alerts"]): Named[] {
  return [
    ...Object.entries(routes).flatMap(([name, { to, escalate }]) => [
      ...each(["alerts", "routes", name, "to"], to),
      ...escalate.flatMap((step, index) => [
        ...each(["alerts", "routes", name, "escalate", index, "to"], step.to),
        ...persons(["alerts", "routes", name, "escalate", index, "mention"], step.mention),
      ]),
    ]),
    ...Object.keys(destinations).map((text): Named => ({ path: ["alerts", "destinations", text], text, ofKey: true })),
    ...each(["alerts", "fallback"], fallback),
    ...digests.flatMap(({ to }, index) => each(["alerts", "digests", index, "to"], to)),
    ...Object.entries(people).flatMap(([name, accounts]) => persons(["alerts", "people", name], accounts)),
    ...Object.entries(rotas).flatMap(([name, { rotate, shifts }]) => [
      ...persons(["alerts", "rotas", name, "rotate", "people"], rotate?.people ?? []),
      ...shifts.flatMap(({ person }, index) => persons(["alerts", "rotas", name, "shifts", index, "person"], person)),
    ]),
    ...one(["alerts", "heartbeat", "to"], heartbeat.to),
  ];
}

const one = (path: Path, text: string | undefined): Named[] => (text === undefined ? [] : [{ path, text }]);
const each = (path: Path, texts: readonly string[]): Named[] =>
  texts.map((text, index) => ({ path: [...path, index], text }));
const persons = (path: Path, named: string | readonly string[] | undefined): Named[] =>
  (typeof named === "object" ? each(path, named) : one(path, named)).map((place) => ({ ...place, isPerson: true }));

/** Not the name of a person or of a rota, and no web address. */
const isPlace = (text: string) => text.includes(":") && !/^(oncall:|https?:)/.test(text);
