/** Messages that were under way when a process ended, beside requests to a platform that cannot recognise a repeated message. */
import { afterEach, describe, expect, it } from "vitest";
import type { Cause } from "../../src/domain/journal.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { type Rig, type RigOptions, restart, startRig } from "./rig.js";

/** Messages that are handled, and what ends that. */
const handled = new Map<string, () => void>();
afterEach(() => handled.clear());

const holds = (registry: HookRegistry) =>
  void registry.registerClaiming(
    "inbound_claim",
    ({ message }) => new Promise((done) => handled.set(message.text, () => done({ handled: true }))),
    { timeoutMs: 600_000 },
  );

/** The next process after a crash during these messages: the first one is handled. */
async function afterCrash(texts: string[], options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig({ ...options, hooks: holds });
  for (const text of texts) await rig.say(text, { chatId: text });
  await until(() => handled.size === texts.length, "all being handled");
  handled.clear();
  const next = await restart(rig, { ...options, hooks: holds });
  await until(() => handled.size === 1, "the first suspect being handled");
  return next;
}

const post = (rig: Rig, text: string, facts: { file?: boolean; kind?: Cause["kind"] } = {}) => {
  const file = { type: "file" as const, ref: "x", url: "https://files.example/x", mimeType: "text/plain" };
  const message = facts.file ? { text, attachments: [file] } : { text };
  const cause: Cause = { kind: facts.kind ?? "api", id: text, depth: 0 };
  return rig.gateway.send({ platform: "loop", botId: "bot", chatId: text }, message, { cause });
};

const tried = ({ platform }: Rig) => platform.requests.map(({ address }) => address.chatId);

describe("while a suspect is handled", () => {
  it("no other message is sent, but answers to commands are; what waited goes before the next suspect", async () => {
    const rig = await afterCrash(["one", "two"]);
    await post(rig, "held back");
    await post(rig, "answer to a command", { kind: "command" });
    await until(() => tried(rig).length > 0, "the answer to the command");
    await rig.clock.advance(1_000);
    expect(tried(rig)).toEqual(["answer to a command"]);
    rig.platform.script = () => ({ kind: "hang" });
    handled.get("one")?.();
    await until(() => tried(rig).length === 2, "what waited");
    await rig.clock.advance(1_000);
    expect([...handled.keys()]).toEqual(["one"]);
    await rig.clock.advance(30_000);
    await until(() => handled.has("two"), "the next suspect being handled");
  });

  it("a message of several parts goes on after it", async () => {
    let answer = () => {};
    const platform = new LoopbackPlatform();
    const rig = await afterCrash(["one", "two"], { platforms: [platform] });
    await post(rig, "a long message, which takes more than one request of forty");
    const take = platform.take.bind(platform);
    platform.take = async (...given) => {
      const result = await take(...given);
      if (tried(rig).length === 1) await new Promise<void>((done) => (answer = done));
      return result;
    };
    handled.get("one")?.();
    await until(() => tried(rig).length === 1, "the first part");
    answer();
    await until(() => handled.has("two"), "the next suspect being handled");
    await rig.clock.advance(1_000);
    expect(platform.texts()).toHaveLength(1);
    handled.get("two")?.();
    await until(() => platform.texts().length === 2, "the second part");
  });

  it("other messages wait for ten seconds at most", async () => {
    const rig = await afterCrash(["never answers"]);
    await post(rig, "held back");
    await rig.clock.advance(9_999);
    expect(tried(rig)).toEqual([]);
    await rig.clock.advance(1);
    await until(() => rig.platform.texts().length === 1, "the message being sent");
    expect(handled.size).toBe(1);
  });

  it("messages that the platform recognises when they are repeated do not wait", async () => {
    const rig = await afterCrash(["one"], { platforms: [new LoopbackPlatform("loop", { idempotentCreate: true })] });
    await post(rig, "not held back");
    await until(() => rig.platform.texts().length === 1, "the message being sent");
  });
});

it("a suspect waits for a request that gets no answer for as long as send_timeout only", async () => {
  const rig = await afterCrash(["one", "two"]);
  rig.platform.script = () => ({ kind: "hang" });
  await post(rig, "upload", { file: true });
  handled.get("one")?.();
  await until(() => tried(rig).length === 1, "the upload");
  await rig.clock.advance(29_000);
  expect(handled.has("two")).toBe(false);
  await rig.clock.advance(1_000);
  await until(() => handled.has("two"), "the next suspect being handled");
});
