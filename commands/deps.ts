/** What the commands drive, as types: the composition root passes the real parts in. Nothing here names a platform. */

import type { Alerts } from "../src/alerts/alerts.js";
import type { SlaDesk } from "../src/alerts/sla/desk.js";
import type { AutomationDesk } from "../src/automations/desk.js";
import type { Store } from "../src/domain/store.js";
import type { GatewayStatus } from "../src/gateway/status.js";
import type { HookRegistry } from "../src/hooks/registry.js";
import type { Clock } from "../src/lib/clock.js";
import type { MissionDesk } from "../src/orchestrator/missions/missions.js";
import type { ScheduleDesk } from "../src/orchestrator/schedules/schedules.js";
import type { PluginInfo } from "../src/plugins/plugins.js";
import type { HooksInFlight } from "./in-flight.js";
import type { TaskDesk } from "./tasks/parts.js";

/** The registry as commands use it: they look, switch and fire by name; they never register. */
export type HookDesk = Pick<
  HookRegistry,
  "list" | "get" | "points" | "point" | "order" | "explain" | "running" | "validate" | "setEnabled" | "dispatch"
>;

export type AlertDesk = Pick<
  Alerts,
  "act" | "get" | "list" | "counts" | "history" | "silences" | "digest" | "onCall" | "nextBusinessHour" | "timezone"
>;

export interface CommandDeps {
  registry: HookDesk;
  store: Pick<Store, "inbox" | "outbox" | "journal" | "audit" | "hookState" | "keyValue" | "check">;
  /** States of the platforms, depths of the queues. */
  status(): GatewayStatus | Promise<GatewayStatus>;
  /** An operator sends a held or dead delivery after all, and the outbox looks at it now. False when it is neither. */
  release(deliveryId: string, confirmed: boolean): Promise<boolean>;
  /** A dead inbox row is handled again, now. False when it is not dead. */
  revive(inboxId: number): Promise<boolean>;
  /** Plans that are carried out, and when they begin by themselves. */
  missions?: MissionDesk;
  schedules?: ScheduleDesk;
  /** Hooks that stand in files. */
  automations?: AutomationDesk;
  /** Work and who does it. */
  tasks?: TaskDesk;
  /** SLA clocks and policies. */
  sla?: SlaDesk;
  /** Alerts: what is open, and what people do with it. */
  alerts?: AlertDesk;
  /** What was loaded, and what could not be. */
  plugins?(): readonly PluginInfo[];
  /** What is said of hooks beside the registry. */
  switches?: {
    /** Holds for a registration to come too: a plugin that is loaded again. */
    keep(hookId: string, enabled: boolean): void;
    /** The configuration's own word, which holds again after a restart. */
    configured(hookId: string): boolean | undefined;
  };
  /** Hooks that are being fired by hand. */
  inFlight: HooksInFlight;
  /** Facts of this process for /status. */
  about: { version: string; startedAt: number; database: string };
  clock: Clock;
}
