/** Modules of hooks that may not be read for a while. In the product's own process: vitest imports modules in its own way. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { invoke } from "../flow/stack.js";
import { afterTest } from "../support/clean-up.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { asOrdinaryUser } from "../support/ordinary-user.js";
import { until } from "../support/until.js";

/** `guard` claims "sec", from a module that imports a file of a folder; `plain` claims the texts that start with its word. */
const config = (word: string) => ({
  web: { access: { mention: "always" } },
  hooks: [
    {
      id: "guard",
      on: "inbound_claim",
      on_failure: "closed",
      match: { when: 'payload.message.text.startsWith("sec")' },
      run: { module: { path: "./guard.mjs" } },
    },
    {
      id: "plain",
      on: "inbound_claim",
      match: { when: `payload.message.text.startsWith("${word}")` },
      run: { module: { path: "./plain.mjs" } },
    },
  ],
});

const claims = (reply: string) => `export default ({ message }) => ({ decision: "claim", reply: ${reply} });`;

async function guarded() {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-unread-"));
  const at = (name: string) => join(folder, name);
  const write = (name: string, text: string) => writeFileSync(at(name), text);
  mkdirSync(at("lib"));
  write("lib/word.mjs", 'export const word = "one";');
  write("guard.mjs", `import { word } from "./lib/word.mjs"; ${claims('word + " for " + message.text')}`);
  write("plain.mjs", claims('"plain " + message.text'));
  const gateway = await gatewayProcess({ folder, config: config("hi") });
  afterTest(async () => {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  asOrdinaryUser(folder);
  const url = `${gateway.url}/api/rooms/general/messages`;
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  return {
    write,
    chmod: (name: string, mode: number) => chmodSync(at(name), mode),
    async start() {
      await gateway.start();
      await gateway.ready();
    },
    async say(text: string) {
      const body = JSON.stringify({ text, nonce: `nonce-${text}` });
      expect((await fetch(url, { method: "POST", headers, body })).ok).toBe(true);
    },
    answered: (text: string) =>
      until(async () => (await (await fetch(url, { headers })).text()).includes(`"${text}"`), `the answer ${text}`),
    becomes: (state: string) =>
      until(async () => (await (await fetch(`${gateway.url}/readyz`)).text()).includes(`"state":"${state}"`), state),
    asked: async (line: string) => (await invoke(gateway.url, line)).text.replaceAll("\\", ""),
    check: () => runCli(["check"], { cwd: folder, env: { HOOKGATE_TOKEN: TOKEN } }),
  };
}

const UNREADABLE: [what: string, name: string, shown: string][] = [
  ["the module", "guard.mjs", "guard.mjs"],
  ["a file that it imports", "lib/word.mjs", "lib/word.mjs"],
  ["the folder of a file that it imports", "lib", "lib/word.mjs"],
];
const why = (shown: string) =>
  new RegExp(
    `hookgate\\.yaml:\\d+.*hook guard: the module ./guard\\.mjs cannot be loaded: ${shown} cannot be read: EACCES: permission denied\\. Give the user with the id \\d+ the right to read it and enter its folder\\.`,
  );

test.each(UNREADABLE)(
  "%s may not be read at a start: the hook is listed and all others run, until the rights are corrected",
  async (_what, name, shown) => {
    const { chmod, start, say, answered, becomes, asked, check, write } = await guarded();
    chmod(name, 0);
    await start();
    await becomes("degraded");
    expect(await asked("/hooks broken")).toMatch(why(shown));
    expect(await asked("/status")).toMatch(/hook guard: .* cannot be read: EACCES: permission denied\. Give the user/);
    const checked = await check();
    expect(checked.out + checked.err).toMatch(why(shown));
    expect(checked.code).toBe(2);
    await say("hi");
    await answered("plain hi");
    write("hookgate.yaml", JSON.stringify(config("hello"), null, 2));
    await until(() => asked("/hooks show plain").then((text) => text.includes("hello")), "the reload");
    await say("hello");
    await answered("plain hello");

    await say("sec");
    await until(async () => (await asked("/runs guard")).includes("EACCES"), "a run that failed");
    chmod(name, 0o755);
    await becomes("ready");
    await answered("one for sec");
    expect((await check()).code).toBe(0);
    expect(await asked("/hooks broken")).not.toContain("EACCES");
  },
);

test.each(UNREADABLE)(
  "%s may not be read any more: that is listed, and what was loaded stays in force until it can be read",
  async (_what, name, shown) => {
    const { chmod, start, say, answered, becomes, asked, write } = await guarded();
    await start();
    await say("sec1");
    await answered("one for sec1");
    write("lib/word.mjs", 'export const word = "two";');
    chmod(name, 0);
    await becomes("degraded");
    expect(await asked("/hooks broken")).toMatch(why(shown));
    write("hookgate.yaml", JSON.stringify(config("hello"), null, 2));
    await until(() => asked("/hooks show plain").then((text) => text.includes("hello")), "the reload");
    await say("sec2");
    await answered("one for sec2");
    chmod(name, 0o755);
    await becomes("ready");
    await say("sec3");
    await answered("two for sec3");
  },
);
