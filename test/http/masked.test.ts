/** What a viewer sees of texts that are not theirs, over the API: no text, and nothing that a text can be guessed from. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
/** Answers 500 and repeats what it was sent, in capitals: no mask finds that. */
const echo = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => response.writeHead(500).end(`broken: ${body.toUpperCase()}`));
});
beforeAll(async () => {
  await new Promise<void>((done) => echo.listen(0, "127.0.0.1", done));
  const { port } = echo.address() as AddressInfo;
  app = await runApp(
    {
      operators: { viewer: ["web:2"] },
      outgoing: { allow: ["127.0.0.1"] },
      events: { build: { secret_env: "BUILD_SECRET" } },
      hooks: [
        {
          id: "watch",
          on: "message_received",
          run: { chat: { to: "web:web:general", text: "Watch: {{ event.message.text }}" } },
        },
        {
          id: "blocker",
          on: "inbound_claim",
          match: { when: 'payload.message.text.startsWith("Blocked: ")' },
          run: { shell: { sh: "cat >&2; exit 2" } },
        },
        {
          id: "asker",
          on: "message_received",
          match: { when: 'payload.message.text.startsWith("asked: ")' },
          context: [
            {
              http: {
                url: `http://127.0.0.1:${port}/`,
                method: "POST",
                body: "{{ event.message.text }}",
                required: true,
              },
            },
          ],
          notify: { to: ["web:web:general"], on: ["failed"] },
          run: { chat: { to: "web:web:general", text: "Asked" } },
        },
        {
          id: "veto",
          on: "message_sending",
          match: { when: 'payload.message.text.contains("vetoed")' },
          run: { shell: { sh: "echo RULE-26 >&2; cat >&2; exit 2" } },
        },
        {
          id: "shut",
          on: "message_sending",
          match: { when: 'payload.message.text.contains("held back")' },
          on_failure: "closed",
          run: { shell: { sh: "echo RULE-31 >&2; cat >&2; exit 1" } },
        },
        {
          id: "quotes",
          on: "message_received",
          match: { when: 'payload.message.text.startsWith("quoted: ")' },
          context: [{ read_file: { path: "{{ event.message.text | upcase }}.md", required: true } }],
          run: { chat: { to: "web:web:general", text: "Quoted" } },
        },
        {
          id: "teller",
          on: "inbound_claim",
          match: { when: 'payload.message.text.startsWith("Tell: ")' },
          run: { shell: { sh: 'echo \'{ "decision": "claim", "reply": "held back, vetoed" }\'' } },
        },
        {
          id: "gate",
          on: "inbound_claim",
          match: { when: 'payload.message.text.startsWith("gated: ")' },
          on_failure: "closed",
          run: { shell: { sh: "echo RULE-42 >&2; exit 1" } },
        },
        { id: "built", on: "event:build", run: { chat: { to: "web:web:general", text: "Built" } } },
      ],
    },
    { BUILD_SECRET: SECRET },
  );
});
afterAll(async () => {
  await app.close();
  echo.close();
});

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
    const one = await get(`/runs/${encodeURIComponent(run.id)}`);
    expect(one.payload.message.text).toBe("[text]");
    // The journal has the firing a moment after the run.
    const test = await until(async () => {
      const fired = await app.call(OWNER, "POST", "/api/v1/hooks/watch/fire", { payload: "last", live: false });
      return fired.status === 200 ? fired : undefined;
    }, "a dry run with the last payload");
    for (const shown of [one, test.body]) {
      const text = JSON.stringify(shown);
      expect(text).toContain("[text]");
      expect(text).not.toMatch(/hash|characters\]/i);
    }
  });

  it("reads that a hook blocked a message, and not the reason, in which the hook quotes the message", async () => {
    const said = { text: "Blocked: pin plum", nonce: "nonce-of-the-pin-2" };
    expect((await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", said)).status).toBeLessThan(300);
    const dispatch = async () =>
      (await get("/runs?filter=blocker", OWNER)).runs.find(({ status }: { status: string }) => status === "blocked");
    await until(async () => (await dispatch()) !== undefined, "the run of blocker");
    const { id, dispatchId } = await dispatch();
    const root = dispatchId.split(":")[0];
    const command = (token: string, line: string) => app.call(token, "POST", "/api/command", { line });
    const everything = (token: string) =>
      Promise.all([
        get("/runs?filter=blocker", token),
        get("/runs?filter=blocked", token),
        get("/runs?filter=inbound_claim", token),
        get(`/runs/${encodeURIComponent(id)}`, token),
        get(`/runs/${encodeURIComponent(dispatchId)}`, token),
        ...[`/run ${root}`, `/run ${dispatchId}`, `/run ${id}`, `/hooks why blocker ${root}`, `/hooks why ${root}`].map(
          async (line) => (await command(token, line)).body,
        ),
      ]);
    const seen = (await everything(BOB)).map((one) => JSON.stringify(one));
    for (const one of seen) expect(one).not.toContain("plum");
    expect(seen.filter((one) => one.includes("operators see the reason")).length).toBeGreaterThan(7);
    for (const one of seen) expect(one).not.toMatch(/blocked by [`*]*blocker[`*]*: blocked by/);
    expect(JSON.stringify(await command(BOB, `/run ${dispatchId}`))).not.toContain("reveal=true");
    expect(JSON.stringify(await command(OWNER, `/run ${dispatchId}`))).toContain("reveal=true");
    expect(JSON.stringify(await everything(OWNER))).toContain("plum");
  });

  it("reads that hooks kept messages from being sent, and neither their reasons nor what their programs said", async () => {
    for (const [index, text] of ["vetoed pin K5926Z", "held back pin K5926Z"].entries())
      await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text, nonce: `nonce-of-the-pin-4${index}` });
    const command = async (token: string, line: string) =>
      (await app.call(token, "POST", "/api/command", { line })).body;
    const boxes = async (token: string) =>
      JSON.stringify([await command(token, "/outbox list cancelled"), await command(token, "/outbox list held")]);
    await until(async () => (await boxes(OWNER)).includes("is fail-closed"), "both messages being kept back");
    const seen = await boxes(BOB);
    expect(seen).toContain("operators see the reason");
    expect(seen).toContain("is fail-closed: for owners only");
    expect(seen).not.toContain("K5926Z");
    expect(JSON.stringify(await command(BOB, "/runs configured"))).not.toContain("K5926Z");
    const root = /d_m\w+/.exec(JSON.stringify(await command(OWNER, "/outbox list cancelled")))?.[0];
    const vetoed = `${root}:message_sending`;
    const all = async (token: string) =>
      JSON.stringify([
        await get("/runs?filter=message_sending&limit=50", token),
        await get(`/runs/${encodeURIComponent(vetoed)}`, token),
        await command(token, `/run ${vetoed}`),
      ]);
    expect(await all(OWNER)).toContain("K5926Z");
    expect(await all(BOB)).not.toContain("K5926Z");
  });

  it("is notified that the answer to a message was kept back, in the words that /hooks why shows to its sender", async () => {
    const ends = async (token: string, room: string, kept: string) => {
      const shown = async () => JSON.stringify((await app.call(token, "GET", `/api/rooms/${room}/messages`)).body);
      const known = await shown();
      const said = { text: "Tell: pin 8153", nonce: `nonce-of-the-pin-${room}-${kept}` };
      expect((await app.call(token, "POST", `/api/rooms/${room}/messages`, said)).status).toBeLessThan(300);
      const notice = new RegExp(`The answer to your message was ${kept}.*?/hooks why (m\\d+)`, "s");
      const found = await until(async () => notice.exec((await shown()).slice(known.length)), "the notice");
      const { text } = (await app.call(token, "POST", "/api/command", { line: `/hooks why ${found[1]}` })).body;
      return { notice: await shown(), why: text as string };
    };
    const switched = (line: string) => app.call(OWNER, "POST", "/api/command", { line });
    await switched("/hooks disable veto");
    const held = await ends(BOB, "dm-2", "held");
    const failed = /Hook .{0,4}shut.{0,4} failed at message_sending and is fail-closed: for owners only/;
    expect(held.notice).toMatch(failed);
    expect(held.why).toContain("for owners only");
    expect(held.notice).toMatch(/outbox release d_\w+`? sends it \(operators\) if the hooks let it pass/);
    expect(held.notice).not.toContain("RULE-31");
    await switched("/hooks enable veto");
    await switched("/hooks disable shut");
    const cancelled = await ends(BOB, "dm-2", "cancelled");
    for (const one of [cancelled.notice, cancelled.why]) {
      expect(one).toContain("operators see the reason");
      expect(one).not.toContain("RULE-26");
    }
    // Its owner reads both.
    expect((await ends(OWNER, "dm-1", "cancelled")).notice).toContain("RULE-26");
    await switched("/hooks enable shut");
    await switched("/hooks disable veto");
    expect((await ends(OWNER, "dm-1", "held")).notice).toContain("RULE-31");
    await switched("/hooks enable veto");
  });

  it("reads why the breaker of a hook with a program keeps a message back: the gateway gives that reason itself", async () => {
    const command = async (token: string, line: string) =>
      ((await app.call(token, "POST", "/api/command", { line })).body.text as string).replace(/[\\`*]/g, "");
    for (let index = 0; index < 6; index++)
      await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
        text: `held back ${index}`,
        nonce: `nonce-of-the-pin-7${index}`,
      });
    const held = () => command(BOB, "/outbox list held");
    await until(async () => (await held()).includes("was not called at message_sending"), "the breaker");
    const reason = /was not called at message_sending and is fail-closed: breaker: it failed 5 times in a row/;
    expect(await held()).toMatch(reason);
    expect(await held()).toContain("failed at message_sending and is fail-closed: for owners only");
    await command(OWNER, "/hooks enable shut");
  });

  it("reads that a message waits for one which a program's failure delays, and not what the program said", async () => {
    for (const text of ["gated: first", "after it"]) {
      const said = { text, nonce: `nonce-of-a-gated-${text.length}` };
      expect((await app.call(BOB, "POST", "/api/rooms/dm-2/messages", said)).status).toBeLessThan(300);
    }
    const why = async (token: string) =>
      (await app.call(token, "POST", "/api/command", { line: "/hooks why last" })).body.text as string;
    const waiting = await until(async () => {
      const text = await why(BOB);
      return /waits for .*, which failed/.test(text) && text;
    }, "the second message waiting");
    expect(waiting).toContain("for owners only");
    expect(waiting).not.toContain("RULE-42");
  });

  it("reads that a request failed, and not what the server answered", async () => {
    const said = { text: "asked: pin of jane", nonce: "nonce-of-the-pin-3" };
    expect((await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", said)).status).toBeLessThan(300);
    const failed = async () =>
      (await get("/runs?filter=configured")).runs.find(({ hookId }: { hookId: string }) => hookId === "asker");
    await until(async () => (await failed())?.status === "failed", "the failure of asker");
    const { id, statusReason } = await failed();
    expect(statusReason).toBe("operators see the reason");
    const whole = await get(`/runs/${encodeURIComponent(id)}`, OWNER);
    expect(JSON.stringify(whole)).toContain("steps[0] http is required: the server answered 500");
    const room = async () => JSON.stringify((await app.call(BOB, "GET", "/api/rooms/general/messages")).body);
    await until(async () => (await room()).includes("answered 500"), "the card");
    const { text } = (await app.call(BOB, "POST", "/api/command", { line: `/run ${id}` })).body;
    expect(text).toMatch(/1\s+http\s+✗ not ok/);
    const shown = [
      await room(),
      await get("/runs?filter=configured"),
      await get(`/runs/${encodeURIComponent(id)}`),
      (await app.call(BOB, "POST", "/api/command", { line: `/run ${id}` })).body,
      (await app.call(BOB, "POST", "/api/command", { line: `/replay ${id}` })).body,
    ];
    expect(JSON.stringify(shown)).not.toContain("PIN OF JANE");
  });

  it("reads that a hook failed, and not the error, which quotes what somebody wrote", async () => {
    const said = { text: "quoted: pin of joan", nonce: "nonce-of-the-pin-7" };
    expect((await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", said)).status).toBeLessThan(300);
    const failed = async () =>
      (await get("/runs?filter=configured")).runs.find(({ hookId }: { hookId: string }) => hookId === "quotes");
    await until(async () => (await failed())?.status === "failed", "the failure of quotes");
    const { id, dispatchId } = await failed();
    const all = async (token: string) =>
      JSON.stringify([
        await get("/runs?filter=configured", token),
        await get("/runs?filter=failed", token),
        ...(await Promise.all(
          [
            `/run ${id}`,
            `/run ${dispatchId}`,
            `/replay ${id}`,
            "/runs last",
            "/runs failed",
            "/runs quotes",
            "/hooks why quotes",
            `/hooks why quotes ${dispatchId.split(":")[0]}`,
            `/hooks why ${dispatchId.split(":")[0]}`,
            "/fire-hook quotes last",
          ].map(async (line) => (await app.call(token, "POST", "/api/command", { line })).body),
        )),
      ]);
    expect(await all(OWNER)).toContain("PIN OF JOAN");
    expect(await all(BOB)).not.toContain("PIN OF JOAN");
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
      await get(`/runs/${encodeURIComponent(run.id)}`),
      await get(`/runs/${encodeURIComponent(dispatches[0].id)}`),
    ];
    for (const one of shown) expect(one.payload).toEqual(Object.fromEntries(NAMES.map((name) => [name, "[text]"])));
    expect(JSON.stringify([...shown, run, dispatches])).not.toMatch(/Jane|4711/);
    expect((await get(`/runs/${encodeURIComponent(dispatches[0].id)}?reveal=true`, OWNER)).payload.status).toBe(
      PRIVATE,
    );
  });
});
