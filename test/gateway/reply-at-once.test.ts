/** A reply in a conversation with nothing else to send: hooks decide on it before its event is settled, and one commit has both. */
import { copyFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { answerId, REPLY_MARK } from "../../src/domain/journal.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { newFolder, restart, startRig } from "./rig.js";

/** The reply to the first message of a new database. */
const FIRST_REPLY = answerId("m1", REPLY_MARK);

const replies = (registry: HookRegistry) =>
  void registry.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: `re: ${message.text}` }));

describe("hooks that take longer", () => {
  it("do not hold up the next message of the conversation; the replies come in order", async () => {
    const handled: string[] = [];
    let decide = () => {};
    const rig = await startRig({
      hooks: (registry) => {
        registry.registerVoid("message_received", ({ message }) => void handled.push(message.text));
        replies(registry);
        registry.registerModifying("message_sending", async ({ message }) => {
          if (message.text === "re: one") await new Promise<void>((done) => (decide = done));
          return { message: { ...message, text: `${message.text}!` } };
        });
      },
    });
    await rig.say("one");
    await rig.say("two");
    await until(() => handled.includes("two"), "the second being handled");
    expect(rig.platform.texts()).toEqual([]);
    const [second, first] = await until(async () => {
      const all = await rig.store.outbox.list({ limit: 9 });
      return all.length === 2 && all;
    }, "both replies being stored");
    expect([first, second]).toMatchObject([{ status: "waiting", asked: 1 }, { status: "waiting" }]);
    decide();
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["re: one!", "re: two!"]);
  });

  it("that withhold it do so once it is stored", async () => {
    const rig = await startRig({
      hooks: (registry) => {
        replies(registry);
        registry.registerModifying("message_sending", async ({ message }) => {
          if (message.text === "re: slow") await new Promise((done) => setTimeout(done, 20));
          return { cancel: "not today" };
        });
      },
    });
    await rig.say("quick");
    await rig.say("slow");
    await rig.idle();
    const all = await rig.store.outbox.list({ limit: 9 });
    expect(all.map(({ status, reason }) => [status, reason])).toEqual(Array(2).fill(["cancelled", "not today"]));
    expect(rig.platform.requests).toEqual([]);
  });
});

describe("a crash", () => {
  it("while hooks decide hands the message to its handler again; hooks are asked as the second attempt of the same dispatch", async () => {
    const runs: string[] = [];
    const handled: string[] = [];
    let onAsked = () => {};
    const hooks = (registry: HookRegistry) => {
      registry.registerClaiming("inbound_claim", ({ message }, { attempt }) => {
        handled.push(`${message.text} ${attempt}`);
        return { handled: true, reply: `re: ${message.text}` };
      });
      registry.registerModifying("message_sending", (_payload, { dispatchId, attempt }) => {
        runs.push(`${dispatchId} ${attempt}`);
        onAsked();
        return null;
      });
    };
    const rig = await startRig({ hooks });
    // What a process that ends in the hook leaves on disk.
    const file = join(newFolder(), basename(rig.file));
    onAsked = () => {
      for (const part of ["", "-wal"]) copyFileSync(`${rig.file}${part}`, `${file}${part}`);
    };
    await rig.say("hello");
    await rig.idle();
    onAsked = () => {};
    await rig.crash();
    const next = await startRig({ file, clock: rig.clock, hooks });
    await next.idle();
    expect(handled).toEqual(["hello 1", "hello 2"]);
    expect(runs).toEqual([`${FIRST_REPLY}:message_sending 1`, `${FIRST_REPLY}:message_sending 2`]);
    expect(next.platform.texts()).toEqual(["re: hello"]);
  });

  it("after that commit leaves the decision: neither the handler nor the hooks run again", async () => {
    const runs: string[] = [];
    const listen = (registry: HookRegistry) => {
      replies(registry);
      registry.registerModifying("message_sending", (_payload, { dispatchId, attempt }) => {
        runs.push(`${dispatchId} ${attempt}`);
        return null;
      });
    };
    const rig = await startRig({ hooks: listen });
    rig.platform.script = () => ({ kind: "retry", error: "503", scope: "chat" });
    await rig.say("hello");
    await until(async () => (await rig.store.outbox.get(FIRST_REPLY))?.attempts === 1, "the first try");
    rig.platform.script = () => undefined;
    const next = await restart(rig, { hooks: listen });
    await until(async () => {
      await next.clock.advance(250);
      return (await next.store.outbox.get(FIRST_REPLY))?.status === "sent";
    }, "it being sent");
    expect(runs).toEqual([`${FIRST_REPLY}:message_sending 1`]);
    expect(next.platform.texts()).toEqual(["re: hello"]);
  });
});

it("is not sent when a delivery with its id was there before: that one is", async () => {
  const rig = await startRig({ hooks: replies });
  const address = { platform: "loop", botId: "bot", chatId: "room" };
  const cause = { kind: "api", id: "test", depth: 0 } as const;
  await rig.store.outbox.enqueue(
    [{ id: FIRST_REPLY, address, operation: "send", message: { text: "there before" }, cause }],
    0,
  );
  await rig.say("hello");
  await rig.idle();
  expect(rig.platform.texts()).toEqual(["there before"]);
});

it("that waits for the rate limit is stored as decided, and goes in its turn", async () => {
  let runs = 0;
  const rig = await startRig({
    platforms: [new LoopbackPlatform("loop", { limits: { perSecond: 30, perChatPerSecond: 1 } })],
    hooks: (registry) => {
      replies(registry);
      registry.registerModifying("message_sending", () => {
        runs++;
        return null;
      });
    },
  });
  await rig.say("one");
  await rig.idle();
  await rig.say("two");
  const second = await until(async () => {
    const [found] = await rig.store.outbox.list({ status: "sending", limit: 1 });
    return found;
  }, "the second being decided");
  expect(second.parts).toMatchObject([{ status: "waiting", attempts: 0 }]);
  await until(async () => {
    await rig.clock.advance(250);
    return rig.platform.texts().length === 2;
  }, "its turn");
  expect(rig.platform.texts()).toEqual(["re: one", "re: two"]);
  expect(runs).toBe(2);
});
