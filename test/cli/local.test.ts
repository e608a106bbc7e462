import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli, spawnCli } from "./run-cli.js";

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "hookgate-cli-"));
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** A port on which nothing listens. */
const NOBODY = { HOOKGATE_PORT: "1" };

describe("hookgate check", () => {
  it("shows every problem at once, each with file, line, expected and got, and exits with 2", async () => {
    const file = join(cwd, "broken.yaml");
    writeFileSync(file, "operators:\n  ownr: []\ngateway:\n  ambiguous: maybe\n  ttl: 5 fortnights\n");
    const { code, out, err } = await runCli(["check", "--config", file], { cwd, env: { HOOKGATE_PORT: "eighty" } });
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain(`${file}:2`);
    expect(err).toMatch(/ownr.*did you mean|ownr.*owner/);
    expect(err).toContain(`${file}:4`);
    expect(err).toMatch(/ambiguous.*hold.*got "?maybe/s);
    expect(err).toContain(`${file}:5`);
    expect(err).toContain("HOOKGATE_PORT");
    expect(err).toContain("4 problems.");
  });

  it("reports plugins that cannot be loaded or set up, each with its line", async () => {
    const file = join(cwd, "plugins.yaml");
    writeFileSync(join(cwd, "throws.mjs"), 'throw new Error("on load")');
    writeFileSync(join(cwd, "good.mjs"), 'export default { id: "good", setup() { throw new Error("set up"); } }');
    writeFileSync(
      file,
      "plugins:\n  - ./good.mjs\n  - ./missing.mjs\n  - module: ./throws.mjs\n  - { module: ./good.mjs, config: { a: 1 } }\n",
    );
    const { code, err } = await runCli(["check", "--config", file], { cwd });
    expect(code).toBe(2);
    expect(err).toMatch(/plugins\.yaml:2:\d+ plugins\.0: .*setup failed: set up \(good\.mjs:1:\d+\)/);
    expect(err).toMatch(/plugins\.yaml:3:\d+ plugins\.1: .*missing\.mjs/);
    expect(err).toMatch(/plugins\.yaml:4:\d+ plugins\.2: .*on load/);
    expect(err).toMatch(/plugins\.yaml:5:\d+ plugins\.3: .*takes no config/);
    expect(err).toContain("4 problems.");
  });

  it("reports a setup that never ends and one with a stray rejection, and examines the others", {
    timeout: 60_000,
  }, async () => {
    const file = join(cwd, "endless.yaml");
    const plugin = (id: string, setup: string) =>
      writeFileSync(join(cwd, `${id}.mjs`), `export default { id: "${id}", async setup() { ${setup} } };`);
    plugin("endless", "await new Promise(() => {});");
    plugin("stray", 'Promise.reject(new Error("nothing catches it"));');
    plugin("late", 'throw new Error("late one");');
    writeFileSync(file, "plugins: [./endless.mjs, ./stray.mjs, ./late.mjs]\n");
    const { code, err } = await runCli(["check", "--config", file], { cwd });
    expect(err).toMatch(/plugins\.0: .*setup failed: it did not finish within 10000 ms/);
    expect(err).toMatch(/plugins\.1: .*setup failed: nothing catches it \(stray\.mjs:1:\d+\)/);
    expect(err).toMatch(/plugins\.2: .*setup failed: late one/);
    expect(err).toContain("3 problems.");
    expect(code).toBe(2);
  });

  it("reports the function that a setup returned when it fails, and when it does not end", {
    timeout: 60_000,
  }, async () => {
    const file = join(cwd, "ends.yaml");
    const plugin = (id: string, end: string) =>
      writeFileSync(join(cwd, `${id}.mjs`), `export default { id: "${id}", setup() { return ${end}; } };`);
    plugin("fails-to-end", '() => { throw new Error("the file was closed") }');
    plugin("goes-on", "() => new Promise(() => {})");
    plugin("ends", "() => {}");
    writeFileSync(file, "plugins: [./fails-to-end.mjs, ./goes-on.mjs, ./ends.mjs]\n");
    const { code, err } = await runCli(["check", "--config", file], { cwd });
    expect(err).toMatch(/plugins\.0: .*the function that its setup returned failed: the file was closed/);
    expect(err).toMatch(/plugins\.1: .*the function that its setup returned does not end within 5000 ms/);
    expect(err).toContain("2 problems.");
    expect(code).toBe(2);
  });

  it("tells of hooks that are broken, with their line, dependencies included; the others are no problem", async () => {
    const file = join(cwd, "hooks.yaml");
    const run = 'run: { shell: { sh: "exit 0" } }';
    writeFileSync(
      file,
      `hooks:\n  - { id: good, on: message_sent, ${run} }\n  - { id: bad, on: mesage_sent, ${run} }\n  - { id: lost, on: message_sent, after: [nobody], ${run} }\n`,
    );
    const { code, err } = await runCli(["check", "--config", file], { cwd });
    expect(code).toBe(2);
    expect(err).toMatch(
      /hooks\.yaml:3:\d+ on: hook bad: there is no hook point "mesage_sent" \(did you mean "message_sent"\?\)/,
    );
    expect(err).toMatch(/hooks\.yaml:4:\d+: hook lost: .*"nobody", which is not registered/);
    expect(err).toContain("2 problems.");
  });

  it("takes the hooks of plugins that are there as there: a hook may wait for them", async () => {
    const file = join(cwd, "waits.yaml");
    writeFileSync(
      join(cwd, "guards.mjs"),
      'export default { id: "guards", setup(api) { api.hooks.registerVoid("message_sent", () => {}, { id: "first" }); } };',
    );
    const waits = (id: string, after: string) =>
      `  - { id: ${id}, on: message_sent, after: [${after}], run: { shell: { sh: "exit 0" } } }\n`;
    writeFileSync(
      file,
      `plugins: [./guards.mjs]\nhooks:\n${waits("good", "guards.first")}${waits("lost", "others.first")}`,
    );
    const { code, err } = await runCli(["check", "--config", file], { cwd });
    expect(code).toBe(2);
    expect(err).toMatch(/hook lost: .*"others\.first", which is not registered/);
    expect(err).toContain("1 problem.");
  });

  it("tells of misspelt platforms in routes, hooks and plans, with their line and the nearest one", async () => {
    const folder = join(cwd, "platforms");
    mkdirSync(join(folder, "missions"), { recursive: true });
    const file = join(folder, "hookgate.yaml");
    const hook = (id: string, to: string) =>
      `  - { id: ${id}, on: message_sent, run: { chat: { text: x, to: "${to}" } } }\n`;
    writeFileSync(
      file,
      `alerts:\n  routes:\n    default: { to: ["discrod:1:2"] }\nhooks:\n${hook("plain", "wbe:web:ops")}${hook("filled", "telgram:1:{{ event.chat }}")}`,
    );
    writeFileSync(
      join(folder, "missions/fair.yaml"),
      "groups:\n  - name: all\n    tasks:\n      - { id: pack, title: Pack, assignTo: 'person:discrd:5' }\n",
    );
    const { code, err } = await runCli(["check", "--config", file], { cwd });
    expect(code).toBe(2);
    expect(err).toMatch(
      /hookgate\.yaml:3:\d+ alerts\.routes\.default\.to\.0: there is no platform "discrod" \(did you mean "discord"\?\) \(expected .*; got discrod:1:2\)/,
    );
    writeFileSync(file, readFileSync(file, "utf8").replace("discrod", "discord"));
    const later = await runCli(["check", "--config", file], { cwd });
    expect(later.err).toMatch(/hookgate\.yaml:5:\d+ .*hook plain: .*"wbe" \(did you mean "web"\?\)/);
    expect(later.err).toMatch(/hookgate\.yaml:6:\d+ .*hook filled: .*"telgram" \(did you mean "telegram"\?\)/);
    expect(later.err).toMatch(/fair\.yaml:4:\d+ .*plan fair: .*"discrd" \(did you mean "discord"\?\)/);
    expect(later.err).toMatch(/alerts\.routes\.default\.to\.0: discord:1:2 cannot be reached: discord is off/);
    expect(later.err).toContain("4 problems.");
  });

  it("tells the same as JSON", async () => {
    writeFileSync(join(cwd, "hookgate.yaml"), "gateway:\n  ambiguous: maybe\n");
    const { code, out } = await runCli(["check", "--json"], { cwd });
    rmSync(join(cwd, "hookgate.yaml"));
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({ ok: false, problems: [{ line: 2, path: "gateway.ambiguous" }] });
  });

  it("is content with no configuration at all, and exits with 0", async () => {
    const { code, out, err } = await runCli(["check"], { cwd });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("defaults hold");
  });

  it("refuses a file that is not there", async () => {
    const { code, err } = await runCli(["check", "-c", "nowhere.yaml"], { cwd });
    expect(code).toBe(2);
    expect(err).toContain("nowhere.yaml");
  });
});

describe("hookgate points", () => {
  it("prints an aligned table of every point", async () => {
    const { code, out } = await runCli(["points"], { cwd });
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^POINT +MODEL +VETO +FIRED$/);
    expect(lines.find((line) => line.startsWith("message_sending "))).toMatch(/ modifying +yes /);
    expect(new Set(lines.map((line) => line.search(/(?<=\s)(MODEL|void|modifying|claiming|lifecycle)\b/))).size).toBe(
      1,
    );
  });

  it("ends quietly when its reader has seen enough", async () => {
    const child = spawnCli(["points", "--json"], { cwd });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk;
    });
    child.stdout.destroy();
    const code = await new Promise((done) => child.on("close", done));
    expect({ code, err }).toEqual({ code: 0, err: "" });
  });

  it("prints JSON with the schemas and an example of each", async () => {
    const { code, out } = await runCli(["points", "--json", "inbound_claim"], { cwd });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([
      {
        name: "inbound_claim",
        model: "claiming",
        vetoable: true,
        payload: { type: "object", required: ["message", "isAnswer"] },
        result: { type: "object" },
        example: { message: {} },
      },
    ]);
  });

  it("suggests the nearest name and exits with 2 when none matches", async () => {
    const { code, err } = await runCli(["points", "mesage_sent"], { cwd });
    expect(code).toBe(2);
    expect(err).toContain('Did you mean "message_sent"?');
  });
});

describe("usage", () => {
  it("shows the commands and exits with 0 when asked for help", async () => {
    const { code, out } = await runCli(["--help"], { cwd });
    expect(code).toBe(0);
    for (const name of [
      "start",
      "check",
      "points",
      "hooks",
      "fire",
      "runs",
      "run",
      "replay",
      "outbox",
      "status",
      "whoami",
      "doctor",
    ])
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, "m"));
    expect(out).toContain("Exit codes");
  });

  it("prints the version of the package", async () => {
    const { code, out } = await runCli(["--version"], { cwd });
    expect({ code, out: out.trim() }).toEqual({ code: 0, out: "0.1.0" });
  });

  it.each([
    [["hoks"], /Did you mean hooks/],
    [["fire"], /missing required argument/],
    [["runs", "--page", "zero"], /whole number/],
    [["runs", "--filter", "a", "b"], /given twice/],
    [["fire", "x", "--phase", "during"], /before, after/],
    [["status", "--nope"], /unknown option/],
  ])("exits with 2 and says what is wrong: %j", async (args, told) => {
    const { code, out, err } = await runCli(args, { cwd, env: NOBODY });
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toMatch(told);
  });

  it("refuses a payload that is no JSON before it calls anybody", async () => {
    writeFileSync(join(cwd, "payload.json"), "{ text: 1 }");
    const { code, err } = await runCli(["fire", "x", "--payload", "@payload.json"], { cwd, env: NOBODY });
    expect(code).toBe(2);
    expect(err).toContain("not JSON");
    const missing = await runCli(["fire", "x", "--payload", "@missing.json"], { cwd, env: NOBODY });
    expect(missing.code).toBe(2);
    expect(missing.err).toContain("missing.json");
  });
});

describe("without a live gateway", () => {
  it("says so, and how to start one, and exits with 1", async () => {
    const { code, out, err } = await runCli(["hooks"], { cwd, env: NOBODY });
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toContain("No gateway answers at http://127.0.0.1:1");
    expect(err).toContain("hookgate start");
  });

  it("the doctor looks at everything else", async () => {
    const { code, out } = await runCli(["doctor", "--json"], { cwd, env: NOBODY });
    const { ok, findings } = JSON.parse(out);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    const names = findings.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["configuration", "node", "disk", "database", "gateway"]));
    expect(findings.find(({ name }: { name: string }) => name === "gateway")).toMatchObject({
      state: "warning",
      hint: expect.stringContaining("start"),
    });
  });
});
