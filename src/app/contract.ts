/** The input of the start of an app, and the methods of a started one. */
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
  /**
   * Resolves when the process was asked to stop, maybe while it starts: its supervisor may have asked the programs of hooks and tasks, too.
   */
  stopSignal?: Promise<void>;
  /** Called once with the log, before plugins are loaded. */
  onLogger?: (logger: Logger) => void;
  /** All addresses of a name that a hook's request goes to, instead of the system's resolver. These addresses are judged all the same. */
  resolve?: Resolve;
}

export interface App {
  /** The address of the server in this process. */
  readonly url: string;
  /** The address that people open, and programs call: `http.public_url` when it is set. */
  readonly chatUrl: string;
  /** The login token, when this start created it and it was not shown yet. */
  readonly newToken: string | undefined;
  /** Opens the web chat logged in; undefined while the web chat is off. The link holds the token: for the terminal only. */
  readonly loginLink: string | undefined;
  /**
   * Waits a few seconds at most for the platforms to connect. Resolves with the facts that the start then shows. Rejects when `signal`
   * aborts.
   */
  firstSteps(signal: AbortSignal): Promise<FirstSteps>;
  readonly gateway: Gateway;
  readonly logger: Logger;
  readonly plugins: readonly PluginInfo[];
  readonly automations: Automations;
  readonly sla: Sla;
  readonly orchestrator: Orchestrator;
  readonly alerts: Alerts;
  /**
   * Takes over the plugins (loaded again), events, hooks, overrides, models, automations, SLA policies, alerts and the orchestrator of a
   * new configuration (work that runs goes on as it was started), whole or not at all: rejects with CONFIG_INVALID when the configuration
   * cannot be used, with HOOKS_REJECTED when a hook would break, and then nothing has changed. Settings that need a restart are named.
   */
  reload(loaded: LoadedConfig): Promise<TakenOver>;
  /** Lets work that is under way end; the rest is on disk. */
  stop(): Promise<void>;
}
