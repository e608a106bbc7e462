/** What a runner of a higher role says stays with that role: in dispatches, messages and runs of hooks, revealed or not. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const EVE = "the-token-of-eve-00000000001";
const WORDS = { ours: "for owners only", theirs: "for admins, too" };
let app: RunningApp;
beforeAll(async () => {
  app = await runApp(
    {
      operators: { admin: ["web:2"], operator: ["web:3"] },
      web: {
        people: [
          { id: "2", name: "Bob", token_env: "BOB_TOKEN" },
          { id: "3", name: "Eve", token_env: "EVE_TOKEN" },
        ],
      },
      orchestrator: {
        runners: {
          ours: { shell: { sh: `echo ${WORDS.ours}` }, role: "owner" },
          breaks: { shell: { sh: `echo ${WORDS.ours} >&2; exit 3` }, role: "owner" },
          tells: { shell: { sh: `echo ${WORDS.ours}; sleep 60` }, role: "owner" },
          open: { shell: { sh: "echo for operators >&2; exit 3" } },
          theirs: { shell: { sh: `echo ${WORDS.theirs}` }, role: "admin" },
        },
      },
      hooks: [
        {
          id: "quotes",
          on: "task:complete",
          phase: "after",
          run: { chat: { to: "web:web:dm-1", text: "It said {{ event.result.output }}" } },
        },
        {
          id: "shouts",
          on: "mission:complete",
          phase: "after",
          run: { chat: { to: "web:web:dm-1", text: "It ended: {{ event.report.tasks[0].outcome | upcase }}" } },
        },
        { id: "prints", on: "message_deleted", run: { shell: { sh: "true" } } },
        {
          id: "echoes",
          on: "message_received",
          match: { when: 'payload.message.text.startsWith("a private")' },
          run: { chat: { to: "web:web:general", text: "Said: {{ event.message.text }}" } },
        },
        ...["tasks", "deliveries"].map((query) => ({
          id: `asks-${query}`,
          trigger: { every: "300d" },
          context: [{ db_query: { query } }],
          run: { chat: { to: "web:web:dm-1", text: "{{ steps[0].count }}" } },
        })),
        {
          id: "opens",
          on: "message_received",
          match: { when: 'payload.message.text == "never written"' },
          context: [{ read_file: { path: "{{ event.message.text | upcase }}.md", required: true } }],
          run: { chat: { to: "web:web:dm-1", text: "Opened" } },
        },
        {
          id: "looks",
          on: "task:complete",
          phase: "after",
          context: [{ read_file: { path: "{{ event.result.output | upcase | strip }}.md", required: true } }],
          run: { chat: { to: "web:web:dm-1", text: "Looked" } },
        },
      ],
    },
    { EVE_TOKEN: EVE },
  );
  mkdirSync(join(app.folder, "missions"));
  const groups = [{ name: "all", tasks: [{ id: "one", assignTo: "breaks", retryPolicy: { maxRetries: 0 } }] }];
  writeFileSync(join(app.folder, "missions", "nightly.json"), JSON.stringify({ groups }));
});
afterAll(() => app.close());

const say = async (line: string, token = OWNER) =>
  JSON.stringify((await app.call(token, "POST", "/api/command", { line })).body);

/** The one of these records that holds the words. */
async function recordWith(words: string, list: string, pattern: RegExp, line: (id: string) => string): Promise<string> {
  return until(async () => {
    for (const [id] of (await say(list)).matchAll(pattern)) if ((await say(line(id))).includes(words)) return line(id);
    return undefined;
  }, `${words} in ${list}`);
}

it.each(["ours", "theirs"] as const)("what %s said is revealed to its role", async (runner) => {
  const words = WORDS[runner];
  const text = `/task add ${runner} look`;
  await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text, nonce: `nonce-of-task-for-${runner}` });
  const revealLetter = (id: string) => `/outbox show ${id} reveal=true`;
  const dispatch = await recordWith(
    words,
    "/runs task:complete",
    /t_\w+:\d+:task:complete:after(?!\/)/g,
    (id) => `/run ${id} reveal=true`,
  );
  const lines = [
    dispatch,
    // The hook's run in it, whose steps may quote the payload.
    dispatch.replace(" reveal", "/1 reveal"),
    // The card of the task, and the message of the hook.
    await recordWith(words, "/outbox list sent", /d_(?!once_)\w+/g, revealLetter),
    await recordWith(words, "/outbox list sent", /d_once_[\w-]+/g, revealLetter),
  ];
  for (const line of lines) {
    const shown = await say(line, BOB);
    expect(shown.includes("It shows the output of a task's runner"), line).toBe(runner === "ours");
    if (runner === "ours") expect(shown, line).not.toContain(words);
    else if (line !== lines[1]) expect(shown, line).toContain(words);
  }
  // Fired by hand with the last payload, it renders texts of the payload masked, to everybody.
  expect(await say("/fire-hook quotes payload=last", BOB)).not.toContain(words);
});

it("an error of a dry run that quotes the last payload is read by who may have that payload revealed", async () => {
  await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", { text: "a plum pie", nonce: "nonce-of-a-plum-pie" });
  await until(async () => (await say("/fire-hook opens last", BOB)).includes("A PLUM PIE"), "the error, for admins");
  for (const line of ["/fire-hook opens last", "/hooks test opens last"]) {
    const shown = await say(line, EVE);
    expect(shown, line).not.toContain("PLUM");
    expect(shown, line).toContain("for admins; it may quote the last payload");
  }
  // A payload of one's own is one's own.
  const typed = 'example {"message": {"text": "my pear"}}';
  expect(await say(`/fire-hook opens payload='${typed}'`, EVE)).toContain("MY PEAR");
});

it("an error that quotes what an owner's runner said is read by owners only", async () => {
  const quoted = WORDS.ours.toUpperCase();
  await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
    text: "/task add ours quote",
    nonce: "nonce-of-a-quote",
  });
  await until(async () => (await say("/runs looks")).includes(quoted), "the failed run");
  // Not while a later run of it is under way.
  await until(async () => (await say("/hooks why looks")).includes(quoted), "the end of its runs");
  expect(await say("/hooks why looks")).toMatch(/It last fired .*: ✗ failed\. .\/runs looks. shows why\./);
  const found = await recordWith(quoted, "/runs looks", /t_\w+:\d+:task:complete:after\/\d+/g, (one) => `/run ${one}`);
  const id = found.replace("/run ", "");
  const lines = ["/runs looks", "/runs failed", "/hooks why looks", `/run ${id}`, `/run ${id}:1`];
  for (const line of [...lines, `/replay ${id}`, "/fire-hook looks last"]) {
    expect(await say(line), line).toContain(quoted);
    expect(await say(line, EVE), line).not.toContain(quoted);
    expect(await say(line, BOB), line).not.toContain(quoted);
  }
});

it("the private answer to an owner's command is revealed to owners only", async () => {
  await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
    text: "/task list ours",
    nonce: "nonce-of-a-private-list",
  });
  const line = await recordWith("ours", "/outbox list sent", /d_m\w+/g, (id) => `/outbox show ${id} reveal=true`);
  expect(await say(line, BOB)).toContain("or the answer to a command");
});

it("no query of a hook has what the runner of an owner printed: not how it failed, nor its output in a thread", async () => {
  const task = async (runner: string, status: string) => {
    await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
      text: `/task add ${runner} fails`,
      nonce: `nonce-of-${runner}`,
    });
    await until(
      async () => (await say(`/task list ${runner}`)).includes(`"status":"${status}"`),
      `${runner}: ${status}`,
    );
  };
  await task("breaks", "failed");
  await task("open", "failed");
  await task("tells", "in_progress");
  await until(async () => /d_t_\w+_out/.test(await say("/outbox list sent")), "the output in a thread");
  // The owner is answered with what a runner printed, in a direct chat and in a room.
  const [id] = /t_\w+/.exec(await say("/task list breaks")) ?? [];
  for (const room of ["dm-1", "general"]) {
    await app.call(OWNER, "POST", `/api/rooms/${room}/messages`, {
      text: `/task show ${id}`,
      nonce: `nonce-of-${room}`,
    });
    await recordWith(WORDS.ours, "/outbox list sent", /d_m\w+/g, (one) => `/outbox show ${one} reveal=true`);
  }
  for (const query of ["tasks", "deliveries"]) {
    const shown = await say(`/hooks test asks-${query}`, BOB);
    expect(shown, query).toContain("[text]");
    expect(shown, query).not.toContain(WORDS.ours);
  }
  expect(await say("/hooks test asks-tasks", BOB)).toContain("for operators");
}, 120_000);

/** A mission whose only task fails, with words of the runner; the id of the dispatch that tells of its end. */
async function failedMission(): Promise<string> {
  const mission = /"id":"(m_\w+)"/.exec(await say("/mission run nightly"))?.[1];
  const id = `${mission}_completed`;
  await until(async () => (await say(`/run ${id} reveal=true`)).includes(WORDS.ours), "the end of the mission");
  return id;
}

it("the report of a mission shows the words of a runner to nobody without reveal, and with it to the runner's role", async () => {
  const id = await failedMission();
  const ofBob = async (path: string) => JSON.stringify((await app.call(BOB, "GET", path)).body);
  const [listed, shown] = [await ofBob("/api/v1/runs?filter=mission:complete"), await ofBob(`/api/v1/runs/${id}`)];
  expect(listed).toContain(id);
  expect(shown).toContain("[text]");
  expect(listed + shown).not.toContain(WORDS.ours);
  for (const line of ["/runs shouts", `/run ${id}`, "/fire-hook mission:complete payload=last phase=after"])
    expect(await say(line), line).not.toContain(WORDS.ours);
  expect(await say(`/run ${id} reveal=true`, BOB)).toContain("It shows the output of a task's runner");
  // What the hook sent about it: its words are changed, so that no mask finds them.
  const sent = await recordWith(
    "FOR OWNERS ONLY",
    "/outbox list sent",
    /d_once_[\w-]+/g,
    (one) => `/outbox show ${one} reveal=true`,
  );
  expect(await say(sent, BOB)).toContain("It shows the output of a task's runner");
}, 120_000);

it("a test of a hook with the last payload shows what it made of a runner's words to the runner's role only", async () => {
  await failedMission();
  const lines = {
    "/hooks test shouts last": "for owners; it may quote the output of a task's runner",
    "/fire-hook shouts payload=last": "for owners; it may quote the output of a task's runner",
    '/hooks test shouts payload=\'last {"missionId": "m_other"}\'': "without JSON on top",
  };
  for (const [line, instead] of Object.entries(lines)) {
    expect(await say(line), line).toContain("FOR OWNERS ONLY");
    const shown = await say(line, BOB);
    expect(shown, line).not.toContain("FOR OWNERS ONLY");
    expect(shown, line).toContain(instead);
  }
  // What nobody said is shown as before.
  expect(await say("/hooks test shouts example", BOB)).toContain("It ended");
}, 120_000);

it("a hook is fired live with the last payload, or with one of a runner that is replayed, only by who may see that payload", async () => {
  await failedMission();
  const dispatch = await recordWith(
    WORDS.ours,
    "/runs mission:complete",
    /m_\w+_completed(?!\/)/g,
    (id) => `/run ${id} reveal=true`,
  );
  const past = /m_\w+_completed/.exec(dispatch)?.[0];
  const refused = "may post";
  const { runs } = (await app.call(OWNER, "GET", "/api/v1/runs?filter=shouts")).body;
  const run = runs[0]?.id;
  for (const line of [
    "/fire-hook shouts last live=true",
    '/fire-hook shouts payload=\'last {"missionId": "m_other"}\' live=true',
    "/fire-hook mission:complete payload=last phase=after live=true",
    `/replay ${past} live=true`,
    `/replay ${run} live=true`,
  ])
    for (const token of [BOB, EVE]) expect(await say(line, token), line).toContain(refused);
  const api = await app.call(EVE, "POST", "/api/v1/hooks/shouts/fire", { payload: "last", live: true });
  expect(JSON.stringify(api.body)).toContain(refused);
  expect(await say("/fire-hook shouts last live=true")).toContain("Fired live");
  // A message of a direct chat is for admins, who may have it revealed.
  await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
    text: "a private word",
    nonce: "nonce-of-a-private-word",
  });
  await until(async () => (await say("/runs echoes")).includes("succeeded"), "the run of echoes");
  expect(await say("/fire-hook echoes last live=true", EVE)).toContain(refused);
  expect(await say("/fire-hook echoes last live=true", BOB)).toContain("Fired live");
  expect(await say("/fire-hook echoes example live=true", EVE)).toContain("Fired live");
  const own = (await app.call(OWNER, "GET", "/api/v1/runs?filter=echoes")).body.runs.find(
    ({ trigger }: { trigger: string }) => trigger !== "manual",
  );
  expect(await say(`/replay ${own?.id} live=true`, EVE)).toContain("Replayed");
}, 120_000);

it("an admin who disables a hook that runs a program reads that only an owner enables it, and gets no button for that", async () => {
  const run = async (token: string, line: string) => (await app.call(token, "POST", "/api/command", { line })).body;
  const byAdmin = await run(BOB, "/hooks disable prints");
  expect(byAdmin.text).toContain("only an owner can enable it again");
  expect(JSON.stringify(byAdmin.message)).not.toContain("/hooks enable");
  const byOwner = await run(OWNER, "/hooks disable prints");
  expect(byOwner.text).not.toContain("only an owner");
  expect(JSON.stringify(byOwner.message)).toContain("/hooks enable");
});
