/** The files on disk, as a user of the same machine and an operator with a damaged disk meet them: real processes, real files. */
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { freePort, type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { runCli, spawnCli } from "./run-cli.js";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const pipe = (path: string) => void execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', path]);
const device = (path: string) => symlinkSync("/dev/zero", path);
const tooLarge = (path: string) => writeFileSync(path, "#".repeat(5_000_001));
const utf16 = (path: string) => writeFileSync(path, Buffer.from("\ufeffhooks: []\n", "utf16le"));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-files-"));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Installation extends GatewayProcess {
  data: string;
  database: string;
  journal: string;
  cli(...args: string[]): ReturnType<typeof runCli>;
  /** One that cannot start: its exit code, and what it printed. */
  failedStart(): ReturnType<typeof refusedStart>;
  /** Posts a message to the room "general" of the web chat. */
  post(text: string): Promise<void>;
  texts(): Promise<string[]>;
  /** The answer to a line as it is written in chat, as JSON. */
  command(line: string): Promise<string>;
}

/** Answers every message, so that a message leaves a delivery behind. */
const ECHO = `export default {
  id: "echo",
  setup(api) {
    api.hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: { text: "echo " + message.text } }), { id: "reply" });
  },
};`;

const PONG = JSON.stringify({ decision: "claim", reply: "pong" });

/** A gateway in a folder of its own. */
async function installation(env: Record<string, string> = {}): Promise<Installation> {
  const folder = temporaryFolder();
  const port = await freePort();
  const all = { HOOKGATE_TOKEN: TOKEN, HOOKGATE_PORT: String(port), ...env };
  const access = { dms: "everyone", chats: ["*"], mention: "always" };
  // It looks for alerts about itself twice in this time.
  const alerts = { watch_gateway: { offline_after: "2s" } };
  const config = { plugins: ["./echo.mjs"], web: { access }, alerts };
  const gateway = await gatewayProcess({ folder, config, port, env: all });
  writeFileSync(join(folder, "echo.mjs"), ECHO);
  cleanUps.push(() => gateway.kill());
  const data = join(folder, "data");
  const cli = (...args: string[]) => runCli(args, { cwd: folder, env: all });
  // biome-ignore lint/suspicious/noExplicitAny: answers of several routes, read by the tests field by field
  const call = async (path: string, body?: unknown): Promise<any> => {
    const authorization = `Bearer ${all.HOOKGATE_TOKEN}`;
    const answer = await fetch(`${gateway.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  let nonces = 0;
  return {
    ...gateway,
    data,
    database: join(data, "hookgate.db"),
    journal: join(data, "hookgate-journal.db"),
    cli,
    failedStart: () => refusedStart(folder, all),
    post: async (text) =>
      void (await call("/api/rooms/general/messages", { text, nonce: `nonce-of-the-test-${Date.now()}-${nonces++}` })),
    command: async (line) => JSON.stringify(await call("/api/command", { line, source: "cli" })),
    texts: async () => {
      const { messages } = await call("/api/rooms/general/messages?limit=200");
      return messages.map(({ text }: { text: string }) => text);
    },
  };
}

/** A start that must end by itself; it is killed after the test when it does not. */
async function refusedStart(cwd: string, env: Record<string, string>): Promise<{ code: number | null; err: string }> {
  const child = spawnCli(["start"], { cwd, env });
  cleanUps.push(() => child.kill("SIGKILL"));
  let err = "";
  child.stdout.resume();
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk;
  });
  return new Promise((done) => child.once("close", (code) => done({ code, err })));
}

/** Every path under the folder with its mode, as `ls` shows it. */
function modes(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(
    [".", ...paths].map((path) => [path, (statSync(join(folder, path)).mode & 0o777).toString(8)]),
  );
}

describe("privacy of the data folder", () => {
  it("closes the folder and every file to other users, also files from an earlier version", async () => {
    const gateway = await installation({ HOOKGATE_TOKEN: "" });
    const data = join(gateway.folder, "data");
    await gateway.start();
    await gateway.ready();
    const token = readFileSync(join(data, "hookgate.token"), "utf8").trim();
    const upload = await fetch(`${gateway.url}/api/uploads?filename=secret.txt`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "text/plain" },
      body: "private",
    });
    expect(upload.status).toBe(201);
    const whileRunning = modes(data);
    expect(Object.keys(whileRunning)).toEqual(
      expect.arrayContaining(["hookgate.db", "hookgate.db-wal", "hookgate.db-shm", "hookgate.db.lock", "uploads"]),
    );
    const isFolder = (path: string) => path === "." || path === "uploads";
    const allPrivate = (found: Record<string, string>) =>
      Object.fromEntries(Object.keys(found).map((path) => [path, isFolder(path) ? "700" : "600"]));
    expect(whileRunning).toEqual(allPrivate(whileRunning));
    await gateway.kill();

    for (const path of Object.keys(whileRunning)) chmodSync(join(data, path), isFolder(path) ? 0o755 : 0o644);
    const doctor = await gateway.cli("doctor");
    expect(doctor.out).toContain("other users of this machine can open");
    expect(doctor.out).toContain("hookgate.db");
    await gateway.start();
    await gateway.ready();
    const afterRestart = modes(data);
    expect(afterRestart).toEqual(allPrivate(afterRestart));
    expect((await gateway.cli("doctor")).out).not.toContain("other users");
  });

  it("does not close a folder that holds other things too", async () => {
    const gateway = await installation({ DATABASE_URL: "file:shared/hookgate.db" });
    const shared = join(gateway.folder, "shared");
    mkdirSync(shared);
    writeFileSync(join(shared, "notes.txt"), "of the team");
    chmodSync(shared, 0o755);
    chmodSync(join(shared, "notes.txt"), 0o644);
    await gateway.start();
    await gateway.ready();
    expect(modes(shared)).toMatchObject({ ".": "755", "notes.txt": "644", "hookgate.db": "600" });
  });

  it("keeps the login token out of the database, and the command line reads it from its own file", async () => {
    const gateway = await installation({ HOOKGATE_TOKEN: "" });
    await gateway.start();
    await gateway.ready();
    const data = join(gateway.folder, "data");
    const token = readFileSync(join(data, "hookgate.token"), "utf8").trim();
    const greetings = () => gateway.output().split(`login token  in ${join(data, "hookgate.token")}`).length - 1;
    await until(() => greetings() === 1, "the greeting");
    expect((await gateway.cli("status")).code).toBe(0);
    await gateway.kill();
    for (const name of readdirSync(data).filter((name) => name.startsWith("hookgate") && !name.endsWith(".token")))
      expect(readFileSync(join(data, name)).includes(token), name).toBe(false);

    rmSync(join(data, "hookgate.token"));
    await gateway.start();
    await gateway.ready();
    const next = readFileSync(join(data, "hookgate.token"), "utf8").trim();
    expect(next).not.toBe(token);
    await until(() => greetings() === 2, "the greeting");
    for (const secret of [token, next]) expect(gateway.output()).not.toContain(secret);
    const me = (bearer: string) => fetch(`${gateway.url}/api/me`, { headers: { authorization: `Bearer ${bearer}` } });
    expect([(await me(token)).status, (await me(next)).status]).toEqual([401, 200]);
  });

  it("replaces a login token that was cut short, at the start and by `hookgate token`, and says so", async () => {
    const gateway = await installation({ HOOKGATE_TOKEN: "" });
    const file = join(gateway.folder, "data", "hookgate.token");
    const read = () => readFileSync(file, "utf8").trim();
    const first = JSON.parse((await gateway.cli("token", "--json")).out).token;
    const cut = first.slice(0, 23);
    writeFileSync(file, cut);
    await gateway.start();
    await gateway.ready();
    expect(read()).toHaveLength(first.length);
    expect(gateway.output()).toMatch(
      /hookgate\.token was replaced by a new one, because it has fewer than 24 characters/,
    );
    const me = (bearer: string) => fetch(`${gateway.url}/api/me`, { headers: { authorization: `Bearer ${bearer}` } });
    expect([(await me(cut)).status, (await me(read())).status]).toEqual([401, 200]);

    // A pipe would be waited for.
    rmSync(file);
    pipe(file);
    for (const line of [["token"], ["status"]])
      expect((await gateway.cli(...line)).err).toContain("hookgate.token is a pipe, but the gateway keeps its login");
    await gateway.stop();
    expect((await gateway.failedStart()).err).toContain("hookgate.token is a pipe, but the gateway keeps its login");
    rmSync(file);
    mkdirSync(file);
    expect((await gateway.failedStart()).err).toContain("hookgate.token is a folder, but the gateway keeps its login");
    rmSync(file, { recursive: true });
    // Long enough, and no header can have it.
    writeFileSync(file, randomBytes(64));
    await gateway.start();
    await gateway.ready();
    expect(gateway.output()).toContain("because it contains spaces or other characters that no login token has");
    expect(read()).toMatch(/^[!-~]{40,}$/);

    // What a failed disk leaves: zeros.
    writeFileSync(file, "\0".repeat(44));
    const { out, code } = await gateway.cli("token", "--json");
    const shown = JSON.parse(out);
    expect([code, shown.token, shown.needsRestart]).toEqual([0, read(), true]);
    expect(shown).not.toHaveProperty("link", expect.anything());
    expect(shown.warning).toContain("was replaced by a new one, because it contains spaces or other characters");
    expect((await me(shown.token)).status).toBe(401);
  });
});

/** Changes bytes of a file in place. */
function overwrite(file: string, at: number, bytes: Buffer): void {
  const handle = openSync(file, "r+");
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

const flip = (file: string, from: number, count: number) =>
  overwrite(
    file,
    from,
    Buffer.from(
      readFileSync(file)
        .subarray(from, from + count)
        .map((byte) => byte ^ 0xff),
    ),
  );

/** A backup of another gateway. */
async function usedBackup(): Promise<string> {
  const gateway = await usedInstallation();
  await gateway.cli("backup", "copy.db");
  return join(gateway.folder, "copy.db");
}

/** Has run and stopped, with a few messages in its database. */
async function usedInstallation(): Promise<Installation> {
  const gateway = await installation();
  await gateway.start();
  await gateway.ready();
  await gateway.post("first");
  await until(async () => (await gateway.texts()).includes("echo first"), "the reply");
  await gateway.stop();
  return gateway;
}

describe("a link that leads nowhere, as to a volume that is not mounted,", () => {
  it.each([
    ["in place of the data folder", "data", "volume", "volume", ""],
    ["above the data folder", "data", "volume", "volume/deep", "file:data/deep/hookgate.db"],
    ["in place of the database", "link.db", "volume/hookgate.db", "volume", "file:link.db"],
  ])(
    "%s refuses the start, a restore and a token, and nothing is made behind it",
    async (_where, link, target, missing, url) => {
      const gateway = await installation({ HOOKGATE_TOKEN: "", DATABASE_URL: url });
      const backup = await usedBackup();
      const at = (name: string) => join(gateway.folder, name);
      symlinkSync(target, at(link));
      const why = `${at(link)} is a link that leads nowhere: the folder of the database, ${at(missing)}, does not exist`;
      const hint = `Mount or restore ${at(missing)}`;
      const start = await gateway.failedStart();
      expect(start).toEqual({ code: 1, err: expect.stringContaining(why) });
      expect(start.err).toContain(hint);
      for (const line of [["restore", backup], ["token"], ["token", "--reset"]])
        expect(await gateway.cli(...line)).toMatchObject({ code: 1, err: expect.stringContaining(why) });
      expect(await gateway.cli("doctor")).toMatchObject({ code: 1, out: expect.stringContaining(hint) });
      expect(existsSync(at("volume"))).toBe(false);

      mkdirSync(at(missing), { recursive: true });
      await gateway.start();
      await gateway.ready();
      expect(readdirSync(at(missing))).toContain("hookgate.db");
    },
  );

  it("in place of the data folder is no obstacle once its target is an empty folder, also when the folder of the database is yet to be made", async () => {
    const gateway = await installation({ DATABASE_URL: "file:data/deep/hookgate.db" });
    mkdirSync(join(gateway.folder, "volume"));
    symlinkSync("volume", gateway.data);
    await gateway.start();
    await gateway.ready();
    expect(existsSync(join(gateway.folder, "volume/deep/hookgate.db"))).toBe(true);
  });

  it("in place of hookgate.yaml refuses the start and the check with the same words", async () => {
    const gateway = await installation();
    const file = join(gateway.folder, "hookgate.yaml");
    rmSync(file);
    symlinkSync("volume/hookgate.yaml", file);
    const why = `${file}: is a link to ${join(gateway.folder, "volume/hookgate.yaml")}, which does not exist. Restore that file`;
    for (const outcome of [await gateway.failedStart(), await gateway.cli("check")])
      expect(outcome).toMatchObject({ code: 2, err: expect.stringContaining(why) });
    expect(await gateway.cli("doctor")).toMatchObject({ code: 2, out: expect.stringContaining(why) });
    expect(existsSync(gateway.data)).toBe(false);
  });

  it.each<[string, string, string, (path: string) => void]>([
    [".env", "a link to nothing", ".env: is a link to ", (path) => symlinkSync("volume", path)],
    [".env", "a link to itself", "/.env, which leads in a circle", (path) => symlinkSync(".env", path)],
    ["hookgate.yaml", "a link to itself", "which leads in a circle", (path) => symlinkSync("hookgate.yaml", path)],
    ["hooks/guard.yaml", "a link to nothing", "guard.yaml: is a link to ", (path) => symlinkSync("volume", path)],
    ["hooks/loop", "a link to its own folder", "hooks/loop: is a link to ", (path) => symlinkSync(".", path)],
    [".env", "a folder", ".env: cannot be read: it is a folder. Put a regular file", (path) => mkdirSync(path)],
    [".env", "a pipe", ".env: cannot be read: it is a pipe", pipe],
    [".env", "zero bytes", ".env: is damaged: it has bytes", (path) => writeFileSync(path, "\0\0\0\0")],
    [".env", "no variables", ".env: line 4 sets no variable", (path) => writeFileSync(path, `# it's\nA="1\n2"\nB`)],
    [
      ".env",
      "a quote",
      ".env: the quote in line 3 has no end",
      (path) => writeFileSync(path, `A="1"\n# "\nB="2\nC=it's`),
    ],
    [".env", "a device", ".env: cannot be read: it is a device. Put a regular file", device],
    ["missions", "a link to nothing", "missions: is a link to ", (path) => symlinkSync("volume", path)],
    ["hookgate.yaml", "a pipe", "hookgate.yaml: cannot be read: it is a pipe", pipe],
    ["hookgate.yaml", "a link to a device", "hookgate.yaml: cannot be read: it is a device", device],
    ["hookgate.yaml", "too large", "hookgate.yaml: cannot be read: it is larger than 5 MB", tooLarge],
    [
      "hooks/guard.yaml",
      "a link to a device",
      "it is a device. Put a regular file in its place. No hook of this file",
      device,
    ],
    ["hookgate.yaml", "no letters", "hookgate.yaml: the file is empty", (path) => writeFileSync(path, "\n")],
    ["hookgate.yaml", "UTF-16", "hookgate.yaml: cannot be read: it is UTF-16. Save it as UTF-8", utf16],
    ["hooks/guard.yaml", "a pipe", "cannot be read: it is a pipe", pipe],
    ["hooks/guard.yaml", "UTF-16", "guard.yaml: cannot be read: it is UTF-16. Save it as UTF-8", utf16],
  ])("%s as %s is reported by the check", async (name, _what, why, make) => {
    const gateway = await installation();
    const path = join(gateway.folder, name);
    rmSync(path, { force: true });
    mkdirSync(join(gateway.folder, "hooks"), { recursive: true });
    make(path);
    const { code, out, err } = await gateway.cli("check");
    expect(code).not.toBe(0);
    expect(out + err).toContain(why);
  });

  it("a folder in place of the lock refuses the start", async () => {
    const gateway = await installation();
    mkdirSync(join(gateway.data, "hookgate.db.lock"), { recursive: true });
    const { code, err } = await gateway.failedStart();
    expect(code).not.toBe(0);
    expect(err).toContain("hookgate.db.lock is a folder, but the gateway keeps the lock of its database in a regular");
  });

  it.each<[string, RegExp, (gateway: Installation) => void]>([
    [
      "a folder in place of the database",
      /hookgate\.db is a folder, but the gateway keeps its database in a regular file/,
      ({ database }) => {
        rmSync(database);
        mkdirSync(database);
      },
    ],
    [
      "a file in place of the data folder",
      /data is a file, but the folder of the database is .*data/,
      ({ data }) => {
        rmSync(data, { recursive: true });
        writeFileSync(data, "");
      },
    ],
    [
      "a link to itself in place of the data folder",
      /data is a link that leads in a circle, but the folder of the database is .*data/,
      ({ data }) => {
        rmSync(data, { recursive: true });
        symlinkSync("data", data);
      },
    ],
  ])("%s refuses the start, a restore and the doctor with its name", async (_what, why, put) => {
    const gateway = await usedInstallation();
    expect((await gateway.cli("backup", "copy.db")).code).toBe(0);
    put(gateway);
    expect(await gateway.failedStart()).toEqual({ code: 1, err: expect.stringMatching(why) });
    expect(await gateway.cli("restore", "copy.db")).toMatchObject({ code: 1, err: expect.stringMatching(why) });
    const { out } = await gateway.cli("doctor");
    expect(out).toMatch(why);
    expect(out).not.toMatch(/ELOOP|ENOTDIR/);
  });

  it.each([
    ["hookgate.db", "its database"],
    ["hookgate-journal.db", "the history of hooks"],
    ["hookgate.db.lock", "the lock of its database"],
  ])(
    "a pipe or a link in a circle in place of %s refuses the start, and the mode of the pipe stays",
    async (name, what) => {
      const gateway = await installation();
      const own = join(gateway.data, name);
      const target = join(gateway.folder, "pipe");
      pipe(target);
      chmodSync(target, 0o666);
      mkdirSync(gateway.data);
      for (const [to, is] of [
        [target, "pipe"],
        [name, "a link that leads in a circle"],
      ] as const) {
        symlinkSync(to, own);
        const { code, err } = await gateway.failedStart();
        expect(code).toBe(1);
        expect(err).toMatch(new RegExp(`${name} is .*${is}, but the gateway keeps ${what} in a regular file`));
        // Doctor reads rooms from the database, and would wait for the pipe.
        if (to !== target || name !== "hookgate.db")
          expect((await gateway.cli("doctor")).out).toContain(`but the gateway keeps ${what} in a regular file`);
        rmSync(own);
      }
      expect(statSync(target).mode & 0o777).toBe(0o666);
      await gateway.start();
      await gateway.ready();
    },
    90_000,
  );

  it("a history that is a link to a file of others is used, and the mode of that file stays, with a warning", async () => {
    const gateway = await installation();
    const target = join(gateway.folder, "shared.db");
    writeFileSync(target, "");
    chmodSync(target, 0o664);
    mkdirSync(gateway.data);
    symlinkSync(target, gateway.journal);
    await gateway.start();
    await gateway.ready();
    expect(statSync(target).mode & 0o777).toBe(0o664);
    expect(gateway.output()).toMatch(/hookgate-journal\.db, and its mode cannot be changed \(it is a link/);
  });

  it("garbage in the lock refuses the start, which says that deleting the file is enough", async () => {
    const gateway = await installation();
    const lock = `${gateway.database}.lock`;
    mkdirSync(gateway.data);
    writeFileSync(lock, "garbage ".repeat(500));
    const { code, err } = await gateway.failedStart();
    expect(code).toBe(1);
    expect(err).toContain("hookgate.db.lock is damaged");
    expect(err).toMatch(/delete [^ ]*hookgate\.db\.lock, and start again/);
    expect(err).not.toContain("restore");
    const doctor = await gateway.cli("doctor");
    expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining("hookgate.db.lock is damaged") });
    rmSync(lock);
    await gateway.start();
    await gateway.ready();
    expect((await gateway.cli("doctor")).out).not.toContain("hookgate.db.lock");
  });

  it.each<[string, string, (path: string) => void]>([
    ["a link to nothing", "hooks: is a link to ", (path) => symlinkSync("volume", path)],
    ["a file", "hooks: is a file", (path) => writeFileSync(path, "")],
    [
      "a folder with a link to nothing",
      "hooks/shared: is a link to ",
      (path) => {
        mkdirSync(path);
        symlinkSync("volume", join(path, "shared"));
      },
    ],
  ])(
    "in place of the folder hooks refuses the start and the check, and so does a file: %s",
    async (_what, why, put) => {
      const gateway = await installation();
      put(join(gateway.folder, "hooks"));
      for (const outcome of [await gateway.failedStart(), await gateway.cli("check")])
        expect(outcome).toMatchObject({ code: 2, err: expect.stringContaining(why) });
      expect(await gateway.cli("doctor")).toMatchObject({ code: 2, out: expect.stringContaining(why) });
      rmSync(join(gateway.folder, "hooks"), { recursive: true });
      expect((await gateway.cli("check")).code).toBe(0);
    },
  );
});

describe("a hook file that is a link to itself", () => {
  it("is reported by a start that goes on, and SIGTERM ends it; so it does when the link comes while the gateway runs", async () => {
    const gateway = await installation();
    const hooks = join(gateway.folder, "hooks");
    const why = "self.yaml, which leads in a circle back to the link";
    const reported = () => until(async () => (await gateway.command("/status")).includes(why), "the report");
    await gateway.start();
    await gateway.ready();
    mkdirSync(hooks);
    symlinkSync("self.yaml", join(hooks, "self.yaml"));
    await reported();
    expect(await gateway.stop()).toBe(0);
    await gateway.start();
    await gateway.ready();
    await reported();
    expect(await gateway.stop()).toBe(0);
    // One that leads to its own folder refuses a start, and keeps no gateway from ending.
    rmSync(join(hooks, "self.yaml"));
    writeFileSync(join(hooks, "none.yaml"), "# nothing for now\n");
    await gateway.start();
    await gateway.ready();
    symlinkSync(".", join(hooks, "loop"));
    await until(async () => (await gateway.command("/status")).includes("hooks/loop: is a link to"), "the refusal");
    expect(await gateway.stop()).toBe(0);
  });
});

describe("one gateway per database", () => {
  it("makes no database and no token when its port is taken", async () => {
    const gateway = await installation({ HOOKGATE_TOKEN: "" });
    const other = createServer().listen(Number(new URL(gateway.url).port), "127.0.0.1");
    await once(other, "listening");
    cleanUps.push(() => new Promise((done) => other.close(done)));
    expect(await gateway.failedStart()).toEqual({
      code: 1,
      err: expect.stringMatching(/port \d+ on 127\.0\.0\.1 is taken/),
    });
    expect(existsSync(gateway.data)).toBe(false);
  });

  it("starts through a symbolic link, and refuses a second gateway under the other name", async () => {
    const gateway = await installation({ DATABASE_URL: "file:link.db" });
    mkdirSync(gateway.data);
    symlinkSync(join("data", "real.db"), join(gateway.folder, "link.db"));
    await gateway.start();
    await gateway.ready();
    expect(existsSync(join(gateway.data, "real.db-wal"))).toBe(true);
    expect(existsSync(join(gateway.folder, "link.db.lock"))).toBe(false);
    const env = { DATABASE_URL: "file:data/real.db", HOOKGATE_PORT: String(await freePort()) };
    const second = await refusedStart(gateway.folder, env);
    expect(second.code).toBe(1);
    expect(second.err).toContain("another gateway has the database");
  });

  it("refuses a second gateway when the lock file was deleted", async () => {
    const gateway = await installation();
    await gateway.start();
    await gateway.ready();
    rmSync(`${gateway.database}.lock`);
    const env = { HOOKGATE_PORT: String(await freePort()) };
    const second = await refusedStart(gateway.folder, env);
    expect(second.code).toBe(1);
    expect(second.err).toContain("its lock file was deleted");
    // Its own crash is no reason to refuse it.
    await gateway.kill();
    await gateway.start();
    await gateway.ready();
  });

  it("starts after a crash while the parent process has not collected the killed gateway yet", async () => {
    const gateway = await installation();
    const env = { PATH: process.env.PATH, HOOKGATE_TOKEN: TOKEN, HOOKGATE_PORT: new URL(gateway.url).port };
    // `sleep` never collects its child processes, so the killed gateway stays in the process table.
    const script = '"$0" "$1" start >/dev/null 2>&1 & echo $!; exec sleep 600';
    const parent = spawn("sh", ["-c", script, process.execPath, join(import.meta.dirname, "../../dist/src/cli.js")], {
      cwd: gateway.folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    cleanUps.push(() => parent.kill("SIGKILL"));
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    cleanUps.push(() => process.kill(pid, "SIGKILL"));
    await until(
      () =>
        fetch(`${gateway.url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      "the first gateway being ready",
    );
    process.kill(pid, "SIGKILL");
    await gateway.start();
    await gateway.ready();
  });
});

describe("a damaged database", () => {
  it.each<[string, (file: string) => void]>([
    ["whose header is overwritten", (file) => overwrite(file, 0, Buffer.alloc(100, "garbage "))],
    ["of which half is missing", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
    ["with 40 damaged bytes", (file) => flip(file, 8192 * 6, 40)],
  ])("%s is refused with its name and what to do", async (_how, damage) => {
    const gateway = await usedInstallation();
    damage(gateway.database);
    const { code, err } = await gateway.failedStart();
    expect(code).toBe(1);
    expect(err).toContain(gateway.database);
    expect(err).toContain("hookgate restore FILE");
    const doctor = await gateway.cli("doctor");
    expect(doctor.out).toContain("is damaged");
  });

  it("whose columns have other names is refused with its name and what to do", async () => {
    const gateway = await usedInstallation();
    overwrite(gateway.database, readFileSync(gateway.database).indexOf("unsettled_since"), Buffer.from("x"));
    const { code, err } = await gateway.failedStart();
    expect(code).toBe(1);
    expect(err).toContain(`the database ${gateway.database} does not have the tables and columns`);
    expect(err).toContain("hookgate restore FILE");
  });

  it.each<[string, (file: string) => void]>([
    ["empty", (file) => truncateSync(file, 0)],
    ["deleted", (file) => rmSync(file)],
  ])("that is %s beside its history is replaced only when the operator asks for it", async (_how, damage) => {
    const gateway = await usedInstallation();
    damage(gateway.database);
    const doctor = await gateway.cli("doctor");
    expect([doctor.code, doctor.out]).toEqual([1, expect.stringMatching(/✗ database .*is missing or empty/)]);
    expect(doctor.out).toContain("--new-database");
    const refused = await gateway.failedStart();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("is missing or empty");
    expect(refused.err).toContain("--new-database");
    await gateway.start("--new-database");
    await gateway.ready();
    expect(await gateway.texts()).toEqual([]);
    expect(readdirSync(gateway.data).some((name) => name.startsWith("hookgate-journal.db.replaced-"))).toBe(true);
  });

  it("with a delivery that cannot be read: a retry leaves it out and says so, and a purge deletes it", async () => {
    const gateway = await usedInstallation();
    const database = openSqlite(gateway.database);
    database.prepare("UPDATE deliveries SET status = 'waiting', message = '5'").run();
    database.close();
    await gateway.start();
    await gateway.ready();
    const [letter] = JSON.parse((await gateway.cli("outbox", "list", "--json")).out).letters;
    expect(letter).toMatchObject({ status: "dead", reason: expect.stringContaining("cannot be read") });
    const all = await gateway.cli("outbox", "retry", "all");
    expect(all.out).toContain("1 message left out");
    expect(all.out).not.toMatch(/on the way again|nothing dead/);
    for (const verb of ["retry", "release"]) {
      const { code, err } = await gateway.cli("outbox", verb, letter.id);
      expect([code, err]).toEqual([1, expect.stringContaining("cannot be read")]);
      expect(err).toContain(`outbox purge ${letter.id}`);
    }
    expect((await gateway.cli("outbox", "purge", letter.id, "--yes")).code).toBe(0);
  });

  it("with a switch of a hook that is neither on nor off: the hook is on as configured, and /status warns", async () => {
    const gateway = await usedInstallation();
    const database = openSqlite(gateway.database);
    database
      .prepare("INSERT INTO hook_switches (hook_id, enabled, by, at) VALUES ('reply', 'maybe', 'web:1', 1)")
      .run();
    database.prepare("INSERT INTO hook_switches (hook_id, enabled, by, at) VALUES ('other', 0, 'web:1', 1)").run();
    database.close();
    await gateway.start();
    await gateway.ready();
    expect(await gateway.command("/status")).toContain("the row reply of the table hook_switches is damaged");
    expect(await gateway.command("/status")).not.toContain("the row other");
    await gateway.post("second");
    await until(async () => (await gateway.texts()).includes("echo second"), "the reply of the hook");
  });

  it("with a delivery whose status does not exist: it is held in /status, /outbox and doctor, and a release asks", async () => {
    const gateway = await installation();
    await gateway.start();
    await gateway.ready();
    await gateway.post("one");
    await until(async () => (await gateway.texts()).includes("echo one"), "the answer");
    await gateway.stop();
    const database = openSqlite(gateway.database);
    database.prepare("UPDATE deliveries SET status = 'sleeping'").run();
    database.close();
    await gateway.start();
    await gateway.ready();
    expect(await gateway.command("/status")).toMatch(/held\D+1\b/);
    expect(await gateway.command("/outbox list")).toContain('its status is \\"sleeping\\", which does not exist');
    expect((await gateway.cli("doctor")).out).toContain("1 messages wait for an operator");
    expect(gateway.output()).toContain("a delivery is held");
    expect((await gateway.cli("outbox", "retry", "all")).out).toContain("nothing dead");
    expect((await gateway.cli("outbox", "release", "all")).out).toContain("1 message may have arrived");
    expect((await gateway.cli("outbox", "release", "all", "--confirmed")).out).toContain("1 message counted as sent");
  });

  it("that was deleted under the gateway makes it unready, raises an alert and shows in /status", async () => {
    const gateway = await installation();
    await gateway.start();
    await gateway.ready();
    rmSync(gateway.database);
    const ready = await fetch(`${gateway.url}/readyz`);
    expect(ready.status).toBe(503);
    const status = await gateway.cli("status");
    expect(status.out).toContain("Something is down");
    expect(status.out).toContain("was deleted or replaced");
    await until(async () => (await gateway.command("/alerts")).includes("The database is damaged"), "the alert");
  });
});

function replaceByFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}

describe("a data folder that is a link", () => {
  it.each<[string, (at: (name: string) => string) => void, RegExp]>([
    ["goes elsewhere", (at) => mkdirSync(at("other")), /data.hookgate\.db does not exist any more/],
    [
      "goes to another database",
      (at) => {
        mkdirSync(at("other"));
        writeFileSync(at("other/hookgate.db"), "");
      },
      /data.hookgate\.db is another file now/,
    ],
  ])("and %s under the gateway makes it unready until it is back", async (_what, make, why) => {
    const gateway = await installation();
    const at = (name: string) => join(gateway.folder, name);
    const relink = (target: string) => {
      symlinkSync(target, at("next"));
      renameSync(at("next"), gateway.data);
    };
    mkdirSync(at("first"));
    relink("first");
    await gateway.start();
    await gateway.ready();
    make(at);
    relink("other");
    const answer = await until(async () => {
      const found = await fetch(`${gateway.url}/readyz`);
      return found.status === 503 ? found.json() : undefined;
    }, "not being ready");
    expect(JSON.stringify(answer)).toContain("the database was deleted, moved or replaced");
    const status = await gateway.command("/status");
    expect(status).toMatch(why);
    expect(status).toContain("the gateway still uses");
    relink("first");
    await gateway.ready();
  });
});

it("a data folder that is renamed under the gateway gets no empty one in its place, and works again when it is back", async () => {
  const gateway = await installation();
  await gateway.start();
  await gateway.ready();
  const away = `${gateway.data}-away`;
  renameSync(gateway.data, away);
  // The writer of the history starts with the first run of a hook.
  await gateway.post("first");
  await until(() => gateway.output().split("the journal's writer stopped").length > 2, "two ends of the writer");
  expect(existsSync(gateway.data)).toBe(false);
  renameSync(away, gateway.data);
  await gateway.ready();
  await until(async () => (await gateway.texts()).includes("echo first"), "the reply");
  await until(async () => (await gateway.command("/runs")).includes("inbound_claim"), "the record of its run");
  await gateway.stop();
  await gateway.start();
  await gateway.ready();
});

describe("a damaged history", () => {
  it.each<[string, (file: string) => void, string?]>([
    ["whose header is overwritten", (file) => overwrite(file, 0, Buffer.alloc(100, "garbage "))],
    ["that is a text", (file) => writeFileSync(file, "notes ".repeat(1000))],
    ["that is a folder", replaceByFolder, "was a directory"],
    ["of which half is missing", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
  ])("%s is moved aside, and the gateway starts and reports it", async (_how, damage, state = "was damaged") => {
    const gateway = await usedInstallation();
    damage(gateway.journal);
    await gateway.start();
    await gateway.ready();
    expect(gateway.output()).toContain("the history");
    expect(readdirSync(gateway.data).some((name) => /^hookgate-journal\.db\.(damaged|replaced)-/.test(name))).toBe(
      true,
    );
    expect((await gateway.cli("status")).out).toContain(`${state} and is now`);
    await gateway.post("second");
    await until(async () => (await gateway.texts()).includes("echo second"), "the reply");
  });

  it.each([
    ["at its head", 0],
    ["in the middle", 20_480],
  ])("is a warning, and hides nothing else, when it is overwritten %s while the gateway runs", async (_, at) => {
    const gateway = await usedInstallation();
    const file = join(gateway.folder, "hookgate.yaml");
    const noted = { id: "noted", on: "message_received", run: { shell: { command: ["true"] } } };
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), hooks: [noted] }));
    await gateway.start();
    await gateway.ready();
    await gateway.post("zero");
    await until(async () => (await gateway.texts()).includes("echo zero"), "the reply");
    overwrite(gateway.journal, at, randomBytes(statSync(gateway.journal).size - at));
    await gateway.post("second");
    await until(async () => (await gateway.texts()).includes("echo second"), "the reply");
    await until(async () => (await gateway.command("/status")).includes("is damaged"), "the warning");
    const status = await gateway.cli("status");
    expect(status.out).toMatch(/Queues(.|\n)*Store +writable(.|\n)*the history \S+ is damaged/);
    expect(status.out.match(/is damaged/g)).toHaveLength(1);
    expect((await gateway.cli("hooks")).out).toContain("reply");
    const doctor = (await gateway.cli("doctor")).out;
    expect(doctor).toContain("delete data/hookgate-journal.db and");
    expect(doctor).not.toContain("another version");
    expect(await (await fetch(`${gateway.url}/readyz`)).text()).toContain('"state":"degraded"');
  });
});

describe("a log that a crash left", () => {
  const crashed = async () => {
    const gateway = await usedInstallation();
    await gateway.start();
    await gateway.ready();
    for (let i = 0; i < 20; i++) await gateway.post(`after ${i}`);
    // The history is written a moment later than the messages.
    await until(() => statSync(`${gateway.journal}-wal`).size > 20_000, "the history of the messages");
    await gateway.kill();
    return gateway;
  };
  const remarks = async (gateway: Installation) => {
    await gateway.start();
    await gateway.ready();
    return (await gateway.cli("status")).out;
  };

  it("is used without a word when it is whole", async () => {
    const gateway = await crashed();
    const status = await remarks(gateway);
    expect(status).not.toContain("hookgate.db-wal");
    expect(await gateway.texts()).toContain("after 19");
  });

  it("is reported when a part of it is damaged", async () => {
    const gateway = await crashed();
    flip(`${gateway.database}-wal`, 32 + 24 + 100, 40);
    expect(await remarks(gateway)).toContain("hookgate.db-wal was damaged");
  });

  it("is reported when it was deleted", async () => {
    const gateway = await crashed();
    rmSync(`${gateway.database}-wal`);
    expect(await remarks(gateway)).toContain("hookgate.db-wal was deleted after a crash");
  });

  it("of the history is reported when it was deleted or damaged", async () => {
    const gateway = await crashed();
    const log = `${gateway.journal}-wal`;
    const whole = readFileSync(log);
    expect(whole.length).toBeGreaterThan(20_000);
    rmSync(log);
    expect(await remarks(gateway)).toContain("hookgate-journal.db-wal was deleted after a crash");
    await gateway.kill();
    const again = await remarks(gateway);
    expect(again).not.toContain("hookgate-journal.db-wal");
    await gateway.post("one more");
    await gateway.command("/hooks");
    await gateway.kill();
    flip(log, 32 + 24 + 100, 40);
    expect(await remarks(gateway)).toContain("hookgate-journal.db-wal was damaged");
    truncateSync(gateway.journal);
    await gateway.kill();
    expect(await remarks(gateway)).toContain("hookgate-journal.db was deleted or emptied: earlier runs of hooks");
  });

  it("of the history is reported when it was deleted after a stop, and a hook that claimed is shown with that", async () => {
    const gateway = await installation();
    const ping = { on: "inbound_claim", priority: 1, run: { shell: { command: ["echo", PONG] } } };
    mkdirSync(join(gateway.folder, "hooks"));
    writeFileSync(join(gateway.folder, "hooks/ping.yaml"), JSON.stringify({ id: "ping", ...ping }));
    await gateway.start();
    await gateway.ready();
    await gateway.post("ping");
    await until(async () => (await gateway.texts()).includes("pong"), "the reply");
    await gateway.stop();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${gateway.journal}${suffix}`, { force: true });
    expect(await remarks(gateway)).toContain("hookgate-journal.db was deleted or emptied: earlier runs of hooks");
    expect(await gateway.command("/hooks show ping")).toContain("✋ claimed");
  });
});

/** Messages without a lane, which the schema forbids: SQLite copies the pages as they are. */
function emptyLane(file: string): void {
  const declare = (was: string, is: string) => {
    const database = openSqlite(file);
    database.unsafeMode(true);
    database.pragma("writable_schema = ON");
    database.prepare("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'inbox'").run(was, is);
    database.close();
  };
  declare("lane TEXT NOT NULL", "lane TEXT");
  const database = openSqlite(file);
  expect(database.prepare("UPDATE inbox SET lane = NULL").run().changes).toBeGreaterThan(0);
  database.close();
  declare("lane TEXT", "lane TEXT NOT NULL");
}

describe("hookgate backup and restore", () => {
  it("copies a running gateway's database whole, and puts it back with what was in the log", async () => {
    const gateway = await installation();
    await gateway.start();
    await gateway.ready();
    for (let i = 0; i < 10; i++) await gateway.post(`before ${i}`);
    await until(async () => (await gateway.texts()).includes("echo before 9"), "the reply");
    // Copying the file alone would leave these messages out.
    expect(statSync(`${gateway.database}-wal`).size).toBeGreaterThan(0);
    // As a backup that was interrupted leaves them.
    for (const left of ["copy.db.partial", "copy.db.partial-journal"])
      writeFileSync(join(gateway.folder, left), "half");
    const made = await gateway.cli("backup", "copy.db");
    expect([made.code, made.err]).toEqual([0, ""]);
    const copy = join(gateway.folder, "copy.db");
    expect((statSync(copy).mode & 0o777).toString(8)).toBe("600");
    expect(readdirSync(gateway.folder).filter((name) => name.startsWith("copy.db"))).toEqual(["copy.db"]);
    expect((await gateway.cli("backup", "copy.db")).err).toContain("exists");

    await gateway.post("later");
    const refused = await gateway.cli("restore", "copy.db");
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("another gateway has the database")]);
    await gateway.stop();
    const restored = await gateway.cli("restore", "copy.db");
    expect([restored.code, restored.err]).toEqual([0, ""]);
    expect(restored.out).toContain("The earlier database is now");
    await gateway.start();
    await gateway.ready();
    const texts = await gateway.texts();
    expect(texts).toEqual(expect.arrayContaining(["before 0", "before 9", "echo before 9"]));
    expect(texts).not.toContain("later");
    const status = (await gateway.cli("status")).out;
    expect(status).not.toContain("deleted");
  });

  it("restores beside a damaged database, and keeps the damaged one", async () => {
    const gateway = await usedInstallation();
    expect((await gateway.cli("backup", "copy.db")).code).toBe(0);
    writeFileSync(gateway.database, "garbage ".repeat(5000));
    expect((await gateway.cli("restore", "copy.db")).code).toBe(0);
    await gateway.start();
    await gateway.ready();
    expect(await gateway.texts()).toContain("first");
    const old = readdirSync(gateway.data).find((name) => name.startsWith("hookgate.db.replaced-"));
    expect(readFileSync(join(gateway.data, old ?? ""), "utf8")).toContain("garbage");
  });

  it("finds damage that copying does not meet, and leaves no file", async () => {
    const gateway = await usedInstallation();
    emptyLane(gateway.database);
    const { code, err } = await gateway.cli("backup", "copy.db");
    expect([code, err]).toEqual([1, expect.stringContaining("inbox.lane")]);
    expect(readdirSync(gateway.folder).filter((name) => name.startsWith("copy.db"))).toEqual([]);
  });

  it("refuses a damaged backup and changes nothing", async () => {
    const gateway = await usedInstallation();
    await gateway.cli("backup", "copy.db");
    flip(join(gateway.folder, "copy.db"), 8192 * 6, 40);
    const before = readFileSync(gateway.database);
    const { code, err } = await gateway.cli("restore", "copy.db");
    expect(code).toBe(1);
    expect(err).toContain(join(gateway.folder, "copy.db"));
    expect(err).toContain("The database was not changed");
    expect(readFileSync(gateway.database).equals(before)).toBe(true);
    writeFileSync(join(gateway.folder, "other.db"), "no database ".repeat(1000));
    expect((await gateway.cli("restore", "other.db")).code).toBe(1);
    expect((await gateway.cli("restore", "none.db")).err).toContain("there is no file");
    expect((await gateway.cli("restore", ".")).err).toContain("is a folder, not a backup");
    pipe(join(gateway.folder, "pipe.db"));
    expect((await gateway.cli("restore", "pipe.db")).err).toContain("pipe.db is a pipe, not a backup");
  });

  it("refuses a link, a folder that does not exist, and the database itself, and names each", async () => {
    const gateway = await usedInstallation();
    symlinkSync(join(gateway.folder, "nowhere"), join(gateway.folder, "link.db"));
    expect((await gateway.cli("backup", "link.db")).err).toContain("link.db exists");
    expect(lstatSync(join(gateway.folder, "link.db")).isSymbolicLink()).toBe(true);
    expect((await gateway.cli("backup", "none/copy.db")).err).toContain(
      `there is no folder ${join(gateway.folder, "none")}`,
    );
    const { code, err } = await gateway.cli("restore", gateway.database);
    expect([code, err]).toEqual([1, expect.stringContaining("is the database itself")]);
  });

  it("reports a database whose log was not copied with it", async () => {
    const gateway = await usedInstallation();
    await gateway.start();
    await gateway.ready();
    await gateway.post("only in the log");
    copyFileSync(gateway.database, join(gateway.folder, "h.db"));
    await gateway.kill();
    for (const name of ["hookgate.db", "hookgate.db-wal", "hookgate.db-shm"]) rmSync(join(gateway.data, name));
    copyFileSync(join(gateway.folder, "h.db"), gateway.database);
    await gateway.start();
    await gateway.ready();
    expect((await gateway.cli("status")).out).toContain("hookgate.db-wal was deleted after a crash");
  });
});
