/** Notifies admins that a hook is part of a loop. A cut hook is reported once, however often it is cut, also over restarts. */
import { z } from "zod";
import type { Button } from "../domain/chat/message.js";
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { Clock } from "../lib/time/clock.js";
import { DAY_MS } from "../lib/time/duration.js";
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
/** A cut is news again after so long, or once the hook's definition has changed. */
const NEWS_AFTER_MS = 7 * DAY_MS;
const KEEP_EVERY_MS = 3_600_000;

const reportedLoop = z.object({ hash: z.string(), at: z.number() });
type ReportedLoop = z.output<typeof reportedLoop>;

/** Never rejects. */
export type LoopReport = ReturnType<typeof createLoopReport>;

export function createLoopReport({ keyValue, notifier, mask, clock, logger }: Deps) {
  const known = new Map<string, ReportedLoop>();

  async function isNews({ id, hash }: Definition): Promise<boolean> {
    const now = clock.now();
    const before = known.get(id) ?? reportedLoop.safeParse(await keyValue.get(SCOPE, id)).data;
    // Another cut may have been reported meanwhile.
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

  async function cut(definition: Definition, reason: string): Promise<void> {
    try {
      if (!(await isNews(definition))) return;
    } catch (error) {
      logger.warn(
        { hook: definition.id, error: errorMessage(error) },
        "a loop was reported, and this could not be stored",
      );
    }
    const { id } = definition;
    await notifier.notifyAdmins(
      `loop:${id}`,
      `⛔ The hook **${id}** starts itself again and again, or is started by a long chain of others, and was cut.\n> ${mask(reason).slice(0, 300)}\nNarrow what starts it (\`match:\`). \`/hooks why ${id}\` shows it. This is reported once.`,
    );
  }

  /** Nothing starts the hook until a person lets it run. */
  async function held({ id, ownerOnly }: Definition, reason: string): Promise<void> {
    const lines = [
      `⛔ The hook **${id}** seems to start itself, so nothing starts it for now: ${mask(reason).slice(0, 300)}.`,
      "Let its runs write elsewhere, or name what they write under `ignore:`. What was changed meanwhile is kept and starts it then.",
      `${ownerOnly ? "For owners: to" : "To"} let it run, press the button or type \`/hooks enable ${id}\`.`,
    ];
    const button: Button = {
      label: "Let it run",
      style: "success",
      action: { kind: "command", line: `/hooks enable ${id}` },
    };
    await notifier.notifyAdmins(`loop:${id}:${clock.now()}`, lines.join("\n"), button);
  }

  return { cut, held };
}
