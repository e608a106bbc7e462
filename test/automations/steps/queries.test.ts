import { describe, expect, it } from "vitest";
import { failureOf, gatherSteps, oneStep, refusals } from "./gathering.js";

const asked: { name: string; args: Readonly<Record<string, unknown>> }[] = [];
const query = async (name: string, args: Readonly<Record<string, unknown>>) => {
  asked.push({ name, args });
  return [
    { id: 1, text: "a" },
    { id: 2, text: "b" },
  ];
};

describe("db_query", () => {
  it("asks a named query with arguments that templates fill in", async () => {
    const step = { db_query: { query: "messages", args: { chat: "{{ event.chat }}", limit: "{{ event.n }}" } } };
    const result = await oneStep(step, { query, event: { chat: "lobby'; DROP TABLE inbox; --", n: 5 } });
    expect(asked.at(-1)).toEqual({ name: "messages", args: { chat: "lobby'; DROP TABLE inbox; --", limit: 5 } });
    expect(result).toMatchObject({
      isEmpty: false,
      value: { count: 2, truncated: false, rows: [{ id: 1 }, { id: 2 }] },
    });
    expect(JSON.parse(result.text)).toHaveLength(2);
  });

  it("is empty without rows", async () => {
    expect(await oneStep({ db_query: { query: "runs" } }, { query: async () => [] })).toMatchObject({
      isEmpty: true,
      text: "[]",
    });
  });

  it("keeps within its bytes and says so, and is not empty for that", async () => {
    const many = async () => Array.from({ length: 50 }, (_, id) => ({ id, text: "x".repeat(100) }));
    const result = await oneStep({ db_query: { query: "runs", max_bytes: 500 } }, { query: many });
    expect(result).toMatchObject({ isEmpty: false, value: { count: 50, truncated: true } });
    expect(result.text.length).toBeLessThanOrEqual(500);
  });

  it("that fails is a failure, not emptiness", async () => {
    const { outcomes } = await gatherSteps([{ db_query: { query: "runs" } }], {
      query: async () => Promise.reject(new Error("the disk is gone")),
    });
    expect(outcomes).toEqual([{ error: "the disk is gone", timedOut: false }]);
    expect(
      await failureOf(
        { db_query: { query: "runs", args: { limit: "{{ event.n }}" } } },
        { query, event: { n: "many" } },
      ),
    ).toContain("limit");
  });

  it.each([
    [{ query: "message" }, 'did you mean "messages"?'],
    [{ query: "taks" }, 'did you mean "tasks"?'],
    [{ query: "runs", args: { hok: "x" } }, 'did you mean "hook"?'],
    [{ query: "SELECT * FROM inbox" }, "there is no query"],
  ])("refuses %j", (options, message) => {
    expect(refusals({ db_query: options }).join()).toContain(message);
  });
});

describe("journal", () => {
  it("asks for recent runs unless it says otherwise", async () => {
    await oneStep({ journal: {} }, { query });
    expect(asked.at(-1)).toEqual({ name: "runs", args: { limit: 10 } });
    await oneStep({ journal: { of: "messages", chat: "lobby", since: "1h", limit: 3 } }, { query });
    expect(asked.at(-1)).toEqual({ name: "messages", args: { chat: "lobby", since: "1h", limit: 3 } });
    await oneStep({ journal: { of: "dispatches", hook: "{{ event.hook }}" } }, { query, event: { hook: "greeter" } });
    expect(asked.at(-1)).toEqual({ name: "dispatches", args: { hook: "greeter", limit: 10 } });
  });

  it("refuses what does not belong together", () => {
    expect(refusals({ journal: { of: "messages", hook: "x" } }).join()).toContain("messages are of no hook");
    expect(refusals({ journal: { chat: "x" } }).join()).toContain("only messages are of a chat");
  });
});
