/** A guard stays in force, and where it is in the order, while it or another hook that it names is broken or gone. */
import { expect, test } from "vitest";
import { type LiveApp, liveApp } from "./support/live-app.js";

const OFF = "automations: { watch: false }\n";
const guard = (more = "") =>
  `- { id: guard, on: inbound_claim, on_failure: closed,${more} match: { when: 'payload.message.text.contains("evil")' }, run: { shell: { sh: "echo no evil >&2; exit 2" } } }\n`;
const ANSWER = `- { id: answer, on: inbound_claim, run: { shell: { command: [echo, '{"decision":"claim","reply":"answered"}'] } } }\n`;
const helper = (more = "", on = "inbound_claim") =>
  `- { id: helper, on: ${on},${more} run: { shell: { command: ["true"] } } }\n`;

interface Order {
  data: { orders: { hooks: { id: string }[] }[] };
}
async function order(live: LiveApp) {
  const { data } = (await live.post("/api/command", { line: "/hooks order inbound_claim" })) as unknown as Order;
  return data.orders.flatMap(({ hooks }) => hooks.map(({ id }) => id));
}
const reloaded = (live: LiveApp) => live.app.reload(live.read());
async function expectGuarded(live: LiveApp) {
  const runs = (await live.runs("guard")).length;
  await live.say("evil");
  expect(await live.ended("guard", runs + 1)).toMatchObject({ status: "blocked" });
  expect(await live.room()).not.toContain("answered");
}

test.each([
  ["an unknown setting", guard(" on_faliure: closed,")],
  ["a key that is written twice", guard(" description: one, description: two,")],
  ["a brace that is not closed", guard().replace(/ }\n$/, "\n")],
  ["a circle", guard(" after: [helper],")],
  ["a file that cannot be read", '"unclosed'],
])("the previous version of a guard keeps its place in the order: %s", async (_what, broken) => {
  const live = await liveApp({
    "hookgate.yaml": OFF,
    "hooks/a.yaml": guard(),
    "hooks/b.yaml": `${ANSWER}${helper(" after: [guard],")}`,
  });
  const before = await order(live);
  expect(before).toEqual(["guard", "answer", "helper"]);
  live.write("hooks/a.yaml", broken);
  await reloaded(live);
  expect(live.app.automations.broken()).not.toEqual([]);
  expect(await order(live)).toEqual(before);
  await expectGuarded(live);
  live.write("hooks/a.yaml", guard(" description: fixed,"));
  await reloaded(live);
  expect(live.app.automations.broken()).toEqual([]);
  expect(await order(live)).toEqual(before);
});

test("previous versions of a file that hides hooks stand where they stood in it", async () => {
  const passes = (id: string) => `- { id: ${id}, on: inbound_claim, run: { shell: { command: ["true"] } } }\n`;
  const live = await liveApp({
    "hookgate.yaml": OFF,
    "hooks/a.yaml": `${passes("one")}${passes("two")}${passes("three")}${passes("four")}`,
    "hooks/c.yaml": passes("last"),
  });
  const open = passes("two").replace(" } }\n", "\n");
  live.write("hooks/a.yaml", `${passes("one")}${open}${passes("three").replace("-", " ")}${passes("four")}`);
  live.write("hooks/b.yaml", passes("new"));
  await reloaded(live);
  expect(live.app.automations.broken().map(({ id }) => id)).toEqual(["two"]);
  expect(await order(live)).toEqual(["one", "two", "three", "four", "new", "last"]);
});
