/** `/oncall who` in the started product: who is on call, and whom escalations notify where that person cannot be notified. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { OWNER, type RunningApp, runApp } from "../http/running-app.js";

const DAY = 24 * 60 * 60_000;
const dayFrom = (days: number) => new Date(Date.now() + days * DAY).toISOString().slice(0, 16);
const rota = (people: string[], from: number) => ({
  timezone: "UTC",
  rotate: { people, from: dayFrom(from), every: "7d" },
});

let app: RunningApp;
beforeAll(async () => {
  const mentions = ["gap", "away", "both", "empty"];
  app = await runApp({
    alerts: {
      people: { Ann: ["discord:7"], Ben: ["web:2"], Cid: ["web:1"] },
      rotas: {
        gap: rota(["Ann", "Ben"], 1),
        away: rota(["Ann", "Cid", "Ben"], -1),
        here: rota(["Ben", "Cid"], -1),
        empty: rota(["Ann"], 1),
        idle: rota(["Ann"], -1),
        both: rota(["Cid", "Ann"], -1),
      },
      routes: {
        default: {
          to: ["web:web:lobby"],
          escalate: [...mentions, "here"].map((name) => ({ mention: [`oncall:${name}`] })),
        },
        late: { match: ["queue=late"], to: ["web:web:lobby"], escalate: [{ mention: ["oncall:gap"] }] },
      },
    },
  });
});
afterAll(() => app.close());

const who = async (name: string) =>
  (await app.call(OWNER, "POST", "/api/command", { line: `/oncall who ${name}` })).body;

it("names the person whom escalations notify in a gap, and by which steps", async () => {
  const { text, data } = await who("gap");
  expect(text).toContain("no one is on call");
  expect(text).toContain("Escalations notify Ben instead (default, step 1; late, step 1).");
  expect(text).not.toContain("notify no one");
  expect(data.rotas[0].standIns).toEqual([
    { route: "default", step: 1, person: "Ben", isInstead: true },
    { route: "late", step: 1, person: "Ben", isInstead: true },
  ]);
});

it("names the person whom escalations notify when the person on call has no account there", async () => {
  const { text } = await who("away");
  expect(text).toContain(
    "Escalations do not reach Ann (default, step 2): Ann has no account where these steps are posted.",
  );
  expect(text).toContain("Escalations notify Cid instead (default, step 2).");
});

it("reports a gap in which escalations notify no one", async () => {
  const { text } = await who("empty");
  expect(text).toMatch(/Escalations notify no one now \(default, step 4\): add people to the rota/);
  expect(text).not.toContain("instead");
});

it.each(["here", "both", "idle"])(
  "adds nothing where the person on call is notified, or no escalation asks: %s",
  async (name) => {
    const { text, data } = await who(name);
    expect(text).not.toContain("Escalations");
    expect(data.rotas[0].standIns).toBeUndefined();
  },
);
