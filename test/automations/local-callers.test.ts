/** Programs of hooks that call the gateway they were started by: what they cause is known, so what starts itself that way is cut. */
import { describe, expect, test } from "vitest";
import { liveApp } from "./support/live-app.js";

const SECRET = "a secret that signs events";

/** Signs an event as anybody would, with an id of its own. */
const SENDER = `
import { createHmac } from "node:crypto";
const id = "msg_" + Math.random().toString(36).slice(2);
const at = Math.floor(Date.now() / 1000);
const body = "{}";
const signature = "v1," + createHmac("sha256", process.env.EVENT_SECRET).update(id + "." + at + "." + body).digest("base64");
const headers = { "content-type": "application/json", "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": signature };
const answer = await fetch(process.argv[2], { method: "POST", headers, body });
if (!answer.ok) throw new Error(await answer.text());
`;
const CALLER = `
const [url, body] = process.argv.slice(2);
const headers = { "content-type": "application/json", authorization: "Bearer " + process.env.HOOKGATE_TOKEN };
const answer = await fetch(url, { method: "POST", headers, body });
if (!answer.ok) throw new Error(await answer.text());
`;

const node = (...args: string[]) => JSON.stringify([process.execPath, ...args]);

describe.runIf(process.platform === "linux")(
  "what a hook's program asks of its own gateway",
  { timeout: 60_000 },
  () => {
    test("is caused by its run: events, firings and messages that start it again are cut", async () => {
      const live = await liveApp(
        { "hookgate.yaml": "hooks: []\n", "send.mjs": SENDER, "call.mjs": CALLER },
        { env: { EVENT_SECRET: SECRET } },
      );
      const url = live.app.url;
      const port = new URL(url).port;
      await live.stop();
      const fire = (id: string, other: string) =>
        `  - { id: ${id}, trigger: manual, concurrency: 3, run: { shell: { command: ${node("call.mjs", `${url}/api/v1/hooks/${other}/fire`, '{"live":true}')}, secrets: [HOOKGATE_TOKEN] } } }\n`;
      live.write(
        "hookgate.yaml",
        `
events: { ping: { secret_env: EVENT_SECRET } }
hooks:
  - { id: echoes, trigger: { event: ping }, run: { shell: { command: ${node("send.mjs", `${url}/ingest/ping`)}, secrets: [EVENT_SECRET] } } }
  - id: repeats
    on: message_received
    run: { shell: { command: ${node("call.mjs", `${url}/api/rooms/general/messages`, JSON.stringify({ text: "again", nonce: "said-by-a-program" }))}, secrets: [HOOKGATE_TOKEN] } }
${fire("one", "other")}${fire("other", "one")}`,
      );
      await live.start({ HOOKGATE_PORT: port });
      await Promise.all([live.fire("echoes"), live.fire("one"), live.say("first")]);
      for (const id of ["echoes", "one", "repeats"]) {
        const cut = await live.ended(id, 2);
        expect(cut).toMatchObject({ status: "skipped", cause: { kind: "hook" } });
        expect(cut.statusReason).toContain("loop: its own output started it");
        expect(await live.runs(id)).toHaveLength(2);
      }
      expect(await live.room()).toEqual(["first", "again"]);
      // What a person does is nobody's output.
      await live.say("second");
      expect(await live.ended("repeats", 3)).toMatchObject({
        status: "succeeded",
        cause: { kind: "message", depth: 0 },
      });
    });
  },
);
