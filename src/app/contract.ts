/** What starts an app, and what a started one offers. */
import type { Alerts } from "../alerts/alerts.js";
import type { Sla } from "../alerts/sla/sla.js";
import type { Automations } from "../automations/automations.js";
import type { LoadedConfig } from "../config/load.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Logger } from "../lib/logger.js";
import type { Resolve } from "../lib/outgoing/connect.js";
import type { Clock } from "../lib/time/clock.js";
import type { Orchestrator } from "../orchestrator/orchestrator.js";
import type { PluginInfo } from "../plugins/infos.js";
import type { FirstSteps } from "./first-steps.js";
import type { TakenOver } from "./reload.js";

export interface AppOptions {
  version: string;
  /** Log for a person at a terminal instead of JSON lines. */
  pretty?: boolean;
  clock?: Clock;
  /** Starts with an empty database although the history of another one is there. */
  newDatabase?: boolean | undefined;
  /** Reads the configuration again; with it, changes of its files are taken over as they are saved. */
  reread?: () => LoadedConfig;
  /** Instead of pino, for embedders. */
  logger?: Logger;
  /** Resolves when the process was told to stop, maybe while it starts: its supervisor may have told the programs of hooks and tasks, too. */
  stopSignal?: Promise<void>;
  /** Called once with the log, before plugins are loaded. */
  onLogger?: (logger: Logger) => void;
  /** All addresses of a name that a hook's request goes to, instead of the system's resolver. What it says is judged all the same. */
  resolve?: Resolve;
}

export interface App {
  /** The address of the server in this process. */
  readonly url: string;
  /** The address that people open, and programs call: `http.public_url` when it is set. */
  readonly chatUrl: string;
  /** The login token, when this start created it and it was not shown yet. */
  readonly newToken: string | undefined;
  /** Opens the web chat logged in; undefined while the web chat is off. It holds the token: for the terminal only. */
  readonly loginLink: string | undefined;
  /** Waits a few seconds at most for the platforms to connect; what the start then shows. Rejects when `signal` aborts. */
  firstSteps(signal: AbortSignal): Promise<FirstSteps>;
  readonly gateway: Gateway;
  readonly logger: Logger;
  readonly plugins: readonly PluginInfo[];
  readonly automations: Automations;
  readonly sla: Sla;
  readonly orchestrator: Orchestrator;
  readonly alerts: Alerts;
  /**
   * Takes over what a new configuration says of plugins (loaded anew), events, hooks, overrides, models, automations,
   * SLA policies, alerts and the orchestrator (what runs goes on as it was started), whole or
   * not at all: rejects with CONFIG_INVALID when it cannot be used, with HOOKS_REJECTED when a hook would break, and then nothing
   * has changed. What needs a restart is named.
   */
  reload(loaded: LoadedConfig): Promise<TakenOver>;
  /** Lets what is under way end; what is left is on disk. */
  stop(): Promise<void>;
}
