/**
 * The foundation of a gateway: the configuration in force and the settings that stay as at the start, the log, the clock, the store, the platforms, and the parts that a stop closes.
 */
import { existsSync } from "node:fs";
import { createPlatforms } from "../../adapters/index.js";
import { dotEnvFile } from "../config/env.js";
import { type LoadedConfig, placeOfConfig } from "../config/load.js";
import { OwnerClaims } from "../gateway/people/owner-claims.js";
import { requireFreePort } from "../http/free-port.js";
import { parseDestinations } from "../lib/outgoing/destinations.js";
import { createLog } from "../lib/pino-logger.js";
import { createProcesses } from "../lib/process/process.js";
import { nameFromSecret, secretMask } from "../lib/signing/secret.js";
import { systemClock } from "../lib/time/clock.js";
import { noticingSteps } from "../lib/time/clock-steps.js";
import { databaseFiles, ownFileTest } from "../store/database-file/files.js";
import { openStore } from "../store/open.js";
import { followClock } from "./clock-between.js";
import type { AppOptions } from "./contract.js";
import { shownPaths } from "./kept-files.js";
import { platformOptions } from "./parts/platforms.js";
import { CONSOLE } from "./people.js";
import { needValid, secretsOf, type ValidConfig } from "./problems/valid-config.js";
import { asRead } from "./reload.js";
import { Stopping } from "./stopping.js";
import type { FixedConfig } from "./taken-over.js";

export type Base = Awaited<ReturnType<typeof openBase>>;
export type Ground = Awaited<ReturnType<typeof openGround>>;

/** Rejects with the problem that the operator must fix (CONFIG_INVALID, STORE_…, PORT_TAKEN); then nothing is open. */
export async function openBase(loaded: LoadedConfig, options: AppOptions) {
  /** The configuration in force: a reload changes it. */
  const inForce: { valid: ValidConfig } = { valid: needValid(loaded) };
  const { config, env } = inForce.valid;
  const fixedConfig: FixedConfig = config;
  const read = await asRead(loaded);
  const secrets: (string | undefined)[] = secretsOf(config, env);
  const mask = secretMask(secrets);
  const log =
    options.logger === undefined
      ? await createLog({ level: env.LOG_LEVEL, pretty: options.pretty ?? false, mask })
      : { logger: options.logger, problem: () => undefined };
  const { logger } = log;
  options.onLogger?.(logger);
  const clock = noticingSteps(options.clock ?? systemClock, logger);
  const startedAt = clock.now();
  const databaseFile = databaseFiles(env.DATABASE_URL);
  // A start that must fail makes no database and no token in a folder that has none, such as behind a link that leads elsewhere.
  if (!existsSync(databaseFile.database)) await requireFreePort(env.HOOKGATE_HOST, env.HOOKGATE_PORT);
  const store = await openStore({
    url: env.DATABASE_URL,
    durability: config.store.durability,
    retention: { ...config.store.retention, dedup_for: config.store.dedup_for },
    clock,
    logger,
    secrets,
    newDatabase: options.newDatabase,
  });
  const stopping = new Stopping({
    limitMs: config.gateway.shutdown_timeout,
    totalMs: () => inForce.valid.config.orchestrator.shutdown_timeout + config.gateway.shutdown_timeout,
    clock,
    logger,
  });
  stopping.push(() => store.close());
  stopping.push(async () => clock.stop());
  return {
    ...{ loaded, options, inForce, read, secrets, mask, log, logger, clock, startedAt, store, stopping },
    /** The settings and variables of the start, which a reload does not change. */
    ...{ fixedConfig, env },
    /** The configuration file. */
    file: placeOfConfig(loaded),
    shown: shownPaths(loaded, env),
    isOwnFile: ownFileTest(databaseFile, dotEnvFile()),
    destinations: parseDestinations(config.outgoing.allow),
  };
}

/** `pageUrl`: the address at which people open the web chat, once it is known. */
export async function openGround(base: Base, pageUrl: () => string) {
  const { loaded, fixedConfig, env, secrets, logger, clock, store, stopping } = base;
  const consoleToken = env.HOOKGATE_TOKEN ?? store.consoleToken();
  secrets.push(consoleToken);
  const followed = await followClock(store, clock, logger);
  stopping.push(followed.stop);
  return {
    ...base,
    consoleToken,
    followed,
    claims: await OwnerClaims.load(store.keyValue, clock),
    switches: await store.hookState.list(),
    platforms: await createPlatforms(
      platformOptions(loaded, { config: fixedConfig, env, store, consoleId: CONSOLE.userId, pageUrl }),
    ),
    processes: createProcesses({
      clock,
      env: env.forPrograms(),
      owner: nameFromSecret(await store.ownSecret("installation")),
    }),
  };
}
