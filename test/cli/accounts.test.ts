/** A changed token is another account: what the configuration names of the former one is reported by check, without a network. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "./run-cli.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-accounts-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Both platforms put the account's id into the token. */
const env = {
  DISCORD_TOKEN: `${Buffer.from("111222333444555666").toString("base64")}.abcdef.${"x1Y".repeat(10)}`,
  TELEGRAM_TOKEN: `123456:${"a1B".repeat(12)}`,
};

const configured = (discord: string, telegram: string) => ({
  automations: { alerts: [`discord:${discord}:42`] },
  gateway: { allowed_plugins: { [`discord:${discord}:42`]: [] } },
  alerts: { fallback: [`telegram:${telegram}:43`] },
  hooks: [
    {
      id: "say",
      on: "message_received",
      run: { chat: { to: [`discord:${discord}:44`, `telegram:${telegram}:-45`], text: "x" } },
      notify: { to: [`telegram:${telegram}:46`] },
    },
  ],
});

async function checked(discord: string, telegram: string): Promise<string> {
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify(configured(discord, telegram)));
  const { out, err } = await runCli(["check"], { cwd: folder, env });
  return out + err;
}

it("each place that names another account of Discord or Telegram is reported, with the present one", async () => {
  const found = await checked("999", "888");
  for (const chat of ["42", "44"])
    expect(found).toContain(
      `discord:999:${chat} cannot be reached: the gateway's account on discord is 111222333444555666, not 999`,
    );
  for (const chat of ["43", "-45", "46"])
    expect(found).toContain(
      `telegram:888:${chat} cannot be reached: the gateway's account on telegram is 123456, not 888`,
    );
  expect(found).toMatch(/gateway\.allowed_plugins\.discord:999:42: discord:999:42 cannot be reached/);
  expect(await checked("111222333444555666", "123456")).not.toContain("cannot be reached");
});

it.each([
  ["a group that is not listed", "telegram::-45", {}, true],
  ["a group that is listed", "telegram::-45", { telegram: { access: { chats: ["-45"] } } }, false],
  ["the chat of a person", "telegram::46", {}, false],
  ["a channel that is not listed", "discord::4400000000000000", {}, true],
  ["a channel of a listed server, as far as one knows", "discord::44", { discord: { access: { guilds: [7] } } }, false],
  ["a topic of a listed group", "telegram::-45:3", { telegram: { access: { chats: [-45] } } }, false],
  ["a room of the web chat", "web::general", {}, false],
])("a default route that forwards to %s", async (_, forward, access, isProblem) => {
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify({ gateway: { default_route: { forward } }, ...access }));
  const { code, out, err } = await runCli(["check"], { cwd: folder, env });
  expect(code, err).toBe(isProblem ? 2 : 0);
  const [platform, , chat] = forward.split(":");
  if (isProblem)
    expect(err).toMatch(
      `gateway.default_route.forward: ${platform}::${chat} gets the messages, but replies there are ignored, because \`${platform}.access.chats\` does not list ${chat}: add it`,
    );
  else expect(out).toContain("is good");
});

const OWN = "111222333444555666";

it("a role of Discord is a person to mention, and no chat", async () => {
  const alerts = {
    people: { team: ["discord:role:1576565416279408699"] },
    routes: {
      default: {
        to: ["discord::42"],
        escalate: [
          { after: "4m", mention: ["discord:role:1576565416279408699"] },
          { after: "5m", mention: ["team"] },
        ],
      },
    },
  };
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify({ alerts }));
  const { code, out, err } = await runCli(["check"], { cwd: folder, env });
  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain("is good");
});

it.each([
  [`discord:${OWN}:77`, /is no person and no role \(expected discord:\d+ or, for a role, discord:role:77; \/whoami/],
  [`discord:${OWN}`, /is the gateway's own account, and no person/],
  ["discord:role:ops", /is no person and no role/],
  ["discord:user:77", /is no person and no role/],
  ["telegram:123456", /is the gateway's own account, and no person/],
  ["telegram:role:77", /is no person \(expected telegram:\d+; /],
])("%s is refused in a step and as an account of a person", async (text, words) => {
  const alerts = {
    people: { team: [text] },
    routes: { default: { to: ["discord::42"], escalate: [{ after: "4m", mention: [text] }] } },
  };
  writeFileSync(join(folder, "hookgate.yaml"), JSON.stringify({ alerts }));
  const { code, err } = await runCli(["check"], { cwd: folder, env });
  expect(code).toBe(2);
  for (const path of ["routes.default.escalate.0.mention.0", "people.team.0"])
    expect(err).toMatch(new RegExp(`alerts\\.${path.replaceAll(".", "\\.")}: ${text} ${words.source}`));
});
