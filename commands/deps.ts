/** Types of the parts that the commands use: the composition root passes the real parts in. Nothing here names a platform. */

import type { Alerts } from "../src/alerts/alerts.js";
import type { SlaDesk } from "../src/alerts/sla/desk.js";
import type { AutomationDesk } from "../src/automations/desk.js";
import type { EventLoad } from "../src/automations/ingest/ingest.js";
import type { Address } from "../src/domain/chat/address.js";
import type { CommandSpec } from "../src/domain/chat/command.js";
import type { RoleToHear } from "../src/domain/chat/hearing.js";
import type { CancelledRest, HookSwitch, Store } from "../src/domain/store.js";
import type { OwnerClaims } from "../src/gateway/people/owner-claims.js";
import type { GatewayStatus } from "../src/gateway/status.js";
import type { Attempts } from "../src/hooks/attempts.js";
import type { HookRegistry } from "../src/hooks/registry.js";
import type { Clock } from "../src/lib/time/clock.js";
import type { MissionDesk } from "../src/orchestrator/missions/missions.js";
import type { ScheduleDesk } from "../src/orchestrator/schedules/schedules.js";
import type { PluginInfo } from "../src/plugins/infos.js";
import type { HooksInFlight } from "./status/in-flight.js";
import type { TaskDesk } from "./tasks/desk.js";

/** The registry as commands use it: they look, switch and fire by name; they never register. */
export type HookDesk = Pick<
  HookRegistry,
  | "list"
  | "get"
  | "points"
  | "point"
  | "order"
  | "explain"
  | "running"
  | "validate"
  | "unawaited"
  | "declaredEnabled"
  | "dispatch"
>;

export type AlertDesk = Pick<
  Alerts,
  | "act"
  | "test"
  | "get"
  | "firedAgain"
  | "details"
  | "coming"
  | "snoozeButtons"
  | "line"
  | "isPostedNowhere"
  | "list"
  | "accountsOf"
  | "last"
  | "counts"
  | "history"
  | "silences"
  | "digest"
  | "onCall"
  | "nextBusinessHour"
  | "timezone"
>;

export interface CommandDeps {
  registry: HookDesk;
  store: Pick<Store, "inbox" | "outbox" | "journal" | "audit" | "keyValue" | "check" | "health">;
  /** States of the platforms, depths of the queues. */
  status(): GatewayStatus | Promise<GatewayStatus>;
  /** An operator sends a held or dead delivery after all, and the outbox looks at it now. False when it is neither. */
  release(deliveryId: string, confirmed: boolean): Promise<boolean>;
  /**
   * Deletes deliveries that will not be sent, and dead messages of the inbox (`m5`); hooks are notified of deliveries that were held.
   * Resolves with the ids of the deleted ones.
   */
  discard(ids: readonly string[]): Promise<string[]>;
  /** Cancels a delivery that waits for its turn. False when it does not wait any more. */
  withdraw(deliveryId: string, reason: string): Promise<boolean>;
  /** Ends a delivery that is not done yet; parts that were sent stay. Undefined when it is not open any more. */
  cancelRest(deliveryId: string, reason: string): Promise<CancelledRest | undefined>;
  /** Ends a pause, or all; waiting deliveries are sent now. Resolves with the keys of the pauses that were in force. */
  liftPauses(key?: string): Promise<string[]>;
  /** A dead inbox row is handled again, now. False when it is not dead. */
  revive(inboxId: number): Promise<boolean>;
  /** Why a claim that a hook made by hand cannot be carried out; undefined when it can. */
  refuseClaim?(claim: Readonly<Record<string, unknown>>): string | undefined;
  /** Plans that are carried out, and when they start by themselves. */
  missions?: MissionDesk;
  schedules?: ScheduleDesk;
  /** Hooks that are defined in files. */
  automations?: AutomationDesk;
  /** Events from other systems of which some wait, or were refused because too many do. */
  eventLoad?(): readonly EventLoad[];
  /** Work and who does it. */
  tasks?: TaskDesk;
  roleToHear: RoleToHear;
  /** SLA clocks and policies. */
  sla?: SlaDesk;
  /** Alerts: the open ones, and the actions of people on them. */
  alerts?: AlertDesk;
  /** The address as it is now, with the bot account, then those that the chat had before it moved. */
  addressesOf?(at: Address): Address[];
  /** How people call a chat, where the platform knows. */
  placeName?(at: Address): string | undefined;
  /** Plugins that were loaded, and plugins that could not be loaded. */
  plugins?(): readonly PluginInfo[];
  /** All problems of the configuration and of the parts that it names, also of a rejected newer version. */
  problems?(): Promise<readonly { of: string; text: string }[]>;
  /** Why no message reaches a configured hook; undefined when one may. */
  whyUnreached?(hookId: string): string | undefined;
  /** Sections of the configuration and variables that changed since the start, and that only a restart applies. */
  needRestart?(): readonly string[];
  /** Commands of plugins, for /help. */
  pluginCommands?(): readonly CommandSpec[];
  /** Switches of hooks, beside the registry. */
  switches?: {
    /** Holds from now on, also for a later registration, such as a plugin that is loaded again. Stored where the configuration differs. */
    set(hookId: string, enabled: boolean, by: string): Promise<void>;
    /** The switch in the configuration, which holds again after a restart. */
    configured(hookId: string): boolean | undefined;
    /** The switch in chat that is in force, while the configuration or the plugin has another value for the hook. */
    inForce(hookId: string): HookSwitch | undefined;
  };
  /** Owners who were claimed in chat. */
  claims?: OwnerClaims;
  /** Dispatches that are asked again after a crash. */
  attempts?: Pick<Attempts, "crashed">;
  /** Hooks that are being fired by hand. */
  inFlight: HooksInFlight;
  /** Facts of this process for /status. */
  about: { version: string; startedAt: number; database: string };
  clock: Clock;
}
