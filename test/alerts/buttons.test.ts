/** Which buttons cards have: as their route says, or their policy; and as they stand. */
import { expect, it } from "vitest";
import type { Button } from "../../src/domain/chat/message.js";
import { ANN, HOUR, ROOM, START, type Watch, watch } from "./watch.js";

const labels = (on: Watch, n = 0) =>
  ((on.posted()[n]?.body.buttons ?? []) as Button[][]).map((row) => row.map(({ label }) => label));
async function more(on: Watch): Promise<string[][]> {
  const [alert] = await on.alerts.list({ open: true, limit: 1 });
  const { buttons = [] } = await on.alerts.details(alert?.id ?? "none", ROOM);
  return buttons.map((row) => row.map(({ label }) => label));
}
const routed = (route: Record<string, unknown>) => ({
  routes: { default: { to: [ROOM], remind: { times: 0 }, ...route } },
});

it("are those of the route, with its lengths", async () => {
  const on = await watch(
    routed({ buttons: ["resolve", "snooze", "extend", "mute"], snooze: ["5m"], extend: ["business"], mute: ["1d"] }),
  );
  await on.raise();
  await on.advance(6_000);
  expect(labels(on)).toEqual([["Snooze ▾", "More…"]]);
  expect(await more(on)).toEqual([
    ["Resolve"],
    ["Snooze 5m", "Snooze…"],
    ["Extend to business hours", "Extend…"],
    ["Mute policy 1d", "Mute policy…"],
  ]);
});

it("are those of the policy before those of the route", async () => {
  const on = await watch(routed({ buttons: ["resolve"] }), { policy: () => ({ buttons: ["ack", "note"] }) });
  await on.raise();
  await on.advance(6_000);
  expect(labels(on)).toEqual([["Acknowledge", "More…"]]);
  expect(await more(on)).toEqual([["Acknowledge", "Note"]]);
});

it("of a card of many are what its route lets one do with each", async () => {
  const on = await watch(routed({ alone: 0, buttons: ["snooze"], snooze: ["5m"] }));
  for (let n = 0; n < 3; n++) await on.raise({ fingerprint: `f${n}` });
  await on.advance(6_000);
  expect(labels(on)).toEqual([["Snooze all 5m", "Snooze all…", "Show all"]]);
});

it("of a card of many with one alert are those of the alert; its words and runbook are shown, later those of each", async () => {
  const on = await watch(routed({ alone: 0 }));
  const waiting = (name: string, words: string) => ({
    fingerprint: name,
    source: { kind: "sla", id: name, policyId: "replies" },
    title: `${name}: first response overdue`,
    runbook: "https://wiki.example.org/first",
    entity: {
      type: "conversation" as const,
      id: name,
      title: name,
      status: "waiting",
      createdAt: START,
      lastWords: words,
      facts: {},
    },
    clock: { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 },
  });
  await on.raise(waiting("Grace", "Where is my parcel?"));
  await on.advance(6_000);
  const [card] = on.posted();
  expect(card?.text).toMatch(
    /Grace waits 1 h for a first response[\s\S]*> Where is my parcel\?[\s\S]*Overdue since[\s\S]*Runbook: https:\/\/wiki/,
  );
  expect(labels(on)).toEqual([["Acknowledge", "Snooze ▾", "More…"]]);
  await on.raise(waiting("Alan", "Is my refund done?"));
  await on.advance(6_000);
  expect(on.posted().map(({ text }) => text.includes("Overdue now"))).toEqual([false, true]);
  for (const part of [
    /Grace waits .*“Where is my parcel\?”/,
    /Alan waits .*“Is my refund done\?”/,
    /\n\nRunbook: \S+first/,
  ])
    expect(on.posted()[0]?.text).toMatch(part);
  expect(labels(on)[0]?.[0]).toBe("Acknowledge all");
});

it("of what no policy found are none for policies and deadlines", async () => {
  const on = await watch(routed({}));
  await on.raise({ source: { kind: "gateway", id: "telegram" } });
  await on.advance(6_000);
  expect((await more(on)).flat().filter((label) => /Extend|Mute/.test(label))).toEqual([]);
});

it("a policy that is muted says by whom, until when and why, whatever its alert's state is", async () => {
  const on = await watch(routed({}));
  const { id } = await on.raise();
  await on.advance(6_000);
  await on.alerts.act(id, { kind: "ack" }, ANN);
  await on.alerts.silences.add(["policy=replies"], HOUR, "moving the queue", ANN);
  await on.alerts.act(id, { kind: "note", text: "so that it is drawn again" }, ANN);
  await on.advance(6_000);
  expect(on.posted()[0]?.text).toMatch(/Acknowledged by Ann[\s\S]*Policy muted until .* by Ann: moving the queue/);
  expect((await more(on)).flat()).toContain("Unmute policy");
});
