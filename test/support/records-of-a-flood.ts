/** What hooks record while many messages are answered, for tests and benchmarks of the journal. */
import type { DispatchRecord } from "../../src/domain/journal.js";
import { immutable } from "../../src/fast/isolate.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { ManualClock } from "./manual-clock.js";

/** Of messages that are answered through eight hooks, in the order that a flood gives them: those of a point many in a row. */
export async function recordsOfAFlood(messages: number): Promise<DispatchRecord[]> {
  const records: DispatchRecord[] = [];
  const clock = new TickingClock();
  const hooks = new HookRegistry({ clock, journal: { record: (record) => void records.push(record) } });
  const by = (id: string) => ({ id: `bench.${id}`, pluginId: "bench" });
  hooks.registerVoid("message_received", () => {}, by("count"));
  hooks.registerVoid("message_received", async () => {}, by("count-later"));
  hooks.registerClaiming("inbound_claim", () => ({ handled: false }), by("ignore"));
  hooks.registerClaiming("inbound_claim", ({ message: { text } }) => ({ handled: true, reply: { text } }), by("echo"));
  hooks.registerClaiming("before_dispatch", () => ({ handled: false }), by("no-empty"));
  hooks.registerModifying("message_sending", () => null, by("redact"));
  hooks.registerModifying("message_sending", async () => null, by("look"));
  hooks.registerVoid("message_sent", () => {}, by("count-sent"));
  const all = Array.from({ length: messages }, (_, i) => messageOf(20_000 + i, clock));
  for (const { message, options } of all)
    await hooks.fireVoid("message_received", { message, access: "allowed" }, undefined, options("message_received"));
  for (const { message, options } of all)
    await hooks.fireClaiming("inbound_claim", { message, isAnswer: false }, undefined, options("inbound_claim"));
  for (const { answer, target, answerOptions } of all) {
    const sending = { message: answer, ...target };
    const before = { text: answer.text, ...target };
    await hooks.fireClaiming("before_dispatch", before, undefined, answerOptions("before_dispatch"));
    await hooks.fireModifying("message_sending", sending, undefined, answerOptions("message_sending"));
  }
  for (const { answer, target, answerOptions, sentId } of all) {
    const payload = { messageId: sentId, messageIds: [sentId], message: answer, ...target };
    await hooks.fireVoid("message_sent", payload, undefined, answerOptions("message_sent"));
  }
  return records;
}

function messageOf(n: number, clock: ManualClock) {
  const chatId = String(500_000 + (n % 200));
  const message = immutable({
    platform: "telegram",
    botId: "7654321",
    chatId,
    userId: String(500_000 + (n % 200)),
    displayName: `Person ${chatId}`,
    text: `hello ${n}`,
    attachments: [],
    isDm: true,
    isGroupMention: false,
    messageId: String(n),
    isEdit: false,
    receivedAt: clock.now() - 5,
    writtenAt: clock.now() - 3000,
  });
  const cause = (kind: "message" | "reply") => immutable({ kind, id: `m${n}`, depth: 0 });
  const conversation = `telegram:7654321:${chatId}`;
  const deliveryId = `d_m${n}r`;
  const options = (point: string) => ({
    ...{ dispatchId: `m${n}:${point}`, attempt: 1, cause: cause("message"), conversation, owned: true },
    messageId: message.messageId,
  });
  const target = { chatId, platform: "telegram", botId: "7654321", deliveryId, cause: cause("reply") };
  const answerOptions = (point: string) => ({
    ...{ dispatchId: `${deliveryId}:${point}`, attempt: 1, cause: target.cause, conversation, owned: true },
  });
  return { message, options, target, answerOptions, answer: { text: message.text }, sentId: String(n + 7) };
}

/** Every reading is a little later. */
class TickingClock extends ManualClock {
  #readings = 0;

  override monotonic(): number {
    this.#readings++;
    return this.#readings * 0.137;
  }
}
