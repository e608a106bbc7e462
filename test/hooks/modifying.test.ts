import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePoint, HookFailedError, HookRegistry } from "../../src/index.js";
import { silentLogger } from "../../src/lib/logger.js";
import { gate, never, outcomes, sending, setUp } from "./points.js";

describe("modifying hooks", () => {
  it("run in order, one after the other", async () => {
    const { hooks } = setUp();
    const events: string[] = [];
    const first = gate();
    hooks.registerModifying("sending", async () => {
      events.push("first starts");
      await first.promise;
      events.push("first ends");
      return null;
    });
    hooks.registerModifying("sending", () => {
      events.push("second");
      return null;
    });
    const fired = hooks.fireModifying("sending", sending());
    expect(events).toEqual(["first starts"]);
    first.open();
    await fired;
    expect(events).toEqual(["first starts", "first ends", "second"]);
  });

  it("let the first value per key win, and take false, 0 and the empty text for values", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => ({ text: "", count: 0, flag: false }), { id: "falsy" });
    hooks.registerModifying("sending", async () => ({ text: "late", count: 5, flag: true, cancel: true }), {
      id: "late",
    });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "", count: 0, flag: false, cancel: true });
    expect(records[0]).toMatchObject({
      outcome: "cancelled",
      provenance: { text: "falsy", count: "falsy", flag: "falsy", cancel: "late" },
    });
    expect(records[0]?.runs.map(({ diff }) => diff)).toEqual([{ text: "", count: 0, flag: false }, { cancel: true }]);
  });

  it("that give back what is there already have passed, and are not named as what changed it", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", ({ message }) => ({ message: { ...message } }), { id: "same", sees: "merged" });
    expect(await hooks.fireModifying("sending", sending())).toEqual(sending());
    expect(records[0]).toMatchObject({ outcome: "passed", runs: [{ outcome: "passed" }] });
    expect(records[0]?.provenance).toBeUndefined();
    expect(records[0]?.runs[0]?.diff).toBeUndefined();
    hooks.registerModifying("sending", ({ message }) => ({ message, text: "x" }), { id: "other", sees: "merged" });
    await hooks.fireModifying("sending", sending());
    expect(records[1]).toMatchObject({ outcome: "modified", provenance: { text: "other" } });
    expect(records[1]?.runs.map(({ outcome, diff }) => [outcome, diff])).toEqual([
      ["passed", undefined],
      ["modified", { text: "x" }],
    ]);
  });

  it("take null and undefined for no opinion, as the whole answer and per key", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => null);
    hooks.registerModifying("sending", () => undefined);
    hooks.registerModifying("sending", async () => {});
    hooks.registerModifying("sending", () => ({ text: null, count: undefined }) as never);
    expect(await hooks.fireModifying("sending", sending())).toEqual({});
    hooks.registerModifying("sending", () => ({ text: "x" }));
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "x" });
    expect(records.map(({ outcome }) => outcome)).toEqual(["passed", "modified"]);
  });

  it.each(["fail-closed", "fallback"] as const)(
    "that are %s have failed with a null in place of a value",
    async (policy) => {
      const { hooks, records } = setUp();
      const fallback = policy === "fallback" ? { fallback: { cancel: true } } : {};
      hooks.registerModifying("sending", () => ({ text: null }) as never, { failurePolicy: policy, ...fallback });
      const fired = hooks.fireModifying("sending", sending());
      if (policy === "fallback") expect(await fired).toEqual({ cancel: true });
      else await expect(fired).rejects.toBeInstanceOf(HookFailedError);
      expect(records[0]?.runs[0]).toMatchObject({
        outcome: "failed",
        error: "Result: text: null has no effect: return a value, or leave out text; cancel stops the operation",
      });
    },
  );

  it("may give null where the point takes it", async () => {
    const pricing = definePoint({
      name: "pricing",
      model: "modifying",
      payload: z.object({}),
      result: z.object({ price: z.number().nullable().optional() }),
      summary: "For tests.",
      example: {},
    });
    const hooks = new HookRegistry({ points: [pricing] });
    hooks.registerModifying("pricing", () => ({ price: null }), { failurePolicy: "fail-closed" });
    expect(await hooks.fireModifying("pricing", {})).toEqual({});
  });

  it("show every handler the original, unless it asks for the merged payload", async () => {
    const { hooks } = setUp();
    const saw: string[] = [];
    hooks.registerModifying("sending", ({ message }) => ({ message: { ...message, text: "one" } }));
    hooks.registerModifying("sending", ({ message }) => {
      saw.push(message.text);
      return null;
    });
    hooks.registerModifying(
      "sending",
      ({ message }) => {
        saw.push(message.text);
        return null;
      },
      { sees: "merged" },
    );
    await hooks.fireModifying("sending", sending());
    expect(saw).toEqual(["hi", "one"]);
  });

  it("let who has seen a value replace it: a footer and a redactor compose", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying(
      "sending",
      ({ message }) => ({ message: { ...message, text: `${message.text} 4111 -- footer` } }),
      { id: "footer" },
    );
    hooks.registerModifying(
      "sending",
      ({ message }) => ({ message: { ...message, text: message.text.replace(/\d+/, "***") } }),
      { id: "redactor", sees: "merged" },
    );
    hooks.registerModifying(
      "sending",
      ({ message }) => ({ message: { ...message, text: "I saw the original only" } }),
      { id: "blind" },
    );
    expect(await hooks.fireModifying("sending", sending())).toEqual({
      message: { text: "hi *** -- footer", tags: ["a"] },
    });
    expect(records[0]?.provenance).toEqual({ message: "redactor" });
  });

  it("report a value that lost to an earlier one as overruled, by whom and in which field", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => ({ text: "HEAD" }), { id: "header" });
    hooks.registerModifying("sending", () => ({ text: "redacted" }), { id: "redactor" });
    hooks.registerModifying("sending", () => ({ text: "short", count: 3 }), { id: "cutter" });
    hooks.registerModifying("sending", () => ({ text: "HEAD" }), { id: "echo" });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "HEAD", count: 3 });
    const lost = (id: string) => `"header" set text before it, and "${id}" sees the original only`;
    expect(records[0]?.runs.map(({ outcome, reason, diff }) => ({ outcome, reason, diff }))).toEqual([
      { outcome: "modified", diff: { text: "HEAD" } },
      { outcome: "overruled", reason: lost("redactor") },
      { outcome: "overruled", reason: lost("cutter"), diff: { count: 3 } },
      { outcome: "passed" },
    ]);
  });

  it("fail closed when a fail-closed handler is overruled", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => ({ text: "the value is S3CRET" }), { id: "header" });
    hooks.registerModifying("sending", () => ({ text: "***" }), { id: "redactor", failurePolicy: "fail-closed" });
    await expect(hooks.fireModifying("sending", sending())).rejects.toMatchObject({
      code: "HOOK_FAILED_CLOSED",
      id: "redactor",
    });
    expect(records[0]?.runs[1]).toMatchObject({
      outcome: "failed",
      error: '"header" set text before it, and "redactor" sees the original only',
    });
  });

  it("change only what a patch names, and keep the rest of the value", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => ({ message: { text: "one" } }), { id: "text" });
    hooks.registerModifying("sending", ({ message }) => ({ message: { tags: [...message.tags, "b"] } }), {
      id: "tags",
      sees: "merged",
    });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ message: { text: "one", tags: ["a", "b"] } });
    expect(records[0]?.runs.map(({ diff }) => diff)).toEqual([
      { message: { text: "one" } },
      { message: { tags: ["a", "b"] } },
    ]);
  });

  it("take the default of sees from the point", async () => {
    const point = definePoint({
      name: "posting",
      model: "modifying",
      sees: "merged",
      payload: z.object({ text: z.string() }),
      result: z.object({ text: z.string().optional() }),
      summary: "For tests.",
      example: { text: "hi" },
    });
    const hooks = new HookRegistry({ points: [point] });
    hooks.registerModifying("posting", ({ text }) => ({ text: `${text} S3CRET` }));
    hooks.registerModifying("posting", ({ text }) => ({ text: text.replace("S3CRET", "***") }), { id: "redactor" });
    expect(await hooks.fireModifying("posting", { text: "hi" })).toEqual({ text: "hi ***" });
    expect(hooks.get("redactor")?.sees).toBe("merged");
    hooks.registerModifying("posting", () => ({ text: "lost" }), { id: "blind", sees: "original" });
    expect(await hooks.fireModifying("posting", { text: "hi" })).toEqual({ text: "hi ***" });
    expect(hooks.validate()).toMatchObject([
      { code: "MAY_BE_OVERRULED", ids: ["blind", "posting-1", "redactor"], isWarning: true },
    ]);
  });

  it("take the fields of a loose result as they come", async () => {
    const loose = definePoint({
      name: "posting",
      model: "modifying",
      payload: z.object({ text: z.string() }),
      result: z.looseObject({ text: z.string().optional() }),
      summary: "For tests.",
      example: { text: "hi" },
    });
    const hooks = new HookRegistry({ points: [loose] });
    hooks.registerModifying("posting", () => ({ text: "a", colour: "red" }));
    expect(await hooks.fireModifying("posting", { text: "hi" })).toEqual({ text: "a", colour: "red" });
  });

  it.each([
    ["a field that the result does not have", { nope: 1 }],
    ["a field of the wrong type", { text: 5 }],
    ["a nested field of the wrong type", { message: { text: 5, tags: [] } }],
    ["a nested field that the value does not have", { message: { txt: "x" } }],
    ["no object", "text"],
    ["a list", ["text"]],
  ])("take %s for the handler's failure and drop all that it returned", async (_what, result) => {
    const { hooks, records, log } = setUp();
    hooks.registerModifying(
      "sending",
      () => (typeof result === "object" && !Array.isArray(result) ? { count: 1, ...result } : result) as never,
      { id: "bad" },
    );
    hooks.registerModifying("sending", () => ({ flag: true }), { id: "good" });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ flag: true });
    expect(outcomes(records[0])).toEqual([
      ["bad", "failed"],
      ["good", "modified"],
    ]);
    expect(log[0]).toMatchObject({ level: "error", facts: { hook: "sending", id: "bad" } });
  });

  it("never merge a failure: thrown, rejected or late", async () => {
    const { hooks, clock, records } = setUp();
    hooks.registerModifying("sending", () => {
      throw new Error("x");
    });
    hooks.registerModifying("sending", () => Promise.reject(new Error("y")));
    hooks.registerModifying("sending", never);
    hooks.registerModifying("sending", () => ({ text: "z" }));
    const fired = hooks.fireModifying("sending", sending());
    await clock.advance(5_010);
    expect(await fired).toEqual({ text: "z" });
    expect(records[0]?.runs.map(({ outcome }) => outcome)).toEqual(["failed", "failed", "timed_out", "modified"]);
  });

  it("reject at once when a fail-closed handler fails: nobody after it runs", async () => {
    const { hooks, records } = setUp();
    let ranAfter = false;
    const cause = new Error("cannot redact");
    hooks.registerModifying("sending", async () => Promise.reject(cause), {
      id: "redactor",
      failurePolicy: "fail-closed",
    });
    hooks.registerModifying("sending", () => {
      ranAfter = true;
      return null;
    });
    const error = await hooks.fireModifying("sending", sending()).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(HookFailedError);
    expect(error).toMatchObject({ hook: "sending", id: "redactor", cause });
    expect(ranAfter).toBe(false);
    expect(records[0]?.outcome).toBe("failed");
  });

  it("reject when a fail-closed handler returns a wrong result or is late", async () => {
    const { hooks, clock } = setUp();
    const remove = hooks.registerModifying("sending", () => ({ text: 5 }) as never, { failurePolicy: "fail-closed" });
    await expect(hooks.fireModifying("sending", sending())).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
    remove();
    hooks.registerModifying("sending", never, { failurePolicy: "fail-closed", timeoutMs: 100 });
    const fired = hooks.fireModifying("sending", sending());
    const rejected = expect(fired).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
    await clock.advance(120);
    await rejected;
  });

  it("let the fallback stand in for a handler that fails", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => Promise.reject(new Error("x")), {
      failurePolicy: "fallback",
      fallback: { text: "instead" },
    });
    expect(await hooks.fireModifying("sending", sending())).toEqual({ text: "instead" });
    expect(records[0]?.runs[0]?.outcome).toBe("failed");
  });

  it("take a fallback that removes a part of the message", async () => {
    const hooks = new HookRegistry({ logger: silentLogger });
    const example = hooks.point("message_sending").example as object;
    const sent = { ...example, message: { text: "hello", card: { title: "x" } } };
    hooks.registerModifying("message_sending", () => Promise.reject(new Error("x")), {
      failurePolicy: "fallback",
      fallback: { message: { card: null } } as never,
    });
    expect(await hooks.fireModifying("message_sending", sent as never)).toEqual({ message: { text: "hello" } });
  });

  it("refuse a fallback that is no result", () => {
    const { hooks } = setUp();
    expect(() =>
      hooks.registerModifying("sending", () => null, { failurePolicy: "fallback", fallback: { nope: 1 } as never }),
    ).toThrow(/fallback: .*nope/);
    expect(() =>
      hooks.registerModifying("sending", () => null, { failurePolicy: "fallback", fallback: { text: null } as never }),
    ).toThrow(/fallback: Result: text: null has no effect/);
    expect(() => hooks.registerModifying("sending", () => null, { failurePolicy: "fallback" })).toThrow(/fallback/);
  });

  it("give the caller a result that no handler can change afterwards", async () => {
    const { hooks } = setUp();
    const mine = { text: "one", tags: ["x"] };
    hooks.registerModifying("sending", () => ({ message: mine }));
    const result = await hooks.fireModifying("sending", sending());
    mine.tags.push("smuggled");
    expect(result).toEqual({ message: { text: "one", tags: ["x"] } });
    result.message?.tags.push("the caller may");
  });

  it("merge like a loop over the handlers would, whatever they answer", async () => {
    const patch = fc.record(
      {
        text: fc.option(fc.string(), { nil: null }),
        count: fc.option(fc.integer(), { nil: undefined }),
        flag: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const handler = fc.record({ patch: fc.option(patch, { nil: null }), merged: fc.boolean(), isAsync: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(handler, { maxLength: 8 }), async (handlers) => {
        const { hooks } = setUp();
        const expected: Record<string, unknown> = {};
        for (const { patch, merged, isAsync } of handlers) {
          hooks.registerModifying(
            "sending",
            () => (isAsync ? Promise.resolve(patch) : patch) as never,
            merged ? { sees: "merged" } : {},
          );
          for (const [key, value] of Object.entries(patch ?? {}))
            if (value !== null && value !== undefined && (merged || !(key in expected))) expected[key] = value;
        }
        expect(await hooks.fireModifying("sending", sending())).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });
});
