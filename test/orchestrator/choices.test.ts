/** Commands that cannot know what was meant: they ask, with what there is; and all that a task can be given in chat. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { OWNER_TOKEN, type Posted, type TaskedApp, taskedApp, WORKER_TOKEN } from "./support/tasked-app.js";

const web = {
  people: [{ id: "2", name: "Will", token_env: "WORKER_TOKEN" }],
  access: { dms: "everyone", chats: ["*"], mention: "always" },
  rooms: [{ id: "general", name: "General" }],
};
let nonces = 0;
const nonce = () => `nonce-${process.pid}-${++nonces}`;

const PLAN = {
  title: "Release",
  groups: [
    { name: "build", tasks: [{ id: "compile", assignTo: "wait" }], gate: { name: "good", minScore: 0.9 } },
    { name: "ship", tasks: [{ id: "upload", assignTo: "wait" }] },
  ],
};

async function opened(): Promise<TaskedApp> {
  const app = await taskedApp({
    orchestrator: { runners: { wait: { shell: { sh: "sleep 60" } }, ok: { shell: { sh: "echo fine" } } } },
    config: {
      web,
      alerts: {
        rotas: { first: { rotate: { people: ["web:1"], from: "2020-01-06T09:00", every: "7d" } } },
      },
    },
  });
  mkdirSync(join(app.folder, "missions"));
  writeFileSync(join(app.folder, "missions/release.yaml"), JSON.stringify(PLAN));
  return app;
}

/** Types a command in a room and gives the answer to it. */
async function asked(app: TaskedApp, line: string, token = OWNER_TOKEN): Promise<Posted> {
  const { message } = (await app.api("POST", "/rooms/general/messages", { text: line, nonce: nonce() }, token)) as {
    message: { id: string };
  };
  return until(
    async () => (await app.room("general", token)).find(({ raw }) => raw.replyToId === message.id),
    `the answer to ${line}`,
  );
}

async function press(app: TaskedApp, { id, buttons }: Posted, label: string, token = OWNER_TOKEN): Promise<Posted> {
  const button = buttons?.flat().find((one) => one.label.includes(label));
  if (button?.token === undefined) throw new Error(`there is no button "${label}" in ${JSON.stringify(buttons)}`);
  await app.api("POST", `/messages/${id}/press`, { token: button.token, nonce: nonce() }, token);
  return until(async () => {
    const now = (await app.room("general", token)).find((one) => one.id === id);
    return now && JSON.stringify(now.buttons) !== JSON.stringify(buttons) ? now : undefined;
  }, `what the button ${label} brings`);
}

const labels = ({ buttons = [] }: Posted) => buttons.flat().map(({ label }) => label);

describe("the button of the question whether to cancel many", () => {
  it("cancels the tasks that the question was about, and asks again when they are others", async () => {
    const app = await opened();
    const one = await app.add("/task add me One approve=true");
    const two = await app.add("/task add me Two approve=true");
    const question = await asked(app, "/task cancel all");
    expect(labels(question)).toEqual(["Cancel 2", "Show them"]);
    const later = await app.add("/task add me Important approve=true");
    const { token } = question.buttons?.flat()[0] ?? {};
    await app.api("POST", `/messages/${question.id}/press`, { token, nonce: nonce() });
    const again = await until(
      async () => (await app.room("general")).find(({ text }) => text.includes("Cancel 3 tasks?")),
      "the new question",
    );
    expect(again.text).toContain("The tasks are not the same as when you were asked; nothing was done.");
    for (const id of [one, two, later]) expect((await app.task(id)).status).toBe("awaiting_approval");
    expect((await press(app, again, "Cancel 3")).text).toContain("3 tasks cancelled.");
  });
});

describe("a command that leaves out what it is about", () => {
  it("names who has each of the tasks with the same title", async () => {
    const app = await opened();
    for (const who of ["wait", "ok"]) await app.add(`/task add ${who} "Call the customer" approve=true`);
    await app.add('/task add person:web:2 "call the customer" approve=true');
    const which = await asked(app, '/task show "Call the customer"');
    expect(which.text).toContain('3 tasks have the title "Call the customer".');
    expect(which.text).toContain("Name the task by its id.");
    expect(which.text).not.toContain("whole title");
    expect(labels(which).sort()).toEqual([
      "Call the customer · ok · awaiting approval",
      "Call the customer · wait · awaiting approval",
      "call the customer · Will · awaiting approval",
    ]);
  });

  it("asks which, and goes on with what is chosen, the other options as they were", async () => {
    const app = await opened();
    const roses = await app.add("/task add me Water the roses");
    await app.add("/task add me Call Ann");
    await app.becomes(roses, "assigned");

    const which = await asked(app, '/task cancel text="it rains \\"today\\""');
    expect(which.text).toContain("Which one?");
    expect(labels(which)).toEqual(["Call Ann · assigned", "Water the roses · assigned"]);
    await press(app, which, "Water the roses");
    expect(await app.becomes(roses, "cancelled")).toMatchObject({ reason: 'it rains "today"' });

    // What is over cannot be cancelled, and what runs cannot be tried again.
    expect(labels(await asked(app, "/task cancel"))).toEqual(["Call Ann · assigned"]);
    expect(labels(await asked(app, "/task retry"))).toEqual(["Water the roses · cancelled"]);
    // A word of the title narrows it.
    expect(labels(await asked(app, "/task assign call"))).toEqual(["Call Ann · assigned"]);
    // To show the only one that the words fit changes nothing.
    for (const line of ["/task show rose", "/task show water the roses", `/task show ${roses}`])
      expect((await asked(app, line)).text).toMatch(/Water the roses[\s\S]*History/);
    // To act on it takes the whole title: a part of it is asked about.
    const part = await asked(app, "/task retry rose");
    expect(part.text).toContain(`"rose" is only a part of the title of "Water the roses" (${roses}).`);
    expect(labels(part)).toEqual(["Water the roses · cancelled"]);
    expect((await app.command('/task note "WATER the roses" "The can leaks."')).data).toMatchObject({ id: roses });
    expect(labels(await asked(app, "/task assign"))).toEqual(["Call Ann · assigned"]);

    const begun = await press(app, await asked(app, "/mission run"), "Release");
    expect(begun.text).toContain("starts");
    const { missions } = (await app.command("/mission list")).data as { missions: { id: string }[] };
    const missionId = missions[0]?.id;
    expect(labels(await asked(app, "/mission cancel"))).toEqual(["Release · running"]);
    // Its gate is not reached yet.
    const gates = await asked(app, `/gate release ${missionId}`);
    expect(gates.text).toMatch(/Missing: which gate of Release\.[\s\S]*not reached yet/);
    expect(labels(gates)).toEqual([]);
    expect(labels(await asked(app, "/schedule add cron=@daily"))).toEqual(["Release"]);
    await app.command('/schedule add release cron="@daily" name=nightly');
    expect(labels(await asked(app, "/schedule pause"))).toEqual(["nightly · release at @daily"]);
    expect(labels(await asked(app, "/oncall who nobody"))).toEqual(["first"]);

    const { buttons } = await asked(app, "/mission run relese");
    expect(labels({ buttons } as Posted)).toEqual(["Release"]);
    // A value that is not the beginning of its words stands apart from them.
    const nobody = await app.command("/task add Look into it");
    expect(nobody.text).toContain("`me` · yourself");
    expect(nobody.data).toMatchObject({ error: { hint: expect.stringContaining("- me · yourself") } });
    // Programs get it as words.
    const told = await app.command("/schedule run nightli");
    expect(told.data).toMatchObject({
      error: { code: "NOT_FOUND", message: expect.stringContaining('Did you mean "nightly"?') },
      choices: [{ value: "nightly" }],
    });
    await app.command(`/mission cancel ${missionId}`);
  });

  it("offers only tasks that a word of the title names, and gives the states when none of them can be acted on", async () => {
    const app = await opened();
    const done = [await app.add('/task add ok "long report a"'), await app.add('/task add ok "long report b"')];
    for (const id of done) await app.becomes(id, "done");
    await app.add('/task add me "Pay the invoice"');
    await app.add('/task add me "Order parts" approve=true');

    for (const [action, participle] of [
      ["cancel", "cancelled"],
      ["retry", "done again"],
      ["approve", "approved"],
    ]) {
      const none = await asked(app, `/task ${action} long`);
      expect(none.text).toContain(
        `"long" is only a part of the title of 2 tasks, and none of them can be ${participle}.`,
      );
      for (const id of done) expect(none.text).toMatch(new RegExp(`long report [ab] is done\\. .*${id}`));
      expect(none.text).not.toContain("Which one?");
      expect(labels(none)).toEqual([]);
    }
    const one = await app.command("/task cancel report a");
    expect(one.outcome).toBe("failed");

    // Those that can be acted on are offered, and none of the others; a note can be added to any of them.
    const open = await app.add('/task add me "long report c"');
    await app.becomes(open, "assigned");
    expect(labels(await asked(app, "/task cancel long"))).toEqual(["long report c · assigned"]);
    expect(labels(await asked(app, "/task note long text=hm")).sort()).toEqual([
      "long report a · done",
      "long report b · done",
      "long report c · assigned",
    ]);
    // Also by the same title.
    for (const who of ["ok", "me"]) await app.add(`/task add ${who} Twice`);
    const twice = await until(async () => {
      const found = await asked(app, "/task cancel Twice");
      return found.buttons?.flat().length === 1 ? found : undefined;
    }, "one of two being done");
    expect(labels(twice)).toEqual(["Twice · assigned"]);
  });

  it("offers for each action the tasks whose state allows it", async () => {
    const app = await opened();
    await app.add("/task add me A draft draft=true");
    await app.becomes(await app.add("/task add person:web:2 Of another"), "assigned");
    await app.becomes(await app.add("/task add me Mine"), "assigned");
    await app.add("/task add me Waits approve=true");
    await app.becomes(await app.add('/task add me Judged expect="when: result.ok"'), "assigned");

    expect(labels(await asked(app, "/task approve"))).toEqual(["Waits · awaiting approval"]);
    expect(labels(await asked(app, "/task start")).sort()).toEqual([
      "A draft · draft",
      "Judged · assigned",
      "Mine · assigned",
    ]);
    expect(labels(await asked(app, "/task done")).sort()).toEqual([
      "Judged · assigned",
      "Mine · assigned",
      "Of another · assigned",
    ]);
    for (const action of ["accept", "resume", "retry"]) {
      const none = await asked(app, `/task ${action}`);
      expect(none.text, action).toContain("Missing: which task.");
      expect(labels(none), action).toEqual([]);
    }
    await app.command("/task pause Mine");
    expect(labels(await asked(app, "/task resume"))).toEqual(["Mine · paused"]);
  });

  it("offers only missions that a title names and gates that are shut, and asks for the reason of a release", async () => {
    const app = await opened();
    const plan = {
      title: "Release it",
      groups: [
        {
          name: "build",
          tasks: [{ id: "test", title: "Test it", assignTo: "ok", expectations: [{ when: "result.exitCode == 5" }] }],
          gate: { name: "good", allPassed: true },
        },
        { name: "ship", tasks: [{ id: "upload", assignTo: "me" }] },
      ],
    };
    writeFileSync(join(app.folder, "missions/weekly.yaml"), JSON.stringify(plan).replace('"me"', '"person:web:1"'));
    const ids: string[] = [];
    for (let run = 0; run < 3; run++) {
      const { data } = await app.command("/mission run weekly");
      const { id } = data as { id: string };
      ids.push(id);
      const shut = async () => (await app.command(`/mission show ${id}`)).data as { status: string };
      await until(async () => (await shut()).status === "held", "the shut gate");
    }
    const [first = "", second = "", third = ""] = ids;
    const end = (id: string) => `Release it · held · …${id.slice(-5)}`;
    await app.command(`/gate release ${first} good it may`);
    expect(labels(await asked(app, "/gate release")).sort()).toEqual([end(second), end(third)].sort());

    // Tasks and missions of one plan differ by the ends of their ids.
    const titled = await asked(app, '/mission show "release IT"');
    expect(titled.text).toContain('3 missions have the title "release IT".');
    expect(new Set(labels(titled)).size).toBe(3);
    expect(new Set(labels(await asked(app, '/task retry "Test it"'))).size).toBe(3);

    // The newest mission of the plan is meant.
    for (const line of ["/gate release weekly", "/gate release weekly good", `/gate release ${third}`]) {
      const which = await asked(app, line);
      expect(which.text, line).toContain("✗ Missing: ");
      expect(which.text, line).toContain(third);
      expect(labels(which), line).toEqual(["Release good"]);
    }
    const which = await asked(app, "/gate release weekly");
    const press = () =>
      app.api("POST", `/messages/${which.id}/press`, {
        token: which.buttons?.[0]?.[0]?.token,
        nonce: nonce(),
      }) as Promise<{ form?: { fields: { id: string }[] }; token: string }>;
    const form = await press();
    expect(form.form?.fields.map(({ id }) => id)).toEqual(["reason"]);
    await app.api("POST", `/messages/${which.id}/press`, {
      token: form.token,
      nonce: nonce(),
      values: { reason: "looked at by hand" },
    });
    await until(
      async () => JSON.stringify((await app.command(`/mission show ${third}`)).data).includes("looked at by hand"),
      "the release",
    );
    expect((await app.command(`/gate release ${third}`)).text).toContain("was released by");
    expect(labels(await asked(app, `/gate release ${third}`))).toEqual([]);
    expect(labels(await asked(app, '/gate release "Release it"'))).toEqual(["Release it · held"]);

    for (const id of ids) await app.command(`/mission cancel ${id}`);
    await until(
      async () => (await app.command('/mission cancel "Release it"')).text.includes("none of them can be cancelled."),
      "the end of all",
    );
    await app.command("/mission run release");
    const over = await asked(app, '/mission cancel "lease it"');
    expect(over.text).toContain('"lease it" is only a part of the title of 3 missions, and none of them can be');
    expect(over.text).toContain(`Release it is cancelled. ${first}`);
    expect(labels(over)).toEqual([]);
    expect(labels(await asked(app, "/mission retry"))).toEqual([]);
  });

  it("shows on its buttons where the choices differ", async () => {
    const app = await opened();
    const title = "Write the monthly report of the support team for";
    for (const month of ["January", "February"]) await app.add(`/task add me ${title} ${month}`);
    const which = await asked(app, "/task cancel");
    expect(labels(which).map((label) => [...label].slice(0, 24).join(""))).toEqual([
      "…pport team for February",
      "…upport team for January",
    ]);
    // The answer has the names.
    expect(which.text).toMatch(/Write the monthly report.*February/);
  });

  it("asks whoever has work, of their own and nothing else; refuses whoever has none; completes alike", async () => {
    const app = await opened();
    await app.add("/task add me Keep the secret");
    expect((await app.command("/task done", WORKER_TOKEN)).outcome).toBe("refused");
    const complete = async (query: string, token: string) =>
      (
        (await app.api("GET", `/complete?command=task&option=id&${query}`, undefined, token)) as {
          choices: { name: string; value: string }[];
        }
      ).choices;
    const given = (values: object) => `given=${encodeURIComponent(JSON.stringify(values))}`;
    expect(await complete(given({ action: "done" }), WORKER_TOKEN)).toEqual([]);

    const id = await app.add("/task add person:web:2 Sweep the yard");
    await app.becomes(id, "assigned");
    const which = await app.command("/task done", WORKER_TOKEN);
    expect(which.data).toMatchObject({ choices: [{ value: id }] });
    expect(JSON.stringify(which)).not.toContain("secret");
    expect((await complete(given({ action: "done" }), WORKER_TOKEN)).map(({ value }) => value)).toEqual([id]);
    expect(await complete(given({ action: "show" }), WORKER_TOKEN)).toEqual([]);

    expect((await complete(given({ action: "add" }), OWNER_TOKEN)).map(({ value }) => value)).toEqual([
      "me",
      "wait",
      "ok",
    ]);
    expect((await complete(given({ action: "cancel" }), OWNER_TOKEN)).map(({ name }) => name)).toEqual([
      expect.stringContaining("Keep the secret"),
      `Sweep the yard · assigned · ${id}`,
    ]);
    await app.command(`/task done ${id}`, WORKER_TOKEN);
    expect((await app.command("/task done", WORKER_TOKEN)).outcome).toBe("refused");
  });
});

describe("/task add", () => {
  it("takes a word of a text for no switch, wherever it stands", async () => {
    const app = await opened();
    for (const line of ["/task add me Draft the notes", "/add-task Draft the notes to=me"]) {
      const { data } = await app.command(line);
      expect(data).toMatchObject({ title: "Draft the notes" });
      expect(data).not.toMatchObject({ status: "draft" });
    }
    const id = await app.add("/task add me approve");
    expect((await app.command(`/task note ${id} Draft is attached`)).data).toMatchObject({
      lastNote: { text: "Draft is attached" },
    });
    expect((await app.command("/task add me Tell them --draft")).data).toMatchObject({
      title: "Tell them",
      status: "draft",
    });
  });

  it("takes every field of a task, behind the title, by the names of the fields too", async () => {
    const app = await opened();
    const first = await app.add("/task add me First");
    const id = await app.add(
      `/task add ok Write the first draft description="All of it, in \\"full\\"" dependsOn=${first} group=texts priority=7 ` +
        'max-retries=2 backoff=30s timeout=10m deadline=2h expect=[{"when":"result.ok","weight":2},{"file":"out.txt"}] --approve',
    );
    const task = await app.task(id);
    expect(task).toMatchObject({
      title: "Write the first draft",
      description: 'All of it, in "full"',
      dependsOn: [first],
      group: "texts",
      priority: 7,
      retryPolicy: { maxRetries: 2, backoffMs: 30_000 },
      maxDuration: 600_000,
      expectations: [{ when: "result.ok", weight: 2 }, { file: "out.txt" }],
      needsApproval: true,
      assignTo: "ok",
    });
    expect(task.deadline).toBeGreaterThan(Date.now() + 3_600_000);
    expect((await app.command(`/task deadline ${id} 2030-06-01T12:00`)).text).toContain("Due 1 Jun 2030, 12:00 UTC");
    expect((await app.task(id)).deadline).toBe(Date.UTC(2030, 5, 1, 12));
    expect((await app.command(`/task deadline ${id} none`)).text).toContain("no deadline");
    expect((await app.task(id)).deadline).toBeUndefined();
    const noted = await app.add('/add-task "Only noted" assign-to=ok expect="when: result.ok" draft=yes');
    expect(await app.task(noted)).toMatchObject({
      status: "draft",
      assignTo: "ok",
      expectations: [{ when: "result.ok" }],
    });
  });

  it("says what is wrong with it, and how it is written", async () => {
    const app = await opened();
    const cases = [
      ["/task add", "Missing: what is to be done", "/add-task"],
      ["/task add ok", "Missing: what is to be done"],
      ['/task add "Call Ann"', "Missing: who, or what"],
      ["/task add okk Do it", 'no runner or person "okk"'],
      ["/task add ok Do it due=someday", '"someday" is no time'],
      ["/task add ok Do it due=2020-01-01T00:00", "is in the past"],
      ["/task add ok Do it timeout=soon", "`timeout` is a length of time"],
      ["/task add ok Do it retries=-1", "`retries` is a number from 0 to 100"],
      ["/task add ok Do it backoff=5s", "set `retries` too"],
      ["/task add ok Do it after=t_none", 'no task "t_none"'],
      ['/task add ok Do it expect="sh: rm -rf x"', "never in chat"],
      ['/task add ok Do it expect="when: result."', "`expect`:"],
      ['/task add ok Do it expect="judge: nice"', "no model is configured"],
      ['/task add ok Do it expect="wen: result.ok"', "expected exactly one of command, sh, file, http, when, judge"],
      ['/task add ok Do it expect="file: a, sizes: 3"', "`expect`"],
      ["/task add ok Do it priority=high", "`priority` is a whole number"],
      [`/task add ok ${"x".repeat(301)}`, "301 characters long; 300 fit"],
    ];
    for (const [line = "", ...parts] of cases) {
      const said = await app.command(line);
      expect(said.outcome, line).toBe("failed");
      for (const part of parts) expect(said.text, line).toContain(part);
    }
  });
});
