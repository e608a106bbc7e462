/** The named queries, answered from a real store. */
import { describe, expect, it } from "vitest";
import { answers } from "../../src/automations/answers.js";
import { HookRegistry } from "../../src/hooks/registry.js";
import { silentLogger } from "../../src/lib/logger.js";
import { CHAT, messageEvent, openTestStore, reply } from "../store/support/open-test-store.js";
import { ManualClock } from "../support/manual-clock.js";

async function asking() {
  const clock = new ManualClock();
  const store = await openTestStore({ clock });
  const registry = new HookRegistry({ logger: silentLogger, journal: store.journal, clock });
  const ask = answers({
    store,
    registry,
    status: async () => ({ running: true }),
    mayOperatorsHear: async () => true,
    clock,
  });
  return { ask, store, registry, clock };
}

describe("a query", () => {
  it("tells messages, newest first, of one chat, one person, since a time", async () => {
    const { ask, store, clock } = await asking();
    for (const [id, chatId, userId] of [
      ["1", "ops", "2"],
      ["2", "lobby", "2"],
      ["3", "ops", "3"],
    ] as const) {
      await store.inbox.accept(
        messageEvent(id, { chatId, userId, text: `text ${id}` }),
        `web:web:${chatId}`,
        clock.now(),
        false,
      );
      await clock.advance(60_000);
    }
    const texts = async (args: Record<string, unknown>) => (await ask("messages", args)).map(({ text }) => text);
    expect(await texts({})).toEqual(["text 3", "text 2", "text 1"]);
    expect(await texts({ chat: "ops" })).toEqual(["text 3", "text 1"]);
    expect(await texts({ user: "2", limit: 1 })).toEqual(["text 2"]);
    expect(await texts({ since: "90s" })).toEqual(["text 3"]);
    expect(await texts({ since: new Date(clock.now() - 130_000).toISOString() })).toEqual(["text 3", "text 2"]);
    expect(await texts({ status: "dead" })).toEqual([]);
  });

  it("finds what stands behind thousands of others", async () => {
    const { ask, store, clock } = await asking();
    const old = messageEvent("old", { chatId: "quiet", text: "found" });
    await store.inbox.accept(old, "web:web:quiet", clock.now(), false);
    await store.outbox.enqueue(
      [reply({ id: "d_old", address: { ...CHAT, chatId: "quiet" }, message: { text: "found" } })],
      clock.now(),
    );
    await Promise.all(
      Array.from({ length: 3_500 }, async (_, index) => {
        await store.inbox.accept(messageEvent(`m${index}`, { chatId: "loud" }), "web:web:loud", clock.now(), false);
        await store.outbox.enqueue([reply({ id: `d_${index}` })], clock.now());
      }),
    );
    expect(await ask("messages", { chat: "quiet" })).toMatchObject([{ text: "found" }]);
    expect(await ask("deliveries", { chat: "quiet", status: "waiting" })).toMatchObject([{ id: "d_old" }]);
    expect(await ask("deliveries", { chat: "nowhere" })).toEqual([]);
    expect(await ask("messages", { chat: "loud", limit: "5" })).toHaveLength(5);
  });

  it("tells deliveries and hooks", async () => {
    const { ask, store, registry, clock } = await asking();
    await store.outbox.enqueue([reply({ id: "d_1", message: { text: "hello" } })], clock.now());
    expect(await ask("deliveries", { chat: CHAT.chatId })).toMatchObject([
      { id: "d_1", status: "waiting", text: "hello" },
    ]);
    registry.registerVoid("message_received", async () => {}, { id: "watcher" });
    expect(await ask("hooks", {})).toMatchObject([
      { id: "watcher", point: "message_received", enabled: true, fires: 0 },
    ]);
    expect(await ask("status", {})).toEqual([{ running: true }]);
    expect(await ask("runs", {})).toEqual([]);
    expect(await ask("dispatches", {})).toEqual([]);
  });

  it("refuses what it does not know instead of finding nothing", async () => {
    const { ask } = await asking();
    await expect(ask("message", {})).rejects.toThrow('did you mean "messages"');
    await expect(ask("runs", { status: "fialed" })).rejects.toThrow(
      'status: "fialed" is not known here (did you mean "failed"?)',
    );
    await expect(ask("messages", { since: "yesterday" })).rejects.toThrow("since");
    await expect(ask("runs", { hok: "x" })).rejects.toThrow("hok");
  });
});
