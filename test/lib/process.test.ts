import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createProcesses, type Processes, type Program } from "../../src/lib/process/process.js";
import { systemClock } from "../../src/lib/time/clock.js";
import { until } from "../support/until.js";

const folder = mkdtempSync(join(tmpdir(), "hookgate-process-"));
const env = { PATH: process.env.PATH ?? "", LANG: "C.UTF-8" };
let owner = 0;
const all: Processes[] = [];

function processes(name = `test${process.pid}x${++owner}`, graceMs?: number): Processes {
  const made = createProcesses({ clock: systemClock, env, owner: name, graceMs });
  all.push(made);
  return made;
}

const sh = (script: string, more: Partial<Program> = {}): Program => ({
  command: "/bin/sh",
  args: ["-c", script],
  cwd: folder,
  timeoutMs: 30_000,
  maxBytes: 10_000,
  ...more,
});

/** Whether the process whose id a script wrote into this file still runs; a zombie does not. */
function runs(file: string): boolean {
  const pid = readFileSync(join(folder, file), "utf8").trim();
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
const written = (file: string) =>
  until(() => existsSync(join(folder, file)) && readFileSync(join(folder, file), "utf8").endsWith("\n"), file);
const gone = (file: string) => until(() => !runs(file), `the end of ${file}`);

beforeAll(() => {
  if (process.platform !== "linux") console.warn("These tests read /proc.");
});
afterEach(async () => {
  for (const made of all.splice(0)) await made.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a program", () => {
  it.each([
    ["by a signal", "kill -TERM $$", "aborted"],
    ["by what a shell counts as a signal", "exit 143", "aborted"],
    ["by itself", "exit 3", "exited"],
  ])("that ends %s once the gateway has begun to stop, or right before that", async (_, script, how) => {
    const running = processes();
    const before = running.run(sh(`echo $$ > before; until [ -e go ]; do sleep 0.01; done; ${script}`));
    await written("before");
    writeFileSync(join(folder, "go"), "");
    await gone("before");
    running.stopping();
    expect(await before).toMatchObject({ how });
    expect(await running.run(sh(script))).toMatchObject({ how });
    rmSync(join(folder, "go"));
    rmSync(join(folder, "before"));
  });

  it("that a signal ends at another time has ended so", async () => {
    expect(await processes().run(sh("kill -TERM $$"))).toMatchObject({ how: "exited", signal: "SIGTERM" });
  });

  it("gives its output, its errors and its exit code", async () => {
    const end = await processes().run(sh("echo out; echo err >&2; exit 3"));
    expect(end).toMatchObject({ how: "exited", exitCode: 3, signal: null, stdout: "out\n", stderr: "err\n" });
  });

  it("gets its arguments as they are, whatever they look like", async () => {
    const args = ["$(touch pwned)", "a b", "", "'; exit 9", "ä\n*"];
    const end = await processes().run({ ...sh(""), command: "printf", args: ["<%s>", ...args] });
    expect(end.stdout).toBe(args.map((one) => `<${one}>`).join(""));
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  it("sees the allowed variables and those it is given, and no other of the gateway", async () => {
    process.env.HOOKGATE_TEST_SECRET = "do not tell";
    try {
      const end = await processes().run(sh("env", { env: { GIVEN: "yes" } }));
      const names = end.stdout
        .split("\n")
        .map((line) => line.split("=")[0])
        .filter((name) => !["", "_", "PWD", "OLDPWD", "SHLVL"].includes(name as string))
        .sort();
      expect(names).toEqual(["GIVEN", "HOOKGATE_CHILD_OF", "LANG", "PATH"]);
    } finally {
      delete process.env.HOOKGATE_TEST_SECRET;
    }
  });

  it("reads standard input whole, whatever its size", async () => {
    const stdin = "0123456789abcdef".repeat(500_000);
    const end = await processes().run(sh("wc -c", { stdin }));
    expect(end.stdout.trim()).toBe("8000000");
  });

  it("may leave standard input unread", async () => {
    const end = await processes().run(sh("exit 0", { stdin: "x".repeat(5_000_000) }));
    expect(end).toMatchObject({ how: "exited", exitCode: 0 });
  });

  it("that prints too much keeps its beginning and its end, and a note of what was cut", async () => {
    const end = await processes().run(
      sh("echo first; head -c 300000 /dev/zero | tr '\\0' x; echo; echo last", { maxBytes: 1000 }),
    );
    expect(end).toMatchObject({ how: "exited", exitCode: 0, stdoutCut: true, stderrCut: false });
    expect(end.stdout).toMatch(/^first\nx+\n\[… 299012 bytes cut …\]\nx+\nlast\n$/);
    expect(Buffer.byteLength(end.stdout)).toBeLessThan(1100);
  });

  it("is cut between characters, not inside one", async () => {
    for (const maxBytes of [100, 101, 102, 103]) {
      const end = await processes().run(
        sh("for i in 1 2 3 4 5 6 7 8 9 10; do printf 'äöü€😀äöü€😀äöü€😀'; done", { maxBytes }),
      );
      expect(end.stdoutCut).toBe(true);
      expect(end.stdout).not.toContain("\uFFFD");
    }
  });

  it("that prints without end is stopped", async () => {
    const end = await processes().run(sh("yes", { timeoutMs: 120_000 }));
    expect(end.how).toBe("flooded");
  });

  it("that is not there is said so", async () => {
    await expect(processes().run({ ...sh(""), command: "no-such-program" })).rejects.toMatchObject({
      code: "PROCESS_NOT_STARTED",
      message: "no-such-program could not be started: there is no such program",
    });
  });

  it("in a folder that is not there is said so", async () => {
    await expect(processes().run(sh("true", { cwd: join(folder, "nowhere") }))).rejects.toMatchObject({
      code: "PROCESS_NOT_STARTED",
      message: expect.stringContaining("nowhere is not there"),
    });
  });

  it("with more arguments than the system takes is said so", async () => {
    await expect(processes().run({ ...sh(""), args: ["-c", ":", "x".repeat(5_000_000)] })).rejects.toMatchObject({
      code: "PROCESS_NOT_STARTED",
      message: expect.stringContaining("too large"),
    });
  });

  it("that a signal ended tells which", async () => {
    expect(await processes().run(sh("kill -s SEGV $$"))).toMatchObject({
      how: "exited",
      exitCode: null,
      signal: "SIGSEGV",
    });
  });
});

describe("at its deadline", () => {
  it("a one-second program that sleeps for a minute does not take four", async () => {
    const end = await processes().run(sh("sleep 60", { timeoutMs: 1000 }));
    expect(end.how).toBe("timed_out");
    expect(end.latencyMs).toBeGreaterThanOrEqual(990);
    expect(end.latencyMs).toBeLessThan(4000);
  });

  it("a program that will not hear SIGTERM is killed, and its children and theirs with it", async () => {
    const end = await processes().run(
      sh(
        "trap '' TERM; echo $$ > top; (trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > deep; while :; do sleep 60; done' & while :; do sleep 60; done) & while :; do sleep 60; done",
        { timeoutMs: 1500 },
      ),
    );
    expect(end.how).toBe("timed_out");
    expect(end.latencyMs).toBeLessThan(10_000);
    await gone("top");
    await gone("deep");
  });

  it("a program has time to end in good order", async () => {
    const end = await processes("patient", 20_000).run(
      sh("trap 'echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.05; done", { timeoutMs: 1000 }),
    );
    expect(end).toMatchObject({ how: "timed_out", stdout: "ready\ntidied\n" });
  });

  it("a grandchild in a session of its own is found, even without our mark in its environment", async () => {
    const end = await processes().run(
      sh("setsid sh -c 'echo $$ > away; sleep 60' & env -i setsid sh -c 'echo $$ > bare; sleep 60' & sleep 60", {
        timeoutMs: 2000,
      }),
    );
    expect(end.how).toBe("timed_out");
    await gone("away");
    await gone("bare");
  });

  it("output that a stranger holds open is not waited for", async () => {
    // Double fork into a new session with an empty environment: nothing ties it to us but the pipe.
    const end = await processes().run(
      sh("(env -i setsid sh -c 'echo $$ > stranger; exec sleep 20' &) ; sleep 0.3; echo done"),
    );
    expect(end).toMatchObject({ how: "exited", stdout: "done\n" });
    expect(end.latencyMs).toBeLessThan(10_000);
    process.kill(Number(readFileSync(join(folder, "stranger"), "utf8")));
  });
});

describe("no child is left behind", () => {
  it("when the program ends and leaves others in its group", async () => {
    const end = await processes().run(sh("sleep 60 > /dev/null 2>&1 & echo $! > left"));
    expect(end).toMatchObject({ how: "exited", exitCode: 0, leftRunning: ["sleep"] });
    await gone("left");
  });

  it("and nothing was left when all end together", async () => {
    const end = await processes().run(sh("sleep 0.01 | cat & wait; yes | head -c 10 > /dev/null"));
    expect(end).toMatchObject({ how: "exited", exitCode: 0, leftRunning: [] });
  });

  it("when the program ends and leaves others that hold its output open: it has ended, and not run out of time", async () => {
    const end = await processes().run(sh("sleep 60 & echo $! > holder; echo started"));
    expect(end).toMatchObject({ how: "exited", exitCode: 0, stdout: "started\n", leftRunning: ["sleep"] });
    await gone("holder");
  });

  it("when the program ends, after the output of its last child has been read", async () => {
    const end = await processes().run(sh("(sleep 0.2; echo late) & echo early"));
    expect(end).toMatchObject({ how: "exited", stdout: "early\nlate\n" });
  });

  it("when the signal aborts", async () => {
    const abort = new AbortController();
    const running = processes().run(sh("sleep 60 & echo $! > abandoned; wait", { signal: abort.signal }));
    await written("abandoned");
    abort.abort();
    expect((await running).how).toBe("aborted");
    await gone("abandoned");
  });

  it("and nothing starts when the signal has aborted before", async () => {
    const end = await processes().run(sh("touch never", { signal: AbortSignal.abort() }));
    expect(end.how).toBe("aborted");
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  it("when the gateway stops", async () => {
    const one = processes();
    const running = one.run(sh("sleep 60 & echo $! > stopped; wait"));
    await written("stopped");
    await one.stop();
    expect((await running).how).toBe("aborted");
    await gone("stopped");
    expect((await one.run(sh("true"))).how).toBe("aborted");
  });

  it("when the gateway is killed: its groups end with it, and who left them", async () => {
    const gateway = killable(
      "watched",
      "sh -c 'echo $$ > watched; sleep 60' & setsid sh -c 'echo $$ > aside; sleep 60' & sleep 60",
    );
    await written("watched");
    await written("aside");
    gateway.kill("SIGKILL");
    await gone("watched");
    await gone("aside");
  });

  it("when the gateway is killed in the moment in which a program begins", async () => {
    const gateway = killable("early", "echo $$ > early; sleep 60");
    await until(() => existsSync(join(folder, "early")));
    gateway.kill("SIGKILL");
    await written("early");
    await gone("early");
  });

  it("when the gateway and its watchdog are killed: the next start finds all, and spares those of others", async () => {
    const gateway = killable("sweeper", "setsid sh -c 'echo $$ > orphan; sleep 60' & echo $$ > leader; sleep 60");
    await written("orphan");
    await written("leader");
    const others = processes();
    const running = others.run(sh("echo $$ > spared; sleep 60"));
    await written("spared");
    const next = processes("sweeper");
    expect(await next.sweep()).toBe(0);
    process.kill(watchdogOf(gateway.pid as number), "SIGKILL");
    gateway.kill("SIGKILL");
    await until(() => gateway.signalCode !== null);
    expect(runs("orphan") && runs("leader")).toBe(true);
    expect(await next.sweep()).toBeGreaterThanOrEqual(2);
    await gone("orphan");
    await gone("leader");
    expect(runs("spared")).toBe(true);
    await others.stop();
    await running;
  });
});

function watchdogOf(gateway: number): number {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => {
      try {
        const isOurs = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(gateway);
        return isOurs && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("hookgate-watchdog");
      } catch {
        return false;
      }
    });
  if (found === undefined) throw new Error("no watchdog");
  return Number(found);
}

/** A process of its own that runs the script as a gateway would, and waits to be killed. */
function killable(name: string, script: string) {
  const source = `
    import { createProcesses } from ${JSON.stringify(join(import.meta.dirname, "../../src/lib/process/process.ts"))};
    import { systemClock } from ${JSON.stringify(join(import.meta.dirname, "../../src/lib/time/clock.ts"))};
    const processes = createProcesses({ clock: systemClock, env: ${JSON.stringify(env)}, owner: ${JSON.stringify(name)} });
    setInterval(() => {}, 1000);
    await processes.run({ command: "/bin/sh", args: ["-c", ${JSON.stringify(script)}], cwd: ${JSON.stringify(folder)}, timeoutMs: 60_000, maxBytes: 1000 });
  `;
  return spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", source], { stdio: "inherit" });
}
