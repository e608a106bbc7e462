import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test } from "vitest";
import { catalogue } from "../../src/hooks/catalogue/index.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { liveApp } from "./support/live-app.js";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server that answers every request with this status, as it is at that moment. */
async function answering(status: () => number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status()).end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe("what hooks and admins are told", () => {
  test("the end of a run is a hook point of its own; a hook on it does not start itself", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: worker, trigger: manual, run: { shell: { sh: "exit 4" } } }
  - id: listener
    on: hook_run_completed
    run: { shell: { sh: "cat >> ends; echo >> ends" } }
`,
    });
    await live.fire("worker");
    const cut = await live.ended("listener", 2);
    expect((await live.runs("listener"))[0]).toMatchObject({ status: "succeeded", cause: { kind: "hook", depth: 1 } });
    expect(cut).toMatchObject({ status: "skipped", statusReason: "loop: its own output started it" });
    expect(jsonLines(`${live.folder}/ends`)).toMatchObject([{ hookId: "worker", outcome: "failed" }]);
  });

  test("a reload that was taken over is a hook point of its own", async () => {
    const hook = `{ id: watcher, on: config.reloaded, run: { shell: { sh: "exit 0" } } }`;
    const live = await liveApp({ "hookgate.yaml": `hooks:\n  - ${hook}\n` });
    live.write("hooks/new.yaml", `id: new\ntrigger: manual\nrun: { shell: { sh: "exit 0" } }\n`);
    const run = await live.ended("watcher");
    expect(run.payload).toMatchObject({ hooks: 2, changed: [], removed: [] });
  });

  test("a hook whose other side is gone for good is switched off, durably, and admins are told", async () => {
    const url = await answering(() => 410);
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: caller, trigger: manual, run: { http: { url: "${url}" } } }
outgoing: { allow: ["127.0.0.1"] }
`,
    });
    expect(await live.fire("caller")).toMatchObject({ status: "failed" });
    await until(async () => (await live.room("dm-1")).some((text) => /caller.*switched off/.test(text)), "the word");
    await expect(live.fire("caller")).rejects.toMatchObject({ code: "HOOK_OFF" });
    await live.stop();
    await live.start();
    await expect(live.fire("caller")).rejects.toMatchObject({ code: "HOOK_OFF" });
  });

  test("a hook that fails again and again is left alone, and admins hear of it once", async () => {
    let works = false;
    const payload = catalogue.find(({ name }) => name === "message_received")?.example as Record<string, unknown>;
    const url = await answering(() => (works ? 200 : 500));
    const live = await liveApp({
      "hookgate.yaml": `
automations: { breaker: { failures: 2, pause: 1h } }
hooks:
  - { id: caller, on: message_received, run: { http: { url: "${url}", attempts: 1 } } }
outgoing: { allow: ["127.0.0.1"] }
`,
    });
    for (let count = 1; count <= 4; count++) {
      await live.say(`message ${count}`);
      await live.ended("caller", count);
    }
    expect(
      (await live.runs("caller")).map(({ status, statusReason }) => `${status} ${statusReason?.split(":")[0]}`),
    ).toEqual([
      expect.stringMatching(/^failed/),
      expect.stringMatching(/^failed/),
      "skipped breaker",
      "skipped breaker",
    ]);
    const told = async () => (await live.room("dm-1")).filter((text) => text.includes("is not run for"));
    expect(await told()).toHaveLength(1);

    // A restart changes nothing of it, and tells nobody anew; a person's runs are not counted, and an operator closes it, over restarts, too.
    await live.stop();
    await live.start();
    await live.say("message 5");
    expect((await live.ended("caller", 5)).statusReason).toMatch(/^breaker: it failed 2 times in a row/);
    expect((await live.fire("caller", { payload })).status).toBe("failed");
    expect(await told()).toHaveLength(1);
    works = true;
    expect((await live.fire("caller", { payload })).status).toBe("succeeded");
    await live.say("message 5, again");
    expect((await live.ended("caller", 8)).statusReason).toMatch(/^breaker: it failed 2 times in a row/);
    await live.post("/api/command", { line: "/hooks enable caller" });
    await live.stop();
    await live.start();
    await live.say("message 6");
    expect((await live.ended("caller", 9)).status).toBe("succeeded");
  });

  test("admins hear of a program that fails again and again with what an admin can do, and what an owner can", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
automations: { breaker: { failures: 2, pause: 1h } }
hooks:
  - { id: checker, on: message_received, run: { shell: { sh: "exit 3" } } }
`,
    });
    for (let count = 1; count <= 2; count++) {
      await live.say(`message ${count}`);
      await live.ended("checker", count);
    }
    const told = await until(
      async () => (await live.room("dm-1")).find((text) => text.includes("is not run for")),
      "the notice",
    );
    expect(told.replaceAll("`", "")).toMatch(
      /For owners: \/runs checker shows the error, \/hooks enable checker runs it again at once\./,
    );
    expect(told.replaceAll("`", "")).toContain(
      "For admins: /hooks disable checker switches it off; only an owner can enable it again.",
    );
  });

  test("a breaker that has been open long enough lets one run try, which closes it", async () => {
    let works = false;
    const url = await answering(() => (works ? 200 : 500));
    const live = await liveApp({
      "hookgate.yaml": `
automations: { breaker: { failures: 2, pause: 2s } }
hooks:
  - { id: caller, on: message_received, run: { http: { url: "${url}", attempts: 1 } } }
outgoing: { allow: ["127.0.0.1"] }
`,
    });
    const statuses = async () => (await live.runs("caller")).map(({ status }) => status);
    for (let count = 1; count <= 3; count++) {
      await live.say(`message ${count}`);
      await live.ended("caller", count);
    }
    expect(await statuses()).toEqual(["failed", "failed", "skipped"]);
    works = true;
    await until(async () => {
      await live.say("again");
      return (await statuses()).includes("succeeded");
    }, "the run that tries");
    const before = (await statuses()).length;
    await live.say("and on");
    await until(async () => (await statuses()).slice(before - 1).includes("succeeded"), "the next");
  });

  test("an event that a hook sends itself does not start it again", async () => {
    const live = await liveApp(
      { "hookgate.yaml": "hooks: []\n" },
      { env: { EVENT_SECRET: "a secret that signs events" } },
    );
    const port = new URL(live.app.url).port;
    await live.stop();
    live.write(
      "hookgate.yaml",
      `
events: { ping: { secret_env: EVENT_SECRET } }
outgoing: { allow: ["127.0.0.1"] }
hooks:
  - { id: echoes, trigger: { event: ping }, run: { http: { url: "http://127.0.0.1:${port}/ingest/ping", secret_env: EVENT_SECRET } } }
`,
    );
    await live.start({ HOOKGATE_PORT: port });
    await live.fire("echoes");
    const cut = await live.ended("echoes", 2);
    expect(cut).toMatchObject({ status: "skipped", statusReason: "loop: its own output started it" });
    expect(await live.runs("echoes")).toHaveLength(2);
  });

  test("the notice about an event goes to the chat that the event names, and to admins when it names none, and the run shows that", async () => {
    const secret = `whsec_${Buffer.from("the secret of the events of a test").toString("base64")}`;
    const live = await liveApp(
      {
        "hookgate.yaml": `
events: { w: { secret_env: EVENT_SECRET } }
hooks:
  - { id: ev, on: "event:w", run: { shell: { sh: "echo broken; exit 4" } }, notify: { on: [failed], to: [here] } }
`,
      },
      { env: { EVENT_SECRET: secret } },
    );
    const send = (id: string, payload: unknown) => {
      const [at, body] = [new Date(), JSON.stringify(payload)];
      const signature = new Webhook(secret).sign(id, at, body);
      const timestamp = String(Math.floor(at.getTime() / 1000));
      return fetch(`${live.app.url}/ingest/w`, {
        method: "POST",
        headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature },
        body,
      });
    };
    const notices = async (room: string) => (await live.room(room)).filter((text) => text.includes("ev failed"));
    const shown = async (run: { id: string }) =>
      String((await live.post("/api/command", { line: `/run ${run.id}` })).text).replaceAll("`", "");
    const NO_HERE = "The event names no chat for here of notify, so admins are notified.";

    await send("named", { platform: "web", botId: "web", chatId: "general" });
    const [inChat] = await until(async () => {
      const found = await notices("general");
      return found.length > 0 ? found : undefined;
    }, "the notice in the chat");
    expect(inChat).toContain("the program exited with 4: broken");
    expect(await shown(await live.ended("ev"))).not.toContain(NO_HERE);
    expect(await notices("dm-1")).toEqual([]);

    await send("nameless", { a: 1 });
    const [toAdmins] = await until(async () => {
      const found = await notices("dm-1");
      return found.length > 0 ? found : undefined;
    }, "the notice for admins");
    expect(toAdmins).toContain(NO_HERE);
    // What programs print is for owners, and all admins read it.
    expect(toAdmins).not.toContain("broken");
    expect(await shown(await live.ended("ev", 2))).toContain(NO_HERE);
    expect(await notices("general")).toHaveLength(1);
  });

  test("a mission that is shown where the event was fails when the event names no chat, as a message there does", async () => {
    const live = await liveApp(
      {
        "hookgate.yaml": `
events: { w: { secret_env: EVENT_SECRET } }
hooks:
  - { id: card, on: "event:w", run: { mission: { plan: good, at: here } } }
  - { id: chosen, on: "event:w", run: { mission: { plan: good, at: "{{ event.where }}" } } }
  - { id: text, on: "event:w", run: { chat: { to: here, text: hello } } }
`,
        "missions/good.yaml": `groups: [{ name: a, tasks: [{ id: t, assignTo: "person:web:1" }] }]`,
      },
      { env: { EVENT_SECRET: "whsec_dGhlIHNlY3JldCBvZiB0aGUgZXZlbnRzIG9mIGEgdGVzdA==" } },
    );
    const failed = { status: "failed", statusReason: "here: the event is about no conversation" };
    const nowhere = { payload: { where: "ops" } };
    expect(await live.fire("text", nowhere)).toMatchObject(failed);
    expect(await live.fire("card", nowhere)).toMatchObject(failed);
    expect(await live.fire("chosen", nowhere)).toMatchObject({
      status: "failed",
      statusReason: "ops: this is no address",
    });
    const shown = { payload: { platform: "web", botId: "web", chatId: "general", where: "web:web:general" } };
    for (const hook of ["card", "chosen"]) expect(await live.fire(hook, shown)).toMatchObject({ status: "succeeded" });
  });

  test("history stays when a hook goes, and is cut to what each hook keeps", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: brief, trigger: manual, keep: { max_runs: 2 }, run: { shell: { sh: "exit 0" } } }
  - { id: gone, trigger: manual, run: { shell: { sh: "exit 0" } } }
`,
    });
    for (let i = 0; i < 4; i++) await live.fire("brief");
    await live.fire("gone");
    live.write(
      "hookgate.yaml",
      `hooks:\n  - { id: brief, trigger: manual, keep: { max_runs: 2 }, run: { shell: { sh: "exit 0" } } }\n`,
    );
    await until(() => live.app.automations.get("gone") === undefined, "the hook being gone");
    await live.app.automations.sweep(Date.now());
    expect(await live.runs("brief")).toHaveLength(2);
    expect(await live.runs("gone")).toHaveLength(1);
  });

  test("an interval fires by itself, and what a person fires dry leaves no trace", async () => {
    const live = await liveApp({
      "hookgate.yaml": `
hooks:
  - { id: pulse, trigger: { every: 1s }, run: { shell: { sh: "echo beat >> beats" } } }
  - id: tryout
    trigger: manual
    context: [{ shell: { command: [echo, "{{ event.input.who }}"] } }]
    run: { shell: { sh: "touch never" } }
`,
    });
    const beat = await live.ended("pulse", 2);
    expect(beat).toMatchObject({ trigger: "every", status: "succeeded", event: "hook.due" });
    const steps: string[] = [];
    const dry = await live.fire("tryout", {
      payload: { who: "Ann" },
      dryRun: true,
      stepBegan: (_, step) => void steps.push(`began ${step}`),
      stepEnded: (_, { outcome }) => void steps.push(outcome),
    });
    expect(dry.attempts[0]?.steps).toMatchObject([{ step: "shell", outcome: "passed" }]);
    expect(steps).toEqual(["began shell", "passed"]);
    expect(await live.runs("tryout")).toEqual([]);
    expect(existsSync(`${live.folder}/never`)).toBe(false);
  });
});
