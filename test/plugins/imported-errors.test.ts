/** What is wrong in a file that a plugin imports is reported with the place in that file; what a module must export is said. In a process of its own: vitest imports modules in its own way. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";

const plugin = (id: string, setup = "") => `{ id: "${id}", setup(api) { ${setup} } }`;
const BAD = "exports.y = 1;\nexports.word = () => {\n  return y +;\n};\n";

const FILES: Record<string, string> = {
  "lib/bad.mjs": BAD.replaceAll("exports.", "export const "),
  "syntax.mjs": `import { word } from "./lib/bad.mjs";\nexport default ${plugin("syntax")};`,
  "lib/between.mjs": `export * from "./bad.mjs";`,
  "deep.mjs": `import "./lib/between.mjs";\nexport default ${plugin("deep")};`,
  "lib/throws.mjs": `export const y = 1;\n\nthrow new Error("no luck");`,
  "throws.mjs": `import "./lib/throws.mjs";\nexport default ${plugin("throws")};`,
  "lib/helps.mjs": "export const help = (none) => {\n  none.foo();\n};",
  "setup.mjs": `import { help } from "./lib/helps.mjs";\nexport default ${plugin("setup", "help(null);")};`,
  "lib/bad.cjs": BAD,
  "require.cjs": `const { word } = require("./lib/bad.cjs");\nmodule.exports = ${plugin("require")};`,
  "lib/ending.cjs": `module.exports = require("./words");`,
  "lib/words.js": `module.exports = null.word;`,
  "ending.cjs": `require("./lib/ending.cjs");\nmodule.exports = ${plugin("ending")};`,
  "compiled.cjs": `Object.defineProperty(exports, "__esModule", { value: true });\nexports.default = ${plugin("compiled")};`,
  "default.cjs": `exports.default = ${plugin("default")};`,
  "whole.cjs": `module.exports = ${plugin("whole")};`,
  "compiled-named.cjs": `Object.defineProperty(exports, "__esModule", { value: true });\nexports.plugin = ${plugin("named")};`,
  "named.cjs": `exports.plugin = ${plugin("named")};`,
  "named.mjs": `export const plugin = ${plugin("named")};`,
  "nothing.mjs": "const x = 1;",
};

const NO_DEFAULT = (what: string) =>
  new RegExp(
    `the module has no default export \\(${what}\\): write export default definePlugin\\({ id, setup }\\), or in CommonJS module\\.exports = { id, setup }`,
  );
const FOUND: Record<string, RegExp | undefined> = {
  "syntax.mjs": /Unexpected token ';' \(lib\/bad\.mjs:3\)/,
  "deep.mjs": /Unexpected token ';' \(lib\/bad\.mjs:3\)/,
  "throws.mjs": /no luck \(lib\/throws\.mjs:3:7\)/,
  "setup.mjs": /setup failed: .*null.* \(lib\/helps\.mjs:2:8\)/,
  "require.cjs": /Unexpected token ';' \(lib\/bad\.cjs:3\)/,
  "ending.cjs": /null.* \(lib\/words\.js:1:23\)/,
  "compiled.cjs": undefined,
  "default.cjs": undefined,
  "whole.cjs": undefined,
  "compiled-named.cjs": NO_DEFAULT("it exports plugin"),
  "named.cjs": /the plugin has no id \(its default export has plugin\): expected { id, setup } as the default export/,
  "named.mjs": NO_DEFAULT("it exports plugin"),
  "nothing.mjs": NO_DEFAULT("it exports nothing"),
};

let folder: string;
let lines: string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-imported-"));
  for (const [name, source] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), source);
  }
  writeFileSync(
    join(folder, "hookgate.yaml"),
    `plugins:\n${Object.keys(FOUND)
      .map((name) => `  - ./${name}\n`)
      .join("")}`,
  );
  const { err } = await runCli(["check"], { cwd: folder });
  lines = err.split("\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(Object.entries(FOUND))("%s", (name, found) => {
  const own = lines.filter((line) => line.includes(`: ./${name}: `));
  if (found === undefined) expect(own).toEqual([]);
  else expect(own).toEqual([expect.stringMatching(found)]);
});
