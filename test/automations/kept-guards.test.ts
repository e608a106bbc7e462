/** A guard stays in force, and where it is in the order, while it or another hook that it names is broken or gone. */
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { type LiveApp, liveApp, TOKEN } from "./support/live-app.js";

const OFF = "automations: { watch: false }\n";
const guard = (more = "") =>
  `- { id: guard, on: inbound_claim, on_failure: closed,${more} match: { when: 'payload.message.text.contains("evil")' }, run: { shell: { sh: "echo no evil >&2; exit 2" } } }\n`;
const ANSWER = `- { id: answer, on: inbound_claim, run: { shell: { command: [echo, '{"decision":"claim","reply":"answered"}'] } } }\n`;
const helper = (more = "", on = "inbound_claim") =>
  `- { id: helper, on: ${on},${more} run: { shell: { command: ["true"] } } }\n`;

interface Order {
  data: { orders: { hooks: { id: string }[] }[] };
}
async function order(live: LiveApp) {
  const { data } = (await live.post("/api/command", { line: "/hooks order inbound_claim" })) as unknown as Order;
  return data.orders.flatMap(({ hooks }) => hooks.map(({ id }) => id));
}
const broken = async (live: LiveApp) =>
  ((await live.post("/api/command", { line: "/hooks broken" })) as unknown as { text: string }).text;
const reloaded = (live: LiveApp) => live.app.reload(live.read());
async function expectGuarded(live: LiveApp) {
  const runs = (await live.runs("guard")).length;
  await live.say("evil");
  expect(await live.ended("guard", runs + 1)).toMatchObject({ status: "blocked" });
  expect(await live.room()).not.toContain("answered");
}

test.each([
  ["an unknown setting", guard(" on_faliure: closed,")],
  ["a key that is written twice", guard(" description: one, description: two,")],
  ["a brace that is not closed", guard().replace(/ }\n$/, "\n")],
  ["a circle", guard(" after: [helper],")],
  ["a file that cannot be read", '"unclosed'],
])("the previous version of a guard keeps its place in the order: %s", async (_what, broken) => {
  const live = await liveApp({
    "hookgate.yaml": OFF,
    "hooks/a.yaml": guard(),
    "hooks/b.yaml": `${ANSWER}${helper(" after: [guard],")}`,
  });
  const before = await order(live);
  expect(before).toEqual(["guard", "answer", "helper"]);
  live.write("hooks/a.yaml", broken);
  await reloaded(live);
  expect(live.app.automations.broken()).not.toEqual([]);
  expect(await order(live)).toEqual(before);
  await expectGuarded(live);
  live.write("hooks/a.yaml", guard(" description: fixed,"));
  await reloaded(live);
  expect(live.app.automations.broken()).toEqual([]);
  expect(await order(live)).toEqual(before);
});

test("previous versions of a file that hides hooks stand where they stood in it", async () => {
  const passes = (id: string) => `- { id: ${id}, on: inbound_claim, run: { shell: { command: ["true"] } } }\n`;
  const live = await liveApp({
    "hookgate.yaml": OFF,
    "hooks/a.yaml": `${passes("one")}${passes("two")}${passes("three")}${passes("four")}`,
    "hooks/c.yaml": passes("last"),
  });
  const open = passes("two").replace(" } }\n", "\n");
  live.write("hooks/a.yaml", `${passes("one")}${open}${passes("three").replace("-", " ")}${passes("four")}`);
  live.write("hooks/b.yaml", passes("new"));
  await reloaded(live);
  expect(live.app.automations.broken().map(({ id }) => id)).toEqual(["two", "three"]);
  expect(await order(live)).toEqual(["one", "two", "three", "four", "new", "last"]);
});

test.each([
  ["removed", "", /after "helper", which is not registered/],
  ["renamed", helper().replace("helper", "helpers"), /"helper", which is not registered \(did you mean "helpers"\?\)/],
  ["at another point", helper("", "before_dispatch"), /"helper", which is at before_dispatch/],
])(
  "a guard stays in force when the hook that its order names is %s, and says so until that is fixed",
  async (_what, next, why) => {
    const b = `${helper(" before: [helper],").replace("helper", "other")}${guard(" critical: true, after: [helper],")}${ANSWER}`;
    const live = await liveApp({ "hookgate.yaml": OFF, "hooks/a.yaml": helper(), "hooks/b.yaml": b });
    await expectGuarded(live);
    live.write("hooks/a.yaml", next || "# none");
    const { hooks, problems } = await reloaded(live);
    expect(hooks.removed).toEqual(next.includes("helper,") ? [] : ["helper"]);
    expect(problems).toHaveLength(2);
    expect(problems.join("\n")).toMatch(why);
    expect(problems.join("\n")).toMatch(/b\.yaml:2:\d+: hook guard: .*this hook runs without that order/);
    expect(problems.join("\n")).toMatch(/b\.yaml:1:\d+: hook other: .*before "helper"/);
    expect(await broken(live)).toMatch(/hook guard: .*"helper"/);
    expect(await live.get("/readyz")).toMatchObject({ ready: true, state: "degraded" });
    await expectGuarded(live);
    live.write("hooks/a.yaml", helper());
    await reloaded(live);
    expect(await broken(live)).toBe("No configured hook is broken.");
  },
);

test("a hook that is broken at the start takes no other with it, and each that names it says which one to fix", async () => {
  const files = {
    "hookgate.yaml": OFF,
    "hooks/a.yaml": helper(" timeuot: 2s,"),
    "hooks/b.yaml": `${guard(" after: [helper],")}${ANSWER}${helper(" before: [helper],").replace("helper", "second")}${helper(" after: [guard],").replace("helper", "third")}`,
  };
  const live = await liveApp(files, { mayBreak: true });
  expect(live.app.automations.broken().map(({ id }) => id)).toEqual(["helper"]);
  await expectGuarded(live);
  const found = [
    /hook helper: unknown setting "timeuot"/,
    /hook guard: Hook "guard" is to run after "helper", which is broken\. Fix "helper"; until then/,
    /hook second: Hook "second" is to run before "helper", which is broken/,
  ];
  const { code, err } = await runCli(["check"], { cwd: live.folder, env: { HOOKGATE_TOKEN: TOKEN } });
  expect(code).toBe(2);
  expect(err).toContain("3 problems.");
  for (const text of found) expect(err).toMatch(text);
  const shown = await broken(live);
  expect(shown).toContain("1 hook not in force");
  for (const text of found.slice(1)) expect(shown).toMatch(text);
});

const BLOCK_GUARD = `- id: guard
  on: inbound_claim
  on_failure: closed
  match: { when: 'payload.message.text.contains("evil")' }
  run: { shell: { sh: "echo no evil >&2; exit 2" } }
`;
const BLOCK_ANSWER = `- id: answer
  on: inbound_claim
  run: { shell: { command: [echo, '{"decision":"claim","reply":"answered"}'] } }
`;

test.each([
  ["the - before the next hook is lost", BLOCK_GUARD + BLOCK_ANSWER.replace("- id", "  id"), "answer"],
  ["there is a slip in the word id", BLOCK_GUARD.replace("id:", "di:") + BLOCK_ANSWER, "a.yaml:1"],
  ["its id is written as that of another", BLOCK_GUARD.replace("guard", "answer") + BLOCK_ANSWER, "a.yaml:1"],
])(
  "a guard that a slip took out of its file stays in force and is listed until the slip is corrected: %s",
  async (_what, slip, other) => {
    const live = await liveApp({ "hookgate.yaml": OFF, "hooks/a.yaml": BLOCK_GUARD + BLOCK_ANSWER });
    for (const text of [slip, `${slip}# saved once more\n`]) {
      live.write("hooks/a.yaml", text);
      const { hooks, report } = await reloaded(live);
      expect(hooks.removed).toEqual([]);
      if (text === slip)
        expect(report).toMatch(/hook guard: it is not in its file any more, but the entry at line \d is broken/);
      expect(
        live.app.automations
          .broken()
          .map(({ id }) => id)
          .sort(),
      ).toEqual([other, "guard"].sort());
      expect(await broken(live)).toMatch(/guard.*: the previous version is in force/);
      await expectGuarded(live);
    }
    live.write("hooks/a.yaml", BLOCK_ANSWER);
    const { hooks, report } = await reloaded(live);
    expect(hooks.removed).toEqual(["guard"]);
    expect(report).toBe(
      "These hooks guarded, and are not in the files any more: guard. What they would have stopped goes through.",
    );
    expect(await broken(live)).toBe("No configured hook is broken.");
  },
);

test("a hook is removed although another one of its file has a wrong setting, and the report names it", async () => {
  const live = await liveApp({ "hookgate.yaml": OFF, "hooks/a.yaml": BLOCK_GUARD + BLOCK_ANSWER });
  live.write("hooks/a.yaml", BLOCK_ANSWER.replace("on:", "onn:"));
  const { hooks, report } = await reloaded(live);
  expect(hooks.removed).toEqual(["guard"]);
  expect(report).toContain("These hooks are not in the files any more, and were removed: guard");
});

test.each([
  ["with a blank in it", (text: string) => text.replace("id: guard", "id: gu ard")],
  [
    "beside a slip in another setting",
    (text: string) => text.replace("id: guard", "id: shield").replace("closed", "closd"),
  ],
])("a guard stays while the entry that was given another id is broken: %s", async (_what, slip) => {
  const live = await liveApp({ "hookgate.yaml": OFF, "hooks/a.yaml": BLOCK_GUARD + BLOCK_ANSWER });
  for (const more of ["", "# saved once more\n"]) {
    live.write("hooks/a.yaml", slip(BLOCK_GUARD) + BLOCK_ANSWER + more);
    expect((await reloaded(live)).hooks.removed).toEqual([]);
    expect(await broken(live)).toMatch(/guard.*: the previous version is in force/);
    await expectGuarded(live);
  }
  live.write("hooks/a.yaml", BLOCK_GUARD.replace("id: guard", "id: shield") + BLOCK_ANSWER);
  expect((await reloaded(live)).hooks.removed).toEqual(["guard"]);
  expect(await broken(live)).toBe("No configured hook is broken.");
});

test("a critical guard that a slip took out of its file refuses the reload", async () => {
  const critical = BLOCK_GUARD.replace("on:", "critical: true\n  on:");
  const live = await liveApp({ "hookgate.yaml": OFF, "hooks/a.yaml": critical + BLOCK_ANSWER });
  live.write("hooks/a.yaml", critical.replace("id:", "di:").replace("critical: true", "") + BLOCK_ANSWER);
  await expect(reloaded(live)).rejects.toThrow(/The critical hook guard is broken/);
  await expectGuarded(live);
});

const NEWCOMER = '- { id: guard, on: message_received, run: { shell: { command: ["true"] } } }\n';

test.each([
  ["in a file that is read before", { "hooks/aa.yaml": NEWCOMER }, "aa.yaml:1"],
  ["above it in its file", { "hooks/b.yaml": NEWCOMER + BLOCK_GUARD + BLOCK_ANSWER }, "b.yaml:1"],
  [
    "in a file that is read before, while it was changed itself",
    { "hooks/aa.yaml": NEWCOMER, "hooks/b.yaml": BLOCK_GUARD.replace("no evil", "no evil here") + BLOCK_ANSWER },
    "aa.yaml:1",
  ],
])("a new entry that takes the id of a guard is broken, and the guard stays: %s", async (_what, files, newcomer) => {
  const live = await liveApp({ "hookgate.yaml": OFF, "hooks/b.yaml": BLOCK_GUARD + BLOCK_ANSWER });
  for (const more of ["", "# saved once more\n"]) {
    for (const [file, text] of Object.entries(files)) live.write(file, text + more);
    await reloaded(live);
    expect(live.app.automations.broken()).toMatchObject([
      {
        id: newcomer,
        problems: [
          {
            message: expect.stringMatching(
              /the id "guard" is taken by the hook at .*b\.yaml.*After a restart this entry has the id/,
            ),
          },
        ],
      },
    ]);
    expect(await order(live)).toEqual(["guard", "answer"]);
    await expectGuarded(live);
  }
});

test("a guard whose own entry is broken stays in its previous version when a new entry takes its id", async () => {
  const live = await liveApp({ "hookgate.yaml": OFF, "hooks/b.yaml": BLOCK_GUARD + BLOCK_ANSWER });
  live.write("hooks/aa.yaml", NEWCOMER);
  live.write("hooks/b.yaml", BLOCK_GUARD.replace("closed", "closd") + BLOCK_ANSWER);
  await reloaded(live);
  expect(await broken(live)).toMatch(/guard.*: the previous version is in force/);
  await expectGuarded(live);
});

test("a guard whose variable was emptied is in force, and its runs are said to fail until the variable is set", async () => {
  const env = { GUARD_KEY: "guard-key-123456" };
  const keyed = BLOCK_GUARD.replace('sh: "', 'secrets: [GUARD_KEY], sh: "');
  const live = await liveApp({ "hookgate.yaml": OFF, "hooks/a.yaml": keyed + BLOCK_ANSWER }, { env });
  await expectGuarded(live);
  env.GUARD_KEY = "";
  const { report } = await reloaded(live);
  const lack = "hook guard: the environment variable GUARD_KEY is missing, so each run fails: set it";
  expect(report).toContain(lack);
  expect((await broken(live)).replaceAll("\\", "")).toContain(lack);
  expect(await broken(live)).not.toContain("previous version runs");
  await live.say("evil");
  expect(await live.ended("guard", 2)).toMatchObject({ status: "failed" });
  env.GUARD_KEY = "guard-key-654321";
  await reloaded(live);
  expect(await broken(live)).toBe("No configured hook is broken.");
});
