/** What answers a command, and what a runner of a higher role said, stays with its role where hooks about messages quote it in errors and reasons. */
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const EVE = "the-token-of-eve-00000000001";
const STAN = "the-token-of-stan-0000000001";
const VIC = "the-token-of-vic-00000000001";
const PRINTED = "printed for owners";
const WITHHELD = "for owners: it may quote the runner of a task, or the answer to a command";
let app: RunningApp;
beforeAll(async () => {
  const has = (text: string) => `payload.message.text.contains("${text}")`;
  const saying = (text: string) => (text.endsWith("job") ? `${has(text)} && ${has(PRINTED)}` : has(text));
  const looksUp = (id: string, on: string, text: string, more: object = {}) => ({
    id,
    on,
    match: { when: saying(text), chats: ["dm-1"] },
    context: [{ read_file: { path: "notes/{{ event.message.text | upcase | strip }}", required: true } }],
    run: { chat: { to: "web:web:general", text: "ok" } },
    ...more,
  });
  app = await runApp(
    {
      operators: { admin: ["web:2"], operator: ["web:3"], viewer: ["web:5"] },
      plugins: ["page-plugin.mjs", "quoting-plugin.mjs"].map((name) => resolve(import.meta.dirname, name)),
      web: {
        people: [
          { id: "2", name: "Bob", token_env: "BOB_TOKEN" },
          { id: "3", name: "Eve", token_env: "EVE_TOKEN" },
          { id: "4", name: "Stan", token_env: "STAN_TOKEN" },
          { id: "5", name: "Vic", token_env: "VIC_TOKEN" },
        ],
      },
      orchestrator: { runners: { ours: { shell: { sh: `echo ${PRINTED}` }, role: "owner" } } },
      automations: { breaker: { failures: 3 } },
      hooks: [
        looksUp("looks-up", "message_sending", "owner code"),
        looksUp("looks-back", "message_sent", PRINTED),
        looksUp("guards", "message_sending", "guarded job", {
          on_failure: "closed",
          notify: { on: ["failed"], to: ["web:web:general"] },
        }),
        {
          id: "refuses",
          on: "message_sending",
          match: { when: saying("refused job"), chats: ["dm-1"] },
          run: { shell: { sh: "tr a-z A-Z >&2; exit 2" } },
        },
        {
          id: "follows",
          on: "message_sending",
          match: { when: has("cancelled job"), chats: ["dm-1"] },
          context: [{ read_file: { path: "none.md" } }],
          run: { chat: { to: "web:web:general", text: "ok" } },
        },
        {
          id: "blocks",
          on: "task:complete",
          phase: "before",
          match: { when: 'payload.task.title == "blocked job"' },
          run: { shell: { sh: "tr a-z A-Z >&2; exit 2" } },
        },
        ...["deliveries", "runs", "dispatches"].map((query) => ({
          id: `asks-${query}`,
          trigger: { every: "300d" },
          context: [{ db_query: { query, args: { limit: 200 } } }],
          run: { chat: { to: "web:web:general", text: "{{ steps[0].rows | json }}" } },
        })),
      ],
    },
    { EVE_TOKEN: EVE, STAN_TOKEN: STAN, VIC_TOKEN: VIC },
  );
});
afterAll(() => app.close());

const say = async (line: string, token = OWNER) =>
  JSON.stringify((await app.call(token, "POST", "/api/command", { line })).body);
let nonce = 0;
const write = (text: string) =>
  app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text, nonce: `nonce-of-the-test-${++nonce}` });

/** Of a task of the owner's runner whose output is shown in the direct chat. */
async function shownTask(title: string): Promise<string> {
  await write(`/task add ours ${title}`);
  const id = await until(async () => {
    const { data } = (await app.call(OWNER, "POST", "/api/command", { line: "/task list ours" })).body;
    return data.tasks.find((one: { title: string; status: string }) => one.title === title && one.status === "done")
      ?.id;
  }, title);
  await write(`/task show ${id}`);
  return id;
}

const idIn = async (line: string, pattern: RegExp) => pattern.exec(await say(line))?.[0] ?? "";

async function expectOwnersOnly(quoted: string, lines: readonly string[], others = [EVE, BOB]): Promise<void> {
  for (const line of lines) {
    expect(await say(line), line).toContain(quoted);
    for (const token of others) {
      const shown = await say(line, token);
      expect(shown, line).not.toContain(quoted);
      expect(shown, line).toContain(WITHHELD);
    }
  }
}

it("an error that quotes the answer to an owner's command is read by owners only", async () => {
  await write("/claim");
  const line = "/runs looks-up";
  const code = await until(async () => /OWNER CODE: `?(\w+)/.exec(await say(line))?.[1], "the failed run");
  const dispatch = await idIn("/runs looks-up", /d_m\w+:message_sending/);
  const lines = [
    line,
    "/runs failed",
    `/run ${dispatch}`,
    `/run ${await idIn(line, /d_m\w+:message_sending\/\d+/)}`,
    `/hooks why ${dispatch.split(":")[0]}`,
  ];
  await expectOwnersOnly(code, lines);
  // The payload tells what it is about, also in a run by hand, and later.
  const again = [
    "/hooks test looks-up last",
    "/fire-hook looks-up last",
    `/replay ${await idIn(line, /d_m\w+:message_sending\/\d+/)}`,
  ];
  await expectOwnersOnly(code, again);
  for (const found of (await say("/runs", EVE)).matchAll(/"id":"([fr]_[^"]+)"/g))
    expect(await say(`/run ${found[1]}`, EVE)).not.toContain(code);
  for (const path of ["/api/v1/runs?filter=looks-up", `/api/v1/runs/${dispatch}`])
    for (const token of [EVE, BOB])
      expect(JSON.stringify((await app.call(token, "GET", path)).body)).not.toContain(code);
  const changed = '/hooks test looks-up payload=\'last {"cause": {"kind": "message", "id": "m1", "depth": 0}}\'';
  for (const token of [EVE, BOB]) expect(await say(changed, token)).toContain("without JSON on top");
  expect(await say(changed)).toContain(code);
}, 120_000);

it("an error that quotes an owner's runner at message_sent, and the reason to hold or cancel a message, are read by owners only", async () => {
  const quoted = PRINTED.toUpperCase();
  await shownTask("plain job");
  await until(async () => (await say("/runs looks-back")).includes(quoted), "the failed run");
  await expectOwnersOnly(quoted, ["/runs looks-back", "/runs failed", "/fire-hook looks-back last"]);

  await shownTask("guarded job");
  const held = await until(async () => (await idIn("/outbox list held", /d_m\w+/)) || undefined, "the held answer");
  await expectOwnersOnly(quoted, [
    "/outbox list held",
    `/outbox show ${held}`,
    `/run ${held}:message_sending`,
    `/hooks why ${held}`,
  ]);

  await shownTask("refused job");
  const cancelled = await until(
    async () => (await idIn("/outbox list cancelled", /d_m\w+/)) || undefined,
    "the cancelled answer",
  );
  await expectOwnersOnly(quoted, [`/outbox show ${cancelled}`, `/run ${cancelled}:message_sending`, "/runs refuses"]);

  // What hooks post where anybody reads it.
  for (const query of ["deliveries", "runs", "dispatches"]) await say(`/fire-hook asks-${query} live=true`);
  const room = await until(async () => {
    const shown = JSON.stringify((await app.call(STAN, "GET", "/api/rooms/general/messages")).body);
    return /guards\W+failed/.test(shown) && shown.split("[text]").length > 6 ? shown : undefined;
  }, "the posts in the room");
  expect(room.toUpperCase()).not.toContain(quoted);
  await expectOwnersOnly(quoted, [`/outbox retry ${held}`]);
  expect(await say(`/outbox purge ${held}`, BOB)).not.toContain(quoted);
  await say(`/outbox release ${held}`);
  await expectOwnersOnly(quoted, ["/audit outbox"], [BOB]);
  await expectOwnersOnly(quoted, [`/hooks why ${held}`]);
}, 120_000);

it("a search by reason finds only what the reader may read", async () => {
  const quoted = PRINTED.toUpperCase();
  await shownTask("guarded job");
  const held = await until(async () => (await idIn("/outbox list held", /d_m\w+/)) || undefined, "the held answer");
  await write("/task add ours blocked job");
  await until(async () => (await say("/task list blocked")).includes("blocked job"), "the blocked task");
  const found = {
    [`/outbox list held reason="${quoted}"`]: held,
    [`/outbox release held reason="${quoted}" confirmed=true`]: "1 message",
    [`/outbox purge held reason="${quoted}"`]: "Delete 2 messages",
    [`/task cancel blocked reason="${quoted}"`]: "Cancel 1 task",
  };
  for (const [line, words] of Object.entries(found)) {
    for (const token of [VIC, EVE, BOB]) expect(await say(line, token), line).not.toContain(words);
    if (!line.includes("release")) expect(await say(line), line).toContain(words);
  }
  for (const token of [VIC, EVE]) expect(await say("/outbox list held reason=guards", token)).toContain(held);
}, 120_000);

it("errors and reasons of a plugin's hooks are read by those of a hook in a file", async () => {
  await write("/claim");
  const runs = "/runs quoting.message_sent";
  const code = await until(async () => /OWNER CODE: `?(\w+)/.exec(await say(runs))?.[1], "the failed run");
  await shownTask("dropped job");
  const dropped = await until(
    async () => (await idIn("/outbox list suppressed", /d_m\w+/)) || undefined,
    "the suppressed answer",
  );
  await expectOwnersOnly(code, [runs, "/runs failed"]);
  await expectOwnersOnly(PRINTED.toUpperCase(), [`/outbox show ${dropped}`, `/hooks why ${dropped}`]);
  await app.call(STAN, "POST", "/api/rooms/dm-4/messages", { text: "echo a private word", nonce: "nonce-of-stan-1" });
  await until(async () => (await say(runs)).includes("A PRIVATE WORD"), "the second failed run");
  expect(await say(runs, EVE)).toContain("A PRIVATE WORD");
  for (const line of [runs, "/runs failed", "/runs all", `/outbox show ${dropped}`]) {
    const shown = await say(line, VIC);
    for (const words of [code, "A PRIVATE WORD", PRINTED.toUpperCase()]) expect(shown, line).not.toContain(words);
  }
}, 120_000);

it("the reason with which a hook cancelled is withheld in the payloads of the hooks behind it, too", async () => {
  await shownTask("cancelled job");
  const line = await until(async () => {
    const { runs } = (await app.call(OWNER, "GET", "/api/v1/runs?filter=follows")).body;
    for (const { id } of runs)
      if (id.startsWith("d_m") && (await say(`/run ${id}`)).includes(PRINTED.toUpperCase())) return `/run ${id}`;
    return undefined;
  }, "the run behind it");
  await expectOwnersOnly(PRINTED.toUpperCase(), [line]);
  expect(await say(line, VIC)).not.toContain(PRINTED.toUpperCase());
  for (const token of [VIC, EVE, BOB]) {
    const listed = await app.call(token, "GET", "/api/v1/runs?filter=configured");
    expect(JSON.stringify(listed.body)).not.toContain(PRINTED.toUpperCase());
  }
}, 120_000);
