/** One platform whose settings cannot be used never stops the others, and everybody who looks is told why. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runCli } from "../cli/run-cli.js";
import { startFakeDiscord } from "../fakes/discord/server.js";
import { gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import type { FlowPlatform } from "./platform.js";
import { invoke, readiness, type Stack, startStack } from "./stack.js";

const WHY = /telegram\.webhook\.url.*TELEGRAM_WEBHOOK_SECRET/s;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    online: ["web", "discord"],
    config: {
      telegram: { mode: "webhook", access: { dms: "everyone", chats: ["*"], mention: "always" } },
    },
  });
});
afterAll(() => stack.stop());

const answered = async (platform: FlowPlatform, part: string) =>
  until(
    async () => (await platform.seen(platform.places[0])).find(({ text }) => text.includes(part)),
    `"${part}" on ${platform.name}`,
  );

describe("webhook mode without an address and a secret", () => {
  it("leaves Telegram offline, with the reason in /readyz, /status and the log; the gateway is ready", async () => {
    const { ready, platforms } = await readiness(stack.gateway.url);
    expect({ ready, web: platforms.web?.state, discord: platforms.discord?.state }).toEqual({
      ready: true,
      web: "online",
      discord: "online",
    });
    expect(platforms.telegram).toMatchObject({
      state: "offline",
      reason: expect.stringMatching(WHY),
      hint: expect.stringContaining("hookgate check"),
    });
    const { text } = await invoke(stack.gateway.url, "/status");
    expect(text).toContain("hookgate check");
    expect(stack.gateway.output()).toContain("hookgate check");
    expect(text).toMatch(/telegram.*offline/);
    expect(text.replaceAll("\\", "")).toMatch(WHY);
    expect(stack.gateway.output()).toMatch(WHY);
    expect(stack.telegram.calls).toEqual([]);
  });

  it("leaves the others at work", async () => {
    for (const platform of [stack.platforms.web, stack.platforms.discord]) {
      await platform.say(platform.places[0], "guest", "echo all the same");
      await answered(platform, "all the same");
    }
  });

  it("is told by hookgate check with file and line, which exits with 2", async () => {
    const { folder } = stack.gateway;
    const env = {
      TELEGRAM_TOKEN: "1:a",
      STRANGER_TOKEN: "a-token-of-sixteen-characters",
      GUEST_TOKEN: "another-token-of-sixteen-characters",
    };
    const { code, err } = await runCli(["check"], { cwd: folder, env });
    expect(code).toBe(2);
    expect(err).toMatch(new RegExp(`${join(folder, "hookgate.yaml")}:\\d+:\\d+ telegram\\.webhook\\.url`));
    expect(err).toMatch(WHY);
    expect(err).toContain("2 problems. Until they are fixed, off: telegram. Other platforms go on.");
  });
});

describe("settings of a platform whose token has a misspelt name", () => {
  const WHY =
    /Telegram is off, because TELEGRAM_TOKEN is not set, and TELEGRAM_TOEKN is: if that is the bot token, rename it to TELEGRAM_TOKEN/;
  const config = { telegram: { access: { dms: "operators" } } };

  it("are a warning in the log, /status and `check`", async () => {
    const env = { TELEGRAM_TOEKN: "1:a", DISCORD_TOEKN: "a" };
    const folder = mkdtempSync(join(tmpdir(), "hookgate-misspelt-"));
    const gateway = await gatewayProcess({ folder, config, env });
    onTestFinished(async () => {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.start();
    await gateway.ready();
    expect(gateway.output()).toMatch(WHY);
    const { text } = await invoke(gateway.url, "/status");
    expect(text.replaceAll("\\", "")).toMatch(WHY);
    expect(gateway.output() + text).not.toContain("DISCORD_TOEKN");
    const { code, err } = await runCli(["check"], { cwd: folder, env });
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(WHY) });
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      "a near variable that is empty",
      { TELEGRAM_TOEKN: "", BOB_TOKEN: "y" },
      /telegram: Telegram has settings here and is off, because TELEGRAM_TOKEN is not set: set it in \.env, or remove/,
    ],
    ["an emptied .env", {}, /Telegram has settings here and is off/],
    ["the token", { TELEGRAM_TOKEN: "1:a", TELEGRAM_TOEKN: "1:b" }, /^$/],
  ])("are reported with %s as it is", async (_, env, why) => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-misspelt-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(config));
    const { code, err } = await runCli(["check"], { cwd: folder, env });
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(why) });
  });
});

describe("without the web chat", () => {
  it("the gateway is ready when one platform is online, so that a probe does not take that one away too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-alone-"));
    const fake = await startFakeDiscord();
    const gateway = await gatewayProcess({
      folder,
      config: { web: { enabled: false }, telegram: { limits: { per_second: "many" } } },
      env: { DISCORD_TOKEN: fake.token, DISCORD_API_URL: fake.apiUrl, TELEGRAM_TOKEN: "1:a" },
    });
    onTestFinished(async () => {
      await gateway.kill();
      await fake.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.start();
    await gateway.ready();
    const { platforms } = await readiness(gateway.url);
    expect(platforms).toMatchObject({ discord: { state: "online" }, telegram: { state: "offline" } });
    fake.gateway.behaviour.refuse = true;
    fake.gateway.drop();
    await until(async () => (await fetch(`${gateway.url}/readyz`)).status === 503, "nobody being left");
  });
});

describe("a bot token that was not copied well", () => {
  it("is named as that in the banner, /status, doctor and check, nothing of it is shown, and no request is made", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-copied-"));
    const env = {
      DISCORD_TOKEN: "MTExMjIyMzMz.abcdef…",
      DISCORD_API_URL: "http://127.0.0.1:1/api",
      TELEGRAM_TOKEN: "7654321:AAFakeTele gramToken",
      TELEGRAM_API_URL: "http://127.0.0.1:1",
    };
    const why = {
      discord: 'this token has the character "…" at position 20',
      telegram: "this token has a blank at position 19",
    };
    const gateway = await gatewayProcess({ folder, config: {}, env });
    onTestFinished(async () => {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.start();
    await gateway.ready();
    const banner = await until(() => /^ {2}Hookgate [\s\S]*?\n\n/m.exec(gateway.output())?.[0], "the banner");
    const live = { ...env, HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
    const [checked, doctor] = [
      await runCli(["check"], { cwd: folder, env }),
      await runCli(["doctor"], { cwd: folder, env: live }),
    ];
    const shown = {
      banner,
      status: (await invoke(gateway.url, "/status")).text.replaceAll("\\", ""),
      check: checked.err,
      doctor: doctor.out,
    };
    for (const [place, text] of Object.entries(shown)) {
      expect(text, place).toContain(why.discord);
      expect(text, place).toContain(why.telegram);
      expect(text, place).not.toMatch(/be reached|network|AAFake|MTEx/);
    }
    expect(banner).toMatch(/^ {2}telegram {5}offline: misconfigured: TELEGRAM_TOKEN: /m);
    expect(checked.code).toBe(2);
  });
});

describe("a web chat whose settings cannot be used", () => {
  it("is shown as off at its address, without a link to it in the banner and in `hookgate token`", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-web-off-"));
    const fake = await startFakeDiscord();
    const env = { DISCORD_TOKEN: fake.token, DISCORD_API_URL: fake.apiUrl };
    const gateway = await gatewayProcess({ folder, config: { web: { roooms: [] } }, env });
    onTestFinished(async () => {
      await gateway.kill();
      await fake.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.start();
    await gateway.ready();
    const banner = await until(() => /^ {2}Hookgate [\s\S]*?\n\n/m.exec(gateway.output())?.[0], "the banner");
    expect(banner).not.toMatch(/^ {2}chat /m);
    expect(banner).toMatch(/^ {2}web {10}offline: misconfigured: web\.roooms/m);

    const visit = await fetch(gateway.url, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect([visit.status, visit.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
    const page = await visit.text();
    expect(page).toContain("The web chat is off");
    expect(page).toContain("because its settings have a mistake");
    expect(page).toContain("npx hookgate check");
    expect(page).not.toContain("roooms");
    const rooms = await fetch(`${gateway.url}/api/rooms`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(await rooms.json()).toMatchObject({
      error: { code: "WEB_OFFLINE", hint: expect.stringContaining("check") },
    });

    const live = { ...env, HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
    const token = await runCli(["token"], { cwd: folder, env: live });
    expect(token).toMatchObject({ code: 0, out: `login token  ${TOKEN}\n` });
    expect(token.err).toContain("The web chat is off, so there is no link: misconfigured: web.roooms");
    expect(token.err).toContain("hookgate check");
  });

  it("says who switched it off when no setting is wrong", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-no-web-"));
    const gateway = await gatewayProcess({ folder, config: { web: { enabled: false } } });
    onTestFinished(async () => {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    });
    await gateway.start();
    await gateway.ready();
    const visit = await fetch(gateway.url, { headers: { accept: "text/html" } });
    expect(visit.status).toBe(404);
    expect(await visit.text()).toContain("switched off in the gateway's configuration");
    const live = { HOOKGATE_PORT: new URL(gateway.url).port, HOOKGATE_TOKEN: TOKEN };
    expect((await runCli(["token"], { cwd: folder, env: live })).err).toContain("The web chat is switched off");
  });

  it("is why nothing starts when no other platform is on, as hookgate check says", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-web-only-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "hookgate.yaml"), "web: { roooms: [] }");
    const { code, err } = await runCli(["check"], { cwd: folder });
    expect(code).toBe(2);
    expect(err).toContain("1 problem. Until it is fixed, no platform is on, so Hookgate does not start,");
    expect(err).not.toContain("Other platforms go on");
    expect((await runCli(["start"], { cwd: folder })).code).toBe(2);
  });
});

describe("a person of the web chat whose token is missing", () => {
  it("cannot log in; the web chat goes on, and /status and check name the person", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate-person-"));
    const people = [
      { id: "2", name: "Bea", token_env: "BEA_TOKEN" },
      { id: "3", name: "Carl", token_env: "CARL_TOKEN" },
    ];
    const carl = "the-token-of-carl-only";
    const gateway = await gatewayProcess({ folder, config: { web: { people } }, env: { CARL_TOKEN: carl } });
    try {
      await gateway.start();
      await gateway.ready();
      const me = (token: string) => fetch(`${gateway.url}/api/me`, { headers: { authorization: `Bearer ${token}` } });
      expect((await me(TOKEN)).status).toBe(200);
      expect((await me(carl)).status).toBe(200);
      expect((await me("")).status).toBe(401);
      expect((await fetch(gateway.url)).status).toBe(200);
      expect(JSON.stringify(await invoke(gateway.url, "/status"))).toContain("the login token of Bea is missing");
    } finally {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("what is broken", () => {
  it("is named from the folder of hookgate.yaml on, in answers, errors and alerts; only the log has whole paths", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookgate_paths-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "hooks"));
    writeFileSync(join(folder, "hooks/wrong.yaml"), "hooks: [{ id: wrong, on: nope }]");
    writeFileSync(
      join(folder, "bad.mjs"),
      'export default { id: "bad", setup() { throw new Error("no " + import.meta.url); } };',
    );
    writeFileSync(
      join(folder, "late.mjs"),
      `export default { id: "late", setup({ hooks }) {
        hooks.registerVoid("message_received", () => { throw new Error("late in " + import.meta.url); });
      } };`,
    );
    const gateway = await gatewayProcess({
      folder,
      config: { plugins: ["./bad.mjs", "./late.mjs"] },
      env: { LOG_LEVEL: "info" },
    });
    onTestFinished(() => gateway.kill());
    await gateway.start();
    await gateway.ready();
    await invoke(gateway.url, "/fire-hook late.message_received example live=true");
    const lines = ["/status", "/hooks broken", "/hooks show wrong", "/hooks show late.message_received", "/run last"];
    for (const line of lines) {
      const answer = JSON.stringify(await invoke(gateway.url, line)).replaceAll("\\", "");
      expect(answer, line).not.toContain(folder);
      if (line !== "/hooks show late.message_received")
        expect(answer, line).toMatch(/(bad\.mjs|wrong\.yaml|late\.mjs)/);
    }
    writeFileSync(join(folder, "hookgate.yaml"), "gateway: { ttl: soon }");
    gateway.hangUp();
    await until(
      async () => /latest version was rejected/.test((await invoke(gateway.url, "/status")).text),
      "the rejection",
    );
    const headers = { authorization: `Bearer ${TOKEN}` };
    const alerts = await until(async () => {
      const history = await fetch(`${gateway.url}/api/rooms/dm-1/messages`, { headers });
      const text = (await history.text()).replaceAll("\\", "");
      return text.includes("hookgate.yaml:1") && text;
    }, "the alert about the rejection");
    expect(`${alerts}${(await invoke(gateway.url, "/status")).text}`.replaceAll("\\", "")).not.toContain(folder);
    expect(gateway.output()).toContain(join(folder, "hooks/wrong.yaml"));
  });
});
