/** Programs and modules that decide, through the running product. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { until } from "../support/until.js";
import { type HookedGateway, hookedGateway } from "./hooked-gateway.js";

const asked = (id: string, more: Record<string, unknown>) => ({
  id,
  on: "inbound_claim",
  match: { when: `payload.message.text.startsWith("${id}")` },
  ...more,
});

/** Reads the payload from standard input and claims the message with its words turned around. */
const DECIDE = `
let input = "";
for await (const chunk of process.stdin) input += chunk;
const { message } = JSON.parse(input);
console.log(JSON.stringify({ decision: "claim", reply: [...message.text].reverse().join("") }));
`;

let gateway: HookedGateway;
beforeAll(async () => {
  gateway = await hookedGateway(
    [
      asked("turn", { run: { shell: { command: [process.execPath, "decide.mjs"] } } }),
      asked("veto", { run: { shell: { sh: "echo 'not now' >&2; exit 2" } } }),
      asked("break", { run: { shell: { sh: "echo 'no disk' >&2; exit 1" } } }),
      asked("status", { run: { shell: { sh: "exit 3", decision: "status" } } }),
      asked("linger", { timeout: "1s", run: { shell: { sh: "sleep 60 & sleep 60" } } }),
      asked("quote", {
        run: {
          shell: {
            command: [
              "sh",
              "-c",
              'printf "%s" "$1" > "$OUT"; printf "{\\"decision\\":\\"claim\\",\\"reply\\":\\"kept\\"}"',
              "_",
              "{{ event.message.text }}",
            ],
            env: { OUT: "quoted.txt" },
          },
        },
      }),
      asked("env", {
        run: { shell: { sh: 'env > environment.txt; echo \'{"decision":"claim","reply":"written"}\'' } },
      }),
      {
        id: "last-word",
        on: "inbound_claim",
        priority: 900,
        run: { module: { path: "claim.mjs", export: "answer" } },
      },
      parse(readFileSync(join(import.meta.dirname, "../../examples/hooks/no-keys.yaml"), "utf8")),
      {
        id: "shut",
        on: "message_sending",
        match: { when: 'payload.message.text.contains("shut this")' },
        run: { shell: { command: ["no-such-guard"] } },
        on_failure: "closed",
      },
      {
        id: "signature",
        on: "message_sending",
        match: { when: 'payload.cause.kind == "reply"' },
        run: { module: { path: "sign.mjs", with: { name: "Hookgate" } } },
      },
    ],
    { env: { GATEWAY_ONLY_SECRET: "do not tell" } },
  );
  writeFileSync(join(gateway.folder, "decide.mjs"), DECIDE);
  writeFileSync(
    join(gateway.folder, "claim.mjs"),
    'export const answer = ({ message }) => ({ decision: "claim", reply: "nobody minded: " + message.text });',
  );
  writeFileSync(join(gateway.folder, "sign.mjs"), sign("first"));
  await gateway.start();
  await gateway.ready();
});
afterAll(() => gateway.close());

const sign = (word: string) =>
  `export default (event, { options }) => ({ decision: "modify", patch: { message: { ...event.message, text: event.message.text + " — " + options.name + " ${word}" } } });`;

describe("a program that decides", () => {
  it("claims a message and answers it, and the answer passes the other hooks", async () => {
    await gateway.say("turn around 😀");
    expect(await gateway.hears("😀 dnuora nrut")).toBe("😀 dnuora nrut — Hookgate first");
  });

  it("blocks with exit code 2: nobody after it is asked", async () => {
    await gateway.say("veto this");
    await until(() => gateway.runs("veto").find(({ status }) => status === "blocked"), "the veto");
    expect(gateway.runs("veto")[0]).toMatchObject({
      status: "blocked",
      statusReason: expect.stringContaining("not now"),
    });
    expect((await gateway.said()).filter((text) => text.includes("veto"))).toEqual([]);
  });

  it("fails with any other exit code, and the message goes on", async () => {
    await gateway.say("break this");
    await gateway.hears("nobody minded: break this");
    expect(gateway.runs("break")[0]).toMatchObject({
      status: "failed",
      statusReason: expect.stringContaining("no disk"),
    });
  });

  it("blocks with any other exit code when the definition says that status decides", async () => {
    await gateway.say("status counts");
    await until(() => gateway.runs("status").find(({ status }) => status === "blocked"), "the veto by status");
  });

  it("that does not end in time has timed out, and the message goes on soon after", async () => {
    await gateway.say("linger");
    await gateway.hears("nobody minded: linger");
    const [run] = await until(() => {
      const found = gateway.runs("linger");
      return found[0]?.status === "timed_out" && found;
    }, "the end of the run");
    expect(run?.attempts[0]?.status).toBe("timed_out");
  });

  it("gets what people write as data only", async () => {
    const text = "quote $(touch pwned) `touch pwned` ; touch pwned # ' \" \\ \n{{ event }}";
    await gateway.say(text);
    await gateway.hears("kept");
    expect(readFileSync(join(gateway.folder, "quoted.txt"), "utf8")).toBe(text);
    expect(existsSync(join(gateway.folder, "pwned"))).toBe(false);
  });

  it("sees nothing of the gateway's own environment", async () => {
    await gateway.say("env please");
    await gateway.hears("written");
    const environment = readFileSync(join(gateway.folder, "environment.txt"), "utf8");
    expect(environment).toContain("HOOKGATE_HOOK_ID=env");
    for (const hidden of ["do not tell", "a-token-for-the-tests-only", "HOOKGATE_PORT"])
      expect(environment).not.toContain(hidden);
  });
});

describe("a guard of what is said", () => {
  const unsaid = async (part: string) =>
    expect((await gateway.said()).filter((text) => text.includes(part))).toEqual([]);

  it("stops the message with exit code 2", async () => {
    await gateway.say("my key is AKIAABCDEFGHIJKLMNOP");
    const run = await until(() => gateway.runs("no-keys").find(({ status }) => status === "blocked"), "the guard");
    expect(run.statusReason).toContain("cloud key");
    await gateway.say("my key is at home");
    await gateway.hears("nobody minded: my key is at home");
    await unsaid("AKIA");
  });

  it("that cannot run lets nothing pass when it is closed", async () => {
    await gateway.say("shut this");
    await until(() => gateway.runs("shut").find(({ status }) => status === "failed"), "the failure");
    await gateway.say("and this?");
    await gateway.hears("nobody minded: and this?");
    await unsaid("shut this");
  });
});

describe("a module", () => {
  it("is loaded anew when its file has changed", async () => {
    writeFileSync(join(gateway.folder, "sign.mjs"), sign("second time"));
    await gateway.say("turn");
    await gateway.hears("nrut — Hookgate second time");
  });
});
