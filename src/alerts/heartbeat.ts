/** A heartbeat: an address that is called, or a message that is kept up to date. Its absence is the only sign that the gateway is down. */
import { parseAddress } from "../domain/chat/address.js";
import type { KeyValueStore } from "../domain/store.js";
import { errorMessage } from "../lib/errors.js";
import { newId } from "../lib/id.js";
import { moment } from "./card/words.js";
import { isWebhook } from "./tell/shown-as.js";
import type { Telling } from "./tell/telling.js";

const SCOPE = "alerts.heartbeat";
/** An alert is raised after so many failed calls in a row. */
const PATIENCE = 3;

export function createHeartbeat(
  parts: Telling,
  keyValue: KeyValueStore,
): { processDue(): Promise<number | undefined> } {
  const { clock, post, send, edit, raiseOwn, logger } = parts;
  let failures = 0;

  async function call(url: string): Promise<void> {
    const now = clock.now();
    const signal = {
      fingerprint: "alerts:heartbeat",
      severity: "warning" as const,
      title: "The heartbeat of alerts is not taken",
      source: { kind: "gateway", id: "heartbeat" },
      labels: { kind: "heartbeat" },
    };
    try {
      await post(url, newId("hb", now), { kind: "heartbeat", at: now });
      failures = 0;
      await raiseOwn({ ...signal, state: "resolved", reason: "it is taken again" });
    } catch (error) {
      failures++;
      logger.warn({ error: errorMessage(error), failures }, "the heartbeat was not taken");
      if (failures >= PATIENCE) await raiseOwn({ ...signal, state: "firing", reason: errorMessage(error) });
    }
  }

  async function show(to: string, everyMs: number): Promise<void> {
    const at = parseAddress(to);
    if (!at) return;
    const now = clock.now();
    const text = `💓 The gateway checks alerts. Last check ${moment(now, undefined)}, the next by ${moment(now + everyMs, undefined, "t")}.`;
    const cause = { kind: "alert" as const, id: "heartbeat", depth: 0 };
    const root = (await keyValue.get(SCOPE, to)) as string | undefined;
    if (root !== undefined) {
      const isEdited = await edit(root, { text }, { cause, deliveryId: newId("d", now) }).then(
        () => true,
        () => false, // the outbox has forgotten it: it is posted again
      );
      if (isEdited) return;
    }
    const deliveryId = newId("d", now);
    await keyValue.set(SCOPE, to, deliveryId);
    await send(at, { text, silent: true }, { cause, deliveryId });
  }

  return {
    async processDue() {
      const { to, every } = parts.config.heartbeat;
      if (to === undefined) return undefined;
      if (isWebhook(to)) await call(to);
      else await show(to, every);
      return clock.now() + every;
    },
  };
}
