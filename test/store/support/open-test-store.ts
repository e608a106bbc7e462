/** A store on a real file in a folder of its own, and rows to put into it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InboundEvent } from "../../../src/domain/chat/event.js";
import type { DeliveryPart, NewDelivery, Store } from "../../../src/domain/store.js";
import { newId } from "../../../src/lib/id.js";
import { type Logger, silentLogger } from "../../../src/lib/logger.js";
import { type Clock, systemClock } from "../../../src/lib/time/clock.js";
import { type Retention, storeConfig } from "../../../src/store/config.js";
import { openStore, type StoreOptions } from "../../../src/store/open.js";
import { afterTest } from "../../support/clean-up.js";

export const CHAT = { platform: "web", botId: "web", chatId: "room" };
export const LANE = "web:web:room";

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-test-"));
  afterTest(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function retentionOf(changes: Partial<Retention> = {}): Retention {
  const { retention, dedup_for } = storeConfig.parse({});
  return { ...retention, dedup_for, ...changes };
}

export function storeOptions(file: string, changes: Partial<StoreOptions> = {}): StoreOptions {
  const clock: Clock = systemClock;
  const logger: Logger = silentLogger;
  return { url: `file:${file}`, durability: "normal", retention: retentionOf(), clock, logger, ...changes };
}

/** Closed and removed after the test. */
export async function openTestStore(changes: Partial<StoreOptions> & { file?: string } = {}): Promise<Store> {
  const { file = join(temporaryFolder(), "hookgate.db"), ...options } = changes;
  return keep(await openStore(storeOptions(file, options)));
}

export function keep(store: Store): Store {
  afterTest(() => store.close());
  return store;
}

export function messageEvent(
  messageId: string,
  changes: { chatId?: string; userId?: string; text?: string } = {},
): InboundEvent {
  return {
    kind: "message",
    eventId: messageId,
    message: {
      ...CHAT,
      chatId: changes.chatId ?? CHAT.chatId,
      userId: changes.userId ?? "7",
      text: changes.text ?? `text of ${messageId}`,
      attachments: [],
      isDm: false,
      isGroupMention: false,
      messageId,
      isEdit: false,
      receivedAt: 1000,
    },
  };
}

export function reply(changes: Partial<NewDelivery> = {}): NewDelivery {
  return {
    id: newId("d"),
    address: CHAT,
    operation: "send",
    message: { text: "an answer" },
    cause: { kind: "reply", id: "1", depth: 0 },
    ...changes,
  };
}

/** Deps as the gateway freezes them: the first on the wire, the others waiting. */
export function partsOf(...texts: string[]): DeliveryPart[] {
  return texts.map((text, index) => ({
    index,
    operation: "create",
    nonce: `n${index}`,
    part: { text, body: { content: text } },
    status: index === 0 ? "sending" : "waiting",
    attempts: index === 0 ? 1 : 0,
  }));
}
