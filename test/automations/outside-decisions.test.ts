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

async function deciding(on: "message_sending" | "task:create", more = "") {
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
${more}`,
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
  ["a file of this machine", { attachments: [fileOf("/etc/hostname")] }, "attach a file of this machine"],
  ["a command", { buttons: [[command("/hooks pause")]] }, "add a button that does something"],
  ["words of the person who presses", { buttons: [[says("yes")]] }, "add a button that does something"],
  ["everyone", { mentions: { everyone: true } }, "mention more people"],
  ["a person", { mentions: { users: ["1"] } }, "mention more people"],
  ["another thread", { threadId: "other" }, "choose the thread of a message"],
])("a server that is asked about a message may not decide %s", async (_, message, problem) => {
  const { live, answer } = await deciding("message_sending");
  answer({ message: { text: "changed", ...message } });
  await live.app.gateway.send(ROOM, { text: "hello" }, { cause });
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
    statusReason: expect.stringContaining("attach a file of this machine"),
  });
  await until(async () => (await live.room()).join() === "hello", "the message");
  expect((await posted(live))?.attachments ?? []).toEqual([]);
});

test.each([
  ["a program", { expectations: [{ sh: "touch PWNED" }] }, "add an expectation that runs a program"],
  [
    "a program beside a condition",
    { expectations: [{ command: ["touch", "PWNED"] }, { when: "result.ok" }] },
    "runs a program",
  ],
  ["a file", { expectations: [{ file: "/etc/passwd", contains: "root" }] }, "reads a file"],
  ["a runner of owners", { assignTo: "owners" }, "choose who does a task"],
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

test("it may change the words of a task and add conditions", async () => {
  const { live, answer } = await deciding("task:create");
  answer({ title: "Build it well", expectations: [{ when: "result.ok" }] });
  await live.post("/api/command", { line: "/task add theirs build" });
  expect(await live.ended("asks")).toMatchObject({ status: "succeeded" });
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
  return { type: "file", ref: "x", url: pathToFileURL(path).href, mimeType: "text/plain", filename: "stolen.txt" };
}

function command(line: string) {
  return { label: "Open", action: { kind: "command" as const, line } };
}

function says(text: string) {
  return { label: "Open", action: { kind: "say" as const, text } };
}
