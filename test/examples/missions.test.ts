/** The example plans, as `hookgate check` sees them. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function check(config: object) {
  const cwd = mkdtempSync(join(tmpdir(), "hookgate-plans-"));
  folders.push(cwd);
  cpSync(resolve(import.meta.dirname, "../../examples/missions"), join(cwd, "missions"), { recursive: true });
  writeFileSync(join(cwd, "hookgate.yaml"), JSON.stringify(config));
  return runCli(["check"], { cwd, env: {} });
}

const RUNNERS = {
  build: { shell: { sh: "make" } },
  writer: { agent: { system: "You write." } },
};
const MODELS = { available: { main: { provider: "anthropic", key_env: "MODEL_KEY", model: "any" } } };

it("the example plans are good", { timeout: 60_000 }, async () => {
  expect(await check({ orchestrator: { runners: RUNNERS }, models: MODELS })).toMatchObject({ code: 0, err: "" });
});

it("who is to do the work and does not exist is told with file and line before anything is run", {
  timeout: 60_000,
}, async () => {
  const { code, err } = await check({ orchestrator: { runners: { biuld: RUNNERS.build } } });
  expect(code).not.toBe(0);
  expect(err).toMatch(/release\.yaml:12:\d+.*plan release: There is no runner or person "build".*Did you mean "biuld"/);
  expect(err).toContain("no model is configured");
});
