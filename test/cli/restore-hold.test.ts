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
/** Many processes one after another. */
const WITHIN_MS = 150_000;
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Until there is a file named "repaired", it handles no "unhandled" and lets no reply to "guarded" go. */
const ECHO = `import { existsSync } from "node:fs";
const fail = (text, word) => {
  if (text.includes(word) && !existsSync("repaired")) throw new Error("not repaired");
};
export default {
  id: "echo",
  setup(api) {
    const failurePolicy = "fail-closed";
    api.hooks.registerClaiming("inbound_claim", ({ message }) => {
      fail(message.text, "unhandled");
      return { handled: true, reply: { text: "echo " + message.text } };
    }, { id: "reply", failurePolicy });
    api.hooks.registerModifying("message_sending", ({ message }) => fail(message.text, "guarded"), { id: "guard", failurePolicy });
  },
};`;

interface Installation {
  folder: string;
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
  const config = { gateway: { inbox_attempts: 1 }, plugins: ["./echo.mjs"], telegram: { access: { dms: "everyone" } } };
  writeFileSync(join(folder, "echo.mjs"), ECHO);
  const gateway = await gatewayProcess({ folder, config, port, env });
  cleanUps.push(() => gateway.kill());
  return { folder, telegram, gateway, cli: (...args) => runCli(args, { cwd: folder, env }) };
}

it(
  "deliveries that were sent after the backup may have arrived: a release asks, and `--confirmed` counts them as sent",
  async () => {
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
    await until(async () => (await letters("sending")).length + (await letters("waiting")).length === 2, "both");
    await until(() => telegram.callsOf("sendMessage").length === 1, "the refusal");
    expect((await cli("backup", "copy.db")).code).toBe(0);
    await liftPauses();
    await until(() => telegram.sends === 2, "both sent");
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
    await until(() => telegram.sends === 3, "the next reply");
  },
  WITHIN_MS,
);

it(
  "what waited for an operator in the backup may have been sent or handled since: nothing is repeated without an answer",
  async () => {
    const { folder, telegram, gateway, cli } = await installation();
    const waiting = async (): Promise<
      { id: string; status: string; box: string; reason: string; ambiguous: boolean }[]
    > => JSON.parse((await cli("outbox", "list", "--json")).out).letters;
    await gateway.start();
    await gateway.ready();
    telegram.fail({
      method: "sendMessage",
      action: { kind: "refuse", status: 400, description: "Bad Request: chat not found" },
    });
    telegram.people.says("refused", { dm: true });
    await until(() => telegram.callsOf("sendMessage").length === 1, "the refusal");
    for (const text of ["guarded", "unhandled"]) telegram.people.says(text, { dm: true });
    await until(async () => (await waiting()).length === 3, "three letters");
    expect((await waiting()).every(({ ambiguous }) => !ambiguous)).toBe(true);
    expect((await cli("backup", "copy.db")).out).toContain("messages that wait for an operator 3");
    writeFileSync(join(folder, "repaired"), "");
    expect((await cli("outbox", "retry", "all")).out).toContain("2 messages on the way again");
    expect((await cli("outbox", "release", "all")).out).toContain("1 message on the way again");
    await until(() => telegram.sends === 3, "all of them sent");
    await gateway.stop();

    const plain = (await cli("restore", "copy.db")).out;
    expect(plain).toContain("messages that wait for an operator 3");
    expect(plain).toContain("also those that were released or retried since");
    expect(plain).not.toContain("The next start sends");
    expect((await cli("restore", "--hold", "copy.db")).out).toContain("messages that wait for an operator 3");
    await gateway.start();
    await gateway.ready();
    const letters = await waiting();
    expect(letters.map(({ status, ambiguous }) => ({ status, ambiguous }))).toEqual(
      ["dead", "held", "held"].map((status) => ({ status, ambiguous: true })),
    );
    expect(letters.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(
        /^it may have been handled since: it waited for an operator in the backup that was restored; .*not repaired/,
      ),
      expect.stringMatching(
        /^it may have been sent since: it waited for an operator in the backup that was restored; .*not repaired/,
      ),
      expect.stringMatching(
        /^it may have been sent since: it waited for an operator in the backup that was restored; .*chat not found/,
      ),
    ]);
    const list = (await cli("outbox", "list")).out;
    expect(list.match(/held, may have arrived/g)).toHaveLength(2);
    expect(list).toContain("dead, may have been handled");
    const [unhandled, , refused] = letters;
    const asked = await cli("outbox", "retry", "all");
    expect(asked).toMatchObject({ code: 3, out: expect.stringContaining("1 message may have been handled") });
    expect(await cli("outbox", "retry", unhandled?.id ?? "")).toMatchObject({ code: asked.code });
    expect(await cli("outbox", "release", "all")).toMatchObject({ code: asked.code });
    expect((await cli("outbox", "retry", refused?.id ?? "")).err).toContain("is held, not dead");
    expect(telegram.sends).toBe(3);

    expect((await cli("outbox", "release", "all", "--confirmed")).out).toContain("2 messages counted as sent");
    expect((await cli("outbox", "retry", "all", "--no-confirmed")).out).toContain("1 message on the way again");
    await until(() => telegram.sends === 4, "the one that was to be handled again");
    expect(JSON.stringify(telegram.callsOf("sendMessage").at(-1))).toContain("echo unhandled");
  },
  WITHIN_MS,
);

it(
  "a list of more messages than a page has tells how many more there are, and the next page shows them",
  async () => {
    const { telegram, gateway, cli } = await installation();
    await gateway.start();
    await gateway.ready();
    for (let n = 0; n < 9; n++) telegram.people.says(`unhandled ${n}`, { dm: true });
    const total = async () => JSON.parse((await cli("outbox", "--json")).out).total;
    await until(async () => (await total()) === 9, "nine letters");
    const first = (await cli("outbox")).out;
    expect(first.match(/not repaired/g)).toHaveLength(8);
    expect(first).toContain("1 more message on page 2 of 2. To see it, add --page 2.");
    const next = (await cli("outbox", "--page", "2")).out;
    expect(next.match(/not repaired/g)).toHaveLength(1);
    expect(next).not.toContain("more message");
    expect((await cli("outbox", "list", "--help")).out).toContain("--page");
  },
  WITHIN_MS,
);
