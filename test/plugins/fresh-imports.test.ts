/** A change of a local file that a plugin or the module of a hook imports is at work at once. In the product's own process: vitest imports modules in its own way. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { invoke } from "../flow/stack.js";
import { afterTest } from "../support/clean-up.js";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";

let asked = 0;

async function answerOf(gateway: GatewayProcess, by: "hook" | "plugin"): Promise<string> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const url = `${gateway.url}/api/rooms/general/messages`;
  const text = `${by} ${++asked}`;
  const posted = await fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify({ text, nonce: `nonce-word-${asked}` }),
  });
  expect(posted.ok, await posted.clone().text()).toBe(true);
  const { message } = (await posted.json()) as { message: { id: number } };
  const all = async () => {
    const { messages } = (await (await fetch(url, { headers })).json()) as {
      messages: { id: number; text: string }[];
    };
    return messages.find((one) => one.id > message.id && one.text.startsWith("the word is"));
  };
  return (await until(all, "an answer")).text;
}

describe.each([
  [
    ".mjs",
    'export { word } from "./lib/word.mjs";',
    (text: string) => `import { sep } from "node:path"; export const word = "${text}";`,
  ],
  ["/index.cjs", 'exports.word = require("../lib/word.cjs").word;', (text: string) => `exports.word = "${text}";`],
])("a plugin that imports ./between%s", (end, between, word) => {
  let folder: string;
  let gateway: GatewayProcess;
  const write = (name: string, source: string) => writeFileSync(join(folder, name), source);
  const wordFile = end === ".mjs" ? "lib/word.mjs" : "lib/word.cjs";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "hookgate-fresh-"));
    gateway = await gatewayProcess({
      folder,
      config: { plugins: ["./p.mjs"], web: { access: { mention: "always" } } },
      env: { LOG_LEVEL: "info" },
    });
    for (const name of ["lib", "between", "hooks"]) mkdirSync(join(folder, name));
    write(
      "p.mjs",
      `import { word } from "./between${end}";
      export default { id: "p", setup(api) {
        api.hooks.registerClaiming("inbound_claim", ({ message }) =>
          message.text.startsWith("hook") ? null : { handled: true, reply: "the word is " + word });
      } };`,
    );
    write(`between${end}`, between);
    write(wordFile, word("one"));
    write(
      "hooks/word.yaml",
      JSON.stringify({
        hooks: [
          {
            id: "word",
            on: "inbound_claim",
            run: { module: { path: "./word.mjs" } },
          },
        ],
      }),
    );
    write(
      "hooks/word.mjs",
      `import { word } from "../between${end}";
      export default ({ message: { text } }) =>
        text.startsWith("hook") ? { decision: "claim", reply: "the word is " + word } : undefined;`,
    );
    await gateway.start();
    await gateway.ready();
  });
  afterAll(async () => {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const answer = (by: "hook" | "plugin") => answerOf(gateway, by);

  it("has their saved text at work, and keeps the old one over a broken text", async () => {
    for (const by of ["plugin", "hook"] as const) expect(await answer(by)).toBe("the word is one");
    write(wordFile, word("two"));
    await until(async () => (await answer("plugin")) === "the word is two", "the saved file being at work");
    expect(await answer("hook")).toBe("the word is two");
    write(wordFile, "this is no module");
    await until(() => gateway.output().includes("plugin not reloaded"), "the broken file being reported");
    expect(await answer("plugin")).toBe("the word is two");
    write(wordFile, word("three"));
    await until(async () => (await answer("plugin")) === "the word is three", "the repaired file being at work");
    expect(await answer("hook")).toBe("the word is three");
    expect(JSON.stringify((await invoke(gateway.url, "/hooks broken")).data)).not.toContain("p.mjs");
  });
});

it.each([
  ["mjs", "folder"],
  ["cjs", "folder"],
  ["mjs", "file"],
])(
  "a link on the way to a .%s (of its %s) that is led elsewhere has what it leads to now at work, with its imports",
  async (end, linked) => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-fresh-"));
    const files = linked === "folder" ? "rel/current" : "rel";
    const lead = (release: string) => {
      const links =
        linked === "folder" ? { current: release } : { "p.mjs": `${release}/p.mjs`, "h.mjs": `${release}/h.mjs` };
      for (const [name, target] of Object.entries(links)) {
        rmSync(join(folder, "rel", name), { force: true });
        symlinkSync(target, join(folder, "rel", name));
      }
    };
    const write = (release: string, name: string, text: string) =>
      writeFileSync(join(folder, "rel", release, `${name}.${end}`), text);
    const release = (name: string, text: string) => {
      const isModule = end === "mjs";
      const [taken, given] = isModule
        ? ['import { word } from "./word.mjs"; import { end } from "../shared/end.mjs";', "export default"]
        : ['const { word } = require("./word.cjs"); const end = "";', "module.exports ="];
      mkdirSync(join(folder, "rel", name));
      write(name, "word", isModule ? `export const word = "${text}";` : `exports.word = "${text}";`);
      write(
        name,
        "p",
        `${taken} ${given} { id: "p", setup(api) { api.hooks.registerClaiming("inbound_claim", ({ message }) =>
        message.text.startsWith("hook") ? null : { handled: true, reply: "the word is ${name} " + word + end }); } };`,
      );
      write(
        name,
        "h",
        `${taken} ${given} ({ message: { text } }) => text.startsWith("hook")
        ? { decision: "claim", reply: "the word is ${name} " + word + end } : undefined;`,
      );
    };
    for (const name of ["rel", "shared-1", "shared-2"]) mkdirSync(join(folder, name));
    for (const name of ["1", "2"])
      writeFileSync(join(folder, `shared-${name}`, "end.mjs"), `export const end = " ${name}";`);
    const share = (name: string) => {
      rmSync(join(folder, "rel/shared"), { force: true });
      symlinkSync(`../shared-${name}`, join(folder, "rel/shared"));
    };
    share("1");
    release("v1", "one");
    release("v2", "two");
    lead("v1");
    const hook = { id: "word", on: "inbound_claim", run: { module: { path: `./${files}/h.${end}` } } };
    const gateway = await gatewayProcess({
      folder,
      config: { plugins: [`./${files}/p.${end}`], hooks: [hook], web: { access: { mention: "always" } } },
    });
    afterTest(async () => {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.start();
    await gateway.ready();
    const are = async (wanted: string) => {
      for (const by of ["plugin", "hook"] as const)
        await until(async () => (await answerOf(gateway, by)) === `the word is ${wanted}`, `${wanted} by the ${by}`);
    };
    const shared = (name: string) => (end === "mjs" ? ` ${name}` : "");
    await are(`v1 one${shared("1")}`);
    lead("v2");
    await are(`v2 two${shared("1")}`);
    rmSync(join(folder, "rel/v1"), { recursive: true });
    write("v2", "word", end === "mjs" ? 'export const word = "three";' : 'exports.word = "three";');
    await are(`v2 three${shared("1")}`);
    share("2");
    await are(`v2 three${shared("2")}`);
    expect(gateway.output()).not.toContain("not reloaded");
  },
  60_000,
);
