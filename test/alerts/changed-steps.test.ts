/** The steps of an escalation are changed in the settings while an alert is open: each step in force that was not taken is taken when its time comes, and none twice. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { openDesk } from "../commands/desk.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { ANN, HOUR, MINUTE, OPS, ROOM, START, type Watch, watch } from "./watch.js";

const people = { ann: ["loop:7"], kim: ["loop:8"], ben: ["loop:9"] };
const settings = (escalate: readonly object[]) => ({
  routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } },
  people,
  fallback: [OPS],
});
const at = (after: string, ...mention: string[]) => ({ after, mention });

/** The people whom the pages in the chat mention, page by page. */
const paged = (on: Watch) =>
  on.posted().flatMap(({ text, body }) => {
    const { users = [] } = (body.mentions ?? {}) as { users?: string[] };
    const names = users.map((id) => Object.entries(people).find(([, refs]) => refs.includes(`loop:${id}`))?.[0]);
    return text.includes("Escalated: step") && names.length > 0 ? [names.join("+")] : [];
  });
const card = (on: Watch) => on.posted()[0]?.text ?? "";

const ANN_AT_3 = at("3m", "ann");
const KIM_AT_35 = at("35m", "kim");
const CLOCK = { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };

type Case = [name: string, before: object[], after: object[], first: string[], all: string[], next: RegExp];
const cases: Case[] = [
  ["a step that was taken is removed", [ANN_AT_3, KIM_AT_35], [KIM_AT_35], ["ann"], ["ann", "kim"], /step 1 of 1 at/],
  [
    "a step is put in front, and its time has passed",
    [ANN_AT_3, KIM_AT_35],
    [at("1m", "ben"), ANN_AT_3, KIM_AT_35],
    ["ann", "ben"],
    ["ann", "ben", "kim"],
    /step 3 of 3 at/,
  ],
  [
    "a step is put in front, and is due later",
    [ANN_AT_3],
    [at("20m", "ben"), ANN_AT_3],
    ["ann"],
    ["ann", "ben"],
    /step 1 of 2 at/,
  ],
  [
    "the steps are reordered, and one is due earlier",
    [ANN_AT_3, KIM_AT_35],
    [at("20m", "kim"), ANN_AT_3],
    ["ann"],
    ["ann", "kim"],
    /step 1 of 2 at/,
  ],
  [
    "a step is added at the end, and its time has passed",
    [ANN_AT_3],
    [ANN_AT_3, at("5m", "kim")],
    ["ann", "kim"],
    ["ann", "kim"],
    /no further escalation/,
  ],
  [
    "a step that is not due yet is removed",
    [ANN_AT_3, KIM_AT_35],
    [ANN_AT_3],
    ["ann"],
    ["ann"],
    /no further escalation/,
  ],
  [
    "one of two steps for the same person is removed",
    [ANN_AT_3, at("35m", "ann")],
    [at("35m", "ann")],
    ["ann"],
    ["ann", "ann"],
    /step 1 of 1 at/,
  ],
  [
    "one of two equal steps is removed",
    [ANN_AT_3, ANN_AT_3, KIM_AT_35],
    [ANN_AT_3, KIM_AT_35],
    // In one message.
    ["ann"],
    ["ann", "kim"],
    /step 2 of 2 at/,
  ],
  [
    "an equal step is added",
    [ANN_AT_3, KIM_AT_35],
    [ANN_AT_3, ANN_AT_3, KIM_AT_35],
    ["ann", "ann"],
    ["ann", "ann", "kim"],
    /step 3 of 3 at/,
  ],
  [
    "another person is called by the step",
    [ANN_AT_3, KIM_AT_35],
    [at("3m", "ben"), KIM_AT_35],
    ["ann", "ben"],
    ["ann", "ben", "kim"],
    /step 2 of 2 at/,
  ],
  [
    "a step that was taken calls fewer people, and earlier",
    [at("3m", "ann", "ben"), KIM_AT_35],
    [at("2m", "ann"), KIM_AT_35],
    ["ann+ben"],
    ["ann+ben", "kim"],
    /step 2 of 2 at/,
  ],
];

async function changed(
  [, before, after, first, all, next]: Case,
  change: (on: Watch, next: Record<string, unknown>) => Promise<void>,
) {
  const on = await watch(settings(before));
  await on.raise();
  await on.advance(10 * MINUTE);
  await change(on, settings(after));
  await on.advance(2_000);
  expect(paged(on)).toEqual(first);
  expect(card(on)).toMatch(next);
  await on.advance(40 * MINUTE);
  expect(paged(on)).toEqual(all);
  expect(card(on)).toContain("no further escalation");
  await change(on, settings([...after, at("2h", "ben")]));
  await on.advance(2_000);
  expect(paged(on)).toEqual(all);
}

describe("ten minutes after the alert fired", () => {
  it.each(cases)("%s", (...one) => changed(one, (on, next) => on.reload(next)));

  it.each(cases.slice(0, 4))("%s, while the gateway is stopped", (...one) =>
    changed(one, async (on, next) => {
      await on.crash(0, next);
      await on.settle();
    }),
  );
});

it("a webhook that refused its page is taken out of the settings: the next person is called", async () => {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    calls.push(request.url ?? "");
    response.writeHead(500).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  afterTest(() => void server.close());
  const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pager`;
  const on = await watch(settings([{ after: "3m", webhook }, KIM_AT_35]));
  await on.raise();
  await on.advance(10 * MINUTE);
  await until(() => calls.length > 0, "the call");
  await on.reload(settings([KIM_AT_35]));
  await on.advance(2_000);
  expect(card(on)).toMatch(/Next: escalation step 1 of 1 at/);
  await on.advance(40 * MINUTE);
  expect(paged(on)).toEqual(["kim"]);
  // Back in the settings, it is the step that was taken.
  const before = calls.length;
  await on.reload(settings([{ after: "3m", webhook }, KIM_AT_35]));
  await on.advance(2 * MINUTE);
  expect(calls).toHaveLength(before);
  expect(paged(on)).toEqual(["kim"]);
});

it.each([
  ["Reply to Bob", false, "Reply to Bob is overdue. Step 1"],
  ["Bob: first response overdue", false, "Bob: first response overdue. Step 1"],
  ["Bob: first response overdue", true, "Bob: first response overdue, silenced. Step 1"],
])("the answer about %s names its state once (silenced: %s)", async (title, isSilenced, said) => {
  const on = await watch(settings([ANN_AT_3, at("5m", "kim")]));
  if (isSilenced) await on.alerts.silences.add(["queue=support"], HOUR, "moving", ANN);
  const { id } = await on.raise({ title, clock: CLOCK });
  const desk = await openDesk();
  afterTest(() => desk.close());
  desk.deps.alerts = on.alerts;
  const operator = { platform: "web", userId: "1", displayName: "Dr. Ada", role: "owner" as const };
  expect((await desk.say(`/alerts escalate ${id}`, { operator })).shown).toContain(`✓ Escalated: ${said}`);
});

it("Escalate takes the next step that was not taken, and More… offers it while there is one", async () => {
  const on = await watch(settings([ANN_AT_3, at("5m", "kim")]));
  const { id } = await on.raise();
  await on.advance(10 * MINUTE);
  expect(paged(on)).toEqual(["ann", "kim"]);
  const desk = await openDesk();
  afterTest(() => desk.close());
  desk.deps.alerts = on.alerts;
  const operator = { platform: "web", userId: "1", displayName: "Dr. Ada", role: "owner" as const };
  const escalate = async () => (await desk.say(`/alerts escalate ${id}`, { operator })).shown;
  expect(await escalate()).toContain("has no further escalation step");
  const asked = (await on.alerts.history(id)).filter(({ actor }) => actor.name === "Dr. Ada");
  expect(asked.map(({ event }) => event)).toEqual(["not_escalated"]);
  await on.reload(settings([at("5m", "kim"), at("2h", "ben")]));
  const details = await on.alerts.details(id, ROOM);
  expect(JSON.stringify(details.buttons)).toContain(`/alerts escalate ${id}`);
  expect(JSON.stringify(details.card?.fields)).toContain("escalation step 2 of 2 at");
  await on.alerts.act(id, { kind: "ack" }, ANN);
  expect(await escalate()).toContain("Step 2 of 2 (ben). This was the last step");
  expect((await on.alerts.history(id)).map(({ reason }) => reason)).toContainEqual(
    expect.stringContaining("Dr. Ada asked for this escalation"),
  );
  await on.settle();
  expect(paged(on)).toEqual(["ann", "kim", "ben"]);
  const page = on.posted().find(({ text }) => text.includes("Dr. Ada asked"));
  expect(page?.text).toMatch(/\*\*.*Reply to Bob.*\*\*, acknowledged by Ann/);
  expect(JSON.stringify((await on.alerts.details(id, ROOM)).buttons)).not.toContain("/alerts escalate");
});

it("two people who press Escalate at once take one step, and the second one reads who was quicker", async () => {
  const on = await watch(settings([at("1h", "kim"), at("2h", "ben")]));
  const { id } = await on.raise();
  const desk = await openDesk();
  afterTest(() => desk.close());
  desk.deps.alerts = on.alerts;
  const [, line] = /"(\/alerts escalate [^"]+)"/.exec(JSON.stringify(await on.alerts.details(id, ROOM))) ?? [];
  const answers = await Promise.all(["ann", "kim"].map(async () => (await desk.say(line ?? "")).shown));
  await on.settle();
  expect(paged(on)).toEqual(["kim"]);
  expect(answers.filter((one) => one.includes("Step 1 of 2 (kim)"))).toHaveLength(1);
  expect(answers.find((one) => one.startsWith("Nothing to do"))).toMatch(
    /was escalated by .+ 1 s ago; it is firing\. To notify the next person, press More… and Escalate again/,
  );
  // A card that was opened since takes the next one.
  const [, next] = /"(\/alerts escalate [^"]+)"/.exec(JSON.stringify(await on.alerts.details(id, ROOM))) ?? [];
  expect((await desk.say(next ?? "")).shown).toContain("Step 2 of 2 (ben)");
});

it("an alert that was stored when steps were only counted has taken the first ones of its route", async () => {
  const on = await watch(settings([ANN_AT_3, KIM_AT_35]));
  const { id } = await on.raise();
  await on.advance(10 * MINUTE);
  await on.alerts.act(id, { kind: "note", text: "seen" }, ANN);
  await on.settle();
  const alert = await on.rig.store.alerts.get(id);
  if (alert === undefined) throw new Error("the alert is not there");
  for (const urging of Object.values(alert.urged ?? {})) delete urging.taken;
  const stored = { ...alert, version: alert.version + 1 };
  const nothing = { events: [], places: [], left: [], notices: [], redraw: false };
  expect(await on.rig.store.alerts.commit({ alert: stored, before: alert.version, ...nothing })).toBe(true);
  await on.crash();
  await on.settle();
  await on.reload(settings([KIM_AT_35]));
  await on.advance(40 * MINUTE);
  expect(paged(on)).toEqual(["ann", "kim"]);
});

it("the card does not give the number of a removed step to another one", async () => {
  const on = await watch({ ...settings([at("3m", "zoe"), KIM_AT_35]), people: { ...people, zoe: [] } });
  await on.raise();
  await on.advance(4 * MINUTE);
  expect(card(on)).toContain("Next: escalation step 2 of 2");
  expect(card(on)).toContain("⚠ Escalation step 1 notified none of its people.");
  await on.reload(settings([KIM_AT_35]));
  await on.advance(5_000);
  expect(card(on)).toContain("Next: escalation step 1 of 1");
  expect(card(on)).toContain("⚠ Escalation step 1, which was removed since, notified none of its people.");
  await on.reload({ ...settings([at("1m", "ben"), at("3m", "zoe"), KIM_AT_35]), people: { ...people, zoe: [] } });
  await on.advance(5_000);
  expect(on.posted().some(({ text }) => text.includes("Escalated: step 1 of 3"))).toBe(true);
});
