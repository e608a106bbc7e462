/** Programs of hooks that call the gateway they were started by: what they cause is known, so what starts itself that way is cut. */
import { describe, expect, test } from "vitest";
import { definedOf } from "../../src/lib/without-undefined.js";
import { liveApp, TOKEN } from "./support/live-app.js";

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

/** Acts on messages of the room `general`: the program presses the newest button, or makes the request that its arguments describe. */
const ACTOR = `
const [url, act, id] = process.argv.slice(2);
const headers = { "content-type": "application/json", authorization: "Bearer " + process.env.HOOKGATE_TOKEN };
async function call(method, path, body) {
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
async function pressNewest() {
  for (;;) {
    const { messages } = await call("GET", "/api/rooms/general/messages");
    const found = messages.reverse().find(({ buttons }) => buttons);
    const token = found?.buttons.flat().find(({ token }) => token)?.token;
    if (token) return call("POST", "/api/messages/" + found.id + "/press", { token, nonce: "press-" + Date.now() });
  }
}
if (act === "press") await pressNewest();
if (act === "delete") await fetch(url + "/api/messages/" + id, { method: "DELETE", headers: { authorization: headers.authorization } });
if (act === "react") for (const on of [false, true]) await call("PUT", "/api/messages/" + id + "/reactions", { emoji: "👀", on });
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

    test("reactions, deletions and presses of its program are caused by its run, too", async () => {
      const live = await liveApp({ "hookgate.yaml": "hooks: []\n", "act.mjs": ACTOR });
      const url = live.app.url;
      await live.stop();
      const hook = (on: string, ...args: string[]) =>
        `  - { id: at-${args[0]}, on: ${on}, run: { shell: { command: ${node("act.mjs", url, ...args)}, secrets: [HOOKGATE_TOKEN] } } }\n`;
      live.write(
        "hookgate.yaml",
        `hooks:\n${hook("reaction_added", "react", "1")}${hook("message_deleted", "delete", "3")}${hook("command_invoked", "press")}`,
      );
      await live.start({ HOOKGATE_PORT: new URL(url).port });
      for (const text of ["first", "second", "third"]) await live.say(text);
      const act = async (method: string, path: string, body?: object) => {
        const headers = definedOf({
          authorization: `Bearer ${TOKEN}`,
          "content-type": body && "application/json",
        });
        const answer = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
        expect(answer.status, await answer.text()).toBeLessThan(300);
      };
      await act("PUT", "/api/messages/1/reactions", { emoji: "👀", on: true });
      await act("DELETE", "/api/messages/2");
      for (const id of ["at-react", "at-delete"]) {
        const cut = await live.ended(id, 2);
        expect(cut).toMatchObject({ status: "skipped", cause: { kind: "hook", depth: 1 } });
        expect(cut.statusReason).toContain("loop: its own output started it");
      }
      // A reaction of a person starts a chain of its own.
      await act("PUT", "/api/messages/1/reactions", { emoji: "🎉", on: true });
      await live.ended("at-react", 3);
      expect((await live.runs("at-react"))[2]?.cause).toMatchObject({ kind: "message", depth: 0 });

      await act("POST", "/api/rooms/general/commands", { name: "help", nonce: "given-by-a-person" });
      await live.ended("at-press", 2);
      expect((await live.runs("at-press"))[1]?.cause).toMatchObject({ kind: "command", depth: 1 });
    });
  },
);
