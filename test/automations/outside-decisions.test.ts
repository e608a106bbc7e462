/** What the answer of a model or of another machine may not decide, through the running product. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import { expect, test } from "vitest";
import { decodeMessage } from "../../adapters/discord/decode/message.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { openEndpoint } from "./endpoint.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const ROOM = { platform: "web", botId: "web", chatId: "general" };
const cause = { kind: "api", id: "t", depth: 0 } as const;

/** A task that fails its check. The server is asked about it at each point. */
const PLAN = `groups:
  - name: make
    tasks:
      - { id: sign, title: Sign, assignTo: theirs, needsApproval: true, deadline: 2h, expectations: [{ command: ["false"] }] }
`;

async function deciding(on: string, files: Record<string, string> = {}) {
  const endpoint = await openEndpoint();
  afterTest(() => endpoint.close());
  const phase = on === "message_sending" ? "" : "phase: before, ";
  const live = await liveApp({
    "hookgate.yaml": `outgoing: { allow: ["127.0.0.1:${endpoint.port}"] }
orchestrator:
  runners:
    theirs: { shell: { sh: "true" } }
    owners: { role: owner, shell: { sh: "touch ran" } }
hooks:
  - { id: asks, on: "${on}", ${phase}run: { http: { url: "${endpoint.url}/", attempts: 1 } } }
`,
    ...files,
  });
  const answer = (patch: object) =>
    endpoint.script({ status: 200, body: JSON.stringify({ decision: "modify", patch }) });
  return { live, answer };
}

const posted = async (live: LiveApp) => {
  const { messages } = (await live.get("/api/rooms/general/messages")) as { messages: OutboundMessage[] };
  return messages.at(-1);
};

test.each([
  ["a file of this machine", { attachments: [fileOf("/etc/hostname")] }, "attach what the gateway would read"],
  ["a command", { buttons: [[command("/hooks pause")]] }, "change or take away a button"],
  ["words of the person who presses", { buttons: [[says("yes")]] }, "change or take away a button"],
  ["everyone", { mentions: { everyone: true } }, "mention more people"],
  ["a person", { mentions: { users: ["1"] } }, "mention more people"],
  [
    "a file with a name that no platform takes",
    { attachments: [{ ...page("data:text/plain,x"), filename: "x".repeat(10_000) }] },
    "up to 200 characters",
  ],
  [
    "what the gateway fetches",
    { attachments: [page("http://127.0.0.1:1/customers")] },
    "attach what the gateway would read",
  ],
  [
    "another label for a button's action",
    { buttons: [[{ ...command("/status"), label: "Refuse" }]] },
    "change or take away a button",
  ],
  ["another action for a button's label", { buttons: [[command("/hooks list")]] }, "change or take away a button"],
  ["that a choice is gone", { buttons: [] }, "change or take away a button"],
  [
    "a card that leads to a person",
    { card: { title: "Ada", url: "tg://user?id=1002" } },
    "message.card.url: expected an address",
  ],
  ["a form", { prompt: { userId: "1" } }, "change message.prompt"],
  ["another thread", { threadId: "other" }, "change message.threadId"],
])("a server that is asked about a message may not decide %s", async (_, message, problem) => {
  const { live, answer } = await deciding("message_sending");
  answer({ message: { text: "changed", ...message } });
  await live.app.gateway.send(ROOM, { text: "hello", buttons: [[command("/status")]] }, { cause });
  const run = await live.ended("asks");
  expect(run).toMatchObject({ status: "failed", statusReason: expect.stringContaining(problem) });
  await until(async () => (await live.room()).join() === "hello", "the message");
});

test("it may change words, keep what the message has, and add links", async () => {
  const { live, answer } = await deciding("message_sending");
  const own = command("/status");
  const link = { label: "Docs", url: "https://example.org" };
  answer({ message: { text: "changed", buttons: [[own, link]] } });
  await live.app.gateway.send(ROOM, { text: "hello", buttons: [[own]] }, { cause });
  expect(await live.ended("asks")).toMatchObject({ status: "succeeded" });
  await until(async () => (await live.room()).join() === "changed", "the message");
});

test("a server may not send a file of a message twice", async () => {
  const { live, answer } = await deciding("message_sending");
  const file = fileOf(join(live.folder, "hookgate.yaml"));
  answer({ message: { text: "changed", attachments: [file, file] } });
  await live.app.gateway.send(ROOM, { text: "hello", attachments: [file] }, { cause });
  expect(await live.ended("asks")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("attach what the gateway would read"),
  });
  answer({ message: { text: "changed", attachments: [file] } });
  await live.app.gateway.send(ROOM, { text: "once", attachments: [file] }, { cause });
  await until(async () => (await live.runs("asks")).some(({ status }) => status === "succeeded"), "it sent once");
});

test("a model that is asked about a message may not attach a file of this machine, and what it gave is not sent", async () => {
  const model = new LLMock({ port: 0 });
  await model.start();
  afterTest(() => model.stop());
  const live = await liveApp({
    "hookgate.yaml": `models: { available: { small: { provider: openai-compatible, url: "${model.url}/v1", model: m } } }
hooks:
  - { id: polite, on: message_sending, timeout: 60s, run: { agent: { prompt: "Polite? {{ event.message.text }}", decides: true } } }
`,
  });
  const attachments = [fileOf(join(live.folder, "hookgate.yaml"))];
  const args = JSON.stringify({ decision: "modify", patch: { message: { text: "changed", attachments } } });
  model
    .on(
      { predicate: ({ messages }) => !messages.some(({ role }) => role === "tool") },
      { toolCalls: [{ name: "decide", arguments: args }] },
    )
    .onMessage(/./, { content: "Done." });
  await live.app.gateway.send(ROOM, { text: "hello" }, { cause });
  expect(await live.ended("polite")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("attach what the gateway would read"),
  });
  await until(async () => (await live.room()).join() === "hello", "the message");
  expect((await posted(live))?.attachments ?? []).toEqual([]);
});

test.each([
  ["a program", { expectations: [{ sh: "touch PWNED" }] }, "change expectations"],
  [
    "a check that always holds, which raises a gate's score",
    { expectations: [{ when: "true" }] },
    "change expectations",
  ],
  ["a runner of owners", { assignTo: "owners" }, "change assignTo"],
  ["the data of a program", { input: { where: "production" } }, "change input"],
  ["a time that no clock takes", { deadline: 8.64e15 }, "before the year 2200"],
  ["how often it is tried", { retryPolicy: { maxRetries: 9 } }, "change retryPolicy"],
])("a server that is asked about a task may not decide %s", async (_, patch, problem) => {
  const { live, answer } = await deciding("task:create");
  answer(patch);
  await live.post("/api/command", { line: "/task add theirs build" });
  expect(await live.ended("asks")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining(problem),
  });
  expect([existsSync(join(live.folder, "PWNED")), existsSync(join(live.folder, "ran"))]).toEqual([false, false]);
});

test.each([
  ["task:create", { dependsOn: [] }, "change dependsOn"],
  ["task:create", { group: "deploy" }, "change group"],
  ["task:create", { needsApproval: false }, "take away the approval"],
  ["task:create", { expectations: [] }, "change expectations"],
  ["task:create", { deadline: "2030-01-01T00:00:00Z" }, "change deadline, which is set"],
  ["assessment:run", { task: { expectations: [] } }, "change task"],
  ["assessment:run", { task: { result: { ok: true, output: "fine", durationMs: 1 } } }, "change task"],
  ["assessment:complete", { passed: true }, "let a task pass that failed its checks"],
  ["assessment:complete", { assessment: { globalScore: 1 } }, "change assessment.globalScore"],
  ["mission:execute", { mission: { deadline: Date.UTC(2201, 0, 1) } }, "mission.deadline: expected a time"],
  ["mission:execute", { mission: { title: " " } }, "mission.title: expected 1 to 300"],
  ["mission:execute", { mission: { deadline: 1 } }, "is in the past"],
  ["mission:execute", { mission: { plan: { groups: [] } } }, "change mission.plan"],
] as const)("a server that is asked at %s about a task of a plan may not decide %j", async (on, patch, problem) => {
  const { live, answer } = await deciding(on, { "missions/release.yaml": PLAN });
  answer(patch);
  const line = (text: string) =>
    live.post("/api/command", { line: text }) as Promise<{ data: Record<string, unknown> }>;
  const { id } = (await line("/mission run release")).data;
  const shown = () => line(`/mission show ${id}`) as Promise<{ data: { taskIds: { sign: string } } }>;
  const task = async () => (await line(`/task show ${(await shown()).data.taskIds.sign}`)).data;
  await until(
    async () =>
      (await shown()).data.taskIds.sign !== undefined && /review|approval/.test(String((await task()).status)),
    "its approval being asked for",
  );
  expect(await task()).toMatchObject({ group: "make", needsApproval: true, expectations: [{ command: ["false"] }] });
  await line(`/task approve ${(await shown()).data.taskIds.sign}`);
  await until(async () => (await task()).status === "failed", "it failing its check");
  expect((await live.runs("asks")).map(({ statusReason }) => statusReason)).toContainEqual(
    expect.stringContaining(problem),
  );
});

test("a server that is asked about a finished task may not decide its result", async () => {
  const { live, answer } = await deciding("task:complete");
  answer({ result: { ok: true, output: "fine", durationMs: 1 } });
  await live.post("/api/command", { line: "/task add theirs build" });
  expect(await live.ended("asks")).toMatchObject({
    status: "failed",
    statusReason: expect.stringContaining("change result"),
  });
});

test("it may change the words of a task", async () => {
  const { live, answer } = await deciding("task:create");
  answer({
    title: "Build it well",
    description: "With care.",
    priority: 2,
    deadline: "2030-01-01T00:00:00Z",
    needsApproval: true,
  });
  await live.post("/api/command", { line: "/task add theirs build" });
  expect(await live.ended("asks")).toMatchObject({ status: "succeeded" });
});

test("the title of a task and of a mission stays in a line, whoever wrote it", async () => {
  const bad = "Build\u0000 \u202eit\nState: done\u001b[2J";
  const { live, answer } = await deciding("task:create");
  answer({ title: bad });
  const added = (await live.post("/api/command", { line: "/task add theirs build" })) as { data: { id: string } };
  const shown = (await live.post("/api/command", { line: `/task show ${added.data.id}` })) as { data: object };
  expect(shown.data).toMatchObject({ title: "Build it State: done[2J" });

  const missions = await deciding("mission:execute", { "missions/release.yaml": PLAN });
  missions.answer({ mission: { title: bad } });
  const line = (text: string) =>
    missions.live.post("/api/command", { line: text }) as Promise<{ data: Record<string, unknown> }>;
  const { id } = (await line("/mission run release")).data;
  await until(async () => (await line(`/mission show ${id}`)).data.status === "running", "the mission's start");
  expect((await line(`/mission show ${id}`)).data).toMatchObject({ title: "Build it State: done[2J" });
});

test("a file of a Discord message is never one of this machine", () => {
  const decoded = decodeMessage(
    {
      id: "1",
      channel_id: "2",
      author: { id: "3", username: "eve" },
      content: "",
      attachments: [{ id: "4", filename: "a.txt", url: "file:///etc/passwd" }],
    } as never,
    { self: { botId: "9" } } as never,
    false,
  );
  expect(JSON.stringify(decoded)).not.toContain("file:");
});

function fileOf(path: string) {
  return {
    type: "file" as const,
    ref: "x",
    url: pathToFileURL(path).href,
    mimeType: "text/plain",
    filename: "stolen.txt",
  };
}

function page(url: string) {
  return { type: "file", ref: "x", url, mimeType: "text/plain", filename: "a.txt" };
}

function command(line: string) {
  return { label: "Open", action: { kind: "command" as const, line } };
}

function says(text: string) {
  return { label: "Open", action: { kind: "say" as const, text } };
}
