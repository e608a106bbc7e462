/** Changed settings of alerts are taken over without a restart; cards of open alerts follow them. */
import { expect, it } from "vitest";
import type { AlertSignal } from "../../src/domain/alerts/alert-signal.js";
import { liveApp } from "../automations/support/live-app.js";
import { until } from "../support/until.js";

const signal = (fingerprint: string, more: Partial<AlertSignal> = {}): AlertSignal => ({
  fingerprint,
  episode: 1,
  state: "firing",
  severity: "high",
  title: `Fault of ${fingerprint}`,
  reason: "it is broken",
  at: 1_767_225_600_000,
  source: { kind: "test", id: fingerprint },
  labels: { host: fingerprint },
  ...more,
});

it("routes, rules and windows hold at once, also for what is open", async () => {
  const live = await liveApp({ "hookgate.yaml": "automations: { watch: false }\n" });
  const { alerts } = live.app;
  const shows = (room: string, part: RegExp) =>
    until(async () => (await live.room(room)).find((text) => part.test(text)), `${part} in ${room}`);
  await alerts.raise(signal("first"));
  await alerts.raise(signal("late", { source: { kind: "sla", id: "c_1", policyId: "repairs" } }));
  await shows("dm-1", /Fault of first[\s\S]*Firing since/);
  await shows("dm-1", /Fault of late[\s\S]*Next: reminder/);

  live.write(
    "hookgate.yaml",
    `automations: { watch: false }
sla: { policies: [{ id: repairs, for: task, target: 1h, routes: [desk], remind: { times: 0 } }] }
alerts:
  routes: { default: { to: ["web:web:general"] }, desk: { to: ["web:web:general"], buttons: [note] } }
  inhibit: [{ by: [host=first], mutes: [host=second] }]
  maintenance: [{ match: [host=third], cron: "* * * * *", for: 1h, comment: always }]
`,
  );
  expect((await live.app.reload(live.read())).needRestart).toEqual([]);
  for (const host of ["second", "third", "fourth"]) await alerts.raise(signal(host));
  await shows("general", /Fault of fourth/);
  // Its policy names another route now, and wants no reminders.
  expect(await shows("general", /Fault of late[\s\S]*Firing since/)).not.toContain("reminder");
  const states = (await alerts.list({ open: true, limit: 10 })).map(({ fingerprint, state }) => [fingerprint, state]);
  expect(Object.fromEntries(states)).toEqual({
    late: "firing",
    first: "firing",
    second: "inhibited",
    third: "silenced",
    fourth: "firing",
  });

  await alerts.raise(signal("first", { state: "resolved", reason: "mended" }));
  await shows("dm-1", /Fault of first[\s\S]*Moved to General \(web\)/);
  await shows("general", /Fault of first[\s\S]*Resolved/);
  await shows("general", /Fault of second[\s\S]*Firing since/);
  expect((await live.room("general")).some((text) => /Fault of third/.test(text))).toBe(false);
});

it("an alert goes on as it was when its policy was removed and is put back soon", async () => {
  const settings = (policies: string) => `
automations: { watch: false }
alerts: { routes: { default: { to: ["web:web:general"], escalate: [{ after: 1s }, { after: 1h }] } } }
sla:
  after_start: 0s
  conversations: { staff: { role: none } }
  policies: [${policies}]
`;
  const policy = "{ id: first, for: conversation, measure: first_response, target: 1s }";
  const live = await liveApp({ "hookgate.yaml": settings(policy) });
  const { alerts } = live.app;
  const save = async (policies: string) => {
    live.write("hookgate.yaml", settings(policies));
    await live.app.reload(live.read());
  };
  await live.say("is anybody there?");
  const ours = async () =>
    (await alerts.list({ open: true, limit: 10 })).find(({ signal: { source } }) => source.kind === "sla");
  const found = await until(async () => {
    const alert = await ours();
    return alert?.steps === 1 ? alert : undefined;
  }, "the first step");
  // Acknowledged before that, its message is not posted, which the history says.
  await until(
    async () => (await live.room("general")).some((text) => /Escalated: step 1/.test(text)),
    "the message of the first step",
  );
  await alerts.act(found.id, { kind: "ack" }, { id: "web:1", name: "Ann", source: "web" });
  const before = await alerts.get(found.id);

  await save("");
  await until(async () => (await ours()) === undefined, "the alert being ended");
  await save(policy);
  const after = await until(ours, "the alert being back");
  const { id, state, raisedAt, firedAt, ack, steps } = after;
  expect({ id, state, raisedAt, firedAt, ack, steps }).toEqual({
    id: found.id,
    state: "acked",
    raisedAt: before?.raisedAt,
    firedAt: before?.firedAt,
    ack: before?.ack,
    steps: 1,
  });
  expect((await alerts.history(id)).map(({ event }) => event)).toEqual([
    "fire",
    "escalate",
    "ack",
    "resolve",
    "resume",
  ]);
  // On the same card.
  const shown = await until(
    async () => (await live.room("general")).find((text) => /Acknowledged by Ann/.test(text)),
    "the card",
  );
  expect(shown).not.toContain("It has happened");
});

it("another severity of a policy holds for its open alerts: what waits for quiet hours is posted when it is severe enough", async () => {
  const settings = (severity: string) => `automations: { watch: false }
sla: { policies: [{ id: repairs, for: task, target: 1h, severity: ${severity} }] }
alerts:
  routes: { default: { to: ["web:web:general"], escalate: [{ after: 0s }] } }
  destinations: { "web:web:general": { quiet: { from: "00:00", to: "24:00" } } }
`;
  const live = await liveApp({ "hookgate.yaml": settings("high") });
  const { alerts } = live.app;
  await alerts.raise(signal("late", { source: { kind: "sla", id: "c_1", policyId: "repairs" } }));
  const { id = "" } = (await alerts.list({ open: true, limit: 1 }))[0] ?? {};
  expect(await live.room("general")).toEqual([]);
  live.write("hookgate.yaml", settings("{ violated: critical }"));
  await live.app.reload(live.read());
  const isPaged = async () => (await live.room("general")).some((text) => /Escalated: step 1 of 1/.test(text));
  await until(isPaged, "the page that waited");
  expect(await alerts.get(id)).toMatchObject({ severity: "critical" });
  expect(await alerts.history(id)).toContainEqual(
    expect.objectContaining({ event: "severity", reason: "high to critical, by its policy" }),
  );
  live.write("hookgate.yaml", settings("warning"));
  await live.app.reload(live.read());
  await until(async () => (await alerts.get(id))?.severity === "warning", "the alert being less severe");
});
