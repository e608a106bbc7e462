/** `hookgate restore --hold` after what was unfinished in the backup had been sent: real processes, a Telegram on loopback. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type FakeTelegram, startFakeTelegram } from "../fakes/telegram/server.js";
import { freePort, type GatewayProcess, gatewayProcess, TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { runCli } from "./run-cli.js";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const ECHO = `export default {
  id: "echo",
  setup(api) {
    api.hooks.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: { text: "echo " + message.text } }), { id: "reply" });
  },
};`;

interface Installation {
  telegram: FakeTelegram;
  gateway: GatewayProcess;
  cli(...args: string[]): ReturnType<typeof runCli>;
}

async function installation(): Promise<Installation> {
  const telegram = await startFakeTelegram();
  cleanUps.push(() => telegram.stop());
  const folder = mkdtempSync(join(tmpdir(), "hookgate-hold-"));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const env = {
    HOOKGATE_TOKEN: TOKEN,
    HOOKGATE_PORT: String(port),
    TELEGRAM_TOKEN: telegram.token,
    TELEGRAM_API_URL: telegram.apiUrl,
  };
  const config = { plugins: ["./echo.mjs"], telegram: { access: { dms: "everyone" } } };
  writeFileSync(join(folder, "echo.mjs"), ECHO);
  const gateway = await gatewayProcess({ folder, config, port, env });
  cleanUps.push(() => gateway.kill());
  return { telegram, gateway, cli: (...args) => runCli(args, { cwd: folder, env }) };
}

it("deliveries that were sent after the backup may have arrived: a release asks, and `--confirmed` counts them as sent", async () => {
  const { telegram, gateway, cli } = await installation();
  const letters = async (status: string): Promise<{ id: string; ambiguous: boolean }[]> =>
    JSON.parse((await cli("outbox", "list", status, "--json")).out).letters;
  const liftPauses = () =>
    fetch(`${gateway.url}/api/command`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ line: "/pauses lift all", source: "cli" }),
    });
  await gateway.start();
  await gateway.ready();
  telegram.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS: 600 } });
  for (const text of ["one", "two"]) telegram.people.says(text, { dm: true });
  // The first one is decided by the hooks and refused; the second one waits behind it and is not decided.
  await until(async () => (await letters("sending")).length + (await letters("waiting")).length === 2, "both", 20_000);
  await until(() => telegram.callsOf("sendMessage").length === 1, "the refusal", 20_000);
  expect((await cli("backup", "copy.db")).code).toBe(0);
  await liftPauses();
  await until(() => telegram.sends === 2, "both sent", 20_000);
  await gateway.stop();

  expect((await cli("restore", "--hold", "copy.db")).code).toBe(0);
  await gateway.start();
  await gateway.ready();
  await liftPauses(); // the one in the backup
  const [second, first] = await letters("held");
  expect([first, second]).toMatchObject([{ ambiguous: true }, { ambiguous: true }]);
  expect((await cli("outbox", "list")).out).toContain("held, may have arrived");
  expect((await cli("outbox", "release", "all")).out).toContain("2 messages may have arrived");
  expect((await cli("outbox", "release", first?.id ?? "")).out).toContain("in the backup that was restored");
  expect((await cli("outbox", "show", first?.id ?? "")).out).toContain("may have arrived");
  expect(telegram.sends).toBe(2);

  expect((await cli("outbox", "release", second?.id ?? "", "--confirmed")).out).toContain("counts as sent");
  expect((await cli("outbox", "release", "all", "--confirmed")).out).toContain("1 message counted as sent");
  expect(await letters("held")).toEqual([]);
  expect((await letters("sent")).map(({ id }) => id).sort()).toEqual([first?.id, second?.id].sort());
  // Nothing is left of either that could be sent.
  telegram.people.says("three", { dm: true });
  await until(() => telegram.sends === 3, "the next reply", 20_000);
});
