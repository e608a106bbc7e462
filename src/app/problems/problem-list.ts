/** The problems of a running gateway: those of the configuration in force, and those of the latest one when it was rejected. */
import { commandSpecs } from "../../../commands/index.js";
import type { Automations } from "../../automations/automations.js";
import { formatProblem, type LoadedConfig } from "../../config/load.js";
import { ownAccounts } from "../../config/own-accounts.js";
import { type Address, formatAddress } from "../../domain/chat/address.js";
import type { Store } from "../../domain/store.js";
import type { HookRegistry } from "../../hooks/registry.js";
import type { Log } from "../../lib/pino-logger.js";
import type { Plans } from "../../orchestrator/missions/plans.js";
import type { Plugins } from "../../plugins/plugins.js";
import type { Moves } from "../moved-settings.js";
import { webRooms } from "../people.js";
import type { Rejection } from "../reload.js";
import { chatProblem } from "./chat-problem.js";
import { faultsOf, type ListedProblem, platformsOn, problemsOf, whyUnreached } from "./problems.js";
import type { ValidConfig } from "./valid-config.js";

/** In place of a file, of a problem of the log. */
export const LOG = "log";

/** The foundation of the gateway. */
interface On {
  /** The configuration of the start. */
  loaded: LoadedConfig;
  /** The configuration in force: a reload changes it. */
  inForce: { readonly valid: ValidConfig };
  store: { web: Pick<Store["web"], "rooms" | "get"> };
  log: Pick<Log, "problem">;
}

interface Deps {
  registry: Pick<HookRegistry, "list" | "validate">;
  plugins(): Pick<Plugins, "list" | "commands">;
  automations: Pick<Automations, "list" | "broken" | "problems">;
  plans: Pick<Plans, "list">;
  moves: Moves;
}

export interface ProblemList {
  /** Read again on each call: a missing file may be there now. */
  list(): Promise<ListedProblem[]>;
  /** The configuration in force, as it was read. */
  loaded(): LoadedConfig;
  /** This configuration is in force from now on. */
  noteLoaded(next: LoadedConfig): void;
  rejected(why: Rejection | undefined): void;
  /** The latest configuration was rejected because a critical plugin or hook could not be loaded. */
  isRejectedForCritical(): boolean;
  /** For people, one line each. */
  shown(mask: (text: string) => string): Promise<{ of: string; text: string; isWarning?: true | undefined }[]>;
  /** Why no message gets to a configured hook; undefined when one may. */
  whyUnreached(hookId: string): string | undefined;
  /** Why nothing can be posted to a chat, as far as is known; undefined when it can. */
  ofDestination(at: Address): Promise<string | undefined>;
}

export function createProblemList(ground: On, deps: Deps): ProblemList {
  const { web } = ground.store;
  let { loaded } = ground;
  let rejection: Rejection | undefined;
  const commands = () => [...commandSpecs, ...deps.plugins().commands()];
  async function list(): Promise<ListedProblem[]> {
    const { config, env } = ground.inForce.valid;
    const rooms = await web.rooms();
    const problems = problemsOf({
      loaded,
      config,
      env,
      hooks: deps.registry.list(),
      plugins: deps.plugins().list(),
      definitions: deps.automations.list(),
      broken: deps.automations.broken(),
      plans: deps.plans,
      commands: commands(),
      faults: await faultsOf(deps.automations.list()),
      rooms: webRooms(
        rooms.map(({ id }) => id),
        config,
      ),
      moves: deps.moves,
      taken: deps.registry.validate(),
      stuck: deps.automations.problems(),
    });
    const ofLog = ground.log.problem();
    if (ofLog !== undefined) problems.push({ file: LOG, path: "", message: ofLog, of: "setting" });
    if (rejection === undefined) return problems;
    const { file = "", message } = rejection;
    const rejected = `the latest version was rejected, and the one before it is in force: ${message}`;
    return [{ file, path: "", message: rejected, of: "configuration" }, ...problems];
  }
  return {
    list,
    async shown(mask) {
      return (await list()).map((problem) => ({
        of: problem.of,
        text: mask(formatProblem(problem)),
        isWarning: problem.isWarning,
      }));
    },
    whyUnreached(hookId) {
      const definition = deps.automations.list().find(({ id }) => id === hookId);
      return definition && whyUnreached(definition, { commands: commands() });
    },
    async ofDestination(at) {
      const { config, env } = ground.inForce.valid;
      const rooms = at.platform === "web" ? await web.rooms() : [];
      // Platforms run as they were started.
      const on = platformsOn(config, env, ground.loaded.problems);
      const known = webRooms(
        rooms.map(({ id }) => id),
        config,
      );
      const problem = chatProblem(formatAddress(at), on, known, ownAccounts(env));
      return problem ?? threadProblem(at, web);
    },
    loaded: () => loaded,
    noteLoaded(next) {
      loaded = next;
    },
    rejected(why) {
      rejection = why;
    },
    isRejectedForCritical: () => rejection?.isOfCritical === true,
  };
}

/** A thread of the web chat hangs under a message of its room, and has the id of that message. */
async function threadProblem(
  { platform, chatId, threadId }: Address,
  web: Pick<Store["web"], "get">,
): Promise<string | undefined> {
  if (platform !== "web" || threadId === undefined) return undefined;
  const message = /^\d{1,15}$/.test(threadId) ? await web.get(Number(threadId)) : undefined;
  if (message?.roomId === chatId && message.threadId === undefined) return undefined;
  return `there is no thread "${threadId}" in the room "${chatId}" of the web chat: name a message of the room by its id`;
}
