/** Which ways an alert takes: those that its source named, else those whose matchers fit, else the default. */
import { formatAddress } from "../../domain/address.js";
import type { Alert } from "../../domain/alert.js";
import type { Alerting } from "../alerting.js";
import { type AlertsConfig, defaultRoute, type RouteConfig } from "../config.js";
import { labelsOf, parseMatchers } from "../matchers.js";
import type { Plan } from "../plan.js";

export interface Route {
  name: string;
  settings: RouteConfig;
  /** Formatted addresses. */
  to: readonly string[];
}

/** What alerts about alerting are of: they go where nothing else failed. */
export const OWN_KIND = "alerts";

export function route(plan: Plan, { config, admins }: Pick<Alerting, "config" | "admins">): Route[] {
  const toAdmins = () => admins().map(formatAddress);
  const { source, labels } = plan.alert.signal;
  if (source.kind === OWN_KIND) {
    const elsewhere = fallbacks(config, toAdmins).filter((one) => one !== labels.destination);
    return [{ name: "default", settings: config.routes.default ?? defaultRoute, to: elsewhere }];
  }
  return routesOf(plan.alert, config).map(([name, settings]) => ({
    name,
    settings,
    to: settings.to.length > 0 ? settings.to : toAdmins(),
  }));
}

export function fallbacks({ fallback }: AlertsConfig, admins: () => readonly string[]): readonly string[] {
  return fallback.length > 0 ? fallback : admins();
}

/** Of the first of its routes: how it is grouped, reminded of, escalated, and what its buttons are. */
export function settingsOf(alert: Alert, config: AlertsConfig): RouteConfig {
  return routesOf(alert, config)[0]?.[1] ?? defaultRoute;
}

function routesOf(alert: Alert, { routes }: AlertsConfig): [name: string, settings: RouteConfig][] {
  const named = (alert.signal.routes ?? []).flatMap((name): [string, RouteConfig][] => {
    const settings = routes[name];
    return settings === undefined ? [] : [[name, settings]];
  });
  if (named.length > 0) return named;
  const labels = labelsOf(alert);
  const fitting = Object.entries(routes).filter(([, { match }]) => match !== undefined && parseMatchers(match)(labels));
  return fitting.length > 0 ? fitting : [["default", routes.default ?? defaultRoute]];
}
