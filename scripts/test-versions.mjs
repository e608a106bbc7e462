/**
 * `npm run test:versions -- [22 24 26] [-- test files]`: the whole suite, or the given files, on other Node versions. Each version comes
 * from npm (the package `node`) into a temporary folder, with a fresh clone of the last commit and its own `npm ci`. Ends with a table.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const args = process.argv.slice(2);
const versions = args.filter((arg) => /^\d+(\.\d+)*$/.test(arg));
const files = args.filter((arg) => arg !== "--" && !versions.includes(arg));
const results = (versions.length > 0 ? versions : ["22", "24", "26"]).map(runOn);

console.log("\nNode        result");
for (const { version, node, result } of results) console.log(`${(node ?? version).padEnd(10)}  ${result}`);
process.exitCode = results.every(({ result }) => result === "passed") ? 0 : 1;

function runOn(version) {
  const folder = mkdtempSync(join(tmpdir(), `hookgate-node-${version}-`));
  try {
    mkdirSync(join(folder, "node"));
    if (
      !run(
        "npm",
        ["install", "--prefix", join(folder, "node"), "--no-audit", "--no-fund", `node@${version}`],
        process.cwd(),
      )
    )
      return { version, result: "this version of Node cannot be installed from npm" };
    const env = { ...process.env, PATH: join(folder, "node/node_modules/node/bin") + delimiter + process.env.PATH };
    // Headers of another version must not be used for a native module.
    delete env.npm_config_nodedir;
    const node = spawnSync("node", ["--version"], { env, encoding: "utf8" }).stdout.trim();
    console.log(`\n===== Node ${node}`);
    const checkout = join(folder, "checkout");
    const isReady =
      run("git", ["clone", "--quiet", process.cwd(), checkout], process.cwd(), env) &&
      run("npm", ["ci", "--no-audit", "--no-fund"], checkout, env);
    if (!isReady) return { version, node, result: "npm ci failed" };
    return { version, node, result: run("npm", ["test", "--", ...files], checkout, env) ? "passed" : "FAILED" };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command, commandArgs, cwd, env = process.env) {
  return spawnSync(command, commandArgs, { cwd, env, stdio: "inherit" }).status === 0;
}
