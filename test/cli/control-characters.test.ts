/** Texts of strangers in the owner's terminal: what they hold of control characters is shown, and never obeyed. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { runCli } from "./run-cli.js";

const BOB = "the-token-of-bob-00000000001";
const NASTY = "X\u001b[1A\u001b[2K\u001b]0;PWNED\u0007Y\u009b31m\u007f\u202eZ\u2066";
const SHOWN = "X\\u001b[1A\\u001b[2K\\u001b]0;PWNED\\u0007Y\\u009b31m\\u007f\\u202eZ\\u2066";
/** As a shell in a terminal starts it. */
const ON_TERMINAL = { NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=true" };
/** What a terminal obeys; without colours and bold when they are its own. */
const OBEYED = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;
const withoutStyles = (text: string) => text.replaceAll(/\p{Cc}\[\d+m/gu, "");

const PLUGIN = `
export default {
  id: "loud",
  setup(api) {
    api.logger.warn({ heard: ${JSON.stringify(NASTY)} }, ${JSON.stringify(`it said ${NASTY}`)});
  },
};
`;

let folder: string;
let gateway: GatewayProcess;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-controls-"));
  mkdirSync(join(folder, "plugins"));
  writeFileSync(join(folder, "plugins/loud.mjs"), PLUGIN);
  const config = { plugins: ["./plugins/loud.mjs"], web: { people: [{ id: 2, name: "Bob", token_env: "BOB_TOKEN" }] } };
  gateway = await gatewayProcess({ folder, config, env: { BOB_TOKEN: BOB } });
  await gateway.start();
  await gateway.ready();
  await fetch(`${gateway.url}/api/command`, {
    method: "POST",
    headers: { authorization: `Bearer ${BOB}`, "content-type": "application/json" },
    body: JSON.stringify({ line: `/hooks ${NASTY}` }),
  });
});
afterAll(async () => {
  await gateway.kill();
  rmSync(folder, { recursive: true, force: true });
});

const cli = (args: string[], env: Record<string, string> = {}) =>
  runCli(args, { cwd: folder, env: { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN, ...env } });

describe("the command line", () => {
  it("shows control characters of a stranger as marks, in a pipe, in JSON and in errors", async () => {
    const { out } = await cli(["audit"]);
    expect(out).toContain(SHOWN);
    expect(out).not.toMatch(OBEYED);
    const json = await cli(["audit", "--json"]);
    expect(json.out).not.toMatch(OBEYED);
    expect(JSON.stringify(JSON.parse(json.out))).toContain(JSON.stringify(NASTY).slice(1, -1));
    const { err } = await cli(["do", `/${NASTY}`]);
    expect(err).toContain("\\u001b[1A");
    expect(err).not.toMatch(OBEYED);
  });

  it("in a terminal, keeps nothing of them but the bold of its own", async () => {
    const { out } = await cli(["audit"], ON_TERMINAL);
    expect(out).toContain("\\u001b[2K\\u001b]0;PWNED\\u0007");
    const status = await cli(["status"], ON_TERMINAL);
    expect(status.out).toContain("\u001b[1m");
    for (const shown of [out, status.out]) expect(withoutStyles(shown)).not.toMatch(OBEYED);
  });
});

describe("the start", () => {
  it("logs JSON lines that a terminal can show, and whose values are whole", () => {
    const line =
      gateway
        .output()
        .split("\n")
        .find((one) => one.includes("it said")) ?? "";
    expect(line).not.toMatch(OBEYED);
    expect(JSON.parse(line)).toMatchObject({ heard: NASTY, msg: `it said ${NASTY}` });
  });

  it("in a terminal, logs marks, and prints the login token and a link", async () => {
    const own = join(folder, "own");
    const started = await gatewayProcess({
      folder: own,
      config: { plugins: ["../plugins/loud.mjs"] },
      env: { ...ON_TERMINAL, HOOKGATE_TOKEN: "" },
    });
    try {
      await started.start();
      await until(() => /^ {2}stop /m.test(started.output()), "the greeting");
      expect(started.output()).toContain(`it said ${SHOWN}`);
      expect(withoutStyles(started.output())).not.toMatch(OBEYED);
      const token = readFileSync(join(own, "data/hookgate.token"), "utf8").trim();
      expect(started.output()).toContain(`login token  \u001b[1m${token}\u001b[22m`);
      expect(started.output()).toContain(`/#token=${token}`);
    } finally {
      await started.kill();
    }
  });
});
