/** A page that waits for the end of a pause while an operator takes or snoozes its alert, and is posted because the alert needs an operator again. */
import { expect, it } from "vitest";
import type { PersonAction } from "../../src/alerts/act.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { ANN, ROOM, START, type Watch, watch } from "./watch.js";

/** What waits for its chat is not waited for. */
async function pass(on: Watch, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await on.clock.advance(1_000);
    await on.settle({ isAway: true });
  }
}

const time = (afterMs: number) => `<t:${(START + afterMs) / 1_000}:T:UTC>`;
const pages = (on: Watch) => on.posted(ROOM).filter(({ text }) => text.includes("Escalated: step 1 of 1"));

/** The page is due after 10 s and refused with a pause of 15 s; an operator does this 3 s later. */
async function heldBack(action: (now: number) => PersonAction, crash: boolean): Promise<{ on: Watch; id: string }> {
  const loop = new LoopbackPlatform("loop");
  let isPaused = false;
  loop.script = (operation) => {
    if (isPaused || operation.kind !== "create" || !operation.part.text.includes("Escalated")) return undefined;
    isPaused = true;
    return { kind: "retry", error: "429 Too Many Requests", afterMs: 15_000, scope: "chat" };
  };
  const on = await watch(
    {
      routes: { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "10s", mention: ["loop:7"] }] } },
      business_hours: { timezone: "UTC" },
    },
    loop,
  );
  const { id } = await on.raise();
  await pass(on, 13_000);
  expect(isPaused).toBe(true);
  await on.alerts.act(id, action(on.clock.now()), ANN);
  await pass(on, 2_000);
  if (crash) await on.crash();
  await pass(on, 40_000);
  return { on, id };
}

it.each([
  ["acknowledged", (now: number): PersonAction => ({ kind: "ack", untilAt: now + 25_000 }), false],
  ["acknowledged", (now: number): PersonAction => ({ kind: "ack", untilAt: now + 25_000 }), true],
  ["snoozed", (now: number): PersonAction => ({ kind: "snooze", until: now + 25_000 }), false],
])(
  "an alert that was %s: the page and the history say when it was due, and why it is late",
  async (word, action, crash) => {
    const { on, id } = await heldBack(action, crash);
    expect(pages(on).map(({ text }) => text)).toEqual([
      expect.stringContaining(
        `It was due ${time(10_000)}; the alert was ${word} until ${time(38_000)}; its times are those of ${time(38_000)}.`,
      ),
    ]);
    const posted = (await on.alerts.history(id)).filter(({ event }) => event === "posted");
    const iso = (afterMs: number) => new Date(START + afterMs).toISOString();
    expect(posted.map(({ at, reason }) => [at, reason])).toEqual([
      [
        START + 38_000,
        `"Escalated: step 1 of 1 (loop:7)" in ${ROOM}: it was due ${iso(10_000)}; the alert was ${word} until ${iso(38_000)}; it mentions loop:7`,
      ],
    ]);
  },
);

it("a page whose alert nobody took has no such line", async () => {
  const { on, id } = await heldBack(() => ({ kind: "note", text: "looking" }), false);
  expect(pages(on).map(({ text }) => text)).toEqual([expect.stringContaining("sending to this chat was paused until")]);
  expect((await on.alerts.history(id)).map(({ event }) => event)).not.toContain("posted");
});
