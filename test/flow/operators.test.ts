/** What operators do, from where they do it: through the real clients, the gateway as a process of its own, and its database. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { TRAPS_PLUGIN } from "../faults/traps-plugin.js";
import { until } from "../support/until.js";
import type { FlowPlatform, Place, Seen, Speaker } from "./platform.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const NAMES = ["web", "discord", "telegram"] as const;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ plugins: [TRAPS_PLUGIN] });
});
afterAll(() => stack.stop());

const find = (platform: FlowPlatform, place: Place, part: RegExp, who: Speaker = "owner"): Promise<Seen> =>
  until(
    async () =>
      [...(await platform.seen(place, who)), ...(await platform.seenPrivately(who))].find(({ text }) =>
        part.test(text),
      ),
    `${part} in ${platform.name}`,
  );

const run = (line: string) => invoke(stack.gateway.url, line);

/** Reads the database beside the running gateway. */
function rows(sql: string): Record<string, unknown>[] {
  const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: true });
  try {
    return database.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    database.close();
  }
}

describe("a slow hook that is fired by hand", () => {
  it.each(NAMES)(
    "answers on %s before it ends, is refused a second time in the same chat with its run and age, and the answer is edited when it ends",
    async (name) => {
      const platform = stack.platforms[name];
      const [room] = platform.places;
      const file = join(stack.gateway.folder, "enough");
      try {
        await platform.command(room, "owner", "/fire-hook traps.slow example live=true");
        // The hook ends only when this test writes the file, so this answer comes before its end.
        const first = await find(platform, room, /Firing .*under way/s);
        const dispatch = /dispatch\W+(f_\w+)/.exec(first.text)?.[1] ?? "none";

        await platform.command(room, "owner", "/fire-hook traps.slow example live=true");
        const refused = await find(platform, room, /is being fired already/);
        expect(refused.text.replaceAll("\\", "")).toContain(dispatch);
        expect(refused.text).toMatch(/for \d+/);

        await platform.command(room, "owner", "/status");
        await find(platform, room, /Platforms/);

        writeFileSync(file, "");
        const ended = await find(platform, room, /Fired live\W+traps\.slow/);
        expect(ended.id).toBe(first.id);
      } finally {
        // A hook that still runs is refused on the next platform, which then waits in vain.
        writeFileSync(file, "");
        const isFree = async () => (await run("/fire-hook traps.slow example")).outcome !== "failed";
        await until(isFree, "traps.slow being free again");
        rmSync(file);
      }
    },
    300_000,
  );
});

describe("a hook that runs for live traffic", () => {
  it("is refused with its run and age, and fired when it has ended", async () => {
    const [room] = stack.platforms.discord.places;
    await stack.platforms.discord.say(room, "guest", "slow 1500 live traffic");
    const { dispatchId } = await until(
      () => stack.noted("inbound_claim").find(({ text }) => text === "slow 1500 live traffic"),
      "the live run",
    );
    const refused = await run("/fire-hook flow.inbound_claim example live=true");
    expect(refused.text.replaceAll("\\", "")).toContain(`running already: run ${dispatchId}/`);
    await find(stack.platforms.discord, room, /slow live traffic/);
    const fired = await until(async () => {
      const answer = await run("/fire-hook flow.inbound_claim example live=true");
      return answer.outcome === "failed" ? undefined : answer;
    }, "the hook being free again");
    expect(fired.text).toContain("flow.inbound_claim");
  });

  it("is fired from the chat whose command it is observing", async () => {
    const [room] = stack.platforms.discord.places;
    await stack.platforms.discord.command(room, "owner", "/fire-hook traps.hangs example live=true");
    await find(stack.platforms.discord, room, /Fired live\W+traps\.hangs/);
  });
});

describe("a person whom nobody listed", () => {
  it("gets an answer to /whoami, and to nothing else, in a Telegram group and on Discord", async () => {
    const { telegram, platforms } = stack;
    const group = { chatId: String(telegram.groupId) };
    await platforms.telegram.say(group, "stranger", `/whoami@${telegram.world.bot.username}`);
    const told = await find(platforms.telegram, group, /role: \W*none/, "stranger");
    expect(told.text).toContain(`telegram:`);
    expect(told.text).toContain(group.chatId);
    await platforms.telegram.say(group, "stranger", "echo anybody there");

    await platforms.discord.command(platforms.discord.places[0], "stranger", "/whoami");
    await find(platforms.discord, platforms.discord.places[0], /role: \W*none/, "stranger");

    await platforms.telegram.say(platforms.telegram.places[0], "guest", "echo the groups are apart");
    await find(platforms.telegram, platforms.telegram.places[0], /groups are apart/);
    expect((await platforms.telegram.seen(group)).some(({ text }) => text.includes("anybody there"))).toBe(false);
  });
});

describe("a refusal on Telegram", () => {
  it("of a press in a group is shown to its person alone, through the hooks, and the button stops spinning", async () => {
    const { telegram, platforms } = stack;
    const [room] = platforms.telegram.places;
    await platforms.telegram.say(room, "guest", "card");
    const card = await find(platforms.telegram, room, /The title/);
    await platforms.telegram.press(room, "stranger", card.id, "Status");
    const answered = await until(
      () => telegram.callsOf("answerCallbackQuery").find(({ payload }) => String(payload.text).includes("no role")),
      "the word to the stranger",
    );
    expect(telegram.people.isAnswered(String(answered.payload.callback_query_id))).toBe(true);
    expect(
      telegram
        .callsOf("answerCallbackQuery")
        .filter(({ payload }) => payload.callback_query_id === answered.payload.callback_query_id),
    ).toHaveLength(1);
    const sent = await until(
      () => stack.noted("message_sent").find(({ payload }) => payload.message.text.includes("no role")),
      "message_sent",
    );
    const isSame = ({ payload }: { payload?: { deliveryId: string } }) =>
      payload?.deliveryId === sent.payload.deliveryId;
    expect(stack.noted("message_sending").filter(isSame)).toHaveLength(1);
    expect((await platforms.telegram.seen(room)).some(({ text }) => text.includes("no role"))).toBe(false);
    expect(telegram.callsOf("sendMessage").some(({ payload }) => String(payload.text).includes("no role"))).toBe(false);
  });

  it("to somebody who never wrote to the bot is one short line in the group; it bothers no operator, and goes on record", async () => {
    const { telegram, platforms } = stack;
    const [room] = platforms.telegram.places;
    const counts = async () => /\d+ held, \d+ dead/.exec((await run("/status")).text)?.[0];
    const then = await counts();
    await platforms.telegram.say(room, "stranger", "/hooks");
    await until(
      () => stack.noted("command_invoked").find(({ payload }) => payload.outcome === "refused"),
      "the refusal on record",
    );
    await until(
      () =>
        telegram.calls.some(
          ({ method, status, payload }) =>
            method === "sendMessage" && status === 403 && String(payload.text).includes("no role"),
        ),
      "Telegram saying that the person cannot be written to",
    );
    await until(
      () => rows("SELECT id FROM deliveries WHERE status = 'cancelled'").length > 0,
      "the refusal being settled",
    );
    expect(await counts()).toBe(then);
    await find(platforms.telegram, room, /You may not do that here/);
    expect((await platforms.telegram.seen(room)).some(({ text }) => text.includes("no role"))).toBe(false);
  });
});

describe("a question on Telegram", () => {
  it("to an owner who never wrote to the bot has a line in the group each time", async () => {
    const { platforms } = stack;
    const [room] = platforms.telegram.places;
    const lines = async () =>
      (await platforms.telegram.seen(room)).filter(({ text }) =>
        text.includes("asks a question before it does anything"),
      );
    for (const times of [1, 2]) {
      await platforms.telegram.say(room, "owner", "/outbox purge all");
      await until(async () => (await lines()).length === times, `${times} lines`);
    }
  });
});

describe("a Telegram command", () => {
  it("is known with - and with _, and one for another bot is not ours", async () => {
    const { telegram, platforms } = stack;
    const [room] = platforms.telegram.places;
    const before = stack.noted("command_invoked").length;
    for (const line of [
      `/fire_hook flow.message_edited example`,
      `/fire-hook flow.message_deleted example`,
      `/hooks@SomeOtherBot`,
      `/status@${telegram.world.bot.username}`,
    ])
      await platforms.telegram.say(room, "owner", line);
    const names = await until(() => {
      const invoked = stack.noted("command_invoked").slice(before);
      return invoked.some(({ payload }) => payload.command === "status")
        ? invoked.map(({ payload }) => payload.command)
        : undefined;
    }, "the commands");
    expect(names).toEqual(["fire-hook", "fire-hook", "status"]);
  });
});

describe("on Discord", () => {
  it("the commands are registered once: equal after a restart means no second registration", async () => {
    const { discord } = stack;
    const writes = () =>
      discord.calls.filter(({ method, path }) => method !== "GET" && /\/commands$/.test(path)).length;
    expect(discord.world.commands.map(({ name }) => name)).toContain("fire-hook");
    const before = writes();
    expect(before).toBe(1);
    await stack.gateway.kill();
    await stack.gateway.start();
    await allOnline(stack.gateway);
    await stack.platforms.discord.command(stack.platforms.discord.places[0], "owner", "/help");
    await find(stack.platforms.discord, stack.platforms.discord.places[0], /fire-hook/);
    expect(writes()).toBe(before);
  });

  it("ids of hooks are completed for the owner, and not for a stranger", async () => {
    const { discord } = stack;
    const offered = await discord.people.completes("fire-hook", "id", "traps.", { userId: discord.userId });
    expect(JSON.stringify(offered)).toContain("traps.slow");
    const mallory = [...discord.world.users.values()].find(({ username }) => username === "mallory");
    expect(await discord.people.completes("fire-hook", "id", "traps.", { userId: mallory?.id as string })).toEqual([]);
  });

  it("ids of messages that were sent are not offered: nobody has to do anything about them", async () => {
    const { discord } = stack;
    const { text } = await invoke(stack.gateway.url, "/outbox");
    expect(text).toMatch(/\b[1-9]\d* sent\b/);
    const offered = await discord.people.completes("outbox", "id", "", { userId: discord.userId });
    expect(JSON.stringify(offered)).toContain("inbox");
    expect(JSON.stringify(offered)).not.toContain("· sent ·");
  });

  it("a form opens at the press and its values run the command", async () => {
    const { discord, platforms } = stack;
    const [room] = platforms.discord.places;
    await platforms.discord.say(room, "guest", "form");
    const { id } = await find(platforms.discord, room, /a form/);
    const press = discord.people.presses(id, "Why", { channelId: room.chatId, userId: discord.userId });
    const shown = await discord.people.answerTo(press.token);
    expect(shown).toMatchObject({ type: 9, data: { title: "Why" } });
    const { custom_id: customId } = Object(shown?.data) as { custom_id: string };
    discord.people.submits(
      customId,
      { id: "flow.reaction_added" },
      { channelId: room.chatId, userId: discord.userId, messageId: id },
    );
    await find(platforms.discord, room, /flow\.reaction_added/);
    const audited = () =>
      rows("SELECT * FROM audit WHERE target = 'hooks' AND details LIKE '%flow.reaction_added%'")[0];
    expect(await until(audited, "the audit")).toMatchObject({ outcome: "done" });
  });
});

describe("the outbox on a held Telegram send", () => {
  const held = async (part: string) =>
    until(
      async () =>
        rows("SELECT id, status, message FROM deliveries WHERE status = 'held'").find(({ message }) =>
          String(message).includes(part),
        ),
      `a held delivery with "${part}"`,
    );

  it("whose answer was lost is never repeated by itself; released as not there it is sent, confirmed it counts as sent", async () => {
    const { telegram, platforms } = stack;
    const [, room] = platforms.telegram.places;
    const sends = (part: string) =>
      telegram.callsOf("sendMessage").filter(({ payload }) => String(payload.text).includes(part)).length;
    for (const [words, action] of [
      ["did arrive", { kind: "drop-after" }],
      ["did not arrive", { kind: "proxy-error", status: 502 }],
    ] as const) {
      telegram.fail({ method: "sendMessage", chatId: Number(room.chatId), action });
      await platforms.telegram.say(room, "guest", `echo it ${words}`);
      await held(words);
      expect(sends(words)).toBe(1);
    }
    const arrived = String((await held("did arrive")).id);
    const lost = String((await held("did not arrive")).id);
    expect((await run("/outbox list held")).text).toContain(arrived);
    expect((await run(`/outbox retry ${arrived}`)).text).toMatch(/may or may not have arrived/);
    expect(sends("did arrive")).toBe(1);
    expect(await run(`/outbox release ${arrived}`)).toMatchObject({ outcome: "refused" });
    expect(await run(`/outbox release ${arrived} confirmed=true`)).toMatchObject({ outcome: "done" });
    expect(await run(`/outbox release ${lost} confirmed=false`)).toMatchObject({ outcome: "done" });
    await until(() => sends("did not arrive") === 2, "the released message");
    const open = `SELECT id FROM deliveries WHERE id IN ('${arrived}', '${lost}') AND status <> 'sent'`;
    await until(() => rows(open).length === 0, "both counting as sent");
    expect(sends("did arrive")).toBe(1);
  });

  it("that a guard could not check goes through the hooks again when it is released, and can be purged", async () => {
    const { platforms, telegram } = stack;
    const [, room] = platforms.telegram.places;
    await platforms.telegram.say(room, "guest", "guarded");
    const id = String((await held("guarded")).id);
    const decided = () => stack.noted("message_sending").filter(({ payload }) => payload.deliveryId === id).length;
    expect(decided()).toBe(1);
    expect(await run(`/outbox release ${id}`)).toMatchObject({ outcome: "done" });
    await until(() => decided() === 2, "the guard being asked again");
    await held("guarded");
    expect(await run(`/outbox purge ${id}`)).toMatchObject({ outcome: "refused" });
    expect(rows(`SELECT id FROM deliveries WHERE id = '${id}'`)).toHaveLength(1);
    expect(await run(`/outbox purge ${id} yes=true`)).toMatchObject({ outcome: "done" });
    expect(rows(`SELECT id FROM deliveries WHERE id = '${id}'`)).toEqual([]);
    const failed = () => stack.noted("delivery_failed").filter(({ payload }) => payload.deliveryId === id);
    await until(() => failed().length === 1, "delivery_failed");
    expect(failed()[0]?.payload).toMatchObject({ error: "an operator discarded it" });
    expect(telegram.contentCalls().some(({ payload }) => String(payload.text).includes("guarded"))).toBe(false);
  });
});

describe("the journal", () => {
  it("replays a real dispatch dry: the hooks run again and nothing is sent", async () => {
    const { platforms } = stack;
    const [room] = platforms.discord.places;
    const messageId = await platforms.discord.say(room, "guest", "echo to be replayed");
    await find(platforms.discord, room, /to be replayed/);
    const claim = await until(
      () => stack.noted("inbound_claim").find((one) => one.messageId === messageId),
      "the claim being noted",
    );
    expect(await run(`/replay ${claim.dispatchId}`)).toMatchObject({ outcome: "done" });
    expect(stack.noted("inbound_claim").filter((one) => one.messageId === messageId)).toHaveLength(2);
    const texts = (await platforms.discord.seen(room)).filter(({ text }) => text.includes("to be replayed"));
    expect(texts).toHaveLength(1);
  });

  it("masks what people wrote; an admin's reveal shows it and is in the audit", async () => {
    const { platforms } = stack;
    const [room] = platforms.discord.places;
    const messageId = await platforms.discord.say(room, "guest", "echo my diary");
    await find(platforms.discord, room, /my diary/);
    const claim = await until(
      () => stack.noted("inbound_claim").find((one) => one.messageId === messageId),
      "the claim being noted",
    );
    const masked = await run(`/run ${claim.dispatchId}`);
    expect(masked.text).toContain("inbound_claim");
    expect(masked.text).not.toContain("my diary");
    expect((await run(`/run ${claim.dispatchId} reveal=true`)).text).toContain("my diary");
    expect(rows("SELECT * FROM audit WHERE action = 'reveal' ORDER BY id DESC LIMIT 1")[0]).toMatchObject({
      target: claim.dispatchId,
    });
    expect(rows("SELECT * FROM audit WHERE action = 'command' ORDER BY id DESC LIMIT 1")[0]).toMatchObject({
      target: "run",
      outcome: "done",
    });
  });
});
