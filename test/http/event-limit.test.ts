/** How many events of one name may wait: what a sender loses by sending more, what everyone else notices, and how it is shown. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { beforeEach, expect, it } from "vitest";
import { type LogLine, logTo } from "../hooks/points.js";
import { type TaskedApp, taskedApp } from "../orchestrator/support/tasked-app.js";
import { until } from "../support/until.js";

const SECRET = `whsec_${Buffer.from("the secret of the sender").toString("base64")}`;
const gate = globalThis as { letEventsGo?: () => void; eventsHeld?: Promise<void> | undefined };

const PLUGIN = `export default { id: "slow", setup({ hooks }) {
  hooks.registerVoid("event:held", async () => { await globalThis.eventsHeld; }, { id: "slow", timeoutMs: 600_000 });
} };`;

let app: TaskedApp;
const log: LogLine[] = [];
let sent = 0;
beforeEach(async () => {
  log.length = 0;
  gate.eventsHeld = new Promise<void>((resolve) => {
    gate.letEventsGo = resolve;
  });
  app = await taskedApp({
    plugin: PLUGIN,
    logger: logTo(log),
    env: { EVENT_SECRET: SECRET },
    config: {
      gateway: { shutdown_timeout: "1s" },
      events: {
        held: { secret_env: "EVENT_SECRET", max_waiting: 5 },
        queued: { secret_env: "EVENT_SECRET", max_waiting: 5 },
        other: { secret_env: "EVENT_SECRET" },
      },
      hooks: [
        {
          id: "slow-build",
          on: "event:queued",
          execution: "background",
          run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done", cwd: "." } },
        },
      ],
    },
  });
  return () => gate.letEventsGo?.();
});

async function send(name: string, id: string, body = '{"size":1}') {
  const at = new Date();
  const response = await fetch(`${app.app.url}/ingest/${name}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(SECRET).sign(id, at, body),
    },
    body,
  });
  const retryAfter = response.headers.get("retry-after");
  return { status: response.status, retryAfter, body: (await response.json()) as Record<string, unknown> };
}

const sendAll = (name: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, n) => send(name, `e${n}`)));
const status = async () => {
  const { text, data } = await app.command("/status");
  return { text, data: data as { events: unknown[]; hooks: { waitingRuns: Record<string, number> } } };
};

it("events that are not handled yet: as many as may wait are taken, also of many that come at once, and the others get 429", async () => {
  const answers = await sendAll("held", 20);
  expect(answers.filter((one) => one.status === 202)).toHaveLength(5);
  const refused = answers.filter((one) => one.status !== 202);
  expect(refused).toHaveLength(15);
  expect(refused[0]).toMatchObject({
    status: 429,
    retryAfter: "30",
    body: {
      code: "TOO_MANY_WAITING",
      detail: '5 events "held" wait to be handled, and no more are taken until one of them is handled',
      hint: "This event was not stored. Send it again later, under the same id.",
    },
  });
  // A known one is answered as ever, and one that was refused is not known.
  const known = answers.findIndex((one) => one.status === 202);
  const unknown = answers.findIndex((one) => one.status === 429);
  expect(await send("held", `e${known}`)).toMatchObject({ status: 200, body: { status: "duplicate" } });
  expect(await send("held", `e${known}`, "{}")).toMatchObject({ status: 422, body: { code: "EVENT_ID_REUSED" } });
  expect(await send("held", `e${unknown}`)).toMatchObject({ status: 429 });
  // Other events are taken.
  expect(await send("other", "e1")).toMatchObject({ status: 202 });

  const { text, data } = await status();
  expect(text).toContain("Up, but no more events `held` are taken");
  expect(text).toContain(
    "⚠ no more events `held` are taken: 5 wait, and `events.held.max_waiting` is 5. 16 events `held` were refused since the start; `/hooks list event:held` shows the hooks",
  );
  expect(data.events).toEqual([{ name: "held", waiting: 5, maxWaiting: 5, refused: 16 }]);
  const lines = log.filter(({ message }) => message.startsWith("an event was refused"));
  expect(lines).toMatchObject([
    { level: "warn", message: "an event was refused: too many of its name wait", facts: { event: "held" } },
  ]);
  const metrics = await (await fetch(`${app.app.url}/metrics`)).text();
  expect(metrics).toContain('hookgate_ingested_events_total{event="held",answer="accepted"} 5');
  expect(metrics).toContain('hookgate_ingested_events_total{event="held",answer="refused"} 16');
  expect(metrics).toContain('hookgate_ingested_events_total{event="held",answer="duplicate"} 1');

  gate.letEventsGo?.();
  await until(async () => (await send("held", `e${unknown}`)).status === 202, "the refused event being taken");
  await until(
    async () => (await status()).text.includes("because too many waited (`events.held.max_waiting` is 5); 0 wait now"),
    "the line of the past",
  );
});

it("events whose runs are queued wait, too, also after a restart, and /status and /hooks show name the hook", async () => {
  const fill = () =>
    until(async () => {
      const { status: answer } = await send("queued", `q${sent++}`);
      return answer === 429 && (await status()).data.hooks.waitingRuns["slow-build"] === 5;
    }, "the limit");
  await fill();
  const { text, data } = await status();
  expect(text).toContain("runs: 5 wait to be started, 5 of `slow-build`");
  expect(text).toContain("no more events `queued` are taken: 5 wait");
  expect(data.hooks.waitingRuns).toEqual({ "slow-build": 5 });
  const shown = await app.command("/hooks show slow-build");
  expect(shown.text).toContain("5 runs wait to be started");
  expect(shown.data).toMatchObject({ waitingRuns: 5 });
  const metrics = await (await fetch(`${app.app.url}/metrics`)).text();
  expect(metrics).toContain('hookgate_hook_runs_waiting{hook="slow-build"} 5');

  await app.stop();
  await app.start();
  await fill();

  writeFileSync(join(app.folder, "go"), "");
  await until(
    async () => (await status()).data.hooks.waitingRuns["slow-build"] === undefined,
    "all runs being started",
  );
  expect(await send("queued", "after")).toMatchObject({ status: 202 });
});
