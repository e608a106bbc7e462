/** The system clock was ahead and is set right: what is sent about alerts does not wait until it shows that time again. */
import { describe, expect, it } from "vitest";
import { HOUR, MINUTE, ROOM, type Watch, watch } from "./watch.js";

describe.each([
  ["while it runs", (on: Watch) => on.clock.set(-4 * HOUR)],
  [
    "while it is stopped",
    async (on: Watch) => {
      on.clock.set(-4 * HOUR, false);
      await on.crash();
    },
  ],
])("after the clock was hours ahead and is set right %s,", (_, setRight) => {
  const route = (more: Record<string, unknown>, rest = {}) => ({
    routes: { default: { to: [ROOM], ...more } },
    ...rest,
  });

  async function ahead(config: Record<string, unknown>): Promise<Watch> {
    const on = await watch(config);
    on.clock.set(4 * HOUR);
    return on;
  }

  async function right(on: Watch): Promise<void> {
    await setRight(on);
    await on.settle();
  }

  it("a card shows that its alert has ended, and that it is back", async () => {
    const on = await ahead(route({}));
    await on.raise();
    await right(on);
    await on.raise({ state: "resolved" });
    await on.advance(MINUTE);
    expect(on.posted().map(({ text }) => text)).toEqual([expect.stringContaining("Resolved")]);
    await on.raise({ episode: 2 });
    await on.advance(MINUTE);
    expect(on.posted().map(({ text }) => text)).toEqual([expect.not.stringContaining("Resolved")]);
  });

  it("a card that stays open is drawn again soon", async () => {
    const on = await ahead(route({ remind: { every: "1d", times: 0 } }));
    await on.raise();
    const edits = () => on.platform.requests.filter(({ kind }) => kind === "edit").length;
    const before = edits();
    await right(on);
    await on.advance(MINUTE);
    expect(edits()).toBeGreaterThan(before);
  });

  it("what ended then is back on a new card, and that card shows it when it is back again", async () => {
    const on = await ahead(route({ reopen_within: "10m" }));
    await on.raise();
    await on.raise({ state: "resolved" });
    await on.advance(MINUTE);
    await right(on);
    await on.raise({ episode: 2 });
    await on.advance(MINUTE);
    expect(on.posted()).toHaveLength(2);
    await on.raise({ episode: 2, state: "resolved" });
    await on.raise({ episode: 3 });
    await on.advance(MINUTE);
    expect(on.posted().map(({ text }) => text.includes("Resolved"))).toEqual([true, false]);
  });

  it("reminders of a card of many come", async () => {
    const on = await ahead(route({ alone: 0, remind: { every: "30m", times: 9 } }));
    for (const fingerprint of ["a", "b"]) await on.raise({ fingerprint });
    await on.advance(31 * MINUTE);
    const reminders = () => on.posted().filter(({ text }) => /reminder \d of 9/.test(text)).length;
    const before = reminders();
    expect(before).toBeGreaterThan(0);
    await right(on);
    await on.advance(41 * MINUTE);
    expect(reminders()).toBeGreaterThan(before);
  });

  it("a new alert has a card of its own, though the chat was full then", async () => {
    const on = await ahead(route({}, { destinations: { [ROOM]: { per_minute: 1 } } }));
    await on.raise();
    await right(on);
    await on.advance(2 * MINUTE);
    await on.raise({ fingerprint: "b" });
    expect(await on.rig.store.alerts.cardOf(ROOM, "alert", "b")).toBeDefined();
  });

  it("a card that waits for its platform is sent to the fallback in time", async () => {
    const on = await ahead(route({}, { fallback: ["loop:bot:ops"], fallback_after: "2m" }));
    on.platform.script = ({ address: { chatId } }) =>
      chatId === "room" ? { kind: "retry", scope: "chat", error: "503", afterMs: 30_000 } : undefined;
    await on.raise({}, { isAway: true });
    expect(on.posted("loop:bot:ops")).toHaveLength(0);
    await setRight(on);
    for (let i = 0; i < 5 * 6; i++) {
      await on.clock.advance(10_000);
      await on.settle({ isAway: true });
    }
    expect(on.posted("loop:bot:ops").length).toBeGreaterThan(0);
  });

  it("the heartbeat goes on", async () => {
    const on = await ahead({ heartbeat: { to: ROOM, every: "1m" } });
    await on.settle();
    await right(on);
    const edits = () => on.platform.requests.filter(({ kind }) => kind === "edit").length;
    const before = edits();
    await on.advance(3 * MINUTE);
    expect(edits()).toBeGreaterThan(before);
  });
});
