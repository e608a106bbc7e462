/** Hooks that have nothing to do, in the running product: no run of theirs looks as if it had done something. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { TOKEN } from "../support/gateway-process.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import { type Product, ROOM, startProduct } from "./product.js";

const posting = (id: string, options: object, more: object = {}) => ({
  id,
  trigger: { event: id },
  run: { chat: { to: ROOM, ...options } },
  ...more,
});

let product: Product;
beforeAll(async () => {
  product = await startProduct(
    {
      automations: { breaker: { failures: 2 } },
      hooks: [
        posting("empty", { text: "{{ event.words }}" }),
        posting("labelled", {
          text: "pressed?",
          buttons: [[{ label: "{{ event.label }}", action: { kind: "command", line: "/status" } }]],
        }),
        posting("threaded", { text: "unseen", to: "web:web:general:nosuchthread" }),
        posting("linked", { text: "look", buttons: [[{ label: "Go", url: "{{ event.url }}" }]] }),
        {
          id: "mute",
          on: "inbound_claim",
          match: { when: 'payload.message.text == "be mute"' },
          run: { shell: { command: ["printf", "%s", '{"decision":"claim","reply":""}'] } },
        },
        {
          id: "quiet",
          on: "inbound_claim",
          match: { when: 'payload.message.text == "anything"' },
          context: [{ shell: { command: ["true"], skip_if: "exit_zero" } }],
          run: { shell: { command: ["true"] } },
        },
        {
          id: "everything",
          trigger: { files: { paths: "./**", ignore: "*.log", debounce: "50ms" } },
          run: { shell: { sh: "tr -d '\\n' >> everything.log; echo >> everything.log" } },
        },
        {
          id: "later",
          trigger: { files: { paths: "not/yet/*.csv", debounce: "100ms" } },
          run: { shell: { sh: "exit 0" } },
        },
      ],
    },
    {},
    (folder) => {
      mkdirSync(join(folder, "hooks"));
      writeFileSync(
        join(folder, "hooks/removed.yaml"),
        JSON.stringify({ id: "removed", trigger: { every: "1s" }, run: { shell: { sh: "exit 4" } } }),
      );
    },
  );
}, 120_000);
afterAll(() => product.close());

const cliEnv = () => ({ HOOKGATE_PORT: new URL(product.url).port, HOOKGATE_TOKEN: TOKEN });
const cli = async (...args: string[]) => {
  const { out, err } = await runCli(args, { cwd: product.folder, env: cliEnv() });
  return out + err;
};
const status = async () => JSON.parse((await runCli(["status", "--json"], { cwd: product.folder, env: cliEnv() })).out);

describe("a hook with nothing to do", { timeout: 60_000 }, () => {
  it("is skipped when its message is empty", async () => {
    await product.event({ words: "" }, { name: "empty" });
    await product.event({ words: " \u200B" }, { name: "empty" });
    const runs = await product.ended("empty", 2);
    for (const run of runs)
      expect(run).toMatchObject({ status: "skipped", statusReason: "empty: the message is empty" });
    expect((await product.messages()).map(({ text }) => text)).not.toContain("(empty message)");
  });

  it("is not called a hook that never fired when its runs were skipped", async () => {
    await product.say("anything");
    await product.ended("quiet");
    const reason = "skip_if: steps[0] shell: exit_zero";
    await until(
      async () => (await status()).hooks.alwaysSkipped.some(({ id }: { id: string }) => id === "quiet"),
      "the skipped run",
    );
    expect((await status()).hooks.neverFired).not.toContain("quiet");
    expect(await cli("doctor")).toContain(`quiet was started once and always skipped (${reason})`);
    expect(await cli("hooks", "show", "quiet")).toContain("started once and always skipped");
  });

  it("posts nothing for an empty reply, and the run failed", async () => {
    await product.say("be mute");
    const [run] = await product.ended("mute");
    expect(run).toMatchObject({ status: "failed" });
    expect(run?.statusReason).toContain("reply: it has no text: leave out reply to answer nothing, or decide pass");
    expect((await product.messages()).map(({ text }) => text)).not.toContain("(empty message)");
  });

  it("shows no hidden characters in the label of a button, and posts no link that is no address", async () => {
    await product.event({ label: "De\u202Eny\u200B \u{1F469}\u200D\u{1F4BB}" }, { name: "labelled" });
    expect(await product.ended("labelled")).toMatchObject([{ status: "succeeded" }]);
    const posted = await until(
      async () => (await product.messages()).find(({ text }) => text === "pressed?"),
      "the message",
    );
    expect(JSON.stringify(posted)).toContain('"label":"Deny \u{1F469}\u200D\u{1F4BB}"');
    await product.event({ url: "javascript:alert(1)//{{ x }}" }, { name: "linked" });
    expect(await product.ended("linked")).toMatchObject([
      { status: "failed", statusReason: expect.stringContaining("starts with https: or http:") },
    ]);
  });

  it("fails when the thread of its message is not there", async () => {
    await product.event({}, { name: "threaded" });
    expect(await product.ended("threaded")).toMatchObject([
      {
        status: "failed",
        statusReason: expect.stringContaining('there is no thread "nosuchthread" in the room "general"'),
      },
    ]);
  });

  it("is not started by what the gateway itself writes, although it watches the folder", async () => {
    const seen = () =>
      jsonLines<{ relativePath: string }>(join(product.folder, "everything.log")).map(
        ({ relativePath }) => relativePath,
      );
    await product.say("anything");
    await product.ended("quiet", 1);
    mkdirSync(join(product.folder, "data/in"));
    writeFileSync(join(product.folder, "data/in/noted.txt"), "x");
    await until(() => seen().includes("data/in/noted.txt"), "the run of a file beside the database");
    expect(seen().filter((path) => path.startsWith("data/hookgate"))).toEqual([]);
  });

  it("waits for a folder that is not there yet: a note, and no problem", async () => {
    const { problems } = await status();
    expect(problems).toEqual([]);
    expect(await cli("check")).toContain(
      "note: hook later: not/yet/*.csv is not there yet; it is watched as soon as it is.",
    );
    expect(await cli("hooks", "show", "later")).toContain("not there yet");
    mkdirSync(join(product.folder, "not/yet"), { recursive: true });
    writeFileSync(join(product.folder, "not/yet/a.csv"), "1");
    expect(await product.ended("later")).toMatchObject([{ status: "succeeded" }]);
  });

  it("is gone from the stopped ones when it is removed from its file", async () => {
    const stopped = async () => (await status()).hooks.breakers.map(({ hookId }: { hookId: string }) => hookId);
    await until(async () => (await stopped()).includes("removed"), "the breaker");
    rmSync(join(product.folder, "hooks/removed.yaml"));
    await until(async () => !(await stopped()).includes("removed"), "the removal");
    writeFileSync(
      join(product.folder, "hooks/removed.yaml"),
      JSON.stringify({ id: "removed", trigger: "manual", run: { shell: { sh: "exit 0" } } }),
    );
    await until(async () => (await cli("hooks", "list", "removed")).includes("hook.due"), "the new hook");
    expect(await stopped()).not.toContain("removed");
  });
});
