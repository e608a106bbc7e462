/** SIGKILL at each step of an alert, from its card over each escalation to its end: each is said once, and none is missed. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { invoke } from "../flow/stack.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const TITLE = "Water the plants";
const STEPS = 4;
const MOMENTS = [
  { name: "card", when: "before", words: "Overdue since" },
  { name: "card-sent", when: "after", words: "Overdue since" },
  { name: "step-1", when: "before", words: "Escalated: step 1 of 4" },
  { name: "step-1-sent", when: "after", words: "Escalated: step 1 of 4" },
  { name: "step-2", when: "before", words: "Escalated: step 2 of 4" },
  { name: "step-3", when: "after", words: "Escalated: step 3 of 4" },
  { name: "end", when: "before", words: "Resolved" },
] as const;

const called: { id: unknown; text: string }[] = [];
let folder: string;
let hook: Server;
let gateway: GatewayProcess;
let kills = 0;

// The steps are far enough apart for a restart between two of them: where several fall due at once, one message is cut off by three kills, and is held for that.
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-alert-steps-"));
  called.length = 0;
  kills = 0;
  hook = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    called.push({ id: request.headers["webhook-id"], text });
    // Before the gateway hears that it was taken.
    if (called.length === 1) await gateway.kill();
    response.writeHead(204).end();
  });
  await new Promise<void>((done) => hook.listen(0, "127.0.0.1", done));
  const plugin = resolve(import.meta.dirname, "../fixtures/plugins/kills-itself.mjs");
  gateway = await gatewayProcess({
    folder,
    config: {
      web: { rooms: ["general", "ops"].map((id) => ({ id, name: id })) },
      outgoing: { allow: ["127.0.0.1"] },
      plugins: [
        {
          module: plugin,
          config: { folder, moments: MOMENTS.map((one) => ({ ...one, words: `(${one.words})(?=.*al_)` })) },
        },
      ],
      sla: { after_start: "0s", policies: [{ id: "dates", for: "task" }] },
      alerts: {
        routes: {
          default: {
            to: ["web:web:general"],
            remind: { times: 0 },
            escalate: [
              { after: "0s" },
              { after: "8s", mention: ["web:1"] },
              { after: "16s", to: ["web:web:ops"] },
              { after: "24s", webhook: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/` },
            ],
          },
        },
      },
    },
  });
});
afterEach(async () => {
  await gateway.kill();
  hook.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Waits, and starts the gateway again whenever it was killed. */
const living = (condition: () => Promise<boolean>, what: string | (() => string)) =>
  until(async () => {
    if (!gateway.running()) {
      kills++;
      await gateway.start();
    }
    return condition().catch(() => false);
  }, what);
const killed = () => MOMENTS.filter(({ name }) => existsSync(join(folder, `killed-${name}`))).map(({ name }) => name);

interface Shown {
  id: number;
  text: string;
  card?: { title: string };
}
async function said(room: string): Promise<Shown[]> {
  const answer = await fetch(`${gateway.url}/api/rooms/${room}/messages?limit=200`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return ((await answer.json()) as { messages: Shown[] }).messages;
}
const cardsIn = (all: readonly Shown[]) => all.filter(({ card }) => card?.title.includes(TITLE));
const stepsIn = (all: readonly Shown[]) => all.filter(({ card, text }) => card === undefined && text.includes(TITLE));

it("each step is said once, whenever it was killed", async () => {
  await gateway.start();
  await gateway.ready();
  const { data } = await invoke(gateway.url, `/task add person:web:1 due=1s ${TITLE}`);
  const { id } = data as { id: string };
  await living(async () => called.length > 1, "the last step being taken");
  await living(async () => (await said("ops")).some(({ text }) => text.includes("step 3 of")), "step 3 in its chat");
  await living(
    async () => (await said("general")).some(({ text }) => text.includes("This was the last step")),
    "the last step in its chat",
  );
  let seen: unknown;
  const steps: Record<"general" | "ops", Shown[]> = { general: [], ops: [] };
  // It may be killed while it is asked; and a step or a card that was cut off may arrive after the last step, as each has a queue of its own.
  await living(
    async () => {
      steps.general = stepsIn(await said("general"));
      steps.ops = stepsIn(await said("ops"));
      const cards = [await said("general"), await said("ops")].map((all) => cardsIn(all).length);
      seen = [cards, steps, (await invoke(gateway.url, "/outbox")).text];
      return (
        cards.every((count) => count > 0) &&
        [1, 2, 4].every((step) => steps.general.some(({ text }) => text.includes(`step ${step} of ${STEPS}`)))
      );
    },
    () => `the steps and the cards being read: ${JSON.stringify({ seen, killed: killed(), kills })}`,
  );
  for (const step of [1, 2, 4])
    expect(
      steps.general.filter(({ text }) => text.includes(`step ${step} of ${STEPS}`)),
      `step ${step}`,
    ).toHaveLength(1);
  expect(steps.ops.filter(({ text }) => text.includes("step 3 of"))).toHaveLength(1);
  await living(async () => {
    await invoke(gateway.url, `/task cancel ${id} done`);
    return ((await invoke(gateway.url, `/task show ${id}`)).data as { status: string }).status === "cancelled";
  }, "the task being cancelled");
  await living(async () => {
    const all = [...cardsIn(await said("general")), ...cardsIn(await said("ops"))];
    return killed().length === MOMENTS.length && all.every(({ text }) => text.includes("Resolved"));
  }, "the cards showing the end");

  expect(kills).toBeGreaterThanOrEqual(MOMENTS.length);
  const [general, ops] = [await said("general"), await said("ops")];
  expect(cardsIn(general)).toHaveLength(1);
  expect(cardsIn(ops)).toHaveLength(1);
  // The end is written into each step's message; it posts none.
  expect(stepsIn(general).map(({ id }) => id)).toEqual(steps.general.map(({ id }) => id));
  // The last step may reach this chat a moment later.
  expect(stepsIn(ops).map(({ id }) => id)).toEqual(expect.arrayContaining(steps.ops.map(({ id }) => id)));
  expect(new Set(called.map((one) => one.id)).size).toBe(1);
  expect(called.every(({ text }) => text.includes(`step 4 of ${STEPS}`))).toBe(true);
  const { data: shown } = await invoke(gateway.url, "/alerts all");
  const [alert] = (shown as { alerts: { id: string }[] }).alerts;
  const { data: detail } = await invoke(gateway.url, `/alerts show ${alert?.id}`);
  expect((detail as { history: { event: string }[] }).history.map(({ event }) => event)).toEqual([
    "fire",
    ...Array.from({ length: STEPS }, () => "escalate"),
    "resolve",
  ]);
}, 180_000);
