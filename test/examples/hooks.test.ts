/** The example hooks, as `hookgate check` sees them. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { runCli } from "../cli/run-cli.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const CONFIG = {
  events: { release: { secret_env: "RELEASE_SECRET" } },
  models: { available: { main: { provider: "anthropic", key_env: "MODEL_KEY", model: "any" } } },
};
const SECRETS = {
  RELEASE_SECRET: "a secret",
  ARCHIVE_SECRET: "another one",
  CI_TOKEN: "a third",
  MODEL_KEY: "a fourth",
};

async function check(config: object, env: Record<string, string>) {
  const cwd = mkdtempSync(join(tmpdir(), "hookgate-examples-"));
  folders.push(cwd);
  cpSync(resolve(import.meta.dirname, "../../examples/hooks"), join(cwd, "hooks"), { recursive: true });
  writeFileSync(join(cwd, "hookgate.yaml"), JSON.stringify(config));
  return runCli(["check"], { cwd, env });
}

it("the example hooks are good", { timeout: 60_000 }, async () => {
  expect(await check(CONFIG, SECRETS)).toMatchObject({ code: 0, err: "" });
});

it("what the example hooks need and do not have is told, each with its place", { timeout: 60_000 }, async () => {
  const { code, err } = await check({}, {});
  expect(code).not.toBe(0);
  for (const words of ["ARCHIVE_SECRET", "CI_TOKEN", "release.yaml:", "forward-messages.yaml:"])
    expect(err).toContain(words);
});
