import { describe, expect, it } from "vitest";
import { never, outcomes, sending, setUp } from "./points.js";

const claim = () => ({ message: { text: "hi", tags: [] } });

describe("claiming hooks", () => {
  it("give the claim at once to whoever asks so, when no handler has to be waited for", async () => {
    const { hooks } = setUp();
    expect(hooks.claim("claim", claim())).toEqual({ handled: false });
    expect(hooks.modify("sending", sending())).toEqual({});
    hooks.registerClaiming("claim", () => ({ handled: true, reply: "mine" }), { id: "greeter" });
    hooks.registerModifying("sending", () => ({ text: "changed" }));
    expect(hooks.claim("claim", claim())).toEqual({ handled: true, reply: "mine", claimedBy: "greeter" });
    expect(hooks.modify("sending", sending())).toEqual({ text: "changed" });
    hooks.registerClaiming("claim", async () => null, { priority: 1 });
    hooks.registerModifying("sending", async () => null);
    const late = hooks.claim("claim", claim());
    expect(late).toBeInstanceOf(Promise);
    expect(await late).toEqual({ handled: true, reply: "mine", claimedBy: "greeter" });
    expect(await hooks.modify("sending", sending())).toEqual({ text: "changed" });
  });

  it("leave what a handler returned to the handler", async () => {
    const { hooks } = setUp();
    class Answer {
      handled = true;
      reply = "mine";
    }
    const answers = [{ handled: true, reply: "mine" }, new Answer()];
    let n = 0;
    hooks.registerClaiming("claim", () => answers[n++] as never, { id: "greeter" });
    const mine = { handled: true, reply: "mine", claimedBy: "greeter" };
    expect(await hooks.fireClaiming("claim", claim())).toEqual(mine);
    expect(await hooks.fireClaiming("claim", claim())).toEqual(mine);
    expect(answers).toEqual([{ handled: true, reply: "mine" }, new Answer()]);
  });

  it("stop at the first that says handled, and say who it was", async () => {
    const { hooks, records } = setUp();
    const asked: string[] = [];
    hooks.registerClaiming("claim", async () => {
      asked.push("first");
      return { handled: false };
    });
    hooks.registerClaiming(
      "claim",
      () => {
        asked.push("second");
        return { handled: true, reply: "mine", reason: "greeting" };
      },
      { id: "greeter" },
    );
    hooks.registerClaiming("claim", () => {
      asked.push("third");
      return { handled: true };
    });
    expect(await hooks.fireClaiming("claim", claim())).toEqual({
      handled: true,
      reply: "mine",
      reason: "greeting",
      claimedBy: "greeter",
    });
    expect(asked).toEqual(["first", "second"]);
    expect(records[0]).toMatchObject({ outcome: "claimed", result: { claimedBy: "greeter" } });
    expect(records[0]?.runs[1]).toMatchObject({ outcome: "claimed", reason: "greeting" });
  });

  it("give { handled: false } when nobody claims, and when nobody is there", async () => {
    const { hooks } = setUp();
    expect(await hooks.fireClaiming("claim", claim())).toEqual({ handled: false });
    hooks.registerClaiming("claim", () => null);
    hooks.registerClaiming("claim", async () => undefined);
    expect(await hooks.fireClaiming("claim", claim())).toEqual({ handled: false });
  });

  it.each([
    ["a handled that is no boolean", { handled: 1 }, "handled: expected true or false, got 1"],
    ["a handled in words", { handled: "maybe" }, 'handled: expected true or false, got "maybe"'],
    ["no handled", { reply: "hello" }, "handled: expected true or false, got nothing"],
    [
      "a misspelt field",
      { handled: true, replly: "hello" },
      'there is no field "replly"; the fields are handled, reply, reason',
    ],
    [
      "a field that has no effect",
      { handled: false, reply: "hello" },
      "reply has no effect with handled: false: return handled: true, or leave out reply",
    ],
    ["a list", [true], "expected { handled: true | false } or null, got a list"],
  ])("take %s for the handler's failure, and ask the next", async (_what, result, error) => {
    const { hooks, records } = setUp();
    hooks.registerClaiming("claim", () => result as never, { id: "slip" });
    hooks.registerClaiming("claim", () => ({ handled: true }), { id: "next" });
    expect(await hooks.fireClaiming("claim", claim())).toEqual({ handled: true, claimedBy: "next" });
    expect(records[0]?.runs[0]).toMatchObject({ outcome: "failed", error: `Result: ${error}` });
  });

  it("skip a handler that throws, hangs or answers nonsense: a failure is never a claim", async () => {
    const { hooks, clock, records } = setUp();
    hooks.registerClaiming(
      "claim",
      () => {
        throw new Error("x");
      },
      { id: "thrower" },
    );
    hooks.registerClaiming("claim", never, { id: "hung" });
    hooks.registerClaiming("claim", () => ({ handled: true, reply: 5 }) as never, { id: "nonsense" });
    hooks.registerClaiming("claim", () => "yes" as never, { id: "text" });
    hooks.registerClaiming("claim", () => ({ handled: true }), { id: "good" });
    const fired = hooks.fireClaiming("claim", claim());
    await clock.advance(5_010);
    expect(await fired).toEqual({ handled: true, claimedBy: "good" });
    expect(outcomes(records[0])).toEqual([
      ["thrower", "failed"],
      ["hung", "timed_out"],
      ["nonsense", "failed"],
      ["text", "failed"],
      ["good", "claimed"],
    ]);
  });

  it("reject at once when a fail-closed handler fails", async () => {
    const { hooks } = setUp();
    hooks.registerClaiming("claim", () => Promise.reject(new Error("x")), {
      id: "quiet-hours",
      failurePolicy: "fail-closed",
    });
    hooks.registerClaiming("claim", () => ({ handled: true }));
    await expect(hooks.fireClaiming("claim", claim())).rejects.toMatchObject({
      code: "HOOK_FAILED_CLOSED",
      id: "quiet-hours",
    });
  });

  it("stop at a fallback that claims", async () => {
    const { hooks } = setUp();
    hooks.registerClaiming("claim", () => Promise.reject(new Error("x")), {
      id: "a",
      failurePolicy: "fallback",
      fallback: { handled: true, reply: "later" },
    });
    hooks.registerClaiming("claim", () => ({ handled: true }), { id: "b" });
    expect(await hooks.fireClaiming("claim", claim())).toEqual({ handled: true, reply: "later", claimedBy: "a" });
  });
});
