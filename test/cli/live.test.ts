/** The command line against a gateway that it started itself: two real processes, one database, real HTTP. */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createPlainServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { runCli, spawnCli } from "./run-cli.js";

/** Its slow hook tells by a file that it has begun, and ends when another file is there. */
const PLUGIN = `
import { existsSync, writeFileSync } from "node:fs";
export default {
  id: "probe",
  setup(api) {
    api.hooks.registerModifying("message_sending", ({ message }) => ({ message: { ...message, text: message.text.toUpperCase() } }), { id: "shout" });
    api.hooks.registerClaiming("inbound_claim", () => { throw new Error("no route today"); }, { id: "broken" });
    api.hooks.registerVoid("message_sent", async () => {
      writeFileSync("begun", "");
      while (!existsSync("enough")) await new Promise((done) => setTimeout(done, 10));
    }, { id: "slow" });
  },
};
`;

let cwd: string;
let gateway: { child: ChildProcess; out: () => string; err: () => string };
let env: Record<string, string>;

async function startGateway() {
  const child = spawnCli(["start"], { cwd, env });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk;
  });
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${err}${out}`);
      return err.includes("chat ");
    },
    "the gateway's greeting",
    50_000,
  ).catch((error: unknown) => {
    child.kill("SIGKILL");
    throw error;
  });
  return { child, out: () => out, err: () => err };
}

const stopped = ({ child }: { child: ChildProcess }) =>
  child.exitCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise<number | null>((done) => child.once("exit", done));

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), "hookgate-live-"));
  mkdirSync(join(cwd, "plugins"));
  writeFileSync(join(cwd, "plugins/probe.mjs"), PLUGIN);
  writeFileSync(join(cwd, "hookgate.yaml"), "plugins:\n  - ./plugins/probe.mjs\n");
  env = { HOOKGATE_PORT: String(await freePort()) };
  gateway = await startGateway();
});
afterAll(async () => {
  if (gateway?.child.exitCode === null) gateway.child.kill("SIGKILL");
  rmSync(cwd, { recursive: true, force: true });
});

const cli = (...args: string[]) => runCli(args, { cwd, env });
const json = async (...args: string[]) => {
  const result = await cli(...args, "--json");
  return { ...result, data: JSON.parse(result.out) };
};

describe("hookgate start", () => {
  it("tells where the chat is, and once where the login token is, on standard error; standard output is the log as JSON lines", () => {
    expect(gateway.err()).toContain(`http://127.0.0.1:${env.HOOKGATE_PORT}`);
    const [, file = ""] = /login token +in (\S+)\n.*`npx hookgate token` shows it/.exec(gateway.err()) ?? [];
    const token = readFileSync(file, "utf8").trim();
    expect(token.length).toBeGreaterThan(20);
    // Others may read what is written to a file, and a journal keeps it.
    expect(gateway.err()).not.toContain(token);
    for (const line of gateway.out().trim().split("\n").filter(Boolean)) expect(JSON.parse(line)).toHaveProperty("msg");
    expect(gateway.out()).not.toContain(token);
  });

  it("refuses a second gateway on the same database, and says who has it", async () => {
    const { code, err } = await runCli(["start"], { cwd, env: { HOOKGATE_PORT: String(await freePort()) } });
    expect(code).toBe(1);
    expect(err).toContain("another gateway");
    expect(err).toContain(`process ${gateway.child.pid}`);
  });

  it("refuses a broken configuration with all its problems, and exits with 2", async () => {
    writeFileSync(join(cwd, "broken.yaml"), "gateway:\n  ambiguous: maybe\n  tll: 1h\n");
    const { code, err } = await cli("start", "-c", "broken.yaml");
    expect(code).toBe(2);
    expect(err).toMatch(/broken\.yaml:2.*ambiguous/s);
    expect(err).toMatch(/broken\.yaml:3.*ttl/s);
  });
});

describe("hookgate start without any platform left", () => {
  it("is refused: a gateway that serves nobody would only hide what is wrong", async () => {
    writeFileSync(join(cwd, "nobody.yaml"), "web:\n  name: two words\n");
    const { code, err } = await cli("start", "-c", "nobody.yaml");
    expect(code).toBe(2);
    expect(err).toMatch(/nobody\.yaml:2.*web\.name/s);
  });
});

describe("against the live gateway", () => {
  it("lists the hooks as an aligned table and as JSON", async () => {
    const [table, { code, data }] = await Promise.all([cli("hooks"), json("hooks", "list", "probe")]);
    expect(table.code).toBe(0);
    expect(table.out).toMatch(/^inbound\nPOINT +HOOK +STATE +LAST FIRED/);
    expect(table.out).toMatch(/^outbound\nPOINT +HOOK +STATE +LAST FIRED/m);
    expect(table.out).toMatch(/message_sending +probe\.shout +on/);
    expect(code).toBe(0);
    expect(data.hooks.map(({ id }: { id: string }) => id).sort()).toEqual([
      "probe.broken",
      "probe.shout",
      "probe.slow",
    ]);
  });

  it("does any command of the chat, quoted for it, with its exit codes and its JSON", async () => {
    const [status, found, asLine, wrong, refused] = await Promise.all([
      json("do", "status"),
      cli("do", "hooks", "show", "probe.shout"),
      cli("do", "/help fire-hook"),
      cli("do", "no-such-command"),
      cli("do", "task", "add", 'a "new" one', "text=Change the lock"),
    ]);
    expect(status).toMatchObject({ code: 0, data: { running: true } });
    expect(found).toMatchObject({ code: 0, out: expect.stringContaining("message_sending") });
    expect(asLine).toMatchObject({ code: 0, out: expect.stringContaining("/fire-hook") });
    expect(wrong.code).not.toBe(0);
    expect(wrong.err).toContain("no-such-command");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('There is no runner or person "a "new" one"');
  });

  it("fires a hook with a payload from a file, and with one from standard input", async () => {
    writeFileSync(
      join(cwd, "payload.json"),
      JSON.stringify({
        chatId: "c",
        platform: "web",
        deliveryId: "d_x",
        cause: { kind: "api", id: "1", depth: 0 },
        message: { text: "from a file" },
      }),
    );
    const { code, data } = await json("fire", "probe.shout", "--live", "--payload", "@payload.json");
    expect(code).toBe(0);
    expect(data).toMatchObject({
      dryRun: false,
      runs: [{ hookId: "probe.shout", outcome: "modified" }],
      result: { message: { text: "FROM A FILE" } },
    });
    const input = readFileSync(join(cwd, "payload.json"), "utf8").replace("a file", "a pipe");
    const piped = await runCli(["fire", "probe.shout", "--payload", "@-", "--json"], { cwd, env, input });
    expect(JSON.parse(piped.out)).toMatchObject({ dryRun: true, result: { message: { text: "FROM A PIPE" } } });
  });

  it("exits with 1 when a hook failed, and shows it among the failed runs", async () => {
    const fired = await cli("fire", "probe.broken", "--live");
    expect(fired.code).toBe(1);
    expect(fired.out).toContain("no route today");
    const { data } = await json("runs", "failed");
    expect(data.dispatches[0]).toMatchObject({
      point: "inbound_claim",
      runs: [{ hookId: "probe.broken", outcome: "failed" }],
    });
    const [one, again] = await Promise.all([json("run", data.dispatches[0].id), json("replay", data.dispatches[0].id)]);
    expect(one.data).toMatchObject({ id: data.dispatches[0].id, redacted: true });
    expect(again.code).toBe(1);
    expect(again.data).toMatchObject({ replayOf: data.dispatches[0].id, dryRun: true });
  });

  it("lists runs with their numbers and ids, and opens one by its number", async () => {
    await cli("fire", "probe.broken", "--live");
    const { out } = await cli("runs", "failed");
    const [, id] = /^1\. ✗ failed · probe\.broken · \d\d:\d\d:\d\d · fired by hand · (f_\w+)$/m.exec(out) ?? [];
    expect(id).toBeDefined();
    const opened = await cli("run", "1");
    expect(opened.out).toMatch(/^Number 1 of \/runs failed, as you saw it /);
    expect(opened.out).toContain(`dispatch ${id}`);
  });

  it("exits with 2 for a payload that is none, with every field named on standard error", async () => {
    const { code, out, err } = await cli("fire", "probe.shout", "--payload", '{"chatId": 5}');
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toMatch(/^error: .*\n- chatId: expected text, got 5\n- platform: it is missing: expected text\n/);
    expect(err).toContain("hint: ");
  });

  it("exits with 3 for a hook that is being fired already", async () => {
    const first = cli("fire", "probe.slow", "--live");
    await until(() => existsSync(join(cwd, "begun")), "the first run");
    const refused = await cli("fire", "probe.slow", "--live");
    writeFileSync(join(cwd, "enough"), "");
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/is being fired already: run f_\w+, for /);
    expect((await first).code).toBe(0);
    expect((await cli("fire", "probe.slow", "--live")).code).toBe(0);
  });

  it("switches a hook off and on, for good", async () => {
    expect((await cli("hooks", "disable", "probe.shout")).code).toBe(0);
    expect((await json("hooks", "show", "probe.shout")).data).toMatchObject({
      enabled: false,
      switched: { by: "web:1 (Owner)" },
    });
    expect((await cli("hooks", "why", "probe.shout")).out).toContain("would not run");
    expect((await cli("hooks", "enable", "probe.shout")).code).toBe(0);
    const { data } = await json("hooks", "order", "message_sending");
    expect(data.orders[0].hooks).toMatchObject([{ id: "probe.shout", enabled: true }]);
  });

  it("takes options as answers of the gateway write them", async () => {
    const fired = await cli("fire-hook", "probe.shout", "example", "live=false");
    expect(fired).toMatchObject({ code: 0, out: expect.stringContaining("Dry run") });
    const released = await cli("outbox", "release", "d_none", "confirmed=false");
    expect(released.err).toContain('There is no delivery "d_none"');
  });

  it("names the action that was misspelt, and takes a word that is none as the filter of the list", async () => {
    const { code, err } = await cli("hooks", "disabl", "probe.shout");
    expect(code).toBe(2);
    expect(err).toContain('hooks has no action "disabl". Did you mean "disable"?');
    expect((await cli("hooks", "probe.shout")).out).toContain("probe.shout");
  });

  it("suggests the nearest id on standard error, and exits with 1", async () => {
    const { code, out, err } = await cli("hooks", "show", "probe.shot");
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toContain('Did you mean "probe.shout"?');
  });

  it("tells status, who one is, and an empty outbox", async () => {
    const [status, shown, whoami, outbox, letters, none] = await Promise.all([
      json("status"),
      cli("status"),
      json("whoami"),
      cli("outbox"),
      json("outbox"),
      cli("outbox", "show", "d_none"),
    ]);
    expect(status.data).toMatchObject({
      running: true,
      adapters: [{ platform: "web", phase: "online" }],
      store: { ok: true },
      plugins: [{ id: "probe", state: "loaded" }],
      version: "0.1.0",
    });
    expect(shown.out).toMatch(/Platforms +● web online/);
    expect(whoami.data).toMatchObject({ person: "web:1", role: "owner" });
    expect(outbox.out).toContain("Nothing waits for you");
    expect(letters.data).toMatchObject({ letters: [] });
    expect(none.code).toBe(1);
  });

  it("exits with 3 when the token is not the gateway's", async () => {
    const { code, err } = await runCli(["status"], { cwd, env: { ...env, HOOKGATE_TOKEN: "not-the-right-token" } });
    expect(code).toBe(3);
    expect(err).toContain("does not know the gateway's token; it may be another program");
    const logged = /"address":"127\.0\.0\.1","way":"signed","count":\d+,.*"msg":"a wrong token was sent"/;
    await until(() => logged.test(gateway.out()), "the log naming the wrong token");
    const elsewhere = mkdtempSync(join(tmpdir(), "hookgate-elsewhere-"));
    const noToken = await runCli(["status"], { cwd: elsewhere, env });
    rmSync(elsewhere, { recursive: true });
    expect(noToken.code).toBe(3);
    expect(noToken.err).toContain("there is no token here");
  });

  it("shows after a reset of the token that the gateway must be restarted", async () => {
    const file = join(cwd, "data/hookgate.token");
    const [before, { atime, mtime }] = [readFileSync(file, "utf8"), statSync(file)];
    try {
      expect((await runCli(["token", "--reset"], { cwd, env })).code).toBe(0);
      // As if the gateway had started a minute ago.
      utimesSync(file, Date.now() / 1000 + 60, Date.now() / 1000 + 60);
      const { code, err } = await runCli(["status"], { cwd, env });
      expect({ code, err }).toEqual({
        code: 3,
        err: expect.stringMatching(/The login token was reset after the gateway started.*Restart the gateway/s),
      });
      const shown = await runCli(["token"], { cwd, env });
      expect(shown.err).toMatch(/Do not enter the token there\. Restart the gateway: it applies the new token then/);
      expect(shown.err).not.toContain("hookgate start");
    } finally {
      writeFileSync(file, before);
      utimesSync(file, atime, mtime);
    }
    expect((await runCli(["status"], { cwd, env })).code).toBe(0);
  });

  it("sends its token to no other program on the gateway's port, and believes no answer of one", async () => {
    const heard: string[] = [];
    const impostor = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk;
      });
      request.on("end", () => {
        heard.push(JSON.stringify(request.headers) + body);
        response.setHeader("content-type", "application/json");
        response.setHeader("hookgate-proof", "A".repeat(43));
        response.end(JSON.stringify({ outcome: "done", message: { text: "All is well" }, data: null }));
      });
    });
    await new Promise<void>((done) => impostor.listen(0, "127.0.0.1", done));
    const bound = impostor.address();
    const port = String(typeof bound === "object" && bound !== null ? bound.port : 0);
    const token = readFileSync(join(cwd, "data/hookgate.token"), "utf8").trim();
    for (const args of [["status"], ["doctor"], ["do", "/hooks list"]]) {
      const { code, out, err } = await runCli(args, { cwd, env: { HOOKGATE_PORT: port } });
      expect(code, args.join(" ")).not.toBe(0);
      expect(out + err).toContain("does not know the gateway's token; it may be another program");
      expect(out).not.toContain("All is well");
    }
    // The link would take the token to that program's page; only the gateway's own answer brings it.
    const own = await runCli(["token"], { cwd, env });
    expect(own.out).toContain(`log in       http://127.0.0.1:${env.HOOKGATE_PORT}/#token=${token}`);
    const shown = await runCli(["token"], { cwd, env: { HOOKGATE_PORT: port } });
    expect(shown.out).not.toContain("#token=");
    expect(shown.err).toMatch(/it may be another program.*\nDo not enter the token there\./s);
    expect(heard).toHaveLength(4);
    expect(token.length).toBeGreaterThan(20);
    expect(heard.join("\n")).not.toContain(token);

    // What such a program caught is of no use at the gateway: there it is the call of another address, time and body.
    const headers = {
      "content-type": "application/json",
      authorization: JSON.parse(heard[0]?.split('{"name')[0] ?? "{}").authorization,
    };
    const post = async (body: string) =>
      (await fetch(`http://127.0.0.1:${env.HOOKGATE_PORT}/api/command`, { method: "POST", headers, body })).status;
    const caught = `{"name${heard[0]?.split('{"name')[1]}`;
    expect(await post('{"line":"/hooks pause"}')).toBe(401);
    expect([await post(caught), await post(caught)]).toEqual([200, 401]);
    await new Promise((done) => impostor.close(done));
  });

  it.each<[string, (socket: Socket) => void, string]>([
    ["resets the connection", (socket) => void socket.resetAndDestroy(), "broke before an answer came"],
    ["closes it", (socket) => void socket.end(), "broke before an answer came"],
    ["answers no HTTP", (socket) => void socket.end("SSH-2.0-dropbear\r\n"), "No gateway answers at"],
    ["never answers", (socket) => void socket.resume(), "did not answer in time"],
  ])("`hookgate token` prints no login link when what listens on the port %s", async (_, answer, why) => {
    const sockets = new Set<Socket>();
    const impostor = createPlainServer((socket) => {
      socket.on("error", () => {});
      sockets.add(socket);
      answer(socket);
    });
    await new Promise<void>((done) => impostor.listen(0, "127.0.0.1", done));
    const bound = impostor.address();
    const port = String(typeof bound === "object" && bound !== null ? bound.port : 0);
    const shown = await runCli(["token"], { cwd, env: { HOOKGATE_PORT: port } });
    expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/^login token {2}\S+\s*$/) });
    expect(shown.err).toContain(why);
    expect(shown.err).toContain("Do not enter the token there. Start the gateway");
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => impostor.close(done));
  });

  it("the doctor names the hooks that never fired and those that fail", async () => {
    const { code, data } = await json("doctor");
    const hooks = data.findings
      .filter(({ name }: { name: string }) => name === "hooks")
      .map(({ detail }: { detail: string }) => detail);
    expect(code).toBe(0);
    expect(hooks).toEqual([expect.stringContaining("failing in 24 h: probe.broken")]);
    expect(data.findings).toContainEqual({ name: "gateway", state: "ok", detail: "it runs" });
  });
});

describe("a gateway that ends while it handles a command", () => {
  it("is not called one that does not run: the command may have been done", async () => {
    rmSync(join(cwd, "begun"), { force: true });
    rmSync(join(cwd, "enough"), { force: true });
    const fired = cli("fire", "probe.slow", "--live");
    await until(() => existsSync(join(cwd, "begun")), "the command being under way");
    const ended = stopped(gateway);
    gateway.child.kill("SIGKILL");
    const { code, err } = await fired;
    expect(code).toBe(1);
    expect(err).toMatch(/broke before an answer came.*\. The gateway may have done this or not\./);
    expect(err).toMatch(/hint: Look before you repeat it: .*task list/);
    expect(err).not.toContain("No gateway answers");
    // Nor is it known that it ended: it may have refused the connection.
    expect(err).not.toMatch(/gateway ended/);
    await ended;
    expect((await cli("task", "list")).err).toContain("No gateway answers at");
    gateway = await startGateway();
  });
});

describe("signals", () => {
  it("SIGHUP takes over a changed configuration; a broken one changes nothing", async () => {
    writeFileSync(join(cwd, "hookgate.yaml"), "plugins:\n  - module: ./plugins/probe.mjs\n    enabled: maybe\n");
    gateway.child.kill("SIGHUP");
    await until(() => gateway.err().includes("error: "));
    expect((await json("hooks", "list", "probe")).data.hooks).toHaveLength(3);
    const rejected = expect.stringContaining("the latest version was rejected, and the one before it is in force");
    const problems = async () => (await json("hooks", "broken")).data.problems;
    const inForce = async () =>
      (await json("doctor")).data.findings.filter(({ name }: { name: string }) => name === "in force");
    expect(await problems()).toEqual([{ of: "configuration", text: rejected }]);
    expect((await cli("hooks", "broken")).out).toEqual(rejected);
    expect(await inForce()).toEqual([
      { name: "in force", state: "bad", detail: rejected, hint: expect.stringContaining("hookgate hooks broken") },
    ]);
    writeFileSync(join(cwd, "hookgate.yaml"), "plugins:\n  - module: ./plugins/probe.mjs\n    enabled: false\n");
    gateway.child.kill("SIGHUP");
    await until(() => gateway.err().includes("Reloaded"));
    expect((await json("hooks", "list", "probe")).data.hooks).toEqual([]);
    expect(await problems()).toEqual([]);
    expect(await inForce()).toEqual([]);
  });

  it("SIGTERM stops it well, and the next start tells no token again but keeps what was switched", async () => {
    writeFileSync(join(cwd, "hookgate.yaml"), "plugins:\n  - ./plugins/probe.mjs\n");
    gateway.child.kill("SIGHUP");
    await until(async () => (await json("hooks", "list", "probe")).data.hooks.length === 3);
    await cli("hooks", "disable", "probe.shout");
    gateway.child.kill("SIGTERM");
    expect(await stopped(gateway)).toBe(0);
    gateway = await startGateway();
    expect(gateway.err()).not.toContain("login token");
    expect((await json("hooks", "show", "probe.shout")).data).toMatchObject({ enabled: false });
    gateway.child.kill("SIGINT");
    expect(await stopped(gateway)).toBe(0);
  });
});

describe("as a viewer", () => {
  it("is refused what a viewer may not do, with 3, and fires dry", async () => {
    writeFileSync(join(cwd, "hookgate.yaml"), "operators:\n  console: viewer\nplugins:\n  - ./plugins/probe.mjs\n");
    gateway = await startGateway();
    const [enable, live, fired] = await Promise.all([
      cli("hooks", "enable", "probe.shout"),
      cli("replay", "last", "--live"),
      json("fire", "message_sending"),
    ]);
    expect(enable).toMatchObject({ code: 3, out: "", err: expect.stringContaining("needs the role admin") });
    expect(live).toMatchObject({ code: 3, out: "", err: expect.stringContaining("needs the role operator") });
    expect(fired.data).toMatchObject({ dryRun: true });
    gateway.child.kill("SIGINT");
    expect(await stopped(gateway)).toBe(0);
  });
});
