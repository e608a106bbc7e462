import { describe, expect, it } from "vitest";
import type { DispatchRecord } from "../../src/domain/journal.js";
import type { Matcher } from "../../src/index.js";
import { HookRegistry } from "../../src/index.js";
import { outcomes, seen, sending, setUp } from "./points.js";

async function runs(match: Matcher, payload: object, point: "sending" | "claim" | "seen" = "sending") {
  const { hooks } = setUp();
  let ran = false;
  hooks.register({
    hook: point,
    match,
    handler: () => {
      ran = true;
      return null;
    },
  } as never);
  await hooks.dispatch(point, { message: { text: "hi", tags: ["a"] }, n: 1, ...payload });
  return ran;
}

describe("matchers", () => {
  it("match everything when empty", async () => {
    expect(await runs({}, {})).toBe(true);
  });

  it.each<[Matcher, object, boolean]>([
    [{ tools: ["shell"] }, { toolName: "shell" }, true],
    [{ tools: ["shell"] }, { toolName: "shell_exec" }, false],
    [{ tools: ["shell.*"] }, { toolName: "shell_exec" }, true],
    [{ tools: ["^sh"] }, { toolName: "shell_exec" }, true],
    [{ tools: ["exec$"] }, { toolName: "shell_exec" }, true],
    [{ tools: ["read", "write|edit"] }, { toolName: "edit" }, true],
    [{ tools: ["read|write"] }, { toolName: "write_all" }, false],
    [{ tools: ["shell"] }, {}, false],
    [{ severities: ["HIGH", "critical"] }, { severity: "high" }, true],
    [{ severities: ["high"] }, { severity: "low" }, false],
    [{ severities: ["high"] }, {}, false],
    [{ watches: ["docs"] }, { watchId: "docs" }, true],
    [{ watches: ["docs"] }, { watchId: "src" }, false],
    [{ watches: ["docs"] }, {}, false],
    [{ tools: ["shell"], severities: ["high"] }, { toolName: "shell", severity: "high" }, true],
    [{ tools: ["shell"], severities: ["high"] }, { toolName: "shell", severity: "low" }, false],
  ])("%o of %o: %s", async (match, payload, expected) => {
    expect(await runs(match, payload)).toBe(expected);
  });

  it.each<[Matcher, object, boolean]>([
    [{ platforms: ["web"] }, { platform: "web" }, true],
    [{ platforms: ["web"] }, { platform: "telegram" }, false],
    [{ chats: ["1", "2"] }, { chatId: "2", platform: "web" }, true],
    [{ chats: ["web:2"] }, { chatId: "2", platform: "web" }, true],
    [{ chats: ["web:2"] }, { chatId: "2", platform: "telegram" }, false],
    [{ chats: ["2"] }, {}, false],
  ])("%o of %o: %s", async (match, payload, expected) => {
    expect(await runs(match, payload, "claim")).toBe(expected);
  });

  it("find people and places in the message of the gateway's points", () => {
    const hooks = new HookRegistry();
    const { example } = hooks.point("message_received");
    hooks.registerVoid("message_received", () => {}, {
      id: "x",
      match: { users: ["1"], chats: ["lobby"], platforms: ["web"] },
    });
    hooks.registerVoid("message_received", () => {}, { id: "y", match: { users: ["telegram:1"] } });
    hooks.registerVoid("command_invoked", () => {}, { id: "z", match: { users: ["web:1"] } });
    hooks.registerVoid("reaction_added", () => {}, { id: "w", match: { chats: ["web:lobby"] } });
    expect(hooks.explain("x", example).runs).toBe(true);
    expect(hooks.explain("y", example).runs).toBe(false);
    expect(hooks.explain("z", hooks.point("command_invoked").example).runs).toBe(true);
    expect(hooks.explain("w", hooks.point("reaction_added").example).runs).toBe(true);
  });

  it.each<[string, object, boolean]>([
    ['payload.message.text.contains("dep")', { message: { text: "deploy", tags: [] } }, true],
    ['payload.message.text.contains("dep")', {}, false],
    ['"a" in payload.message.tags && payload.message.tags.size() == 1', {}, true],
    ['payload.severity == "high"', {}, false],
    ['has(payload.severity) && payload.severity == "high"', { severity: "high" }, true],
    ['payload.message.text.matches("^h.$")', {}, true],
    ['payload.message.tags.exists(t, t.matches("^[ab]$"))', {}, true],
    ['payload.message.text == "matches(" || payload.message.text .matches("x")', {}, false],
  ])("when %s of %o: %s", async (when, payload, expected) => {
    expect(await runs({ when }, payload)).toBe(expected);
  });

  it("compare numbers as people write them", async () => {
    expect(await runs({ when: "payload.n == 3" }, { n: 3 }, "seen")).toBe(true);
    expect(await runs({ when: "payload.n > 2.5 && payload.n < 4" }, { n: 3 }, "seen")).toBe(true);
    for (const when of ["payload.n + 1 == 4", "1.5 - payload.n < 0", "payload.n % 2 == 1", "2 * payload.n / 3 == 2"])
      expect(await runs({ when }, { n: 3 }, "seen")).toBe(true);
  });

  it.each([
    "payload.n in [5, payload.message.text, 3]",
    "[payload.n, 5].exists(x, x < 4)",
    'payload.n in [2.5, 3, "a", null]',
    '{"a": payload.n, "b": "c"}["a"] == 3',
    'payload.message.text in {payload.message.text: payload.n, "b": 1}',
  ])("take values of several types in a list or a map: %s", async (when) => {
    expect(await runs({ when }, { n: 3 }, "seen")).toBe(true);
  });

  it("are not hung by a pattern that backtracks", async () => {
    const text = `${"a".repeat(5_000)}!`;
    const from = performance.now();
    expect(await runs({ when: 'payload.message.text.matches("^(a+)+$")' }, { message: { text, tags: [] } })).toBe(
      false,
    );
    expect(performance.now() - from).toBeLessThan(2_000);
  });

  it("are not hung by a long text in place of a duration", async () => {
    const when = 'duration(payload.message.text) > duration("1h")';
    const from = performance.now();
    expect(await runs({ when }, { message: { text: "9".repeat(32_000), tags: [] } })).toBe(false);
    expect(performance.now() - from).toBeLessThan(2_000);
    expect(await runs({ when }, { message: { text: "90m", tags: [] } })).toBe(true);
  });

  const letters = 'payload.message.text.split("")';
  const words = 'payload.message.text.split(" ")';
  const thousand = `[${Array.from({ length: 1_000 }, (_, n) => `"bad${n}"`)}]`;
  const long = { message: { text: "words ".repeat(5_000), tags: Array.from({ length: 9_900 }, (_, n) => `tag${n}`) } };
  it.each([
    '["a", "b"].exists(w, payload.message.text.contains(w))',
    '["a", "b"].exists(w, payload.message.tags.exists(t, t == w))',
    'payload.message.tags.filter(t, t.endsWith("99")).exists(t, payload.message.text.contains("#" + t))',
    `${words}.exists(w, payload.message.text.size() > 3)`,
    `${words}.exists(w, w.lowerAscii() == "urgent" || w in ["now", "today"])`,
    `${letters}.all(a, a != "q" && !a.matches("[0-9]"))`,
    'payload.message.tags.filter(t, t != "").map(t, t.lowerAscii()).exists(t, t.contains("z"))',
    'cel.bind(t, payload.message.text.lowerAscii(), t.contains("a") || t.contains("b"))',
    "payload.message.text.contains(payload.message.tags[0])",
    `payload.message.text.matches("(?i)\\\\b(${Array.from({ length: 99 }, (_, n) => `secret${n}`).join("|")})\\\\b")`,
    "has(payload.severity) && payload.message.tags.all(t, has(payload.message) && t.startsWith(payload.message.text))",
    'payload.message.tags.exists(a, (a + "z") in payload.message.tags)',
    `${thousand}.exists(w, payload.message.text.lowerAscii().contains(w))`,
    `${words}.exists(w, w in ${thousand} || w in {"bad": 1})`,
    // One empty word for each letter, as a text of spaces has.
    `payload.message.text.matches("([a-z]+ ){200,}") && ${letters}.exists(a, a + a in ${thousand})`,
  ])("have an answer for a long message: %s", async (when) => {
    const { hooks } = setUp();
    hooks.registerModifying("sending", () => null, { failurePolicy: "fail-closed", match: { when } });
    await expect(hooks.fireModifying("sending", long)).resolves.toBeDefined();
  });

  const bound = (name: string, value: string, then: string) => `cel.bind(${name}, ${value}, ${then})`;
  const doubled = (name: string, rest: string) =>
    Array.from({ length: 40 }).reduceRight<string>(
      (then, _, n) => bound(`${name}${n + 1}`, `[${name}${n}, ${name}${n}]`, then),
      rest,
    );
  it.each([
    `${letters}.all(a, ${letters}.all(b, a + b != "QQ"))`,
    `${letters}.all(a, ${letters}.all(b, ${letters}.all(c, true)))`,
    `${letters}.all(a, ${letters}.all(b, a != "Q")) || true`,
    `payload.message.tags.exists(a, payload.message.tags.exists(b, a + "z" == b))`,
    "payload.message.tags.exists(a, payload.message.tags != payload.message.tags.filter(b, true))",
    `${letters}.exists(a, payload.message.text.contains(a + "z"))`,
    `${letters}.all(a, !payload.message.text.matches("a+b"))`,
    `${letters}.all(a, size(payload.message.text) > 3)`,
    `${letters}.exists(a, timestamp(0).getHours("Europe/Berlin") > 3)`,
    `${letters}.map(a, a + payload.message.text).join().size() > 3`,
    `${letters}.join(payload.message.text).size() > 3`,
    `[payload.message.text]${".map(t, t + t)".repeat(20)}.exists(t, t.contains("z"))`,
    bound("a0", "[1]", bound("b0", "[1]", doubled("a", doubled("b", "a40 == b40")))),
    "payload.message.text.matches(payload.message.text)",
    `payload.message.tags.exists(t, t.matches(t + "${"(.{1000})".repeat(100)}"))`,
    'payload.message.text.matches("(.?){900}[^a]")',
  ])("have no answer when it takes too much work: %s", async (when) => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => null, { id: "guard", failurePolicy: "fail-closed", match: { when } });
    await expect(hooks.fireModifying("sending", long)).rejects.toMatchObject({ code: "HOOK_FAILED_CLOSED" });
    expect(JSON.stringify(records[0]?.runs)).toMatch(/match\.when .*it takes too much work for this payload/);
  });

  it("fail an open hook, too, when it takes too much work: no sender makes it look as if it had nothing against the message", async () => {
    const { hooks, records } = setUp();
    const match = { when: `${letters}.all(a, ${letters}.all(b, true))` };
    hooks.registerModifying("sending", () => ({ cancel: true }), { id: "guard", match });
    await expect(hooks.fireModifying("sending", long)).resolves.not.toHaveProperty("cancel");
    expect(records[0]?.runs).toMatchObject([
      { outcome: "failed", unanswered: true, error: expect.stringContaining("work") },
    ]);
  });

  it.each<[Matcher, RegExp]>([
    [{ tools: ["(a"] }, /match\.tools: "\(a" is no RE2 pattern/],
    [{ tools: ["(?=a)b"] }, /match\.tools/],
    [{ tools: [] }, /match\.tools: an empty list matches nothing/],
    [{ users: [] }, /match\.users: an empty list/],
    [{ when: "payload.mesage.text == 'x'" }, /match\.when: No such key: mesage/],
    [{ when: "payload.message.txt == 'x'" }, /match\.when: No such key: txt/],
    [{ when: "paylod.message.text == 'x'" }, /match\.when: Unknown variable: paylod/],
    [{ when: "payload.message.text ==" }, /match\.when: [^(]*$/],
    [{ when: 'payload.message.text contains "a = b"' }, /\(Write text\.contains\("…"\), with a dot and parentheses\)$/],
    [{ when: 'payload.message.text matches "x"' }, /\(Write text\.matches\("…"\), with a dot and parentheses\)$/],
    [{ when: 'payload.message.text in "ping pong"' }, /\(Write field in \["…", "…"\] for one of several values/],
    [{ when: 'payload.message.text in ("ping")' }, /\(Write field in \["…", "…"\] for one of several values/],
    [{ when: 'payload.message.text.toLowerCase() == "x"' }, /\(Write text\.lowerAscii\(\)\)$/],
    [{ when: 'payload.message.text.lower() == "x"' }, /\(Write text\.lowerAscii\(\)\)$/],
    [{ when: 'payload.message.text.includes("x")' }, /\(Write text\.contains\("…"\)\)$/],
    [{ when: "payload.message.text.length > 3" }, /\(Write text\.size\(\)\)$/],
    [{ when: 'payload.message.text === "x"' }, /\(Compare with == or !=\)$/],
    [{ when: 'payload.message.text = "x"' }, /\(Compare with ==\)$/],
    [{ when: 'payload.n == 3 and payload.message.text == "x"' }, /\(Write && for and, \|\| for or, ! for not\)$/],
    [{ when: "payload.message.text" }, /match\.when: it gives a string, not yes or no/],
    [{ when: 'payload.message.text.matches("(a")' }, /match\.when/],
    [
      { when: 'payload.message.text.matches("\\bsecret\\b")' },
      /\\b in "…" is a backspace .*: write matches\(r"…"\), or \\\\b/,
    ],
  ])("are refused when registered: %o", (match, message) => {
    const { hooks } = setUp();
    expect(() => hooks.registerModifying("sending", () => null, { match })).toThrow(
      expect.objectContaining({ code: "HOOK_MATCHER_INVALID", message: expect.stringMatching(message) }),
    );
    expect(hooks.size).toBe(0);
  });

  it("keep strangers' messages from hooks that ask for allowed people only", async () => {
    const { hooks, records } = setUp();
    hooks.registerVoid("seen", () => {}, { id: "allowed", match: { access: "allowed" } });
    hooks.registerVoid("seen", () => {}, { id: "any", match: { access: "any" } });
    hooks.registerVoid("seen", () => {}, { id: "code" });
    await hooks.fireVoid("seen", { ...seen(), access: "denied" });
    await hooks.fireVoid("seen", seen(), undefined, { access: "denied" });
    await hooks.fireVoid("seen", { ...seen(), access: "allowed" });
    const ran = (outcome: string) => [
      ["allowed", outcome],
      ["any", "passed"],
      ["code", "passed"],
    ];
    expect(records.map(outcomes)).toEqual([ran("skipped"), ran("skipped"), ran("passed")]);
  });

  it("say in the journal why a hook was skipped", async () => {
    const { hooks, records } = setUp();
    hooks.registerModifying("sending", () => null, { id: "x", match: { severities: ["high"] } });
    await hooks.fireModifying("sending", { ...sending(), severity: "low" });
    expect(records[0]).toMatchObject({
      outcome: "skipped",
      runs: [{ hookId: "x", outcome: "skipped", reason: 'severities: severity "low" is none of high' }],
    });
  });

  it("see what the handler sees: what earlier hooks changed, or with sees: original the payload as it was", async () => {
    const { hooks, records } = setUp();
    const when = (text: string) => ({ when: `payload.message.text == "${text}"` });
    hooks.registerModifying("sending", () => ({ message: { text: "changed" } }), { id: "changer", match: when("hi") });
    for (const sees of ["merged", "original"] as const)
      for (const text of ["hi", "changed"])
        hooks.registerModifying("sending", () => null, { id: `${sees} ${text}`, sees, match: when(text) });
    await hooks.fireModifying("sending", sending());
    expect(outcomesOf(records[0])).toEqual({
      changer: "modified",
      "merged hi": "skipped",
      "merged changed": "passed",
      "original hi": "passed",
      "original changed": "skipped",
    });
  });

  it("fail a fail-closed hook whose condition has no answer for what an earlier hook made of the payload", async () => {
    const { hooks } = setUp();
    hooks.registerModifying("sending", () => ({ message: { text: "changed", tags: [] } }));
    hooks.registerModifying("sending", () => null, {
      id: "guard",
      sees: "merged",
      failurePolicy: "fail-closed",
      match: { when: 'payload.message.tags[0] == "a"' },
    });
    await expect(hooks.fireModifying("sending", sending())).rejects.toMatchObject({
      code: "HOOK_FAILED_CLOSED",
      id: "guard",
    });
  });

  it("without an answer are logged once for each hook that is fail-open", async () => {
    const { hooks, log } = setUp();
    hooks.registerModifying("sending", () => null, {
      id: "guard",
      match: { when: "int(payload.message.text) > 5" },
    });
    for (let time = 0; time < 2; time++) await hooks.fireModifying("sending", { message: { text: "hi", tags: [] } });
    expect(log.map(({ level, message }) => [level, message])).toEqual([
      [
        "warn",
        'Hook "guard" at sending: match.when had no answer for a payload, so the hook did not run: int() type error: cannot convert to int. `npx hookgate hooks why guard` shows each such case.',
      ],
    ]);
  });

  it("see in the phase before what earlier handlers made of the data, and what a hook changed that then failed is not there", async () => {
    const { hooks, records } = setUp();
    const when = (title: string) => ({ when: `payload.title == "${title}"` });
    const at = { hook: "task:create", phase: "before" } as const;
    hooks.register({ ...at, id: "renames", handler: ({ data }) => void Object.assign(data, { title: "renamed" }) });
    hooks.register({
      ...at,
      id: "fails",
      handler: (ctx) => {
        ctx.data.title = "lost";
        throw new Error("boom");
      },
    });
    hooks.register({ ...at, id: "new", match: when("renamed"), handler: () => {} });
    hooks.register({ ...at, id: "old", match: when("deploy"), handler: () => {} });
    await hooks.runBefore("task:create", { title: "deploy" });
    hooks.runBeforeSync("task:create", { title: "deploy" });
    const ran = { renames: "modified", fails: "failed", new: "passed", old: "skipped" };
    expect(records.map(outcomesOf)).toEqual([ran, ran]);
  });
});

const outcomesOf = (record: DispatchRecord | undefined) =>
  Object.fromEntries(record?.runs.map(({ hookId, outcome }) => [hookId, outcome]) ?? []);
