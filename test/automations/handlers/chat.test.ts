/** The `chat` handler: what it says where, once, and how it keeps a message up to date. */
import { describe, expect, it } from "vitest";
import { chatHandler } from "../../../src/automations/handlers/chat/chat.js";
import { chatOptions } from "../../../src/automations/handlers/chat/options.js";
import { HookgateError } from "../../../src/lib/errors.js";
import { type FixtureOptions, handlerContext } from "../handler-context.js";

const run = (given: Record<string, unknown>, made: ReturnType<typeof handlerContext>) =>
  chatHandler.run(chatOptions.parse(given), made.context);
const say = async (given: Record<string, unknown>, fixture: FixtureOptions = {}) => {
  const made = handlerContext(fixture);
  return { result: await run(given, made), ...made };
};

describe("the chat handler", () => {
  it("says a text at every address, each once, with nobody pinged", async () => {
    const { result, said } = await say({ text: "**Deployed**", to: ["web:web:ops", "telegram:7:-100", "web:web:ops"] });
    expect(result).toMatchObject({ kind: "decided", decision: { kind: "pass" }, rendered: "**Deployed**" });
    expect(said.map(({ at, message }) => [at, message])).toEqual([
      ["web:web:ops", { text: "**Deployed**" }],
      ["telegram:7:-100", { text: "**Deployed**" }],
    ]);
  });

  it("shortens a text that would become hundreds of messages, and says so", async () => {
    const { said } = await say({ text: "x".repeat(240_000), to: "web:web:ops" });
    const text = String(said[0]?.message.text);
    expect(text.length).toBeLessThanOrEqual(20_000);
    expect(text).toMatch(/x\n\n… \(shortened: 240,000 characters\)$/);
  });

  it("answers in the conversation that the event is about", async () => {
    const event = { message: { platform: "web", botId: "web", chatId: "lobby", threadId: "4", text: "hi" } };
    const { said } = await say({ text: "seen" }, { event });
    expect(said).toMatchObject([{ at: "web:web:lobby:4" }]);
    const { result } = await say({ text: "seen" }, { event: { taskId: "t" } });
    expect(result).toMatchObject({
      kind: "failed",
      isRetryable: false,
      error: expect.stringContaining("no conversation"),
    });
  });

  it("sends cards and buttons as they are written", async () => {
    const card = { title: "Build", tone: "bad", fields: [{ name: "branch", value: "main" }] };
    const buttons = [[{ label: "Logs", url: "https://ci.example.org" }]];
    const { said, result } = await say({ card, buttons, to: "web:web:ops", silent: true });
    expect(said).toMatchObject([{ message: { text: "", card, buttons, silent: true } }]);
    expect(result.rendered).toBe("Build\nbranch: main");
  });

  it("says nothing twice when a run is done again, and still reaches those that it missed", async () => {
    const made = handlerContext();
    const { send } = made.context.reach;
    let isDown = true;
    const reach = {
      ...made.context.reach,
      send: (async (at, message, options) => {
        if (isDown && at.chatId === "b")
          throw new HookgateError({ code: "STORE_LOCKED", message: "busy", retryable: true });
        return send(at, message, options);
      }) satisfies typeof send,
    };
    const options = chatOptions.parse({ text: "hello", to: ["web:web:a", "web:web:b", "web:web:c"] });
    const first = await chatHandler.run(options, { ...made.context, reach });
    expect(first).toMatchObject({ kind: "failed", isRetryable: true, error: expect.stringContaining("web:web:b") });
    isDown = false;
    expect(await chatHandler.run(options, { ...made.context, reach })).toMatchObject({ kind: "decided" });
    expect(made.said.map(({ at }) => at)).toEqual(["web:web:a", "web:web:c", "web:web:b"]);
  });

  it("edits what it said last, run after run, and says it anew when that is gone", async () => {
    const unknownDeliveries = new Set<string>();
    const made = handlerContext({ unknownDeliveries });
    const later = (runId: string) => ({ ...made, context: { ...made.context, runId } });
    const status = (text: string) => ({ text, to: ["web:web:ops", "web:web:board"], update: true });
    await run(status("1 open"), later("r1"));
    await run(status("2 open"), later("r2"));
    expect(made.said.map(({ kind, at }) => [kind, at])).toEqual([
      ["send", "web:web:ops"],
      ["send", "web:web:board"],
      ["edit", "d_1"],
      ["edit", "d_2"],
    ]);
    unknownDeliveries.add("d_1");
    const result = await run(status("3 open"), later("r3"));
    expect(made.said.slice(4).map(({ kind, at }) => [kind, at])).toEqual([
      ["send", "web:web:ops"],
      ["edit", "d_2"],
    ]);
    expect(result).toMatchObject({ output: { said: [{ delivery: "d_5" }, { delivery: "d_2", edited: true }] } });
  });

  it("opens one thread a day, one a run, and stays in the chat where it cannot", async () => {
    const opened: string[] = [];
    const made = handlerContext({
      openThread: async (at, _opener, { once }) => {
        if (at.platform !== "web") return undefined;
        opened.push(once);
        return { ...at, threadId: String(opened.length) };
      },
    });
    const on = (runId: string, firedAt: number) => ({ ...made, context: { ...made.context, runId, firedAt } });
    const daily = { text: "x", to: ["web:web:ops", "telegram:7:9"], thread: "day", timezone: "UTC" };
    await run(daily, on("r1", Date.UTC(2026, 10, 21, 8)));
    await run(daily, on("r2", Date.UTC(2026, 10, 21, 20)));
    await run(daily, on("r3", Date.UTC(2026, 10, 22, 8)));
    const places = made.said.map(({ at }) => at);
    expect(places).toEqual([
      "web:web:ops:1",
      "telegram:7:9",
      "web:web:ops:1",
      "telegram:7:9",
      "web:web:ops:2",
      "telegram:7:9",
    ]);
    await run({ ...daily, thread: "run", timezone: undefined }, on("r4", Date.UTC(2026, 10, 22, 9)));
    await run({ ...daily, thread: "run", timezone: undefined }, on("r4", Date.UTC(2026, 10, 22, 9)));
    expect(opened).toHaveLength(3);
  });

  it.each([
    ["Pacific/Auckland", 11, [1, 1, 2]], // midnight there is 11:00 UTC in November
    ["America/New_York", 5, [1, 1, 2]],
    ["UTC", 24, [1, 1, 2]],
  ])("begins a day when it begins in %s", async (timezone, hour, threads) => {
    let opened = 0;
    const names: string[] = [];
    const made = handlerContext({
      openThread: async (at, opener) => {
        names.push(opener.text);
        return { ...at, threadId: String(++opened) };
      },
    });
    const midnight = Date.UTC(2026, 10, 21, hour);
    for (const [n, at] of [midnight - 3_600_000, midnight - 1, midnight].entries())
      await run(
        { text: "x", to: "web:web:ops", thread: "day", timezone },
        { ...made, context: { ...made.context, runId: `r${n}`, firedAt: at } },
      );
    expect(made.said.map(({ at }) => Number(at.split(":")[3]))).toEqual(threads);
    expect(new Set(names).size).toBe(2);
  });

  it("says nothing when its template printed nothing, and nothing in a dry run", async () => {
    const made = handlerContext();
    const options = chatOptions.parse({ text: "{{ event.words }}", to: "web:web:ops" });
    expect(await chatHandler.run({ ...options, text: " \n" }, made.context)).toMatchObject({ kind: "skipped" });
    expect(made.said).toEqual([]);
    const { said, result } = await say({ text: "would say", to: "web:web:ops" }, { dryRun: true });
    expect(said).toEqual([]);
    expect(result.rendered).toBe("would say");
  });
});

describe("options of the chat handler", () => {
  it.each([
    [{ to: "web:web:ops" }, "expected a text"],
    [{ text: "x", to: "#general" }, "platform:bot:chat"],
    [
      { text: "x", to: ["web:web:ops", "discrod:1:2"] },
      'there is no platform \\"discrod\\" (did you mean \\"discord\\"?)',
    ],
    [{ text: "x", to: "telgram:1:{{ event.chat }}" }, "there is no platform"],
    [{ text: "x", card: { titel: "y" } }, "titel"],
    [{ text: "x", thread: "week" }, "thread"],
    [{ text: "x", timezone: "Europe/Belin" }, "there is no time zone"],
  ])("refuses %j", (given, words) => {
    expect(chatOptions.safeParse(given).error?.message).toContain(words);
  });

  it("takes an address that a template will fill in", () => {
    for (const to of ["web:web:{{ event.room }}", "{{ event.platform }}:1:2"])
      expect(chatOptions.safeParse({ text: "x", to }).success).toBe(true);
  });
});
