/** Configured hooks as people meet them in chat: tried, fired, watched, paused and explained, through the real clients. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TOKEN } from "../support/gateway-process.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Seen, Speaker } from "./platform.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const HOOKS = [
  {
    id: "deploy",
    description: "Gathers, waits and deploys",
    trigger: "manual",
    context: [
      { shell: { command: ["echo", "the branch is main"] } },
      { shell: { sh: "while [ ! -e enough ]; do sleep 0.1; done; echo waited" } },
    ],
    run: { shell: { sh: 'echo "deployed $HOOKGATE_HOOK_ID" >> deployed.log; echo "all hosts answer"' } },
  },
  {
    id: "fails",
    trigger: "manual",
    context: [{ shell: { sh: "echo no such host >&2; exit 3" } }],
    run: { shell: { sh: "echo it broke >&2; exit 1" } },
  },
  {
    id: "noisy",
    on: "inbound_claim",
    match: { when: 'payload.message.text == "be noisy"' },
    run: { shell: { sh: "echo words from inside >&2; exit 7" } },
  },
  { id: "quiet", on: "message_sent", match: { chats: ["nowhere"] }, run: { chat: { to: "here", text: "hello" } } },
  {
    id: "sentry",
    on: "message_sending",
    match: { chats: ["nowhere"] },
    on_failure: "closed",
    run: { shell: { command: ["true"] } },
  },
  { id: "plain", trigger: "manual", run: { chat: { to: "web:web:nowhere", text: "hello" } } },
  ...["guarded", "helper", "{{ event.input.to }}"].map((to, index) => ({
    id: `hands-out-${index}`,
    trigger: "manual",
    context: [{ create_task: { title: "count", to } }],
    run: { chat: { to: "web:web:general", text: "handed out" } },
  })),
  {
    id: "reads",
    trigger: "manual",
    context: [{ db_query: { query: "messages", args: { limit: 20 } } }],
    run: { chat: { to: "web:web:general", text: "{{ steps[0].rows | json }}" } },
  },
  { id: "nightly", trigger: { cron: "0 3 * * *", timezone: "Europe/Berlin" }, run: { shell: { command: ["true"] } } },
  {
    id: "lasting",
    trigger: "manual",
    run: { shell: { sh: 'echo "$HOOKGATE_RUN_ID" >> lasting.log; sleep 300' } },
    timeout: "10m",
  },
  { id: "crooked", trigger: { cron: "0 25 * * *" }, run: { shell: { command: ["true"] } } },
  { id: "absent", trigger: { files: { paths: "not/there/*.csv" } }, run: { shell: { command: ["true"] } } },
];

const OWN_FOLDER = mkdtempSync(join(tmpdir(), "hookgate-lasting-"));
const PLUGIN_LOG = join(OWN_FOLDER, "begun.log");

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/lasting.mjs"), config: { log: PLUGIN_LOG } }],
    config: ({ discord, telegram }) => ({
      hooks: HOOKS,
      orchestrator: {
        runners: {
          guarded: { shell: { command: ["true"] }, role: "admin" },
          helper: { agent: { tools: ["guarded"] } },
        },
      },
      operators: {
        owner: ["web:1", `discord:${discord.userId}`, `telegram:${telegram.userId}`],
        operator: ["web:3"],
        viewer: [
          "web:2",
          ...[...discord.world.users.values()].flatMap(({ id, username }) =>
            username === "grace" ? [`discord:${id}`] : [],
          ),
          ...[...telegram.world.users.values()].flatMap((user) =>
            user.first_name === "Grace" ? [`telegram:${user.id}`] : [],
          ),
        ],
      },
    }),
  });
});
afterAll(async () => {
  await stack.stop();
  rmSync(OWN_FOLDER, { recursive: true, force: true });
});

const inFolder = (name: string) => join(stack.gateway.folder, name);
const open = () => writeFileSync(inFolder("enough"), "");
beforeEach(() => rmSync(inFolder("enough"), { force: true }));

const VIEWER = "the-token-of-a-stranger-01";
const run = (line: string, token?: string) => invoke(stack.gateway.url, line, token);

interface ApiAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all endpoints, read by the tests field by field
  body: any;
}

async function api(
  who: "owner" | "operator" | "viewer",
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const tokens = { owner: TOKEN, operator: "the-token-of-a-guest-0001", viewer: VIEWER };
  const answer = await fetch(`${stack.gateway.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${tokens[who]}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

const find = (platform: FlowPlatform, place: Place, part: RegExp, who: Speaker = "owner"): Promise<Seen> =>
  until(
    async () =>
      [...(await platform.seen(place, who)), ...(await platform.seenPrivately(who))]
        .reverse()
        .find(({ text }) => part.test(text)),
    `${part} in ${platform.name}`,
  );

it.each(["discord", "telegram"] as const)(
  "a press that is refused leaves the answer of another person as it is, and is told to who pressed: on %s",
  async (name) => {
    const platform = stack.platforms[name];
    const [room] = platform.places;
    await platform.say(room, "owner", "/hooks show reads");
    const shown = await until(
      async () => (await platform.seen(room, "stranger")).find(({ buttons }) => buttons.includes("Disable")),
      "the hook",
    );
    await platform.press(room, "guest", shown.id, "Disable");
    await until(async () => {
      const told = [...(await platform.seen(room, "guest")), ...(await platform.seenPrivately("guest"))];
      const texts = [...told.map(({ text }) => text), ...(await platform.whispers(room, "guest"))];
      return texts.some((text) => /That needs the role \w+; yours is viewer|may not do that/.test(text));
    }, "the refusal");
    expect((await platform.seen(room, "stranger")).find(({ id }) => id === shown.id)).toEqual(shown);
  },
);

describe.each(["web", "discord", "telegram"] as const)("on %s", { timeout: 90_000 }, (name) => {
  it("a hook that is fired shows its steps ticking off in one message, then the result, with buttons that work", async () => {
    const platform = stack.platforms[name];
    const [room] = platform.places;
    await platform.command(room, "owner", "/fire-hook deploy live=true");
    const under = await find(platform, room, /Firing.*deploy.*✓ 1\. shell.*▸ 2\. shell.*· 3\. shell/s);
    open();
    const ended = await find(platform, room, /Fired.*deploy.*succeeded/s);
    expect(ended.id).toBe(under.id);
    expect(ended.text).toContain("the branch is main");
    expect(ended.text).toContain("all hosts answer");
    expect(ended.buttons).toEqual(["Run again", "Show run", "Disable"]);

    // A press may answer in the message that had the button: the next button is taken from what is there then.
    await platform.press(room, "owner", ended.id, "Show run");
    const shown = await find(platform, room, /deploy.*succeeded.*Payload/s);
    const before = readFileSync(inFolder("deployed.log"), "utf8");
    await platform.press(room, "owner", shown.id, "Run again");
    await until(() => readFileSync(inFolder("deployed.log"), "utf8").length > before.length, "the second run");
    const again = await find(platform, room, /Fired.*deploy.*succeeded/s);
    await platform.press(room, "owner", again.id, "Disable");
    await find(platform, room, /deploy.* is disabled/);
    expect((await run("/fire-hook deploy live=true")).text).toContain("switched off");
    await run("/hooks enable deploy");
  });

  it("a dry run shows every step's output and calls no handler", async () => {
    const platform = stack.platforms[name];
    const [room] = platform.places;
    open();
    const before = readFileSync(inFolder("deployed.log"), "utf8");
    await platform.command(room, "owner", "/hooks test deploy");
    const tried = await find(platform, room, /Dry run.*deploy/s);
    expect(tried.text).toContain("the branch is main");
    expect(tried.text).toContain("waited");
    expect(readFileSync(inFolder("deployed.log"), "utf8")).toBe(before);
  });

  it("what fires when, what is broken and why, and how one is added are told", async () => {
    const platform = stack.platforms[name];
    const [, room] = platform.places;
    await platform.command(room, "owner", "/hooks next");
    await find(platform, room, /nightly.*cron 0 3/s);
    await platform.command(room, "owner", "/hooks broken");
    const broken = await find(platform, room, /crooked/);
    expect(broken.text).toMatch(/no cron expression/);
    expect(broken.text).not.toMatch(/absent/);
    await platform.command(room, "owner", "/hooks show absent");
    expect((await find(platform, room, /not there yet/)).text).toContain("it is watched as soon as it is");
    await platform.command(room, "owner", "/hooks list nightly");
    expect((await find(platform, room, /✗\W+crooked/)).text).toMatch(/crooked\W+broken: .*no cron expression/);
    await platform.command(room, "owner", "/hooks add");
    expect((await find(platform, room, /not added from chat/)).text).toContain("trigger: { every: 1h }");
    await platform.command(room, "owner", "/hooks show nightly");
    const shown = await find(platform, room, /starts\W[\s\S]*Europe\/Berlin/);
    expect(shown.text).toContain("shell");
  });
});

describe("a hook that fails", () => {
  it("answers as failed, and its run tells which step and which handler", async () => {
    const answered = await run("/fire-hook fails live=true");
    expect(answered.outcome).toBe("failed");
    expect(answered.text).toContain("it broke");
    const { runs } = (await api("owner", "GET", "/runs?filter=fails")).body;
    expect(runs[0]).toMatchObject({ hookId: "fails", status: "failed", trigger: "manual" });
    const shown = (await api("owner", "GET", `/runs/${runs[0].id}?reveal=true`)).body;
    expect(shown.attempts[0].steps[0]).toMatchObject({ step: "shell", outcome: "passed" });
    expect(JSON.stringify(shown.attempts[0])).toContain("no such host");
  });

  it("is shown and tried over HTTP, with what each step gave, and nothing is stored of a try", async () => {
    expect((await api("owner", "GET", "/hooks/fails")).body).toMatchObject({
      id: "fails",
      enabled: true,
      definition: { trigger: { kind: "manual" }, steps: ["shell"], handler: "shell", whenBusy: "skip" },
    });
    const before = (await api("owner", "GET", "/runs?filter=fails")).body.total;
    const tried = await api("owner", "POST", "/hooks/fails/test", { payload: { branch: "main" } });
    expect([tried.status, tried.body]).toMatchObject([
      200,
      { kind: "run", status: "succeeded", attempts: [{ steps: [{ step: "shell", result: { exitCode: 3 } }] }] },
    ]);
    expect((await api("owner", "GET", "/runs?filter=fails")).body.total).toBe(before);
    expect((await api("owner", "POST", "/hooks/flow.message_sent/test", {})).status).toBe(400);
    expect((await api("owner", "POST", "/hooks/no-such-hook/test", {})).body.code).toBe("NOT_FOUND");
  });

  it("is replayed by its run's id", async () => {
    const { runs } = (await api("owner", "GET", "/runs?filter=fails&limit=1")).body;
    const again = await api("owner", "POST", `/runs/${runs[0].id}/replay`, { live: true });
    expect(again.body).toMatchObject({ kind: "run", replayOf: runs[0].id, status: "failed", changes: [] });
    expect(again.body.id).not.toBe(runs[0].id);
  });
});

describe("a hook that runs programs", () => {
  it("is fired, tried, enabled and read by owners only", async () => {
    const fired = await api("owner", "POST", "/hooks/fails/fire", { live: true });
    expect([fired.status, fired.body.kind]).toEqual([200, "run"]);
    for (const [path, body] of [
      ["/hooks/fails/fire", { live: true }],
      ["/hooks/fails/test", {}],
      ["/hooks/fails/enable", {}],
      [`/runs/${fired.body.id}/replay`, { live: true }],
    ] as const)
      expect([path, (await api("operator", "POST", path, body)).status]).toEqual([path, 403]);
    expect((await api("viewer", "POST", "/hooks/fails/fire", { live: false })).status).toBe(403);
    for (const line of ["/fire-hook fails live=true", "/hooks test fails", "/fire-hook fails"])
      expect((await run(line, "the-token-of-a-guest-0001")).text).toBe(
        "This hook runs a program, so only an owner may fire, test or enable it. Your role is operator.",
      );

    const seen = await api("operator", "GET", `/runs/${fired.body.id}`);
    expect(seen.body).toMatchObject({ hookId: "fails", status: "failed" });
    expect(JSON.stringify(seen.body)).not.toMatch(/no such host/);
    const listed = await api("viewer", "GET", "/runs?filter=configured");
    expect(listed.body.runs.length).toBeGreaterThan(0);
    expect(JSON.stringify(listed.body)).not.toMatch(/no such host|all hosts answer/);
  });

  it("or gives work to a runner takes the role of that runner, also when an agent may start it or the event names it", async () => {
    for (const id of ["hands-out-0", "hands-out-1", "hands-out-2"]) {
      for (const path of [`/hooks/${id}/fire`, `/hooks/${id}/enable`])
        expect([path, (await api("operator", "POST", path, { live: true })).status]).toEqual([path, 403]);
      expect((await run(`/fire-hook ${id} live=true`, "the-token-of-a-guest-0001")).text).toMatch(
        /^This hook gives a task to (guarded|helper), and the role for that is admin\. Your role is operator\.$/,
      );
      expect((await run(`/fire-hook ${id}`, "the-token-of-a-guest-0001")).text).toMatch(/Dry run/);
    }
    const isCounted = async () => /count|1 done/.test((await run("/task list")).text);
    expect(await isCounted()).toBe(false);
    expect((await api("owner", "POST", "/hooks/hands-out-0/fire", { live: true })).body.status).toBe("succeeded");
    expect(await isCounted()).toBe(true);
  });

  it("is not to be confused with others: a viewer tries a hook without a program, and may not fire it", async () => {
    for (const line of ["/fire-hook plain", "/fire-hook plain live=no", "/hooks test plain"])
      expect((await run(line, VIEWER)).text).toMatch(/Dry run/);
    const buttonsFor = async (token?: string) => JSON.stringify(await run("/fire-hook plain", token));
    expect(await buttonsFor(VIEWER)).not.toContain("live=true");
    expect(await buttonsFor()).toContain("live=true");
    expect(await run("/fire-hook plain live=true", VIEWER)).toMatchObject({
      outcome: "refused",
      text: "That needs the role operator; yours is viewer.",
    });
    expect((await api("owner", "GET", "/runs?filter=plain")).body.total).toBe(0);
  });

  it("tells nobody else what its programs said when they failed", async () => {
    const { body: fired } = await api("owner", "POST", "/hooks/fails/fire", { live: true });
    expect(fired.statusReason).toContain("it broke");
    await stack.platforms.web.say({ chatId: "general" }, "owner", "be noisy");
    const failed = async () => (await api("owner", "GET", "/runs?filter=noisy")).body.runs[0];
    const noisy = await until(
      async () => ((await failed())?.status === "failed" ? failed() : undefined),
      "the failure",
    );
    expect(noisy.statusReason).toContain("words from inside");
    const paths = ["configured", "fails", "noisy", "failed", "inbound_claim"].map((one) => `/runs?filter=${one}`);
    for (const path of [
      ...paths,
      `/runs/${fired.id}`,
      `/runs/${encodeURIComponent(noisy.id)}`,
      `/runs/${encodeURIComponent(noisy.dispatchId)}`,
    ]) {
      if (!path.includes("?"))
        expect(JSON.stringify((await api("owner", "GET", path)).body)).toMatch(/it broke|words from inside/);
      for (const who of ["operator", "viewer"] as const) {
        const { status, body } = await api(who, "GET", path);
        expect([path, status]).toEqual([path, 200]);
        expect(JSON.stringify(body)).not.toMatch(/it broke|words from inside/);
      }
    }
    for (const line of [
      "/runs noisy",
      `/run ${noisy.id}`,
      `/run ${noisy.dispatchId}`,
      `/hooks why noisy ${noisy.dispatchId}`,
    ]) {
      expect((await run(line)).text).not.toContain("for owners only");
      const { text, data } = await run(line, VIEWER);
      expect(`${text}${JSON.stringify(data)}`).not.toMatch(/words from inside/);
      expect(text).toContain("failed");
    }
  });

  it("shows what steps read in other chats to admins only, and records that they looked", async () => {
    await stack.platforms.web.say({ chatId: "general" }, "owner", 'my "secret" plan');
    const fired = await until(async () => {
      const { body } = await api("owner", "POST", "/hooks/reads/fire", { live: true });
      return JSON.stringify(body).includes("secret") ? body : undefined;
    }, "the message being read");
    expect(JSON.stringify(fired)).toContain("secret");
    for (const who of ["operator", "viewer"] as const) {
      const { status, body } = await api(who, "GET", `/runs/${fired.id}`);
      expect([status, body.attempts[0].steps]).toMatchObject([200, [{ step: "db_query", outcome: "passed" }]]);
      expect(JSON.stringify(body)).not.toContain("secret");
      expect((await api(who, "GET", `/runs/${fired.id}?reveal=true`)).status).toBe(403);
      const tried = await api(who, "POST", "/hooks/reads/test", {});
      expect([tried.status, JSON.stringify(tried.body).includes("secret")]).toEqual([200, false]);
    }
    for (const line of [`/run ${fired.id}`, "/hooks test reads", "/fire-hook reads"]) {
      const { text } = await run(line, VIEWER);
      expect(text).toContain("for admins: `reveal=true`, which is recorded");
      expect(text).not.toContain("secret");
    }
    expect((await run(`/run ${fired.id}`)).text).not.toContain("secret");
    expect((await run(`/run ${fired.id} reveal=true`)).text).toContain("secret");
    const { text } = await run("/audit reveal");
    expect(text).toMatch(new RegExp(`reveal ${fired.hookId} at \\S+, ${fired.id}`));
    expect(await run("/run m1 reveal=true", VIEWER)).toMatchObject({ outcome: "refused" });
  });

  it("is not fired by way of its point either", async () => {
    const payload = { hookId: "nightly", trigger: "cron", reason: "cron", due: "2026-01-01T09:00:00.000Z" };
    const answer = await api("operator", "POST", "/hooks/hook.due/fire", { live: true, payload });
    expect([403, 400]).toContain(answer.status);
  });
});

describe("hooks that are paused", () => {
  it("stay paused over a restart, tell so, and run again when somebody says so", async () => {
    const paused = (await run("/hooks pause")).text.replaceAll(/[\\*`]/g, "");
    expect(paused).toContain("All configured hooks are paused");
    expect(paused).toContain("What these fail-closed hooks guard passes unchecked until you resume them: sentry.");
    await stack.gateway.stop();
    await stack.gateway.start();
    await stack.gateway.ready();
    const listed = (await api("owner", "GET", "/hooks")).body;
    expect(listed).toMatchObject({ paused: true, broken: [{ id: "crooked" }] });
    expect((await run("/hooks next")).text).toContain("paused, by Owner");
    const status = JSON.stringify(await run("/status"));
    expect(status).toContain("configured hooks are paused");
    expect(status).toMatch(/All configured hooks are paused, by Owner (.* ago|just now)/);
    expect((await run("/hooks resume")).text).toContain("run again");
    expect((await api("owner", "GET", "/hooks")).body.paused).toBe(false);
  });
});

describe("completion", () => {
  it("knows the runs of configured hooks", async () => {
    await run("/fire-hook fails live=true");
    const answer = await fetch(`${stack.gateway.url}/api/complete?command=run&option=id&typed=fails`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const { choices } = (await answer.json()) as { choices: { name: string }[] };
    expect(choices.some(({ name }) => /fails · failed/.test(name))).toBe(true);
  });

  it.each([
    ["hooks", "id", "nightl", "nightly"],
    ["hooks", "id", "fail", "failing"],
    ["hooks", "id", "fail", "fails"],
    ["hooks", "action", "brok", "broken"],
    ["hooks", "payload", "la", "last"],
    ["fire-hook", "id", "deplo", "deploy"],
    ["fire-hook", "id", "inbound_c", "inbound_claim"],
    ["fire-hook", "payload", "", "example"],
    ["fire-hook", "phase", "a", "after"],
    ["audit", "filter", "owne", "web:1"],
    ["runs", "filter", "timed", "timed_out"],
    ["runs", "filter", "conf", "configured"],
    ["runs", "filter", "fail", "failed"],
    ["runs", "filter", "fail", "fails"],
    ["outbox", "id", "de", "dead"],
    ["outbox", "action", "rel", "release"],
    ["help", "command", "fire", "fire-hook"],
  ])("of /%s offers for %s, at %j, %s", async (command, option, typed, offered) => {
    const query = new URLSearchParams({ command, option, typed });
    const ask = async (token: string) => {
      const answer = await fetch(`${stack.gateway.url}/api/complete?${query}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return ((await answer.json()) as { choices: { value: string }[] }).choices.map(({ value }) => value);
    };
    expect(await ask(TOKEN)).toContain(offered);
    const { discord } = stack;
    const isChoice = ["action", "phase"].includes(option);
    // Discord shows fixed choices by itself.
    if (!isChoice)
      expect(await discord.people.completes(command, option, typed, { userId: discord.userId })).toContainEqual(
        expect.objectContaining({ value: offered }),
      );
  });

  it.each(["run", "replay"])("of /%s offers the ids of runs, to people with a role", async (command) => {
    const fired = (await api("owner", "POST", "/hooks/fails/fire", { live: true })).body.id as string;
    const ask = (userId: string) => stack.discord.people.completes(command, "id", fired.slice(0, -1), { userId });
    expect(await ask(stack.discord.userId)).toContainEqual(expect.objectContaining({ value: fired }));
    const mallory = [...stack.discord.world.users.values()].find(({ username }) => username === "mallory");
    expect(await ask(mallory?.id as string)).toEqual([]);
  });
});

describe("the definition that /hooks add shows", () => {
  it("works as it is, once it is saved: it says what it found in the web chat", async () => {
    const { snippet } = (await run("/hooks add")).data as { snippet: string };
    mkdirSync(inFolder("hooks"), { recursive: true });
    writeFileSync(inFolder("hooks/added.yaml"), snippet);
    await until(async () => (await run("/hooks show disk-check")).outcome === "done", "the new hook");
    expect((await run("/fire-hook disk-check live=true")).outcome).toBe("done");
    await find(stack.platforms.web, { chatId: "general" }, /Filesystem[\s\S]*%/);
    rmSync(inFolder("hooks"), { recursive: true });
  });
});

describe("a hook that a person fires and a kill cuts off", () => {
  it("is refused with its run's id and age while it runs, and is not begun a second time by the command done again", async () => {
    const platform = stack.platforms.discord;
    const [, room] = platform.places;
    const begun = () => linesOf(inFolder("lasting.log"));
    await platform.command(room, "owner", "/fire-hook lasting live=true");
    await until(() => begun().length === 1, "its start");
    const refused = await run("/fire-hook lasting live=true");
    expect(refused.outcome).toBe("failed");
    expect(refused.text).toMatch(new RegExp(`is running already: run ${begun()[0]}, for \\d+ m?s`));
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    const told = await find(platform, room, /lasting[\s\S]*interrupted/);
    expect(told.text).toContain("the gateway ended while it ran");
    expect(begun()).toHaveLength(1);
  });

  it("and one of a plugin, which has no row to be known by, is not fired a second time either", async () => {
    const platform = stack.platforms.discord;
    const [, room] = platform.places;
    const begun = () => linesOf(PLUGIN_LOG);
    await platform.command(room, "owner", "/fire-hook lasting.reaction_added live=true");
    await until(() => begun().length === 1, "its start");
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    const told = await find(platform, room, /was not fired again/);
    expect(told.text.replaceAll("\\", "")).toContain(begun()[0]);
    expect(begun()).toHaveLength(1);
    // A new command fires anew, and what ended says so.
    const { web } = stack.platforms;
    await web.command(web.places[1], "owner", '/fire-hook lasting.reaction_added example {"emoji":"⚡"} live=true');
    const again = await find(web, web.places[1], /Fired.*lasting\.reaction_added.*passed/s);
    expect([again.text, begun().length]).toEqual([again.text, 2]);
  });
});

describe("a reload that is rejected", () => {
  it("is told to admins where they are: in the web chat and in a direct message on Discord", async () => {
    const file = inFolder("hookgate.yaml");
    const config = JSON.parse(readFileSync(file, "utf8"));
    const worse = [...HOOKS, { id: "worse", on: "mesage_received", run: { shell: { command: ["true"] } } }];
    writeFileSync(file, JSON.stringify({ ...config, hooks: worse }));
    const { discord, platforms } = stack;
    const direct = discord.world.dmWith(discord.userId);
    // A busy machine may have reported the removed folder before.
    const rejected = /not applied.*mesage.*received.*did you mean/s;
    await find(platforms.discord, { chatId: direct.id }, rejected);
    await find(platforms.web, { chatId: "dm-1" }, rejected);
    expect((await run("/hooks show worse")).outcome).toBe("done");
  });
});
