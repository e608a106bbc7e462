import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isError } from "../../src/hooks/registration/validate.js";
import { seen, setUp } from "./points.js";

async function orderOf(register: (hooks: ReturnType<typeof setUp>["hooks"], run: (id: string) => () => null) => void) {
  const { hooks } = setUp();
  const ran: string[] = [];
  register(hooks, (id) => () => {
    ran.push(id);
    return null;
  });
  await hooks.fireModifying("sending", { message: { text: "", tags: [] } });
  expect(hooks.order("sending").map(({ id }) => id)).toEqual(ran);
  return ran;
}

describe("order", () => {
  it("is priority ascending, 100 by default, then registration", async () => {
    const ran = await orderOf((hooks, run) => {
      hooks.registerModifying("sending", run("default"), { id: "default" });
      hooks.registerModifying("sending", run("late"), { id: "late", priority: 200 });
      hooks.registerModifying("sending", run("first"), { id: "first", priority: -5 });
      hooks.registerModifying("sending", run("second default"), { id: "second default", priority: 100 });
      hooks.registerModifying("sending", run("zero"), { id: "zero", priority: 0 });
    });
    expect(ran).toEqual(["first", "zero", "default", "second default", "late"]);
  });

  it("puts after and before above priority", async () => {
    const ran = await orderOf((hooks, run) => {
      hooks.registerModifying("sending", run("a"), { id: "a", priority: 1, after: ["c"] });
      hooks.registerModifying("sending", run("b"), { id: "b", priority: 50 });
      hooks.registerModifying("sending", run("c"), { id: "c", priority: 300 });
      hooks.registerModifying("sending", run("d"), { id: "d", priority: 400, before: ["b"] });
    });
    expect(ran).toEqual(["c", "a", "d", "b"]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5, "10", null])("refuses the priority %s", (priority) => {
    const { hooks } = setUp();
    expect(() => hooks.registerVoid("seen", () => {}, { id: "x", priority: priority as never })).toThrow(
      expect.objectContaining({ code: "HOOK_REGISTRATION_INVALID", message: expect.stringContaining("priority") }),
    );
    expect(hooks.size).toBe(0);
  });

  it("respects every dependency and is otherwise by priority, for any acyclic set", async () => {
    const entries = fc
      .array(
        fc.record({
          priority: fc.integer({ min: -3, max: 3 }),
          needs: fc.array(fc.nat(20), { maxLength: 3 }),
          forward: fc.boolean(),
        }),
        { maxLength: 10 },
      )
      .map((list) =>
        list.map(({ needs, ...one }, i) => ({ ...one, needs: [...new Set(needs.filter((need) => need < i))] })),
      );
    await fc.assert(
      fc.asyncProperty(entries, async (list) => {
        const ran = await orderOf((hooks, run) => {
          list.forEach(({ priority, needs, forward }, i) => {
            const id = `h${i}`;
            // The same dependency said from one end or from the other.
            const after = forward ? needs.map((need) => `h${need}`) : [];
            const before = list.flatMap((other, j) => (!other.forward && other.needs.includes(i) ? [`h${j}`] : []));
            hooks.registerModifying("sending", run(id), { id, priority, after, before });
          });
          expect(hooks.validate().filter(isError)).toEqual([]);
        });
        const place = new Map(ran.map((id, at) => [id, at]));
        expect(ran).toHaveLength(list.length);
        list.forEach(({ needs }, i) => {
          for (const need of needs) expect(place.get(`h${need}`)).toBeLessThan(place.get(`h${i}`) as number);
        });
        if (list.every(({ needs }) => needs.length === 0))
          expect(ran).toEqual(
            list
              .map((one, i) => ({ ...one, i }))
              .sort((a, b) => a.priority - b.priority || a.i - b.i)
              .map(({ i }) => `h${i}`),
          );
      }),
      { numRuns: 200 },
    );
  });
});

describe("validate", () => {
  it("is empty when all is well", () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => {}, { id: "a" });
    hooks.registerVoid("seen", () => {}, { id: "b", after: ["a"] });
    expect(hooks.validate()).toEqual([]);
  });

  it("names a dependency that is missing, or at another point or phase", () => {
    const { hooks } = setUp();
    hooks.registerVoid("seen", () => {}, { id: "a", after: ["nobody"] });
    hooks.register({ hook: "task:create", phase: "before", id: "b", handler: () => {} });
    hooks.register({ hook: "task:create", phase: "after", id: "c", after: ["b"], handler: () => {} });
    hooks.registerTurn("turn.pre_policy", () => [], { id: "d", before: ["e"] });
    hooks.registerTurn("turn.post_turn", () => [], { id: "e" });
    expect(hooks.validate().map(({ code, ids }) => [code, ...ids])).toEqual([
      ["DEPENDENCY_MISSING", "a", "nobody"],
      ["DEPENDENCY_ELSEWHERE", "c", "b"],
      ["DEPENDENCY_ELSEWHERE", "d", "e"],
    ]);
  });

  it("names a cycle once, with its members, and runs them all nevertheless", async () => {
    const { hooks } = setUp();
    const ran: string[] = [];
    for (const [id, after] of [
      ["a", "c"],
      ["b", "a"],
      ["c", "b"],
      ["d", "a"],
    ] as const)
      hooks.registerVoid("seen", () => void ran.push(id), { id, after: [after] });
    expect(hooks.validate()).toMatchObject([{ code: "DEPENDENCY_CYCLE" }]);
    expect([...(hooks.validate()[0]?.ids ?? [])].sort()).toEqual(["a", "b", "c"]);
    await hooks.fireVoid("seen", seen());
    expect(ran.sort()).toEqual(["a", "b", "c", "d"]);
  });

  it("refuses blocking where nothing can be vetoed, and background capabilities beyond its own", () => {
    const { hooks } = setUp();
    // @ts-expect-error the compiler refuses it, too
    hooks.registerVoid("seen", () => {}, { id: "void", execution: "blocking" });
    // @ts-expect-error the same
    hooks.register({ hook: "task:create", phase: "after", id: "after", execution: "blocking", handler: () => {} });
    hooks.register({ hook: "task:create", phase: "before", id: "before", execution: "blocking", handler: () => {} });
    hooks.registerModifying("sending", () => null, { id: "cancels", execution: "blocking" });
    hooks.registerTurn("turn.pre_policy", () => [], { id: "turn", execution: "blocking" });
    hooks.registerTurn("turn.post_turn", () => [], {
      id: "bg",
      execution: "background",
      capabilities: ["audit", "policy"],
    });
    expect(hooks.validate().map(({ code, ids }) => [code, ...ids])).toEqual([
      ["NOT_VETOABLE", "void"],
      ["NOT_VETOABLE", "after"],
      ["BACKGROUND_CAPABILITY", "bg"],
    ]);
  });
});
