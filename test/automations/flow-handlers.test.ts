/** Handlers through the running product: every decision by every one that may decide, and what programs and servers are told. */

import { createHmac } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { type Endpoint, openEndpoint } from "./endpoint.js";
import { type Product, ROOM, startProduct } from "./product.js";

const SECRET = `whsec_${Buffer.from("the secret that signs what goes out").toString("base64")}`;
const DECIDERS = ["shell", "http", "module", "agent"] as const;
const DECISIONS = ["pass", "block", "modify", "claim"] as const;

/** What each decision is as JSON, about a message that says `words`. */
const written: Record<(typeof DECISIONS)[number], (words: string) => Record<string, unknown>> = {
  pass: () => ({ decision: "pass" }),
  block: () => ({ decision: "block", reason: "not in this house" }),
  modify: (words) => ({ decision: "modify", patch: { message: { text: `other words than ${words}` } } }),
  claim: (words) => ({ decision: "claim", reply: `claimed: ${words}` }),
};
const jsonOf = (name: string, decision: (typeof DECISIONS)[number]) =>
  JSON.stringify(written[decision](`${name} ${decision}`));

let endpoint: Endpoint;
let model: LLMock;
let product: Product;

function deciding(name: (typeof DECIDERS)[number], decision: (typeof DECISIONS)[number], url: string) {
  const words = `${name} ${decision}`;
  const runs = {
    shell: { shell: { command: ["printf", "%s", jsonOf(name, decision)] } },
    http: { http: { url: `${url}/decide/${name}/${decision}`, attempts: 1 } },
    module: { module: { path: "decisions.mjs", export: decision } },
    agent: { agent: { prompt: `Decide: ${words}.`, decides: true } },
  };
  return {
    id: `${name}-${decision}`,
    on: decision === "claim" ? "inbound_claim" : "message_sending",
    match: { when: `payload.message.text == "${words}"` },
    timeout: "60s",
    run: runs[name],
  };
}

beforeAll(async () => {
  endpoint = await openEndpoint();
  model = new LLMock({ port: 0 });
  await model.start();
  for (const decision of DECISIONS)
    model.on(
      {
        predicate: ({ messages }) =>
          JSON.stringify(messages).includes(`Decide: agent ${decision}.`) &&
          !messages.some(({ role }) => role === "tool"),
      },
      { toolCalls: [{ name: "decide", arguments: jsonOf("agent", decision) }] },
    );
  model.onMessage(/./, { content: "Done." });
  const { url, port } = endpoint;
  const onEvent = (id: string, run: unknown, more: object = {}) => ({
    id,
    trigger: { event: id },
    run,
    when_busy: "queue",
    ...more,
  });
  product = await startProduct(
    {
      outgoing: { allow: [`127.0.0.1:${port}`] },
      models: { available: { small: { provider: "anthropic", url: `${model.url}/v1`, model: "test-model" } } },
      hooks: [
        ...DECIDERS.flatMap((name) => DECISIONS.map((decision) => deciding(name, decision, url))),
        { id: "echo", on: "inbound_claim", priority: 900, run: { module: { path: "decisions.mjs", export: "echo" } } },
        onEvent("told", {
          shell: {
            sh: 'env | grep "^HOOKGATE_" | grep -v PAYLOAD > told.env; pwd > told.cwd; printf %s "$HOOKGATE_PAYLOAD" > payload.env; cat > payload.stdin',
            cwd: "inner",
          },
        }),
        onEvent("floods", { shell: { sh: "yes words | head -c 3000000", max_bytes: 1000 } }),
        onEvent("seed", {
          http: {
            url: `${url}/seed`,
            secret_env: "OUT_SECRET",
            signature: "crewship",
            method: "PUT",
            headers: { "X-A": "b" },
          },
        }),
        onEvent("stays", { http: { url: `${url}/moved` } }),
        onEvent("follows", { http: { url: `${url}/moved`, redirects: 1 } }),
        onEvent("many-places", {
          chat: {
            to: [ROOM, "web:web:dm-1"],
            card: { title: "Build {{ event.n }}", fields: [{ name: "branch", value: "{{ event.branch }}" }] },
            buttons: [[{ label: "Status", action: { kind: "command", line: "/status" } }]],
          },
        }),
      ],
    },
    { OUT_SECRET: SECRET },
  );
  mkdirSync(join(product.folder, "inner"), { recursive: true });
  writeFileSync(
    join(product.folder, "decisions.mjs"),
    [
      ...DECISIONS.map((decision) => `export const ${decision} = () => (${jsonOf("module", decision)});`),
      'export const echo = ({ message }) => ({ decision: "claim", reply: message.text });',
    ].join("\n"),
  );
}, 120_000);
afterAll(async () => {
  await product.close();
  await endpoint.close();
  await model.stop();
});

const said = async () => (await product.messages()).map(({ text }) => text);

describe.each(DECIDERS)("a hook that decides by %s", (name) => {
  it("passes, blocks, changes and claims", { timeout: 60_000 }, async () => {
    endpoint.script((request, response) => {
      const [, , who = "", what = "pass"] = request.path.split("/");
      response.end(jsonOf(who, what as (typeof DECISIONS)[number]));
    });
    for (const decision of DECISIONS) await product.say(`${name} ${decision}`);
    await until(async () => (await said()).includes(`claimed: ${name} claim`), "the claim");
    const ends = await Promise.all(DECISIONS.map(async (one) => (await product.ended(`${name}-${one}`))[0]));
    expect(ends.map((run) => run?.status)).toEqual(["succeeded", "blocked", "succeeded", "succeeded"]);
    expect(ends[1]?.statusReason).toContain("not in this house");
    const texts = await said();
    const times = (text: string) => texts.filter((one) => one === text).length;
    // What was said by the person is there once; what was let pass is there twice: said, and echoed.
    expect([times(`${name} pass`), times(`${name} block`), times(`${name} modify`), times(`${name} claim`)]).toEqual([
      2, 1, 1, 1,
    ]);
    expect(times(`other words than ${name} modify`)).toBe(1);
  });
});

describe("a program", () => {
  it("is told all that there is to tell, in its environment and on standard input, whatever its size", async () => {
    const long = "wörds ".repeat(30_000);
    const names = { workspaceId: "w1", crewId: "c1", agentId: "a1", missionId: "m1", toolName: "t1", severity: "high" };
    const payload = { ...names, long };
    await product.event(payload, { name: "told" });
    const [run] = await product.ended("told");
    expect(run).toMatchObject({ status: "succeeded" });
    const read = (name: string) => readFileSync(join(product.folder, "inner", name), "utf8");
    expect(
      Object.fromEntries(
        read("told.env")
          .trim()
          .split("\n")
          .map((line) => line.split("=")),
      ),
    ).toMatchObject({
      HOOKGATE_EVENT: "event:told",
      HOOKGATE_HOOK_ID: "told",
      HOOKGATE_RUN_ID: run?.id,
      HOOKGATE_WORKSPACE_ID: "w1",
      HOOKGATE_CREW_ID: "c1",
      HOOKGATE_AGENT_ID: "a1",
      HOOKGATE_MISSION_ID: "m1",
      HOOKGATE_TOOL_NAME: "t1",
      HOOKGATE_SEVERITY: "high",
    });
    expect(JSON.parse(read("payload.stdin"))).toEqual(payload);
    expect(JSON.parse(read("payload.env"))).toEqual({ onStandardInput: true, sizeBytes: expect.any(Number) });
    expect(read("told.cwd").trim().endsWith("/inner")).toBe(true);
    expect(existsSync(join(product.folder, "told.env"))).toBe(false);
  });

  it("may print more than is kept of it", async () => {
    await product.event({}, { name: "floods" });
    const [run] = await product.ended("floods");
    expect(run?.status).toBe("succeeded");
    expect(JSON.stringify(run).length).toBeLessThan(10_000);
  });
});

describe("a request", () => {
  it("is signed in the seed's way, too, over the very bytes", async () => {
    endpoint.script({ status: 200 });
    await product.event({ n: 1 }, { name: "seed" });
    await product.ended("seed");
    const [{ method, body, headers }] = endpoint.seen as [(typeof endpoint.seen)[0]];
    expect([method, headers["x-a"]]).toEqual(["PUT", "b"]);
    expect(headers["x-crewship-signature"]).toBe(`sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`);
  });

  it("follows a redirect only where it may", async () => {
    endpoint.script((request, response) =>
      request.path === "/moved" ? response.writeHead(307, { location: "/new" }).end() : response.end(),
    );
    await product.event({}, { name: "stays" });
    expect(await product.ended("stays")).toMatchObject([{ status: "failed" }]);
    expect(endpoint.seen.map(({ path }) => path)).toEqual(["/moved"]);
    await product.event({}, { name: "follows" });
    expect(await product.ended("follows")).toMatchObject([{ status: "succeeded" }]);
    expect(endpoint.seen.map(({ path }) => path)).toEqual(["/moved", "/moved", "/new"]);
  });
});

it("a card with buttons reaches every address", async () => {
  await product.event({ n: 7, branch: "main" }, { name: "many-places" });
  expect(await product.ended("many-places")).toMatchObject([{ status: "succeeded" }]);
  for (const room of ["general", "dm-1"])
    await until(
      async () =>
        (await product.messages(room)).some((one) => /Build 7[\s\S]*main[\s\S]*Status/.test(JSON.stringify(one))),
      `the card in ${room}`,
    );
});

describe("a definition that cannot work", () => {
  it("is broken with its reason, asks nobody and sends nothing unsigned", async () => {
    endpoint.script({ status: 200 });
    const broken = await startProduct({
      outgoing: { allow: [`127.0.0.1:${endpoint.port}`] },
      hooks: [{ id: "well", trigger: { event: "well" }, run: { shell: { sh: "true" } } }],
    });
    try {
      mkdirSync(join(broken.folder, "hooks"), { recursive: true });
      await broken.stop();
      const hook = (id: string, run: unknown) =>
        writeFileSync(join(broken.folder, `hooks/${id}.yaml`), JSON.stringify({ id, trigger: { event: "well" }, run }));
      hook("unsigned", { http: { url: `${endpoint.url}/x`, secret_env: "NOT_SET_ANYWHERE" } });
      hook("no-key", { http: { url: `${endpoint.url}/x`, secret_env: "PATH", signature: "crewship" } });
      hook("no-model", { agent: { prompt: "x", model: "smal" } });
      hook("no-model-at-all", { agent: { prompt: "x" } });
      await broken.start();
      await broken.ready();
      await broken.event({}, { name: "well" });
      await broken.ended("well");
      // What a process prints comes through a pipe, and not at once.
      await until(() => /unsigned.*NOT_SET_ANYWHERE/s.test(broken.output()), "the secret being missed");
      await until(() => /no-model.*there is no model/s.test(broken.output()), "the model being missed");
      // What has a secret may have come by now, signed with it.
      expect(endpoint.seen.filter(({ headers }) => headers["webhook-signature"] === undefined)).toEqual([]);
      await until(() => /no-model-at-all.*no model is configured/s.test(broken.output()), "no model being reported");
      expect(broken.running()).toBe(true);
    } finally {
      await broken.close();
    }
  }, 120_000);
});
