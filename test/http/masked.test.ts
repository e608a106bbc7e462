/** What a viewer sees of texts that are not theirs, over the API: no text, and nothing that a text can be guessed from. */
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const SECRET = `whsec_${Buffer.from("the secret of the build server").toString("base64")}`;
const PRIVATE = "customer Jane Roe wrote: my PIN is 4711";
/** Names that say in payloads of the product what kind of thing something is. */
const NAMES = [
  ...[
    "status",
    "id",
    "kind",
    "type",
    "userId",
    "code",
    "outcome",
    "severity",
    "platform",
    "chatId",
    "botId",
    "command",
  ],
  ...["format", "role", "access", "model", "point", "phase", "hookId", "pluginId", "cancelReason", "sentAt", "emoji"],
];

let app: RunningApp;
beforeAll(async () => {
  app = await runApp(
    {
      operators: { viewer: ["web:2"] },
      events: { build: { secret_env: "BUILD_SECRET" } },
      hooks: [
        {
          id: "watch",
          on: "message_received",
          run: { chat: { to: "web:web:general", text: "Watch: {{ event.message.text }}" } },
        },
        { id: "built", on: "event:build", run: { chat: { to: "web:web:general", text: "Built" } } },
      ],
    },
    { BUILD_SECRET: SECRET },
  );
});
afterAll(() => app.close());

const get = async (path: string, token = BOB) => (await app.call(token, "GET", `/api/v1${path}`)).body;

async function runOf(hook: string) {
  const found = async () =>
    (await get(`/runs?filter=configured`)).runs.find(
      (run: { hookId: string; status: string }) => run.hookId === hook && run.status === "succeeded",
    );
  await until(async () => (await found()) !== undefined, `a run of ${hook}`);
  return found();
}

describe("a viewer of runs", () => {
  it("gets neither the text of a direct message nor its hash or its length", async () => {
    const said = { text: "pin 4711", nonce: "nonce-of-the-pin-1" };
    expect((await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", said)).status).toBeLessThan(300);
    const run = await runOf("watch");
    expect(run.payload.message.text).toBe("[text]");
    const one = await get(`/runs/${encodeURIComponent(run.id)}`);
    const test = await app.call(OWNER, "POST", "/api/v1/hooks/watch/fire", { payload: "last", dryRun: true });
    expect(test.status).toBe(200);
    for (const shown of [run, one, test.body]) {
      const text = JSON.stringify(shown);
      expect(text).toContain("[text]");
      expect(text).not.toMatch(/hash|characters\]/i);
    }
  });

  it("sees no text of an event from outside, whatever the sender calls its field", async () => {
    const body = JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, PRIVATE])));
    const at = new Date();
    const sent = await app.call(undefined, "POST", "/ingest/build", JSON.parse(body), {
      "webhook-id": "build-1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(SECRET).sign("build-1", at, body),
    });
    expect(sent.status).toBe(202);
    const run = await runOf("built");
    const { dispatches } = await get("/runs?filter=event:build");
    expect(dispatches).not.toHaveLength(0);
    const shown = [
      run,
      ...dispatches,
      await get(`/runs/${encodeURIComponent(run.id)}`),
      await get(`/runs/${encodeURIComponent(dispatches[0].id)}`),
    ];
    for (const one of shown) {
      expect(one.payload).toEqual(Object.fromEntries(NAMES.map((name) => [name, "[text]"])));
      expect(JSON.stringify(one)).not.toMatch(/Jane|4711/);
    }
    expect((await get(`/runs/${encodeURIComponent(dispatches[0].id)}?reveal=true`, OWNER)).payload.status).toBe(
      PRIVATE,
    );
  });
});
