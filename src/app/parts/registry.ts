/** The registry of hooks, with the queue that runs background hooks. */
import { createQueue, type Queue, type QueueOptions } from "../../automations/queue.js";
import type { Config } from "../../config/schema.js";
import type { Store } from "../../domain/store.js";
import type { MovedChats } from "../../gateway/moved-chats.js";
import { allowedPluginsIn } from "../../gateway/people/allowed-plugins.js";
import type { Catalogue } from "../../hooks/catalogue/index.js";
import type { FormerChats } from "../../hooks/registration/matcher.js";
import { HookRegistry, type RegistryOptions } from "../../hooks/registry.js";
import { newId } from "../../lib/id.js";
import type { Logger } from "../../lib/logger.js";
import type { Clock } from "../../lib/time/clock.js";

interface RegistryDeps extends Pick<RegistryOptions<Catalogue>, "journal" | "overrides" | "onTimeout"> {
  /** Why a plugin's hook is not called now. Must change nothing. */
  refusal(hookId: string): string | undefined;
  store: Pick<Store, "automation">;
  stops: QueueOptions["stops"];
  turns(): QueueOptions["turns"];
  moves: Pick<MovedChats, "former">;
  /** The configuration in force: a reload changes it. */
  config(): Config;
  clock: Clock;
  logger: Logger;
}

export function assembleRegistry({ store, stops, turns, moves, config, refusal, ...deps }: RegistryDeps): {
  queue: Queue;
  registry: HookRegistry;
} {
  const { clock, logger } = deps;
  const queue = createQueue({
    runs: store.automation.runs,
    stops,
    get turns() {
      return turns();
    },
    owner: newId("g", clock.now()),
    get leaseMs() {
      return config().automations.lease;
    },
    get maxRunning() {
      return config().automations.max_running;
    },
    clock,
    logger,
  });
  const formerChats: FormerChats = (at) => moves.former(at);
  const registry = new HookRegistry({
    ...deps,
    background: queue,
    formerChats,
    allowedPlugins: (conversation) => allowedPluginsIn(conversation, config().gateway.allowed_plugins, formerChats),
    limits: { refusal, allowedPlugins: () => config().gateway.allowed_plugins },
  });
  return { queue, registry };
}
