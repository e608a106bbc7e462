/** Events whose declaration or secret is not right: refused and told, each for itself, while the rest of the gateway is at work. */
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const SECRET = `whsec_${Buffer.from("the secret of the events of a test").toString("base64")}`;
const notes = (event: string) =>
  `{ id: on-${event}, trigger: { event: ${event} }, run: { shell: { sh: "echo ${event} >> heard.log" } } }`;
const declared = (deploy: string, more = "") =>
  `automations: { watch: false }
events:
  deploy: { secret_env: ${deploy} }
  build: { secret_env: GOOD, schema: { properties: { at: { type: string, format: date } } } }
  odd: { secret_env: GOOD, schema: { type: nothing-known } }
  garbled: { secret_env: GARBLED }
${more}hooks:
  - ${notes("deploy")}
  - ${notes("build")}
  - ${notes("odd")}
  - ${notes("garbled")}
`;

async function send(live: LiveApp, name: string): Promise<number> {
  const at = new Date();
  const id = `msg_${name}_${at.getTime()}`;
  const response = await fetch(`${live.app.url}/ingest/${name}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(SECRET).sign(id, at, "{}"),
    },
    body: "{}",
  });
  return response.status;
}

test("a missing secret, a bad one and a bad schema refuse their own events only, and everybody who looks is told", async () => {
  const env = { GOOD: SECRET, GARBLED: "whsec_:::" };
  const live = await liveApp({ "hookgate.yaml": declared("NOT_THERE") }, { env, mayBreak: true });
  expect(await Promise.all(["deploy", "odd", "garbled", "build"].map((name) => send(live, name)))).toEqual([
    503, 503, 503, 202,
  ]);
  await live.ended("on-build");
  const { broken } = (await live.get("/api/v1/hooks")) as { broken: { id: string; problems: { message: string }[] }[] };
  const why = Object.fromEntries(broken.map(({ id, problems }) => [id, problems.map(({ message }) => message).join()]));
  expect(Object.keys(why).sort()).toEqual(
    ["event:deploy", "event:garbled", "event:odd", "on-deploy", "on-garbled", "on-odd"].sort(),
  );
  expect(why["event:deploy"]).toContain("the secret that signs the event deploy is missing");
  expect(why["on-deploy"]).toBe('the event "deploy" is broken: correct events.deploy.secret_env');
  expect(why["event:garbled"]).toContain("no base64");
  expect(why["event:odd"]).toContain("this JSON schema cannot be used");
  expect(why["on-odd"]).toBe('the event "odd" is broken: correct events.odd.schema');

  const { code, err } = await runCli(["check"], {
    cwd: live.folder,
    env,
  });
  expect(code).toBe(2);
  expect(err).toMatch(/hookgate\.yaml:3:.*events\.deploy\.secret_env.*missing/);
  expect(err).toMatch(/hookgate\.yaml:\d+.*hook on-deploy: the event "deploy" is broken/);
  expect(err.match(/this JSON schema cannot be used/g)).toHaveLength(1);
  expect(err).not.toContain("strict mode");

  // Fixed by a reload; one that a reload breaks is listed and stays as it was.
  live.write("hookgate.yaml", declared("GOOD"));
  await live.app.reload(live.read());
  expect(await send(live, "deploy")).toBe(202);
  await live.ended("on-deploy");
  live.write("hookgate.yaml", declared("NOT_THERE"));
  expect((await live.app.reload(live.read())).problems.join()).toContain("event deploy is missing");
  expect(await send(live, "deploy")).toBe(202);
  await until(async () => (await live.room("dm-1")).join().includes("event deploy is missing"), "the word to admins");
});

test("a plugin with a hook at a broken event is loaded, as check says, and its other hooks answer", async () => {
  const plugin = `export default { id: "sub", setup(api) {
    api.hooks.registerVoid("event:deploy", () => {});
    api.hooks.registerClaiming("inbound_claim", () => ({ handled: true, reply: "here" }));
  } };`;
  const config =
    "plugins: [./sub.mjs]\nevents:\n  deploy: { secret_env: NOT_THERE }\n  Bad Name: { secret_env: GOOD }\n";
  const live = await liveApp({ "hookgate.yaml": config, "sub.mjs": plugin }, { env: { GOOD: SECRET }, mayBreak: true });
  await live.say("hello");
  await until(async () => (await live.room()).includes("here"), "the answer of the plugin");
  expect(await send(live, "deploy")).toBe(503);
  const { err } = await runCli(["check"], { cwd: live.folder, env: { GOOD: SECRET } });
  expect(err).not.toContain("sub.mjs");
});
