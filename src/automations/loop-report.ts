/** Tells admins that a hook was cut because it is part of a loop: once, however often it is cut, also over restarts. */
import { z } from "zod";
import type { KeyValueStore } from "../domain/store.js";
import type { Clock } from "../lib/clock.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Definition } from "./definition/definition.js";
import type { Notifier } from "./notify.js";

interface Deps {
  keyValue: Pick<KeyValueStore, "get" | "set">;
  notifier: Pick<Notifier, "notifyAdmins">;
  mask(text: string): string;
  clock: Clock;
  logger: Logger;
}

const SCOPE = "automations.loop-told";
/** Cut again after so long, or once its definition has changed, it is news. */
const NEWS_AFTER_MS = 7 * 86_400_000;
const KEEP_EVERY_MS = 3_600_000;

const reportedLoop = z.object({ hash: z.string(), at: z.number() });
type ReportedLoop = z.output<typeof reportedLoop>;

/** Never rejects. */
export function createLoopReport({ keyValue, notifier, mask, clock, logger }: Deps) {
  const known = new Map<string, ReportedLoop>();

  async function isNews({ id, hash }: Definition): Promise<boolean> {
    const now = clock.now();
    const before = known.get(id) ?? reportedLoop.safeParse(await keyValue.get(SCOPE, id)).data;
    // Another cut may have been told of meanwhile.
    const latest = known.get(id) ?? before;
    const isKnown = latest?.hash === hash && now - latest.at < NEWS_AFTER_MS;
    if (isKnown && now - latest.at < KEEP_EVERY_MS) {
      known.set(id, latest);
      return false;
    }
    known.set(id, { hash, at: now });
    await keyValue.set(SCOPE, id, { hash, at: now });
    return !isKnown;
  }

  return async (definition: Definition, reason: string): Promise<void> => {
    try {
      if (!(await isNews(definition))) return;
    } catch (error) {
      logger.warn(
        { hook: definition.id, error: errorMessage(error) },
        "a loop was reported, and this could not be stored",
      );
    }
    const { id, trigger } = definition;
    const advice =
      trigger.kind === "files"
        ? "What comes from its own runs does not start it any more: let them write elsewhere, or name that under `ignore:`."
        : "Narrow what starts it (`match:`).";
    await notifier.notifyAdmins(
      `loop:${id}`,
      `⛔ The hook **${id}** starts itself again and again, or is started by a long chain of others, and was cut.\n> ${mask(reason).slice(0, 300)}\n${advice} \`/hooks why ${id}\` shows it. This is reported once.`,
    );
  };
}
