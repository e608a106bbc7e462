/** /api/v1/tasks of the running product: the whole life of a task for programs, with roles and errors as they are in chat. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { BOB, OWNER, type RunningApp, runApp } from "./running-app.js";

const ADMIN = "the-token-of-ada-00000000001";
const VIEWER = "the-token-of-vic-00000000001";

let app: RunningApp;
beforeAll(async () => {
  app = await runApp(
    {
      operators: { viewer: ["web:4"], operator: ["web:2"], admin: ["web:3"] },
      web: {
        rooms: [{ id: "general", name: "General" }],
        people: [
          { id: "2", name: "Bob", token_env: "BOB_TOKEN" },
          { id: "3", name: "Ada", token_env: "ADA_TOKEN" },
          { id: "4", name: "Vic", token_env: "VIC_TOKEN" },
        ],
      },
      orchestrator: {
        show_in: "web:web:general",
        runners: {
          ok: { shell: { sh: "echo fine" } },
          repeats: { shell: { sh: "cat" } },
          bad: { shell: { sh: "echo the secret; echo the secret >&2; exit 3" }, role: "admin" },
          check: { shell: { sh: "sleep 60" }, role: "owner", concurrency: 2 },
          deploy: { shell: { sh: "echo out" }, role: "owner" },
        },
      },
      plugins: [],
    },
    { ADA_TOKEN: ADMIN, VIC_TOKEN: VIEWER },
  );
});
afterAll(() => app.close());

const get = (path: string, token = OWNER) => app.call(token, "GET", `/api/v1${path}`);
const post = (path: string, body?: unknown, token = OWNER) => app.call(token, "POST", `/api/v1${path}`, body);
const reaches = (id: string, status: string) =>
  until(async () => {
    const { body } = await get(`/tasks/${id}`);
    return body.status === status ? body : undefined;
  }, `${id} being ${status}`);

describe("/api/v1/tasks", () => {
  it("adds one with all its fields, shows it with its history, and lists it", async () => {
    const first = (await post("/tasks", { title: "First", assignTo: "me" })).body;
    const added = await post("/tasks", {
      title: 'Say "fine"',
      assignTo: "ok",
      description: "draft=yes is a part of this",
      expectations: [{ when: 'result.output.contains("fine")', name: "says so" }],
      dependsOn: [first.id],
      group: "words",
      maxDuration: "1m",
      retryPolicy: { maxRetries: 2, backoff: "1s" },
      deadline: Date.now() + 3_600_000,
      priority: 3,
    });
    expect(added).toMatchObject({
      status: 200,
      body: {
        title: 'Say "fine"',
        description: "draft=yes is a part of this",
        dependsOn: [first.id],
        group: "words",
        maxDuration: 60_000,
        retryPolicy: { maxRetries: 2, backoffMs: 1000 },
        priority: 3,
        createdBy: "web:1 (Owner)",
      },
    });
    const { id } = added.body;
    expect((await get("/tasks?filter=words")).body.total).toBe(0);
    expect((await get("/tasks?group=words")).body).toMatchObject({ total: 1, tasks: [{ id }] });
    expect((await get("/tasks?group=word")).body.total).toBe(0);
    const inChat = await app.call(OWNER, "POST", "/api/command", { line: "/task list group=words" });
    expect(inChat.body).toMatchObject({ data: { total: 1 }, text: expect.stringContaining("in the group `words`") });
    expect((await get("/tasks?limit=1&page=2")).body).toMatchObject({
      page: 2,
      pages: 2,
      total: 2,
      tasks: [{ id: first.id }],
    });

    expect((await post(`/tasks/${first.id}/start`)).body).toMatchObject({ id: first.id, status: "in_progress" });
    expect((await post(`/tasks/${first.id}/note`, { text: "half of it" })).body.lastNote).toMatchObject({
      text: "half of it",
    });
    expect((await post(`/tasks/${first.id}/done`, { result: "all of it" })).body.status).toBe("done");
    const done = await reaches(id, "done");
    expect(done).toMatchObject({ assessment: { passed: true }, result: { ok: true, output: "fine\n" } });
    expect(done.history.map(({ to }: { to?: string }) => to).filter(Boolean)).toEqual([
      "pending",
      "assigned",
      "in_progress",
      "review",
      "done",
    ]);
    expect((await get("/tasks?filter=done")).body.counts).toMatchObject({ done: 2 });
  });

  it("shows what people say about a task to those who may read its output", async () => {
    const own = (await post("/tasks", { title: "Call the bank", assignTo: "me" })).body.id;
    const admins = (await post("/tasks", { title: "Check", assignTo: "bad" }, ADMIN)).body.id;
    await reaches(admins, "failed");
    for (const id of [own, admins]) await post(`/tasks/${id}/note`, { text: "Bob gets 5000" }, ADMIN);
    const read = async (token: string, id: string) => {
      const shown = await app.call(token, "POST", "/api/command", { line: `/task show ${id}` });
      const answers = [await get(`/tasks/${id}`, token), await get("/tasks?filter=all", token), shown];
      return answers.map(({ body }) => JSON.stringify(body).includes("5000"));
    };
    expect(await read(ADMIN, admins)).toEqual([true, true, true]);
    expect(await read(BOB, own)).toEqual([true, true, true]);
    await post(`/tasks/${own}/cancel`, { reason: "over" });
    expect(await read(VIEWER, own)).toEqual([false, false, false]);
    await app.call(OWNER, "POST", "/api/command", { line: `/task note ${own} nothing` });
    expect((await get(`/tasks/${admins}`, BOB)).body.lastNote).toBeUndefined();
    expect(JSON.stringify((await get(`/tasks/${admins}`, BOB)).body)).not.toContain("5000");
  });

  it("creates one for the same Idempotency-Key, whoever else uses it, and answers it as it is now", async () => {
    const add = (key: string, body: unknown, token = OWNER) =>
      app.call(token, "POST", "/api/v1/tasks", body, { "idempotency-key": key });
    const request = { title: "Once", assignTo: "me", group: "once" };
    const [one, other] = await Promise.all([add("order-7", request), add("order-7", request)]);
    expect(one.body.id).toBe(other.body.id);
    await post(`/tasks/${one.body.id}/start`);
    expect((await add("order-7", request)).body).toMatchObject({ id: one.body.id, status: "in_progress" });
    const ids = [await add("order-8", request), await add("order-7", request, BOB), await post("/tasks", request)];
    expect(new Set([one, ...ids].map(({ body }) => body.id)).size).toBe(4);
    expect((await get("/tasks?group=once")).body.total).toBe(4);
    expect((await add("x".repeat(201), request)).body).toMatchObject({ status: 400, code: "BODY_INVALID" });
  });

  it("is cancelled, retried, given to somebody else and given another deadline", async () => {
    const { id } = (await post("/tasks", { title: "Later", assignTo: "ok", draft: true })).body;
    expect((await post(`/tasks/${id}/assign`, { assignTo: "me" })).body.assignTo).toBe("person:web:1");
    const deadline = Date.now() + 7_200_000;
    expect((await post(`/tasks/${id}/deadline`, { deadline })).body.deadline).toBe(deadline);
    expect((await post(`/tasks/${id}/deadline`, { deadline: null })).body.deadline).toBeUndefined();
    expect((await post(`/tasks/${id}/cancel`, { reason: "not now" })).body).toMatchObject({
      status: "cancelled",
      reason: "not now",
    });
    expect((await post(`/tasks/${id}/retry`)).body.status).toBe("pending");
    expect((await post(`/tasks/${id}/pause`)).body.status).toBe("paused");
    expect((await post(`/tasks/${id}/resume`)).body.status).toBe("pending");
  });

  it("says what is wrong as problem+json", async () => {
    const { id } = (await post("/tasks", { title: "Over", assignTo: "ok" })).body;
    const open = (await post("/tasks", { title: "Open", assignTo: "me" })).body;
    await reaches(id, "done");
    for (const [path, body, status, code] of [
      ["/tasks/t_nothing/cancel", {}, 404, "NOT_FOUND"],
      [`/tasks/${id}/cancel`, {}, 409, "TASK_TRANSITION"],
      [`/tasks/${id}/assign`, { assignTo: "nobody" }, 422, "TASK_ASSIGNEE"],
      [`/tasks/${id}/deadline`, { deadline: "2h" }, 409, "TASK_TRANSITION"],
      [`/tasks/${open.id}/deadline`, { deadline: "soon" }, 400, "BAD_USAGE"],
      [`/tasks/${id}/deadline`, {}, 400, "BODY_INVALID"],
      ["/tasks", { title: "x", assignTo: "okk" }, 422, "TASK_ASSIGNEE"],
      ["/tasks", { title: "x", assignTo: "ok", dependsOn: ["t_none"] }, 422, "TASK_INVALID"],
      ["/tasks", { title: "x", assignTo: "ok", expectations: [{ sh: "true" }] }, 400, "BAD_USAGE"],
      ["/tasks", { title: "x", assignTo: "ok", expects: [] }, 400, "BODY_INVALID"],
      ["/tasks", { assignTo: "ok" }, 400, "BODY_INVALID"],
    ] as const) {
      const answer = await post(path, body);
      expect([path, answer.status, answer.body.code]).toEqual([path, status, code]);
      expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    }
  });

  it("keeps what a program says for those who may give it work", async () => {
    expect((await post("/tasks", { title: "Fail", assignTo: "bad" }, BOB)).status).toBe(403);
    const { id } = (await post("/tasks", { title: "Fail", assignTo: "bad" })).body;
    expect(JSON.stringify(await reaches(id, "failed"))).toContain("the secret");
    const seen = (await get(`/tasks/${id}`, BOB)).body;
    expect(seen.status).toBe("failed");
    expect(JSON.stringify(seen)).not.toContain("the secret");
    expect(JSON.stringify((await get("/tasks?filter=all", BOB)).body)).not.toContain("the secret");
  });

  it("keeps it for them whoever has the task next, and gives it to nobody else by their word", async () => {
    const { id } = (await post("/tasks", { title: "Hand over", assignTo: "bad", group: "secret" })).body;
    await reaches(id, "failed");
    const seenByBob = async () => {
      const answers = [
        await get(`/tasks/${id}`, BOB),
        await get("/tasks?filter=all&group=secret", BOB),
        await post(`/tasks/${id}/note`, { text: "hm" }, BOB),
        await post(`/tasks/${id}/deadline`, { deadline: null }, BOB),
        await app.call(BOB, "POST", "/api/command", { line: `/task show ${id}` }),
        await app.call(BOB, "POST", "/api/command", { line: `/task deadline ${id} none` }),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      return JSON.stringify(answers.map(({ body }) => body));
    };
    for (const assignTo of ["ok", "me"])
      expect((await post(`/tasks/${id}/assign`, { assignTo }, BOB)).status).toBe(403);
    expect(await seenByBob()).not.toContain("the secret");

    // The next one is given what the first one said, and may say it again.
    expect((await post(`/tasks/${id}/assign`, { assignTo: "repeats" })).body.assignTo).toBe("repeats");
    expect(await seenByBob()).not.toContain("the secret");
    expect((await post(`/tasks/${id}/retry`, {}, BOB)).status).toBe(403);
    await post(`/tasks/${id}/retry`);
    expect((await reaches(id, "done")).result.output).toContain("the secret");
    expect(JSON.stringify((await get(`/tasks/${id}`, BOB)).body)).not.toContain("the secret");
  });

  it("hands what operators may not hear to no person either, and leaves what nobody has begun to whoever has it next", async () => {
    const { id } = (await post("/tasks", { title: "Person", assignTo: "bad" })).body;
    await reaches(id, "failed");
    await post(`/tasks/${id}/assign`, { assignTo: "person:web:2" });
    await post(`/tasks/${id}/retry`);
    await reaches(id, "assigned");
    expect((await post(`/tasks/${id}/done`, {}, BOB)).body.status).toBe("done");
    expect(JSON.stringify((await get(`/tasks/${id}`, BOB)).body)).not.toContain("the secret");
    expect(JSON.stringify((await get(`/tasks/${id}`)).body)).toContain("the secret");
    const shown = await until(async () => {
      const { messages } = (await app.call(BOB, "GET", "/api/rooms/dm-2/messages")).body;
      const text = JSON.stringify(messages);
      return text.includes("✅ Person") ? text : undefined;
    }, "the person's card at the end");
    expect(shown).not.toContain("the secret");

    const draft = (await post("/tasks", { title: "Not begun", assignTo: "bad", draft: true })).body;
    expect((await post(`/tasks/${draft.id}/assign`, { assignTo: "ok" })).status).toBe(200);
    expect((await post(`/tasks/${draft.id}/start`, {}, BOB)).status).toBe(200);
    await reaches(draft.id, "done");
    expect((await get(`/tasks/${draft.id}`, BOB)).body.result.output).toBe("fine\n");
  });

  it("is shown on a card that others read as far as operators may hear it, and whole in the chat of an owner alone", async () => {
    const cardIn = async (room: string, title: string, end: string) =>
      JSON.stringify(
        await until(
          async () =>
            (await app.call(OWNER, "GET", `/api/rooms/${room}/messages?limit=200`)).body.messages.find(
              ({ card }: { card?: { title: string } }) => card?.title === `${end} ${title}`,
            ),
          `the card of ${title}`,
        ),
      );
    const { id } = (await post("/tasks", { title: "Shown to all", assignTo: "bad" })).body;
    await reaches(id, "failed");
    const shared = await cardIn("general", "Shown to all", "❌");
    expect(shared).not.toContain("the secret");
    expect(shared).toContain("Its output is for an admin or an owner");
    expect(shared).toContain(`/task show ${id}`);
    await reaches((await post("/tasks", { title: "For operators", assignTo: "ok" })).body.id, "done");
    expect(await cardIn("general", "For operators", "✅")).toContain("fine");
    await app.call(OWNER, "POST", "/api/rooms/dm-1/messages", {
      text: "/task add bad Shown to its owner",
      nonce: randomUUID(),
    });
    expect(await cardIn("dm-1", "Shown to its owner", "❌")).toContain("the secret");
  });

  it("offers with /task show what its reader may press", async () => {
    const { id } = (await post("/tasks", { title: "Offered", assignTo: "bad" })).body;
    await reaches(id, "failed");
    const running = (await post("/tasks", { title: "Offered while it runs", assignTo: "check" })).body.id;
    await reaches(running, "in_progress");
    const buttons = async (token: string, task: string) => {
      await app.call(token, "POST", "/api/rooms/general/messages", { text: `/task show ${task}`, nonce: randomUUID() });
      const { buttons = [] } = await until(
        async () =>
          (await app.call(token, "GET", "/api/rooms/general/messages?limit=200")).body.messages.findLast(
            ({ text, card }: { text: string; card?: unknown }) =>
              text.includes("History") && text.includes(task) && !card,
          ),
        "the answer",
      );
      return buttons.flat().map(({ label }: { label: string }) => label);
    };
    expect(await buttons(BOB, id)).toEqual([]);
    expect(await buttons(BOB, running)).toEqual(["Pause", "Cancel"]);
    expect(await buttons(OWNER, id)).toEqual(["Retry"]);
    await post(`/tasks/${running}/cancel`);
  });

  it("goes to nobody who takes an alert about it below the role of a runner that had it", async () => {
    const { id } = (await post("/tasks", { title: "Taken", assignTo: "bad" })).body;
    await reaches(id, "failed");
    await post(`/tasks/${id}/assign`, { assignTo: "person:web:1" });
    await post(`/tasks/${id}/retry`);
    await reaches(id, "assigned");
    await app.app.alerts.raise({
      fingerprint: "taken",
      episode: 1,
      state: "firing",
      severity: "high",
      title: "Taken is late",
      reason: "the deadline has passed",
      at: Date.now(),
      source: { kind: "test", id: "t" },
      entity: { type: "task", id, title: "Taken", status: "assigned", createdAt: Date.now(), facts: {} },
      labels: {},
    });
    const [alert] = await app.app.alerts.list({ open: true, limit: 5 });
    const line = `/ack ${alert?.id} assign=true`;
    const answer = await app.call(BOB, "POST", "/api/command", { line });
    expect(JSON.stringify(answer.body)).toContain(
      "The task stays with Owner: a runner for the role admin had it before",
    );
    expect((await get(`/tasks/${id}`)).body.assignTo).toBe("person:web:1");
    await post(`/tasks/${id}/cancel`);
  });

  it("answers everybody while a condition that an operator wrote is at work for ever, and ends that", async () => {
    const list = `[${Array.from({ length: 60 }, (_, at) => at).join(",")}]`;
    const forEver = ["a", "b", "c", "d", "e", "f"].reduceRight(
      (inner, name) => `${list}.all(${name}, ${inner})`,
      "true",
    );
    const { id } = (await post("/tasks", { title: "Stop", assignTo: "me", expectations: [{ when: forEver }] }, BOB))
      .body;
    await post(`/tasks/${id}/start`, {}, BOB);
    await post(`/tasks/${id}/done`, { result: "well" }, BOB);
    const held = until(async () => {
      const { status, reason } = (await get(`/tasks/${id}`)).body;
      return (
        status === "failed" &&
        reason.includes("the condition takes too long: all conditions of a task may take 5 s together")
      );
    }, "the condition being given up");
    let longestMs = 0;
    const ask = async () => {
      const since = performance.now();
      await fetch(`${app.url}/healthz`);
      longestMs = Math.max(longestMs, performance.now() - since);
    };
    const asking = setInterval(() => void ask(), 500);
    await held.finally(() => clearInterval(asking));
    // Evaluated here, it would keep all answers back until it is given up.
    expect(longestMs).toBeLessThan(4_000);
  });

  it("lets owners alone have a file of the gateway's machine read", async () => {
    const expectations = [{ file: ".env", contains: "nope" }];
    const refused = await post("/tasks", { title: "Read", assignTo: "me", expectations }, BOB);
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining("owner") } });
    expect((await post("/tasks", { title: "Read", assignTo: "me", expectations }, ADMIN)).status).toBe(403);
    expect((await post("/tasks", { title: "Read", assignTo: "me", expectations })).status).toBe(200);
  });

  it("lets nobody below a runner's role decide what comes of its tasks, so that what waits for a check does not run", async () => {
    const add = async (title: string, more: object = {}): Promise<string> =>
      (await post("/tasks", { title, assignTo: "check", ...more })).body.id;
    const running = await add("Running");
    const paused = await add("Paused");
    const [failed, draft] = [await add("Failed", { assignTo: "bad" }), await add("Draft", { draft: true })];
    const unapproved = await add("Not approved", { needsApproval: true });
    const waiting = await add("Waiting", { dependsOn: [running] });
    const deploy = await add("Deploy", { assignTo: "deploy", dependsOn: [paused, waiting] });
    for (const id of [running, paused]) await reaches(id, "in_progress");
    expect((await post(`/tasks/${paused}/pause`, {}, BOB)).status).toBe(200);
    await reaches(failed, "failed");
    await reaches(unapproved, "awaiting_approval");

    const states = () =>
      Promise.all(
        [running, paused, failed, draft, unapproved, waiting].map(
          async (id) => (await get(`/tasks/${id}`)).body.status,
        ),
      );
    const before = await states();
    expect(before).toEqual(["in_progress", "paused", "failed", "draft", "awaiting_approval", "pending"]);
    for (const id of [running, paused, failed, draft, unapproved, waiting]) {
      for (const [action, body] of [
        ["done", { result: "all fine" }],
        ["decline", {}],
        ["refuse", {}],
        ["start", {}],
        ["approve", {}],
        ["accept", {}],
        ["resume", {}],
        ["retry", {}],
        ["assign", { assignTo: "ok" }],
        ["assign", { assignTo: "me" }],
      ] as const)
        expect([action, id, await post(`/tasks/${id}/${action}`, body, BOB)]).toMatchObject([
          action,
          id,
          { status: 403, body: { code: "FORBIDDEN", detail: expect.stringContaining("; yours is operator.") } },
        ]);
      const inChat = await app.call(BOB, "POST", "/api/command", { line: `/task done ${id}` });
      expect(inChat.body.outcome).toBe("refused");
    }

    const seen = async () => (await app.call(BOB, "GET", "/api/rooms/general/messages?limit=200")).body.messages;
    const answered = (text: string, what: string) =>
      until(async () => {
        const messages = await seen();
        return messages.at(-1)?.text.includes(text) ? messages.at(-1) : undefined;
      }, what);
    const { id, buttons } = (await seen()).find(
      ({ card }: { card?: { title: string } }) => card?.title === "✋ Not approved",
    );
    for (const label of ["Approve", "Refuse"]) {
      const { token } = buttons.flat().find((button: { label: string }) => button.label === label);
      const press = { token, nonce: `press-of-${label}` };
      expect((await app.call(BOB, "POST", `/api/messages/${id}/press`, press)).status).toBe(200);
      await answered("That needs the role owner; yours is operator.", `the answer to ${label}`);
    }
    expect(await states()).toEqual(before);
    expect((await get(`/tasks/${deploy}`)).body.status).toBe("pending");

    // Whoever may give it may say how it ended; to stop it is safe.
    expect((await post(`/tasks/${waiting}/done`)).body.status).toBe("done");
    expect((await get(`/tasks/${deploy}`)).body.status).toBe("pending");
    expect((await post(`/tasks/${paused}/done`)).body.status).toBe("done");
    await reaches(deploy, "done");
    expect((await post(`/tasks/${running}/cancel`, {}, BOB)).body.status).toBe("cancelled");
  });
});
