/** SLA clocks in the product as its users run it: tasks of the orchestrator, `/sla`, and a changed configuration. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { parse } from "yaml";
import { slaConfig } from "../../../src/alerts/sla/config.js";
import { TOKEN as LIVE_TOKEN, liveApp } from "../../automations/support/live-app.js";
import { runCli } from "../../cli/run-cli.js";
import { invoke } from "../../flow/stack.js";
import { gatewayProcess, TOKEN } from "../../support/gateway-process.js";
import { until } from "../../support/until.js";

const folder = mkdtempSync(join(tmpdir(), "hookgate-sla-product-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const config = (policies: unknown[]) => ({
  web: {},
  orchestrator: { runners: { sleep: { shell: { command: ["sleep", "600"] }, role: "operator", concurrency: 5 } } },
  sla: {
    after_start: "0s",
    calendars: {
      office: {
        timezone: "Europe/Berlin",
        hours: { "mon-fri": "09:00-17:00" } as Record<string, string>,
        holidays: { country: "DE", state: "BY" },
      },
    },
    policies,
  },
});
const BY_DEADLINE = { id: "on-time", for: "task", warn_at: ["50%"], severity: "critical" };
const IN_AN_HOUR = { id: "quick", for: "task", target: "1h", match: "entity.facts.priority >= 5" };

interface Listed {
  clocks: {
    id: string;
    policyId: string;
    state: string;
    outcome?: string;
    dueAt: number;
    entity: { id: string; title: string };
    announcements?: { news?: string; status: string }[];
  }[];
  total: number;
}

it("watches tasks from their creation to their end, says so in /sla, and takes over other policies without a restart", async () => {
  const gateway = await gatewayProcess({ folder, config: config([BY_DEADLINE, IN_AN_HOUR]) });
  const ask = async (line: string) => {
    const answer = await invoke(gateway.url, line);
    return { ...answer, data: answer.data as Listed };
  };
  const soon = () => new Date(Date.now() + 1_500).toISOString();
  try {
    await gateway.start();
    await gateway.ready();
    expect((await ask("/sla list")).text).toContain("No clock is running");
    await ask(`/task add sleep "Ship the release" due=${soon()} priority=9`);
    await ask(`/task add sleep "Write the notes" due=2099-01-01T00:00:00Z`);

    const open = await ask("/sla list");
    expect(open.data.clocks.map(({ policyId, entity }) => `${policyId} ${entity.title}`)).toEqual([
      "on-time Ship the release",
      "quick Ship the release",
      "on-time Write the notes",
    ]);
    const overdue = await until(async () => {
      const { data } = await ask("/sla list overdue");
      return data.total === 1 ? data.clocks[0] : undefined;
    }, "the release being overdue");
    const shown = await until(async () => {
      const answer = await ask(`/sla show ${overdue?.id}`);
      return answer.data.clocks[0]?.announcements?.some(({ news, status }) => news === "violated" && status === "told")
        ? answer
        : undefined;
    }, "hooks being told");
    expect(shown.text).toContain("violated: the deadline has passed");

    // An open target that is missed is in the share, and in the picture of its day.
    const missed = await ask("/sla report 7");
    expect(missed.text).toContain("1 target met or missed, 0 % met, 1 missed (1 of them still open)");
    expect(missed.data).toMatchObject({
      policies: [{ policyId: "on-time", attained: 0, late: 0, missedOpen: 1, days: [{ met: 0, late: 1 }] }, {}],
    });

    // Ended after its due time: how late it was, not how long it took.
    await ask(`/task add person:web:1 "Call the bank" due=${soon()}`);
    const late = await until(async () => {
      const { data } = await ask("/sla list overdue");
      return data.clocks.find(({ entity }) => entity.title === "Call the bank");
    }, "the call being overdue");
    await ask(`/task done ${late?.entity.id}`);
    await until(async () => (await ask("/sla list overdue")).data.total === 1, "the call being done");
    expect((await ask("/sla list ended")).text).toMatch(/Call the bank · deadline, \d+ s late, due /);

    // More time: another episode of the same clock. By the command of the clock, and by the task's own.
    expect((await ask(`/sla extend ${overdue?.id} 2h`)).text).toMatch(/has more time: due /);
    await until(async () => (await ask("/sla list overdue")).data.total === 0, "the release having time again");
    await ask(`/task cancel ${overdue?.entity.id} "no longer wanted"`);
    await until(async () => (await ask("/sla list")).data.total === 1, "the cancelled task's clocks being over");

    expect((await ask("/sla policies")).text).toMatch(/on-time.*its own deadline[\s\S]*quick.*within 1 h/);
    const report = await ask("/sla report 7");
    expect(report.data).toMatchObject({
      days: 7,
      policies: [
        { policyId: "on-time", late: 2, withdrawn: 0, extended: 1, open: 1 },
        { policyId: "quick", withdrawn: 1 },
      ],
    });
    // Columns: met, late, met %, extended; met, late, withdrawn. Empty ones are blank.
    expect(report.text).toMatch(/^on-time +0 +2 +0 % +1 /m);
    expect(report.text).toMatch(/^quick +0 +0 +1 /m);

    // The same over HTTP.
    const api = async (path: string) => {
      const answer = await fetch(`${gateway.url}/api/v1/sla${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
      expect(answer.status, path).toBe(200);
      return (await answer.json()) as Listed;
    };
    expect((await api("/clocks?which=ended")).total).toBe(3);
    expect((await api(`/clocks/${overdue?.id}`)).clocks[0]?.announcements?.length).toBeGreaterThan(1);
    expect(await api("/policies")).toMatchObject({ policies: [{ id: "on-time" }, { id: "quick" }] });
    expect(await api("/report?days=7")).toMatchObject({ days: 7 });

    const inOffice = { id: "office-hours", for: "task", target: "40h", calendar: "office" };
    writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(config([inOffice])));
    const taken = await until(async () => {
      const { data } = await ask("/sla list");
      return data.clocks[0]?.policyId === "office-hours" ? data : undefined;
    }, "the open task having a clock of the new policy");
    expect(taken.total).toBe(1);
    // Another calendar of the same policy moves what is due, at once.
    const shorter = config([inOffice]);
    shorter.sla.calendars.office.hours = { "mon-fri": "09:00-10:00" };
    writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(shorter));
    await until(async () => {
      const { data } = await ask("/sla list");
      return (data.clocks[0]?.dueAt ?? 0) > (taken.clocks[0]?.dueAt ?? 0) + 14 * 86_400_000;
    }, "forty hours taking eight weeks");
    // Outside working hours nothing runs, and the list says until when.
    const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "Europe/Berlin" });
    const later = weekday.format(Date.now() + 3 * 86_400_000).toLowerCase();
    shorter.sla.calendars.office.hours = { [later]: "09:00-17:00" };
    writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(shorter));
    await until(
      async () => /\d h left, outside working hours until \d.*, 09:00 /.test((await ask("/sla list")).text),
      "the list naming the end of the gap",
    );
    // What cannot be used changes nothing, and says why.
    const nowhere = { ...config([inOffice]) };
    nowhere.sla.calendars.office.holidays.state = "ZZ";
    writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(nowhere));
    await until(() => gateway.output().includes('there is no state of DE \\"ZZ\\"'), "the refusal being said");
    expect((await ask("/sla list")).data.clocks[0]?.policyId).toBe("office-hours");
  } finally {
    await gateway.kill();
  }
}, 120_000);

it("shows more time beside the target, and people by name", async () => {
  const short = { id: "short", for: "task", target: "60s", warn_at: ["1%"] };
  const gateway = await gatewayProcess({ folder: join(folder, "extended"), config: config([short]) });
  try {
    await gateway.start();
    await gateway.ready();
    await invoke(gateway.url, '/task add person:web:1 "Paint it"');
    const alert = await until(async () => {
      const { data } = await invoke(gateway.url, "/alerts all");
      return (data as { alerts: { id: string }[] }).alerts[0];
    }, "the warning");
    // Past one per cent of the longer target too, so that the alert stays open.
    await until(async () => {
      const { data } = await invoke(gateway.url, '/sla show "Paint it"');
      return ((data as { clocks: { usedMs: number }[] }).clocks[0]?.usedMs ?? 0) > 1_500;
    }, "the warning holding for the longer target as well");
    await invoke(gateway.url, '/sla extend "Paint it" 30s');
    const shown = (await invoke(gateway.url, '/sla show "Paint it"')).text;
    expect(shown).toMatch(/extended: 1 min \+ 30 s given by Owner/);
    expect(shown).toMatch(/owner: Owner/);
    expect((await invoke(gateway.url, `/sla show ${alert.id}`)).text).toMatch(/extended: 1 min \+ 30 s given by Owner/);
    const { text } = await invoke(gateway.url, `/alerts show ${alert.id}`);
    expect(text).toMatch(/Used: .* of 1 min 30 s /);
    expect(text).toContain("Extended: 1 min + 30 s given by Owner");
  } finally {
    await gateway.stop();
  }
});

it("shows everywhere that what got more time was overdue, and counts it as missed once, also when it is done in that time", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
alerts: { routes: { default: { to: ["web:web:general"], remind: { times: 0 } } } }
sla: { after_start: 0s, policies: [{ id: short, for: task, target: 1s }] }
`,
  });
  const ask = async (line: string) => (await invoke(live.app.url, line, LIVE_TOKEN)).text;
  const card = (words: RegExp) =>
    until(async () => (await live.room("general")).find((text) => words.test(text)), String(words));
  const task = (await invoke(live.app.url, '/task add person:web:1 "Paint it"', LIVE_TOKEN)).data as { id: string };
  const [id = ""] = /al_\w+/.exec(await card(/Paint it: .* overdue/)) ?? [];
  await ask('/sla extend "Paint it" 1h');
  await card(/Postponed .* when it was overdue: due /);
  expect(await ask("/sla list")).toMatch(/left, target missed before/);
  expect(await ask("/sla report 7")).toContain("1 target met or missed, 0 % met, 1 missed (1 of them still open).");
  await ask(`/task done ${task.id}`);
  await until(async () => (await ask("/sla list ended")).includes("late, then extended"), "the end of the clock");
  expect(await ask("/sla report 7")).toContain("1 target met or missed, 0 % met, 1 missed.");
  expect(await ask(`/alerts show ${id}`)).toMatch(
    /Postponed .* when it was overdue: due [\s\S]*overdue: no completion within 1 s/i,
  );
});

it("refuses to start with a policy that cannot be, and says where it stands and what was expected", async () => {
  const gateway = await gatewayProcess({
    folder: join(folder, "wrong"),
    config: config([{ id: "p", for: "task", match: "entity.prio > 3", calendar: "offce", warn_at: ["80 percent"] }]),
  });
  await gateway.start();
  await until(() => !gateway.running(), "the refusal");
  const said = gateway.output();
  expect(said).toContain("sla.policies.0.match");
  expect(said).toMatch(/prio/);
  expect(said).toContain('expected a share such as 80% or a time such as 15m before, got "80 percent"');
});

it("refuses a match that never holds, by check, at a start and at a reload, and keeps the policies in force", async () => {
  const own = join(folder, "never");
  const gateway = await gatewayProcess({ folder: own, config: {} });
  const save = (policies: readonly unknown[]) =>
    writeFileSync(join(own, "hookgate.yaml"), JSON.stringify(config([...policies])));
  const about = (type: string, match: string, index: number) => ({
    id: `p${index}`,
    for: type,
    target: "1h",
    match,
    measure: type === "conversation" ? "resolution" : undefined,
  });
  const wrong: readonly [type: string, match: string, problem: string][] = [
    ["task", "entity.facts.prioriti >= 5", 'entity.facts has no field "prioriti" (did you mean "priority"?)'],
    ["task", 'entity.facts.priority == "5"', 'is a number, so a comparison with "5" (text) never holds: write 5'],
    ["task", 'entity.status == "donne"', 'entity.status is never "donne": it is one of draft, pending'],
    ["task", 'entity.type == "mission"', 'entity.type is never "mission": it is one of task'],
    ["task", "has(entity.facts.platform)", 'entity.facts has no field "platform"'],
    ["task", "payload.facts.priority > 1", "names payload, and here it is entity: write entity in place of payload"],
    ["mission", "entity.facts.taks > 3", 'entity.facts has no field "taks" (did you mean "tasks"?)'],
    ["mission", 'entity.status == "review"', 'entity.status is never "review": it is one of pending, running'],
    ["conversation", 'entity.facts.platfrom == "web"', '"platfrom" (did you mean "platform"?)'],
    ["conversation", 'entity.facts.platform == "wbe"', 'entity.facts.platform is never "wbe": it is one of web'],
    ["conversation", 'entity.facts.customer == "web:1"', 'because it has no platform: write "1"'],
    ["conversation", "entity.facts.chat == -1001", 'a comparison with -1001 (a number) never holds: write "-1001"'],
    ["conversation", "entity.facts.guild in [-1]", 'a comparison with -1 (a number) never holds: write "-1"'],
    ["conversation", 'entity.facts.chat == "telegram:-1001"', 'because it has no platform: write "-1001"'],
    ["conversation", "entity.deadline > 0", 'entity has no field "deadline"'],
  ];
  save(wrong.map(([type, match], index) => about(type, match, index)));
  const { code, err } = await runCli(["check"], { cwd: own });
  expect(code).not.toBe(0);
  for (const [index, [, , problem]] of wrong.entries()) {
    const line = err.split("\n").find((one) => one.includes(`sla.policies.${index}.match`));
    expect(line, problem).toContain(problem);
  }
  expect(err).toContain(`${wrong.length} problems.`);

  const good = [
    ["task", 'entity.facts.priority >= 5 && "group" in entity.facts'],
    ["task", "entity.facts.priority >= 5"],
    ["mission", 'entity.facts.tasks > 3 && entity.status != "held"'],
    ["conversation", '!entity.facts.is_dm && entity.facts.?room.orValue("") != "" && has(entity.lastWords)'],
  ].map(([type = "", match = ""], index) => about(type, match, index));
  const slip = about("task", "entity.facts.prioriti >= 5", 0);
  save([slip]);
  await gateway.start();
  expect(await gateway.ending()).not.toBe(0);
  const refusals = () => gateway.output().match(/did you mean \\?"priority/g)?.length ?? 0;
  const atStart = refusals();
  expect(atStart).toBeGreaterThan(0);
  save(good);
  expect((await runCli(["check"], { cwd: own })).code).toBe(0);
  await gateway.start();
  await gateway.ready();
  try {
    await invoke(gateway.url, '/task add sleep "Ship it" priority=5');
    save([slip]);
    await until(() => refusals() > atStart, "the refused reload");
    const { data } = await invoke(gateway.url, "/sla list");
    expect((data as Listed).clocks.map(({ policyId }) => policyId)).toEqual(["p1"]);
  } finally {
    await gateway.kill();
  }
});

it("names a policy whose match has no answer once in the log, and in /sla policies, also after a reload", async () => {
  const others = { id: "others", for: "task", target: "1h", match: 'entity.facts.group != "night"' };
  const night = { id: "night", for: "task", target: "2h", match: 'entity.facts.group == "night"' };
  const gateway = await gatewayProcess({ folder: join(folder, "unanswered"), config: config([others, night]) });
  await gateway.start();
  await gateway.ready();
  try {
    await invoke(gateway.url, '/task add sleep "one"');
    await invoke(gateway.url, '/task add sleep "two"');
    const shown = 'its match had no answer for the task "one": No such key: group. Write has(entity.facts.group) && …';
    const policies = async () => (await invoke(gateway.url, "/sla policies")).text;
    expect((await policies()).split("had no answer")).toHaveLength(2);
    expect(await policies()).toContain(shown);
    const status = (await invoke(gateway.url, "/status")).text;
    expect(status).toContain("the match of 1 SLA policy had no answer");
    expect(status).toContain("⚠ The match of the SLA policy `others` had no answer for some work");
    const more = { id: "more", for: "mission", target: "1h" };
    writeFileSync(join(gateway.folder, "hookgate.yaml"), JSON.stringify(config([others, night, more])));
    gateway.hangUp();
    await until(async () => (await policies()).includes("more"), "the other policies");
    await invoke(gateway.url, '/task add sleep "three"');
    expect(await policies()).toContain(shown);
    expect(gateway.output().match(/SLA policy others had no answer for a task/g)).toHaveLength(1);
    expect(gateway.output()).not.toContain("SLA policy night");
  } finally {
    await gateway.kill();
  }
});

it("checks holidays of calendars and names of routes without a start", async () => {
  const cwd = join(folder, "checked");
  mkdirSync(cwd);
  const calendars = { office: { timezone: "UTC", hours: {}, holidays: { country: "XX" } } };
  const config = (sla: unknown) =>
    writeFileSync(
      join(cwd, "hookgate.yaml"),
      JSON.stringify({ alerts: { routes: { support: {} } }, sla: Object(sla) }, null, 2),
    );
  config({ policies: [{ id: "p", for: "task", routes: ["suport"] }] });
  const routes = await runCli(["check"], { cwd });
  expect(routes.err).toContain('there is no route "suport" (did you mean "support"?)');
  config({ calendars });
  const { code, err } = await runCli(["check"], { cwd });
  expect(code).not.toBe(0);
  expect(err).toMatch(/hookgate\.yaml:\d+:\d+ sla\.calendars\.office: holidays: there is no country "XX"/);
});

it("understands what the README shows", () => {
  const readme = readFileSync(join(import.meta.dirname, "../../../README.md"), "utf8");
  const block = /## SLAs and alerts\s+```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  expect(slaConfig.safeParse(parse(block).sla).error).toBeUndefined();
});

it("reports what a hook answered apart from what people met", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
plugins: [./hours.mjs]
sla:
  after_start: 0s
  conversations: { staff: { role: none } }
  policies: [{ id: first, for: conversation, measure: first_response, target: 1h }]
`,
    "hours.mjs": `export default { id: "hours", setup({ hooks }) {
  hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "From nine to five." }), { id: "answer" });
} };`,
  });
  await live.say("when are you open?");
  const report = await until(async () => {
    const { text } = await invoke(live.app.url, "/sla report 7", LIVE_TOKEN);
    return text.includes("answered by a hook: 1") ? text : undefined;
  }, "the answer of the hook in the report");
  expect(report).toContain("0 targets met or missed; answered by a hook: 1.");
  expect(report).toMatch(/policy +met +answered by a hook +late +open\n/);
  expect(report).toMatch(/^first +0 +1 +0 +0$/m);
  expect(report).toContain("Answered by a hook: within the target; not in the shares and times");
  const { text: listed } = await invoke(live.app.url, "/sla list ended", LIVE_TOKEN);
  expect(listed).toMatch(/first response, met in .*, answered by a hook/);
  const { clocks } = (await invoke(live.app.url, "/sla list ended", LIVE_TOKEN)).data as Listed;
  const { text: shown } = await invoke(live.app.url, `/sla show ${clocks[0]?.id}`, LIVE_TOKEN);
  expect(shown).toMatch(/status: met in .*, answered by a hook/);
  expect(shown).toMatch(/met: first response by a hook in .* of 1 h/);
});

it("says first how many were closed without an answer: no share has them", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
sla:
  after_start: 0s
  conversations: { staff: { role: none } }
  policies: [{ id: first, for: conversation, measure: first_response, target: 1h }]
`,
  });
  await live.say("is anybody there?");
  const ask = (line: string) => invoke(live.app.url, line, LIVE_TOKEN);
  const id = await until(async () => {
    const { clocks } = (await ask("/sla list")).data as { clocks: { entity: { id: string } }[] };
    return clocks[0]?.entity.id;
  }, "the clock");
  expect((await ask(`/sla close ${id} spam`)).outcome).not.toBe("failed");
  const [headline = ""] = (await ask("/sla report 7")).text.split("\n");
  expect(headline).toContain(
    "0 targets met or missed; closed without an answer before the deadline, and in no share: **1**.",
  );
});

it("quotes nothing that the customer corrected or deleted, also once an operator resolves the alert", async () => {
  const live = await liveApp({
    "hookgate.yaml": `
alerts: { routes: { default: { to: ["web:web:general"] } } }
sla:
  after_start: 0s
  conversations: { staff: { role: none } }
  policies: [{ id: first, for: conversation, measure: first_response, target: 1h, warn_at: ["3599s before"] }]
`,
  });
  const ask = (line: string) => invoke(live.app.url, line, LIVE_TOKEN);
  const headers = { authorization: `Bearer ${LIVE_TOKEN}`, "content-type": "application/json" };
  const change = (id: number, method: string, text?: string) =>
    fetch(`${live.app.url}/api/messages/${id}`, {
      method,
      headers,
      body: text === undefined ? null : JSON.stringify({ text, nonce: text }),
    });
  const idOf = async (text: string) => {
    const { messages } = await live.get("/api/rooms/general/messages?limit=50");
    return (messages as { id: number; text: string }[]).find((one) => one.text === text)?.id ?? 0;
  };
  const quoting = (words: string) =>
    until(async () => {
      const { text } = await ask("/alerts all");
      return text.includes(`“${words}”`) ? text : undefined;
    }, `an alert that quotes ${words}`);
  await live.say("the first password");
  await live.say("the second password");
  const [first, second] = [await idOf("the first password"), await idOf("the second password")];
  const [, id = ""] = /(al_\w+)/.exec(await quoting("the second password")) ?? [];
  expect((await change(second, "DELETE")).status).toBe(200);
  await quoting("the first password");
  expect((await change(first, "PATCH", "harmless")).status).toBe(200);
  await quoting("harmless");
  await ask(`/alerts resolve ${id} called`);
  expect(await quoting("harmless")).not.toContain("password");
  const card = await until(async () => (await live.room()).find((text) => text.includes("Resolved")), "the card");
  expect(card).not.toContain("password");
});
