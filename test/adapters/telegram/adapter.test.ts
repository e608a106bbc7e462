/** The command menu, malformed updates on the wire, and what never reaches a log. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/time/clock.js";
import { until } from "../../support/until.js";
import { COMMANDS, newFake, Recorder, startAdapter } from "./harness.js";

describe("the command menu", () => {
  it("is registered with names that Telegram takes", async () => {
    const { fake } = await startAdapter();
    await until(() => fake.callsOf("setMyCommands").length === 1);
    expect(fake.callsOf("setMyCommands")[0]?.payload).toEqual({
      commands: [
        { command: "hooks", description: "Lists the hooks" },
        { command: "fire_hook", description: "Fires a hook" },
      ],
    });
  });

  it("is not registered again when it is the same", async () => {
    const fake = await newFake();
    const first = await startAdapter({ fake });
    await until(() => fake.callsOf("setMyCommands").length === 1);
    await first.stop();
    await startAdapter({ fake });
    await until(() => fake.callsOf("getMyCommands").length === 2);
    fake.people.says("let time pass", { dm: true });
    await until(() => fake.updates.pending.length === 0);
    expect(fake.callsOf("setMyCommands")).toHaveLength(1);
  });

  it("is registered again when it changed", async () => {
    const fake = await newFake();
    const first = await startAdapter({ fake });
    await until(() => fake.callsOf("setMyCommands").length === 1);
    await first.stop();
    const gateway = new Recorder();
    gateway.commandTable = [...COMMANDS, { name: "status", summary: "How it is", options: [], role: "viewer" }];
    await startAdapter({ fake, gateway });
    await until(() => fake.callsOf("setMyCommands").length === 2);
  });

  it("is tried again after a limit", async () => {
    const fake = await newFake();
    fake.fail({ method: "setMyCommands", action: { kind: "rate-limit", retryAfterS: 1 } });
    const { lines } = await startAdapter({ fake });
    await until(() => fake.callsOf("setMyCommands").length === 2, "the second try");
    expect(lines.join()).toContain("could not be registered; it is tried again");
  });

  it("that is refused is a remark while online, and is tried again each hour until it is taken", async () => {
    const fake = await newFake();
    const refused = { kind: "refuse", status: 400, description: "Bad Request: BOT_COMMAND_INVALID" } as const;
    fake.fail({ method: "setMyCommands", action: refused });
    const hours: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after(ms, fn) {
        if (ms !== 3_600_000) return systemClock.after(ms, fn);
        hours.push(fn);
        return { cancel() {} };
      },
    };
    const { gateway } = await startAdapter({ fake, clock });
    const shown = () => gateway.states.at(-1);
    await until(() => hours.length === 1, "the wait for another try");
    expect(shown()).toMatchObject({
      phase: "online",
      reason: "Telegram refuses the command menu: 400 Bad Request: BOT_COMMAND_INVALID",
      hint: expect.stringContaining("correct their names and summaries. Hookgate tries again every hour."),
    });
    hours[0]?.();
    await until(() => shown()?.reason === undefined, "the menu being registered");
    expect(shown()?.phase).toBe("online");
    expect(fake.callsOf("setMyCommands")).toHaveLength(2);
  });

  it("is not tried again over a connection that has ended: the next one looks at it itself", async () => {
    const fake = await newFake();
    fake.fail({ method: "setMyCommands", action: { kind: "rate-limit", retryAfterS: 60 } });
    const timers = { open: 0 };
    const clock: Clock = {
      ...systemClock,
      after(ms, fn) {
        const timer = systemClock.after(ms, fn);
        if (ms !== 60_000) return timer;
        timers.open++;
        return {
          cancel() {
            timers.open--;
            timer.cancel();
          },
        };
      },
    };
    const first = await startAdapter({ fake, clock });
    await until(() => timers.open === 1, "the wait for another try");
    await startAdapter({ fake });
    expect(await first.ended).toMatchObject({ code: "TELEGRAM_CONFLICT" });
    expect(timers.open).toBe(0);
  });

  it("failing holds nothing up", async () => {
    const fake = await newFake();
    fake.fail({ method: "setMyCommands", action: { kind: "rate-limit", retryAfterS: 60 } });
    const { events, lines } = await startAdapter({ fake });
    fake.people.says("hello", { dm: true });
    await events(1);
    await until(() => lines.some((line) => line.includes("menu could not be registered")));
  });

  it("is left alone when the configuration says so", async () => {
    const { fake, events } = await startAdapter({ config: { register_commands: false } });
    fake.people.says("hello", { dm: true });
    await events(1);
    expect(fake.callsOf("getMyCommands")).toEqual([]);
  });
});

describe("malformed updates on the wire", () => {
  it("are logged, confirmed and passed over", async () => {
    const { fake, events, lines } = await startAdapter();
    fake.people.raw({ message: { message_id: "seven" } });
    fake.people.raw({ message: null });
    fake.people.raw({ message: { message_id: "eight", text: "a private word" } });
    fake.people.raw({ callback_query: [] });
    fake.people.raw({});
    fake.people.says("still here", { dm: true });
    expect((await events(1))[0]).toMatchObject({ message: { text: "still here" } });
    await until(() => fake.updates.pending.length === 0);
    expect(lines.filter((line) => line.includes("not understood")).length).toBeGreaterThanOrEqual(3);
    // Which fields there are, and nothing of what people wrote.
    expect(lines.join("\n")).toContain("message_id");
    expect(lines.join("\n")).not.toContain("a private word");
  });

  it("never stop the polling, whatever they hold", async () => {
    const { fake, gateway } = await startAdapter();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), async (update, message) => {
        const { update_id: _, ...rest } = update;
        fake.people.raw(rest);
        fake.people.raw({ message });
        fake.people.says(`marker ${++count}`, { dm: true });
        await until(() => fake.updates.pending.length === 0);
        expect(gateway.events.at(-1)).toMatchObject({ message: { text: `marker ${count}` } });
      }),
      { numRuns: 40 },
    );
  });

  it("without an id do not spin", async () => {
    const { fake, gateway } = await startAdapter();
    fake.updates.addRaw({ update_id: Number.NaN });
    await until(() => gateway.states.some(({ reason }) => reason?.includes("without an id")));
    expect(fake.updates.handedOver).toBeLessThan(5);
  });

  it("a message of a megabyte is a message", async () => {
    const { fake, events } = await startAdapter();
    fake.people.says("x".repeat(1_000_000), { dm: true });
    const [event] = await events(1);
    expect(event?.kind === "message" && event.message.text.length).toBe(1_000_000);
  });
});

describe("one account in many chats", () => {
  it("keeps the same message id in two chats apart, and the same words of two people", async () => {
    const { fake, events } = await startAdapter();
    const other = fake.world.addUser({ firstName: "Bob" });
    fake.people.says("/hooks", { dm: true });
    fake.people.says("/hooks", { dm: true, userId: other.id });
    const all = await events(2);
    expect(all.map(({ eventId }) => eventId)).toEqual(["1", "1"]);
    expect(all.map((event) => "message" in event && event.message.userId)).toEqual(["1001", String(other.id)]);
  });

  it("sees in groups what privacy mode lets through", async () => {
    const { fake, events } = await startAdapter();
    fake.people.isPrivacyOn = true;
    fake.people.says("not for us");
    fake.people.says("/hooks@HookgateBot");
    expect((await events(1))[0]).toMatchObject({ message: { text: "/hooks", isGroupMention: true } });
  });
});

describe("the token", () => {
  it("stands in no log line, state, error or result", async () => {
    const { fake, gateway, lines, send, adapter, at, stop, events } = await startAdapter({
      config: { request_timeout: "1s" },
    });
    const secret = fake.token.split(":")[1] ?? "";
    const results: unknown[] = [];
    const [part] = adapter.encode({ text: "x" }, at, { plain: false });
    if (!part) throw new Error("nothing was encoded");
    for (const kind of ["drop-before", "drop-after", "hang"] as const) {
      fake.fail({ method: "sendMessage", action: { kind } });
      results.push(await send({ kind: "create", address: at, part, nonce: "n" }));
    }
    fake.fail({ method: "getUpdates", action: { kind: "drop-before" } });
    fake.people.says("one", { dm: true });
    await events(1);
    await until(() => gateway.states.some(({ phase }) => phase === "reconnecting"));
    await fake.stop();
    results.push(await send({ kind: "create", address: at, part, nonce: "n" }));
    await stop();
    const refused = await startAdapter({ token: `${fake.token}x`, apiUrl: "http://127.0.0.1:1", isTroubled: true });
    const error = await refused.ended;
    const text = JSON.stringify([results, gateway.states, lines, refused.lines, refused.gateway.states]);
    expect(text).not.toContain(secret);
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      expect(`${cause.stack} ${JSON.stringify(cause)}`).not.toContain(secret);
  });
});
