import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeDiscord, startFakeDiscord } from "../fakes/discord/server.js";
import { type FakeTelegram, startFakeTelegram } from "../fakes/telegram/server.js";
import { gatewayProcess } from "../support/gateway-process.js";
import { runCli } from "./run-cli.js";

let cwd: string;
let discord: FakeDiscord;
let telegram: FakeTelegram;
/** Platforms that answer with what is wrong at an operator's: intents off, a stranger's webhook, a clock that is far off. */
let odd: Server;
let oddUrl: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), "hookgate-doctor-"));
  [discord, telegram] = await Promise.all([startFakeDiscord(), startFakeTelegram()]);
  const answers: Record<string, unknown> = {
    "/api/v10/users/@me": { id: "1", username: "Gate" },
    "/api/v10/applications/@me": { flags: 0 },
    "/bot1:x/getMe": { ok: true, result: { id: 2, username: "GateBot", can_read_all_group_messages: false } },
    "/bot1:x/getWebhookInfo": { ok: true, result: { url: "https://elsewhere.example/hook" } },
  };
  odd = createServer((request, response) => {
    response.setHeader("date", new Date(Date.now() - 3_600_000).toUTCString());
    response.end(JSON.stringify(answers[request.url ?? ""] ?? {}));
  }).listen(0, "127.0.0.1");
  await new Promise((done) => odd.once("listening", done));
  const address = odd.address();
  oddUrl = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
});
afterAll(async () => {
  await Promise.all([discord.stop(), telegram.stop(), new Promise((done) => odd.close(done))]);
  rmSync(cwd, { recursive: true, force: true });
});

interface Finding {
  name: string;
  state: string;
  detail: string;
  hint?: string;
}

async function examine(env: Record<string, string>) {
  const { code, out, err } = await runCli(["doctor", "--json"], { cwd, env: { HOOKGATE_PORT: "1", ...env } });
  const findings: Finding[] = JSON.parse(out).findings;
  return { code, out: out + err, findings, of: (name: string) => findings.filter((finding) => finding.name === name) };
}

const good = () => ({
  DISCORD_TOKEN: discord.token,
  DISCORD_API_URL: discord.apiUrl,
  TELEGRAM_TOKEN: telegram.token,
  TELEGRAM_API_URL: telegram.apiUrl,
});

describe("hookgate doctor", () => {
  it("finds both tokens good, names whose they are, and the clock right", async () => {
    const { code, of, out } = await examine(good());
    expect(of("discord")).toMatchObject([{ state: "ok", detail: expect.stringContaining("the token is") }]);
    expect(of("telegram")).toMatchObject([{ state: "ok", detail: expect.stringContaining("@HookgateBot") }]);
    expect(of("clock").every(({ state }) => state === "ok")).toBe(true);
    expect(code).toBe(0);
    expect(out).not.toContain(discord.token);
    expect(out).not.toContain(telegram.token);
  });

  it("says which token is refused and where to get another, shows neither, and exits with 1", async () => {
    const tokens = { DISCORD_TOKEN: "wrong-discord-token", TELEGRAM_TOKEN: "999:wrong-telegram-token" };
    const { code, of, out } = await examine({ ...good(), ...tokens });
    expect(code).toBe(1);
    expect(of("discord")).toMatchObject([
      { state: "bad", detail: "DISCORD_TOKEN is not accepted", hint: expect.stringContaining("Reset Token") },
    ]);
    expect(of("telegram")).toMatchObject([
      { state: "bad", detail: "TELEGRAM_TOKEN is not accepted", hint: expect.stringContaining("BotFather") },
    ]);
    expect(out).not.toContain("wrong-");
  });

  it("takes one refusal of a token, a proxy's page, a limit and an error of the platform for no bad token", async () => {
    const once = async (
      discordAction: Parameters<FakeDiscord["fail"]>[0]["action"],
      telegramAction: Parameters<FakeTelegram["fail"]>[0]["action"],
    ) => {
      discord.fail({ path: "/users/@me$", action: discordAction });
      telegram.fail({ method: "getMe", action: telegramAction });
      const { of } = await examine(good());
      return [...of("discord"), ...of("telegram")].map(({ detail, hint = "" }) => `${detail} → ${hint}`);
    };
    const refusal = { kind: "status" as const, status: 401, body: { message: "401: Unauthorized", code: 0 } };
    const [discordTook, telegramTook] = await once(refusal, {
      kind: "refuse",
      status: 401,
      description: "Unauthorized",
    });
    expect([discordTook, telegramTook]).toEqual([
      expect.stringContaining("the token is"),
      expect.stringContaining("the token is"),
    ]);
    for (const status of [401, 404]) {
      const pages = await once({ kind: "page", status }, { kind: "proxy-error", status });
      expect(pages).toEqual([
        expect.stringContaining(`the answer was not Discord's (HTTP ${status}): a proxy`),
        expect.stringContaining(`the answer was not Telegram's (HTTP ${status}): a proxy`),
      ]);
      expect(pages.join()).not.toMatch(/not accepted|Reset Token|BotFather/);
    }
    const limited = await once(
      { kind: "rate-limit", retryAfterS: 1, scope: "user" },
      { kind: "rate-limit", retryAfterS: 1 },
    );
    const broken = await once(
      { kind: "status", status: 500 },
      { kind: "refuse", status: 500, description: "Internal" },
    );
    for (const line of [...limited, ...broken]) expect(line).toMatch(/(429|500).*tries again by itself/);
  });

  it("says what cannot be reached, without the token in the address", async () => {
    const nowhere = { DISCORD_API_URL: "http://127.0.0.1:1/api", TELEGRAM_API_URL: "http://127.0.0.1:1" };
    const { code, of, out } = await examine({ ...good(), ...nowhere });
    expect(code).toBe(1);
    for (const platform of ["discord", "telegram"])
      expect(of(platform)).toMatchObject([
        { state: "bad", detail: expect.stringContaining("127.0.0.1:1 cannot be reached") },
      ]);
    expect(out).not.toContain(telegram.token);
  });

  it("finds what would fail later: intents, privacy mode, another program's webhook, a clock that is off", async () => {
    writeFileSync(join(cwd, "hookgate.yaml"), "telegram:\n  access:\n    mention: always\n");
    const { code, of } = await examine({
      DISCORD_TOKEN: "x",
      DISCORD_API_URL: `${oddUrl}/api`,
      TELEGRAM_TOKEN: "1:x",
      TELEGRAM_API_URL: oddUrl,
    });
    rmSync(join(cwd, "hookgate.yaml"));
    expect(code).toBe(1);
    expect(of("discord intents")).toMatchObject([{ state: "bad", detail: expect.stringContaining("4014") }]);
    expect(of("telegram privacy")).toMatchObject([{ state: "warning", hint: expect.stringContaining("/setprivacy") }]);
    expect(of("telegram webhook")).toMatchObject([
      {
        state: "warning",
        detail: expect.stringContaining("elsewhere.example"),
        hint: expect.stringContaining("/bot$TELEGRAM_TOKEN/deleteWebhook"),
      },
    ]);
    expect(of("clock")).toMatchObject([
      { state: "warning", detail: expect.stringMatching(/36\d\d s ahead of/) },
      { state: "warning" },
    ]);
  });

  it("finds a database that is none", async () => {
    writeFileSync(join(cwd, "broken.db"), "this is no database, and long enough to be read as one ".repeat(50));
    const { code, of } = await examine({ DATABASE_URL: "file:broken.db" });
    expect(code).toBe(1);
    expect(of("database")).toMatchObject([{ state: "bad", hint: expect.any(String) }]);
  });

  it("names an empty data folder that others can open, which a start closes", async () => {
    const data = join(cwd, "data");
    mkdirSync(data);
    chmodSync(data, 0o755);
    const { of } = await examine({});
    expect(of("file modes")).toMatchObject([{ detail: expect.stringContaining(data) }]);
    const gateway = await gatewayProcess({ folder: cwd, config: {} });
    await gateway.start();
    await gateway.ready();
    await gateway.kill();
    rmSync(join(cwd, "hookgate.yaml"));
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect((await examine({})).of("file modes")).toEqual([]);
    rmSync(data, { recursive: true });
  });

  it("tells the problems of the configuration with the rest, and exits with 2", async () => {
    writeFileSync(join(cwd, "hookgate.yaml"), "gateway:\n  ambiguous: maybe\n");
    const { code, of, findings } = await examine({});
    rmSync(join(cwd, "hookgate.yaml"));
    expect(code).toBe(2);
    expect(of("configuration")).toMatchObject([{ state: "bad", detail: expect.stringContaining("hookgate.yaml:2") }]);
    expect(findings.map(({ name }) => name)).toContain("disk");
  });
});
