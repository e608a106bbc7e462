/** The routes of an alert: those that its source named, else those whose matchers fit, else the default. */

import type { Alert } from "../../domain/alerts/alert.js";
import { formatAddress } from "../../domain/chat/address.js";
import type { Alerting, AlertPolicy } from "../alerting.js";
import { type AlertsConfig, defaultRoute, type RouteConfig } from "../config.js";
import { type Labels, labelsOf, parseMatchers } from "../matchers.js";
import { GAP_KIND, OWN_KIND, UNREACHED_KIND } from "../own-alerts.js";
import type { Plan } from "../plan.js";

export interface Route {
  name: string;
  /** With the replacements by the policy behind the alert. */
  settings: RouteConfig;
  /** Formatted addresses. */
  to: readonly string[];
}

export type Routing = Pick<Alerting, "config" | "admins" | "policy" | "inhibitors">;

export function route(plan: Plan, routing: Routing): Route[] {
  return routesFor(plan.alert, routing);
}

export function routesFor(alert: Pick<Alert, "id" | "severity" | "signal">, routing: Routing): Route[] {
  const { config, admins, inhibitors } = routing;
  const toAdmins = () => admins().map(formatAddress);
  const { source, labels } = alert.signal;
  if (source.kind === OWN_KIND) {
    const settings = config.routes.default ?? defaultRoute;
    // The fallback itself may be the chat that does not work.
    const levels = [config.fallback, toAdmins(), settings.to].map((places) =>
      places.filter((one) => one !== labels.destination),
    );
    const elsewhere =
      levels.find((places) => places.some((one) => !inhibitors.takesNone(one))) ??
      levels.find((places) => places.length > 0);
    // The people of an escalation cannot be reached, or their pages are posted elsewhere: another escalation to them only hides the cause.
    const isUnreached = labels.kind === UNREACHED_KIND || labels.kind === GAP_KIND || labels.destination !== undefined;
    const remind = labels.kind === GAP_KIND ? { ...settings.remind, times: 0 } : settings.remind;
    return [
      {
        name: "default",
        settings: isUnreached ? { ...settings, remind, escalate: [] } : settings,
        to: elsewhere ?? [],
      },
    ];
  }
  const policy = routing.policy?.(source.policyId);
  return namesFor(labelsOf(alert), policy ? (policy.routes ?? []) : alert.signal.routes, config).map(
    ([name, settings]) => ({
      name,
      settings: { ...settings, remind: { ...settings.remind, ...policy?.remind }, ...buttonsOf(policy) },
      to: settings.to.length > 0 ? settings.to : toAdmins(),
    }),
  );
}

/** The fallback, else the private chats of admins; `without`: chats that did not get the message, or have it already. */
export function fallbacks(
  { fallback }: AlertsConfig,
  admins: () => readonly string[],
  without: readonly string[] = [],
): readonly string[] {
  const [first, second] = [fallback, admins()].map((places) => places.filter((one) => !without.includes(one)));
  return first && first.length > 0 ? first : (second ?? []);
}

/** The route by which an alert is in a chat: the one that leads there, else one whose escalation did, else its first. */
export function routeAt(alert: Alert, destination: string, routing: Routing): Route {
  const routes = routesFor(alert, routing);
  const found =
    routes.find(({ to }) => to.includes(destination)) ??
    routes.find(({ settings }) => settings.escalate.some(({ to }) => to.includes(destination)));
  return found ?? (routes[0] as Route);
}

/** The shortest time among its routes; 0: for good. */
export function ackForOf(alert: Alert, routing: Routing): number {
  const lengths = routesFor(alert, routing).flatMap(({ settings }) => (settings.ack_for > 0 ? [settings.ack_for] : []));
  return lengths.length === 0 ? 0 : Math.min(...lengths);
}

/** The longest time among its routes. */
export function reopenWithinOf(alert: Alert, routing: Routing): number {
  return Math.max(...routesFor(alert, routing).map(({ settings }) => settings.reopen_within));
}

/** The time after which all escalation steps of its routes are due. */
export function stepsEndOf(alert: Alert, routing: Routing): number {
  return Math.max(
    0,
    ...routesFor(alert, routing).flatMap(({ settings }) => settings.escalate.map(({ after = 0 }) => after)),
  );
}

const buttonsOf = (policy: AlertPolicy | undefined) => (policy?.buttons ? { buttons: policy.buttons } : {});

/** `wanted`: those of its policy as it is now (it may have changed since it spoke), else those that its source named. */
export function namesFor(
  labels: Labels,
  wanted: readonly string[] | undefined,
  { routes }: Pick<AlertsConfig, "routes">,
): [name: string, settings: RouteConfig][] {
  const named = (wanted ?? []).flatMap((name): [string, RouteConfig][] => {
    const settings = routes[name];
    return settings === undefined ? [] : [[name, settings]];
  });
  if (named.length > 0) return named;
  const fitting = Object.entries(routes).filter(([, { match }]) => match !== undefined && parseMatchers(match)(labels));
  return fitting.length > 0 ? fitting : [["default", routes.default ?? defaultRoute]];
}
