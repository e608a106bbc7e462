import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeSettings } from "../../src/config/describe.js";
import { brokenPlatform, formatProblem, loadConfig } from "../../src/config/load.js";
import { configSchema } from "../../src/config/schema.js";
import { changeableFiles, configWarnings, exposedVariables } from "../../src/config/warnings.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(yaml: string, env: Record<string, string> = {}) {
  const path = join(folder, "hookgate.yaml");
  writeFileSync(path, yaml);
  return loadConfig({ path, env });
}

describe("loadConfig", () => {
  it("shows every problem at once, each with its line, what was expected and what was found", () => {
    const { config, problems } = load(
      ["gateway:", "  ttl: soon", "  max_waitin: 5", "discord:", "  access:", "    dms: nobody", "plugins: yes"].join(
        "\n",
      ),
      { HOOKGATE_PORT: "many" },
    );
    expect(config).toBeUndefined();
    expect(problems.map(({ path, line }) => `${path}:${line}`).sort()).toEqual(
      ["HOOKGATE_PORT:undefined", "discord.access.dms:6", "gateway.max_waitin:3", "gateway.ttl:2", "plugins:7"].sort(),
    );
    expect(problems.find(({ path }) => path === "gateway.max_waitin")?.message).toContain('did you mean "max_waiting"');
    expect(problems.find(({ path }) => path === "discord.access.dms")).toMatchObject({
      expected: "operators | everyone | off",
      got: '"nobody"',
    });
    expect(problems.map(formatProblem).join("\n")).toContain("hookgate.yaml:2:8 gateway.ttl");
  });

  it("shows an id that is too long for a number as it is written, and that it needs quotes", () => {
    const yaml = (id: string) => `discord:\n  access:\n    chats: [${id}]\n    guilds: ["1576516874559029251"]\n`;
    expect(load(yaml("1576516874559029250")).problems.map(formatProblem)).toEqual([
      expect.stringMatching(
        /:3:13 discord\.access\.chats\.0: 1576516874559029250 has too many digits for a number: if it is an id, write it in quotes$/,
      ),
    ]);
    for (const id of ["'1576516874559029250'", "-1001000000001"]) expect(load(yaml(id)).problems).toEqual([]);
  });

  it("tells what it needs of the environment, all at once, before anything starts", () => {
    const yaml = [
      "web:",
      "  people:",
      "    - { id: '2', name: Bob, token_env: BOB_TOKEN }",
      "    - { id: '3', name: Eve, token_env: EVE_TOKEN }",
      "telegram:",
      "  mode: webhook",
    ].join("\n");
    const telegram = { TELEGRAM_TOKEN: "1:a" };
    const { config, problems } = load(yaml, { ...telegram, EVE_TOKEN: "short" });
    expect(config).toBeDefined();
    expect(problems.map(({ platform, person }) => platform ?? person)).toEqual([0, 1, "telegram", "telegram"]);
    expect(problems.map(({ path, line, message }) => `${line} ${path}: ${message}`)).toEqual([
      "3 web.people.0.token_env: the login token of Bob is missing",
      "4 web.people.1.token_env: the login token of Eve is too short",
      expect.stringMatching(/^[56] telegram\.webhook\.url: /),
      "6 telegram.mode: webhook mode needs TELEGRAM_WEBHOOK_SECRET",
    ]);
    const tokens = { BOB_TOKEN: "the-token-of-bob-1", EVE_TOKEN: "the-token-of-eve-2" };
    expect(load(yaml, tokens).problems).toEqual([]); // without its token, Telegram is off
  });

  it("refuses names of the web chat that two people share, that the gateway has, or that hide characters", () => {
    const one = (id: number, name: string) => `    - { id: '${id}', name: "${name}", token_env: T${id} }\n`;
    const tokens = Object.fromEntries([2, 3, 4].map((id) => [`T${id}`, `a-login-token-of-person-${id}`]));
    const problems = (yaml: string) => load(yaml, tokens).problems.map(({ path, message }) => `${path} ${message}`);
    expect(problems(`web:\n  people:\n${one(2, "Bob")}${one(3, "BOB")}${one(4, "hookgate")}`)).toEqual([
      'web.people.1.name "BOB" is also the name of another person',
      'web.people.2.name "hookgate" is also the name of the gateway (web.name)',
    ]);
    expect(problems(`web:\n  people:\n${one(2, "B\\u200bob")}`).join()).toContain("has invisible characters");
  });

  it("refuses login tokens that are easy to guess or that two people have", () => {
    const yaml =
      "web:\n  people:\n    - { id: '2', name: Bob, token_env: BOB_TOKEN }\n    - { id: '3', name: Eve, token_env: EVE_TOKEN }\n";
    const good = "3f9c1a77d2e84b06";
    const of = (env: Record<string, string>) => load(yaml, env).problems.map(({ message }) => message);
    expect(of({ BOB_TOKEN: good, EVE_TOKEN: "another-good-token-1" })).toEqual([]);
    expect(of({ BOB_TOKEN: good, EVE_TOKEN: good })).toEqual(["the login token of Eve is also the token of Bob"]);
    expect(of({ BOB_TOKEN: good, EVE_TOKEN: "another-good-token-1", HOOKGATE_TOKEN: good })).toEqual([
      "the login token of Bob is also the token of the owner (HOOKGATE_TOKEN)",
    ]);
    for (const weak of [
      "aaaaaaaaaaaaaaaa",
      "passwordpassword",
      "abcdefghijklmnop",
      "12345678901234567890",
      "ababababababababab",
    ]) {
      expect(of({ BOB_TOKEN: good, EVE_TOKEN: weak })).toEqual([expect.stringContaining("is easy to guess")]);
      expect(load("#", { HOOKGATE_TOKEN: weak }).problems).toMatchObject([{ path: "HOOKGATE_TOKEN" }]);
    }
  });

  it("reads secrets from the files that NAME_FILE names, and reports one that cannot be read", () => {
    const file = join(folder, "token");
    writeFileSync(file, "a-token-in-a-file-01\n");
    const yaml = "web:\n  people:\n    - { id: '2', name: Bob, token_env: BOB_TOKEN }\n";
    const { env, problems } = load(yaml, {
      HOOKGATE_TOKEN_FILE: file,
      DISCORD_TOKEN_FILE: `${file}-2`,
      BOB_TOKEN_FILE: `${file}-3`,
    });
    expect([env?.HOOKGATE_TOKEN, env?.DISCORD_TOKEN]).toEqual(["a-token-in-a-file-01", undefined]);
    expect(problems.map(({ path, platform }) => [path, platform])).toEqual([
      ["DISCORD_TOKEN_FILE", "discord"],
      ["web.people.0.token_env", undefined],
    ]);
    expect(load("#", { HOOKGATE_TOKEN_FILE: `${file}-2` }).config).toBeUndefined();
  });

  it("refuses patterns of events that cannot be checked in bounded time", () => {
    const of = (schema: object) =>
      load(JSON.stringify({ events: { x: { secret_env: "S", schema } } }), { S: "a secret of ours" }).problems.map(
        ({ message }) => message,
      );
    expect(of({ properties: { pattern: { type: "string", pattern: "^a$" } } })).toEqual([]);
    expect(of({ anyOf: [{ $ref: "#/$defs/a" }], $defs: { a: { pattern: "(?i)^a$" } } })).toEqual([]);
    for (const schema of [
      { patternProperties: { "(?=a)": {} } },
      { properties: { a: { type: "string", pattern: "(?<=a)b" } } },
      { anyOf: [{ type: "string", pattern: "(a)\\1" }] },
      { $ref: "#/$defs/a", $defs: { a: { propertyNames: { pattern: "(?!a)" } } } },
    ])
      expect(of(schema)).toEqual([expect.stringMatching(/this JSON schema cannot be used: the pattern .* is no RE2/)]);
  });

  it.each([
    [{ properties: { a: { maxLenght: 2 } } }, 'nothing checks the keyword "maxLenght": did you mean "maxLength"?'],
    [
      { contentEncoding: "base64" },
      'nothing checks the keyword "contentEncoding": remove it, or write "x-contentEncoding"',
    ],
    [{ properties: { a: { format: "date-tim" } } }, 'format: nothing checks "date-tim" (did you mean "date-time"?)'],
    [
      { properties: { a: { type: "string", format: "int64" } } },
      'format: "int64" checks numbers only: write type: integer or type: number beside it, or check text with a pattern',
    ],
    [{ properties: { a: { format: "double" } } }, 'format: "double" checks numbers only: write type: integer'],
    [
      { properties: { a: { type: "integer", format: "date-time" } } },
      'format: "date-time" checks text only: write type: string beside it',
    ],
    [{ properties: { a: { minLength: "2" } } }, 'properties.a.minLength: expected a whole number, got "2"'],
    [
      { properties: { a: { minimum: 2, exclusiveMinimum: true } } },
      "properties.a.exclusiveMinimum: expected a number, got true",
    ],
    [{ properties: { a: { required: true } } }, "properties.a.required: expected a list, got true"],
    [
      { type: "strin" },
      'type: it has none of the forms that are expected: "strin" is not known here (did you mean "string"?)',
    ],
    [{ properties: { a: { type: "string", nullable: true } } }, 'nullable: write type: [string, "null"]'],
    [{ $ref: "#/$defs/a" }, '$ref: this schema has no "#/$defs/a": write it under $defs'],
    [{ allOf: [{ $ref: "#" }] }, "$ref: it leads back to itself"],
    [{ if: { required: ["a"] } }, '"if" without "then" and "else" is ignored'],
    [
      { $schema: "http://example.org/s", type: "object" },
      "$schema: expected https://json-schema.org/draft/2020-12/schema",
    ],
    [{ $async: true, type: "object" }, 'nothing checks the keyword "$async"'],
    [{ id: "a", type: "object" }, 'id: write "$id", or remove the line'],
  ])("refuses the schema %j of an event, of which something would not be checked", (schema, sentence) => {
    const { problems } = load(JSON.stringify({ events: { x: { secret_env: "S", schema } } }), {
      S: "a secret of ours",
    });
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining(`this JSON schema cannot be used: ${sentence}`),
    ]);
  });

  it("warns of a .env that other users can open", () => {
    const before = process.cwd();
    try {
      process.chdir(folder);
      writeFileSync(".env", "DISCORD_TOKEN=x\n", { mode: 0o600 });
      expect(exposedVariables()).toEqual([]);
      chmodSync(".env", 0o644);
      expect(exposedVariables()).toEqual([expect.stringContaining("chmod 600 .env")]);
      const file = join(folder, "modes.yaml");
      writeFileSync(file, "", { mode: 0o644 });
      expect(changeableFiles(file)).toEqual([]);
      chmodSync(file, 0o666);
      expect(changeableFiles(file)).toEqual([expect.stringContaining(`chmod o-w ${file}`)]);
    } finally {
      process.chdir(before);
    }
  });

  it("warns of an open port without TLS and of destinations that allow everything", () => {
    const of = (yaml: string, env: Record<string, string> = {}) => {
      const loaded = load(yaml, env);
      return loaded.config && loaded.env && configWarnings(loaded.config, loaded.env, loaded.file);
    };
    expect(of("#")).toEqual([]);
    expect(of("#", { HOOKGATE_HOST: "0.0.0.0" })).toEqual([expect.stringContaining("without TLS")]);
    const proxy = "http: { public_url: 'https://chat.example.org', behind_proxy: true }";
    expect(of(proxy, { HOOKGATE_HOST: "0.0.0.0" })).toEqual([]);
    const open = "http: { public_url: 'https://chat.example.org', behind_proxy: true, metrics_need_token: false }";
    expect(of(open)).toEqual([expect.stringContaining("http.metrics_need_token is false")]);
    expect(of("http: { metrics_need_token: false }")).toEqual([]);
    expect(of("outgoing: { allow: ['0.0.0.0/0', '*.com', '*.example.org', '10.0.0.0/8'] }")).toEqual([
      expect.stringContaining("0.0.0.0/0"),
      expect.stringContaining("*.com"),
    ]);
    const pager = (url: string) => `alerts: { routes: { night: { escalate: [{ after: 1m, webhook: '${url}' }] } } }`;
    expect(of(pager("http://10.1.2.3:8080/hook"))).toEqual([
      'alerts.routes.night.escalate.0.webhook: 10.1.2.3 is not a public address (private), so no request is sent there. Add "10.1.2.3:8080" to outgoing.allow.',
    ]);
    expect(of(`${pager("http://10.1.2.3:8080/hook")}\noutgoing: { allow: ['10.1.2.3:8080'] }`)).toEqual([]);
    expect(of(pager("https://pager.example.org/hook"))).toEqual([]);
    expect(of("alerts: { heartbeat: { to: 'http://[::1]/beat' } }")).toEqual([
      expect.stringContaining('Add "[::1]:80" to outgoing.allow.'),
    ]);
    const forward = "gateway: { default_route: { forward: 'discord::1' } }";
    expect(of(forward)).toEqual([expect.stringContaining("direct messages of people without a role are ignored")]);
    expect(of(`${forward}\ntelegram: { access: { dms: everyone } }`)).toEqual([]);
    for (const bad of ["a:99999", "localhost:0", "10.1.2.3:70000"])
      expect(load(`outgoing: { allow: ['${bad}'] }`).problems).toMatchObject([{ path: "outgoing.allow.0" }]);
  });

  it("goes on without a platform whose own settings or variables are wrong, and says which it is", () => {
    const yaml = "telegram:\n  mode: webhok\n  acces: {}\ngateway:\n  ttl: 2h\n";
    const { config, env, problems } = load(yaml, { DISCORD_API_URL: "no address", DISCORD_TOKEN: "x" });
    expect(config?.gateway.ttl).toBe(7_200_000);
    expect(env).toMatchObject({ DISCORD_TOKEN: "x", DISCORD_API_URL: undefined });
    expect(problems.map(({ path, platform }) => `${path} ${platform}`).sort()).toEqual([
      "DISCORD_API_URL discord",
      "telegram.acces telegram",
      "telegram.mode telegram",
    ]);
    expect(brokenPlatform("telegram", problems)).toMatch(/telegram\.mode: .*webhook.*telegram\.acces: .*access/s);
    expect(brokenPlatform("web", problems)).toBeUndefined();
    const whole = load(`${yaml}  ttll: 1h\n`);
    expect(whole.config).toBeUndefined();
    expect(whole.problems).toHaveLength(3);
  });

  it("names the character that no bot token has, with its place, and switches the platform off with that reason", () => {
    const of = (env: Record<string, string>) => {
      const { problems } = load("#", env);
      return problems.map(({ path, message, platform }) => `${platform} ${path}: ${message}`);
    };
    expect(of({ TELEGRAM_TOKEN: "7654321:AAF ake", DISCORD_TOKEN: "MTE.abc.def…" })).toEqual([
      'discord DISCORD_TOKEN: this token has the character "…" at position 12, which bot tokens do not have: copy the whole token again',
      "telegram TELEGRAM_TOKEN: this token has a blank at position 12, which bot tokens do not have: copy the whole token again",
    ]);
    expect(of({ TELEGRAM_TOKEN: "<1:x>" })).toEqual([expect.stringContaining('the character "<" at position 1,')]);
    expect(of({ DISCORD_TOKEN: "MTE.a\u200bb" })).toEqual([
      expect.stringContaining("an invisible character (U+200B) at position 6,"),
    ]);
    expect(of({ TELEGRAM_TOKEN: " 7654321:AA-Fa_ke/test ", DISCORD_TOKEN: "MTE.a-b.c_d" })).toEqual([]);
  });

  it("tells the line of broken YAML", () => {
    const { problems } = load("gateway:\n  ttl: [1\nweb: {}");
    expect(problems[0]?.line).toBeGreaterThanOrEqual(2);
  });

  it("reads a file with a comment alone and a missing default file as the defaults, and refuses an empty file", () => {
    expect(load("# none").config?.gateway.ttl).toBe(86_400_000);
    for (const blank of ["", " \n\t\n"]) {
      const { config, problems } = load(blank);
      expect(config).toBeUndefined();
      expect(problems).toMatchObject([{ message: expect.stringMatching(/^the file is empty: write the settings/) }]);
    }
    expect(load("# only a comment\n").config?.web.enabled).toBe(true);
  });

  it("refuses a named file that is not there", () => {
    const { problems } = loadConfig({ path: join(folder, "none.yaml"), env: {} });
    expect(problems).toMatchObject([{ message: "there is no such file" }]);
  });

  it("leaves what a hook override does not say unsaid", () => {
    expect(load("overrides:\n  a.b: { enabled: false }").config?.overrides).toEqual({ "a.b": { enabled: false } });
    expect(load("overrides:\n  a.b: { timeout: 3s }").config?.overrides).toEqual({ "a.b": { timeout: 3000 } });
  });

  it("treats empty variables as unset and reads others by name", () => {
    const { env } = load("#", { DISCORD_TOKEN: " ", GUEST: "x" });
    expect(env?.DISCORD_TOKEN).toBeUndefined();
    expect(env?.variable("GUEST")).toBe("x");
  });

  it("names the nearest button for one that there is not, and refuses lengths that are none", () => {
    const { problems } = load(`
alerts:
  routes: { default: { buttons: [ack, esclate], snooze: [15m, soon], mute: [1h, 2h, 3h, 4h, 5h] } }
sla:
  policies: [{ id: dates, for: task, buttons: [asign] }, { id: late, for: mission, buttons: [out] }]
`);
    expect(problems.map(({ path, message }) => [path, message])).toEqual(
      expect.arrayContaining([
        ["sla.policies.0.buttons.0", '"asign" is not known here (did you mean "assign"?)'],
        // Two of three letters differ from a known button: all are listed.
        ["sla.policies.1.buttons.0", expect.stringMatching(/^expected one of .*ack.*, got "out"$/)],
        ["alerts.routes.default.buttons.1", '"esclate" is not known here (did you mean "escalate"?)'],
        ["alerts.routes.default.snooze.1", "expected a length of time such as 15m, 2h or 1d, or business"],
        ["alerts.routes.default.mute", expect.stringContaining("4")],
      ]),
    );
    expect(problems).toHaveLength(5);
  });

  it("refuses a maintenance window that ends before it begins", () => {
    const { problems } = load(`
alerts:
  maintenance:
    - { match: [severity=low], from: 2026-12-24T18:00, until: 2026-12-24T08:00 }
    - { match: [severity=low], from: 2026-12-24T18:00, until: 2026-12-25T08:00 }
`);
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      ["alerts.maintenance.0.until", "it is not after the start (2026-12-24T18:00), so the window would never apply"],
    ]);
  });

  it("finds routes of alerts and people on call that nobody has written down", () => {
    const { problems } = load(`
alerts:
  people: { ann: ["discord:1"], "Dr. Ann": ["discord:2"] }
  rotas: { "Night shift": { shifts: [{ from: "22:00", to: "06:00", person: Dr. Ann }] }, night: { shifts: [{ from: "22:00", to: "06:00", person: ben }] } }
  routes: { support: { escalate: [{ mention: [ann, oncall:nihgt, "telegram:5", Dr. Ann, "oncall:Night shift", Dr. Bob] }] } }
sla:
  policies: [{ id: replies, for: conversation, measure: first_response, target: 1h, routes: [supprot, default] }]
`);
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      ["sla.policies.0.routes.0", 'there is no route "supprot" (did you mean "support"?)'],
      ["alerts.routes.support.escalate.0.mention.1", 'there is no person "oncall:nihgt"'],
      ["alerts.routes.support.escalate.0.mention.5", expect.stringContaining('there is no person "Dr. Bob"')],
      ["alerts.rotas.night.shifts.0.person", 'there is no person "ben"'],
    ]);
  });

  it("refuses an account with a space, and a name that begins with one", () => {
    const { problems } = load(
      'alerts: { people: { ann: ["discord: 1"] }, routes: { a: { escalate: [{ mention: ["discord: 1", " ann"] }] } } }',
    );
    expect(problems.map(({ path }) => path).sort()).toEqual([
      "alerts.people.ann.0",
      "alerts.routes.a.escalate.0.mention.0",
      "alerts.routes.a.escalate.0.mention.1",
    ]);
  });

  it("finds misspelt platforms wherever a chat or a person is named, with place and the nearest one", () => {
    const yaml = `
operators: { owner: ["web:1", "discrod:1"] }
gateway: { default_route: { forward: "wbe:web:general" } }
automations: { alerts: ["web:web:general", "matrix:b:c"] }
orchestrator:
  show_in: discord:b:c
  runners: { ann: { person: { user: "telgram:5", at: "telegrm:b:c" } } }
sla: { conversations: { staff: { people: ["slack:5"] } } }
alerts:
  routes:
    support:
      to: ["web:web:general", "Web:web:general"]
      escalate: [{ after: 1h, to: ["discordd:b:c"], mention: [everyone, "oncall:night", "dscord:role:5", ann] }]
  destinations:
    telegram:b:c: {}
    telegarm:b:c: {}
  fallback: ["wep:web:x"]
  digests: [{ cron: "0 9 * * *", to: ["webb:web:x"] }]
  people: { ann: ["discort:1", "discord:role:1"] }
  rotas: { night: { rotate: { people: [ann, "telegrom:1"], from: 2026-01-05T09:00, every: 7d }, shifts: [{ from: "22:00", to: "06:00", person: "web:1" }] } }
  heartbeat: { to: "https://example.com/beat" }
`;
    const { problems, config } = load(yaml);
    expect(config).toBeUndefined();
    const told = problems.map(
      ({ line, path, message }) => `${line} ${path}: ${message.replace(/^there is no platform /, "")}`,
    );
    expect(told).toEqual([
      '2 operators.owner.1: "discrod" (did you mean "discord"?)',
      '3 gateway.default_route.forward: "wbe" (did you mean "web"?)',
      '4 automations.alerts.1: "matrix"',
      '7 orchestrator.runners.ann.person.user: "telgram" (did you mean "telegram"?)',
      '7 orchestrator.runners.ann.person.at: "telegrm" (did you mean "telegram"?)',
      '8 sla.conversations.staff.people.0: "slack"',
      '12 alerts.routes.support.to.1: "Web" (did you mean "web"?)',
      '13 alerts.routes.support.escalate.0.to.0: "discordd" (did you mean "discord"?)',
      '13 alerts.routes.support.escalate.0.mention.2: "dscord" (did you mean "discord"?)',
      '16 alerts.destinations.telegarm:b:c: "telegarm" (did you mean "telegram"?)',
      '17 alerts.fallback.0: "wep" (did you mean "web"?)',
      '18 alerts.digests.0.to.0: "webb" (did you mean "web"?)',
      '19 alerts.people.ann.0: "discort" (did you mean "discord"?)',
      '20 alerts.rotas.night.rotate.people.1: "telegrom" (did you mean "telegram"?)',
    ]);
    const [first] = problems;
    expect(first && formatProblem(first)).toMatch(
      /hookgate\.yaml:2:\d+ operators\.owner\.1: there is no platform "discrod" \(did you mean "discord"\?\) \(expected web, discord or telegram before the first colon; got discrod:1\)$/,
    );
  });
});

it("every timeout is above 0; only a stop may wait for nothing", () => {
  const timeouts = describeSettings(configSchema).filter(({ path }) => /(timeout|max_duration)$/.test(path));
  expect(timeouts.length).toBeGreaterThan(12);
  const isRefused = (path: string) => {
    const keys = path.replaceAll("<name>", "one").split(".");
    const value = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), "0s");
    const issues = configSchema.safeParse(value).error?.issues ?? [];
    return issues.some((issue) => issue.path.join(".") === keys.join(".") && issue.message.includes("above 0"));
  };
  expect(timeouts.map(({ path }) => path).filter((path) => !isRefused(path))).toEqual([
    "gateway.shutdown_timeout",
    "orchestrator.shutdown_timeout",
  ]);
});

it("a role that a person would not have is refused: it would protect nothing", () => {
  const { problems } = load(
    'orchestrator:\n  runners: { pay: { person: { user: "web:4" }, role: admin }, ann: { person: { user: "web:4" } } }\n',
  );
  expect(problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)).toEqual([
    expect.stringMatching(/^2 orchestrator\.runners\.pay\.role: a person does tasks for every operator/),
  ]);
});
