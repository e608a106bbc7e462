/** Matchers of plugins that no payload fits: refused or reported, with the line and what was meant. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { impossibleMatches } from "../../src/hooks/conditions/impossible-match.js";
import { definePoint } from "../../src/hooks/point.js";
import type { Matcher } from "../../src/hooks/registration/matcher.js";
import { pluginRig } from "./rig.js";

const point = definePoint({
  name: "tried",
  model: "void",
  payload: z.object({
    n: z.number(),
    at: z.number(),
    seconds: z.number(),
    count: z.number().int().nonnegative(),
    severity: z.enum(["low", "high"]),
    toolName: z.string(),
    message: z.object({ text: z.string() }),
    tags: z.array(z.string()),
    tone: z.enum(["good", "bad"]).optional(),
  }),
  summary: "For tests.",
  example: {
    n: 1,
    at: 1_767_225_600_000,
    seconds: 1_767_225_600,
    count: 1,
    severity: "low",
    toolName: "shell",
    message: { text: "hi" },
    tags: ["a"],
  },
});

const problems = (match: Matcher) => impossibleMatches(match, point).map(({ message }) => message);

describe("a matcher is impossible when it asks for", () => {
  it.each<[string, Matcher, string]>([
    [
      "a field that is not there",
      { when: 'payload.mesage.text == "x"' },
      'payload has no field "mesage" (did you mean "message"?)',
    ],
    [
      "a value that the field never has",
      { when: 'payload.tone == "god"' },
      'payload.tone is never "god": it is one of good, bad',
    ],
    [
      "another type",
      { when: 'payload.n == "5"' },
      'payload.n is a number, so a comparison with "5" (text) never holds: write 5',
    ],
    [
      "a number below its least",
      { when: "payload.count < 0" },
      "payload.count < 0 never holds: payload.count is at least 0",
    ],
    [
      "the same, written the other way",
      { when: "0 > payload.count" },
      "0 > payload.count never holds: payload.count is at least 0",
    ],
    [
      "a number below its least, exactly",
      { when: "payload.count == -1" },
      "payload.count == -1 never holds: payload.count is at least 0",
    ],
    [
      "a negative number for text",
      { when: "-5 != payload.toolName" },
      'payload.toolName is text, so a comparison with -5 (a number) never holds: write "-5"',
    ],
    [
      "an empty range",
      { when: "payload.n > 5 && payload.n < 3" },
      "payload.n > 5 and payload.n < 3 never hold together",
    ],
    [
      "a range without its only number",
      { when: "payload.n > 5 && payload.n <= 5" },
      "payload.n > 5 and payload.n <= 5 never hold together",
    ],
    [
      "two numbers at once",
      { when: "payload.n == 5 && payload.n == 6" },
      "payload.n == 5 and payload.n == 6 never hold together",
    ],
    [
      "a number outside of a range",
      { when: "payload.n == 5 && (payload.count > 1 && payload.n > 7)" },
      "payload.n == 5 and payload.n > 7 never hold together",
    ],
    [
      "two texts at once",
      { when: 'payload.toolName == "a" && payload.toolName == "b"' },
      'payload.toolName == "a" and payload.toolName == "b" never hold together',
    ],
    [
      "text after its end",
      { when: 'payload.message.text.matches("a$b")' },
      'the pattern "a$b" matches nothing: $ is the end of the text, and more has to follow it',
    ],
    [
      "text before its start",
      { when: 'payload.message.text.matches("a^b")' },
      'the pattern "a^b" matches nothing: ^ is the start of the text, and more has to come before it',
    ],
    [
      "a tool's name after its end",
      { tools: ["shell", "a$b"] },
      'the pattern "a$b" matches nothing: $ is the end of the text, and more has to follow it',
    ],
    [
      "a capital letter among small ones",
      { when: 'payload.message.text.lowerAscii() in ["secret", "Passwort"]' },
      'payload.message.text.lowerAscii() has no capital letters, so those of "Passwort" never fit: write them in lower case',
    ],
    [
      "a start in capital letters",
      { when: 'payload.toolName == "x" || payload.message.text.trim().lowerAscii().trim().startsWith("Hi")' },
      'payload.message.text.trim().lowerAscii().trim() has no capital letters, so those of "Hi" never fit: write them in lower case',
    ],
    [
      "a small letter among capital ones",
      { when: '"Stop" == payload.message.text.upperAscii()' },
      'payload.message.text.upperAscii() has no small letters, so those of "Stop" never fit: write them in upper case',
    ],
    [
      "a pattern in capital letters",
      { when: String.raw`payload.message.text.lowerAscii().matches(r"\b(?:Secret|Passwort)\b")` },
      String.raw`payload.message.text.lowerAscii() has no capital letters, so those of "\b(?:Secret|Passwort)\b" never fit: write them in lower case`,
    ],
    [
      "words in capital letters",
      { when: '["secret", "Passwort"].exists(w, payload.message.text.lowerAscii().contains(w))' },
      'payload.message.text.lowerAscii() has no capital letters, so those of "Passwort" never fit: write them in lower case',
    ],
    [
      "a capital letter with an accent",
      { when: 'payload.message.text.lowerAscii().contains("Ärger")' },
      'payload.message.text.lowerAscii() has no capital letters, so those of "Ärger" never fit: write them in lower case',
    ],
    ["a part of a number", { when: 'payload.n.contains("5")' }, "payload.n is a number, and contains() is for text"],
    [
      "a part of a list",
      { when: 'payload.tags.contains("x")' },
      'payload.tags is a list, and contains() is for text: write "x" in payload.tags',
    ],
    [
      "a number at the start of a text",
      { when: "payload.tags.exists(t, t.startsWith(-3))" },
      'startsWith() takes text: write startsWith("-3")',
    ],
    [
      "a word that is not in the list of words",
      { when: '["a", "b"].exists(w, w == "c" && payload.message.text.contains(w))' },
      'w is never "c": it is one of a, b',
    ],
    [
      "a severity that is none",
      { severities: ["hihg"] },
      'no payload has "hihg" there, so this never matches (did you mean "high"?)',
    ],
    [
      "a time zone that is none",
      { when: 'timestamp(int(payload.at) / 1000).getHours("Europe/Berln") >= 18' },
      'there is no time zone "Europe/Berln" (did you mean "Europe/Berlin"?): write a name such as "Europe/Berlin"',
    ],
    [
      "an hour that no day has",
      { when: 'timestamp(int(payload.at) / 1000).getHours("Europe/Berlin") == 24' },
      'timestamp(int(payload.at) / 1000).getHours("Europe/Berlin") == 24 never holds: timestamp(int(payload.at) / 1000).getHours("Europe/Berlin") is at most 23',
    ],
    [
      "a thirteenth month",
      { when: "timestamp(int(payload.at) / 1000).getMonth() == 12" },
      "timestamp(int(payload.at) / 1000).getMonth() == 12 never holds: timestamp(int(payload.at) / 1000).getMonth() is at most 11",
    ],
    [
      "a night of one day",
      { when: "timestamp(payload.seconds).getHours() >= 22 && timestamp(payload.seconds).getHours() < 6" },
      "timestamp(payload.seconds).getHours() >= 22 and timestamp(payload.seconds).getHours() < 6 never hold together",
    ],
    [
      "a time of milliseconds",
      { when: "timestamp(int(payload.at)).getFullYear() == 2026" },
      "timestamp(int(payload.at)) is no time: timestamp() takes whole seconds: for milliseconds, write timestamp(int(payload.at) / 1000)",
    ],
    [
      "a time of parts of seconds",
      { when: 'payload.message.text != "" && timestamp(payload.at / 1000) > timestamp("2026-01-01T00:00:00Z")' },
      "timestamp(payload.at / 1000) is no time: timestamp() takes whole seconds: for milliseconds, write timestamp(int(payload.at) / 1000)",
    ],
    [
      "platforms that its chats are not of",
      { platforms: ["discord"], chats: ["web:lobby"] },
      "web:lobby is not of discord, which match.platforms asks for, so this never matches",
    ],
  ])("%s", (_, match, problem) => {
    expect(problems(match)).toContain(problem);
  });

  it.each<Matcher>([
    { when: "payload.n > 3 && payload.n < 5" },
    { when: "payload.n >= 5 && payload.n <= 5" },
    { when: 'timestamp(int(payload.at) / 1000).getHours("Europe/Berlin") >= 18' },
    { when: "timestamp(int(payload.seconds)).getMonth() == 11" },
    { when: "timestamp(payload.message.text) > timestamp(int(payload.at) / 1000)" },
    { when: "duration(payload.message.text).getHours() == 24" },
    { when: "payload.n > 5 || payload.n < 3" },
    { when: "payload.n > 5 && payload.n > 7 && payload.n == 8" },
    { when: "payload.count >= 0 && payload.count == 0" },
    { when: "payload.n == -1" },
    { when: 'payload.toolName == "a" || payload.toolName == "b"' },
    { when: 'payload.message.text.matches("^a.*b$")' },
    { when: String.raw`payload.message.text.matches("costs 5\\$ or more")` },
    { when: 'payload.message.text.matches("[$]5 [^a]")' },
    { when: 'payload.message.text.matches("(?m)a$b")' },
    { when: 'payload.message.text.matches("a$b|c")' },
    { when: 'payload.message.text.matches("a$b?")' },
    { when: String.raw`payload.message.text.lowerAscii().matches(r"\bsecret\b[A-Za-z\S\D]|(?P<Word>ä)")` },
    { when: String.raw`payload.message.text.lowerAscii().matches(r"\pL+\PN\p{Greek}\x6A\x{6A}")` },
    { when: 'payload.message.text.lowerAscii().matches("(?i)(Secret|Passwort)")' },
    { when: 'payload.message.text.upperAscii().matches("(?s)^SECRET$")' },
    { when: 'payload.message.text.lowerAscii().startsWith("𝐀") || payload.message.text.upperAscii().contains("ĸ")' },
    { when: '["secret", "ärger"].exists(w, payload.message.text.lowerAscii().contains(w))' },
    { when: 'payload.tags.exists(t, t.startsWith("3")) || "x" in payload.tags || size(payload.tags) == 3' },
    { when: '["Secret"].exists(w, payload.message.text.contains(w) || w.lowerAscii() == payload.message.text)' },
    { tools: ["shell", "^git", "git$"] },
    { severities: ["HIGH"] },
  ])("nothing, and is possible: %j", (match) => {
    expect(problems(match)).toEqual([]);
  });
});

const registering = (options: string) =>
  `export default { id: "p", setup(api) {\n  api.hooks.registerVoid("message_received", () => {}, { id: "greet", match: ${options} });\n} };`;

it("is reported with the line when a plugin registers it, and gone with a version that does not", async () => {
  const rig = await pluginRig({ "p.mjs": registering(`{ when: 'payload.access == "alowed"' }`) });
  const warning =
    'the hook "p.greet" (p.mjs:2:13): match.when: payload.access is never "alowed": it is one of allowed, denied';
  expect(await rig.plugins.load()).toMatchObject([{ state: "loaded", warnings: [warning] }]);
  await rig.plugins.reload({ file: rig.write("p.mjs", registering("{}")) });
  expect(rig.plugins.list()).toMatchObject([{ warnings: [] }]);
  await rig.plugins.reload({ file: rig.write("p.mjs", registering(`{ when: 'payload.access == "alowed"' }`)) });
  expect(rig.logged.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    `plugin "p": ${warning}`,
  ]);
});

it("is logged at once when the plugin registers it later", async () => {
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => {
        api.hooks.registerVoid("message_received", () => {}, { id: "late", match: { when: "payload.message.receivedAt > 5 && payload.message.receivedAt < 3" } });
      });
    } };`,
  });
  await rig.plugins.load();
  await rig.claim("x");
  expect(rig.logged.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^plugin "p": the hook "p\.late" \(p\.mjs:3:19\): match\.when: payload\.message\.receivedAt > 5 and payload\.message\.receivedAt < 3 never hold together$/,
    ),
  ]);
});

it("an order after a hook that does not exist is logged when the plugin registers the hook later", async () => {
  const rig = await pluginRig({
    "p.mjs": `export default { id: "p", setup(api) {
      api.hooks.registerClaiming("inbound_claim", () => {
        api.hooks.registerVoid("message_received", () => {}, { id: "late", after: ["nosuch.id"] });
      });
    } };`,
  });
  await rig.plugins.load();
  await rig.claim("x");
  expect(rig.logged.filter(({ level }) => level === "warn")).toEqual([
    {
      level: "warn",
      message: expect.stringContaining("nosuch.id"),
      facts: expect.objectContaining({ plugin: "p", hooks: expect.arrayContaining(["p.late"]) }),
    },
  ]);
});

it("is refused with the field that was meant when the condition cannot be read at all", async () => {
  const rig = await pluginRig({ "p.mjs": registering(`{ when: 'payload.message.txt == "x"' }`) });
  const [info] = await rig.plugins.load();
  expect(info?.reason).toMatch(
    /Hook "p\.greet": match\.when: payload\.message has no field "txt" \(did you mean "text"\?\).*p\.mjs:2/,
  );
});

describe("a condition on a platform that does not exist", () => {
  it.each([
    ["message_received", 'payload.message.platform == "telegarm"', "payload.message.platform", "telegarm"],
    ["message_sending", 'payload.platform in ["discrod", "web"]', "payload.platform", "discrod"],
  ])("is reported at %s: %s", async (hook, when, field, wrong) => {
    const call = hook === "message_sending" ? "registerModifying" : "registerVoid";
    const rig = await pluginRig({
      "p.mjs": `export default { id: "p", setup(api) {
        api.hooks.${call}("${hook}", () => null, { match: { when: ${JSON.stringify(when)} } });
      } };`,
    });
    const [info] = await rig.plugins.load();
    expect(info?.warnings.join()).toContain(
      `match.when: ${field} is never "${wrong}": it is one of web, discord, telegram`,
    );
  });

  it("is nobody's mistake at a point of a plugin", async () => {
    const rig = await pluginRig({
      "p.mjs": `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      export default { id: "p", setup(api) {
        api.hooks.declare({ name: "own", model: "void", summary: "s", payload: z.object({ platform: z.string() }), example: { platform: "matrix" } });
        api.hooks.registerVoid("plugin:p:own", () => {}, { match: { when: 'payload.platform == "matrix"' } });
      } };`,
    });
    expect(await rig.plugins.load()).toMatchObject([{ state: "loaded", warnings: [] }]);
  });
});
