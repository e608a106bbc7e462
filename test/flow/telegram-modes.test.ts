/** Telegram end to end where it is peculiar: webhooks through the gateway's own HTTP server, and groups that become supergroups. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { allOnline, invoke, readiness, type Stack, startStack } from "./stack.js";

const CARDS = resolve(import.meta.dirname, "../fixtures/plugins/cards.mjs");
const SECRET = "a-webhook-secret-of-the-tests";
const PATH = "/hooks/telegram";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    plugins: [{ module: CARDS }],
    bridgeTo: ({ telegram }) => ({ platform: "telegram", botId: telegram.botId(), chatId: "-4777" }),
    env: { TELEGRAM_WEBHOOK_SECRET: SECRET },
    config: ({ port }) => ({
      telegram: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        mode: "webhook",
        webhook: { url: `http://127.0.0.1:${port}${PATH}`, path: PATH },
        limits: { per_second: 1000, per_chat_per_second: 1000, per_group_per_minute: 60_000 },
      },
    }),
  });
});
afterAll(() => stack.stop());

const answered = (chatId: number, part: string) =>
  until(
    () =>
      [...(stack.telegram.world.chats.get(chatId)?.messages.values() ?? [])].find(
        (message) => message.from?.id === stack.telegram.world.bot.id && message.text?.includes(part),
      ),
    `"${part}" in ${chatId}`,
  );

describe("webhook mode", () => {
  it("answers what Telegram calls us with, and polls nothing", async () => {
    stack.telegram.people.says("echo over the webhook", { chatId: stack.telegram.chatId });
    await answered(stack.telegram.chatId, "over the webhook");
    expect(stack.telegram.callsOf("getUpdates")).toEqual([]);
  });

  it("sends while Telegram does not take the webhook, and shows why nothing comes in", async () => {
    const { gateway, telegram } = stack;
    await gateway.stop();
    telegram.updates.deleteWebhook({});
    const action = { kind: "refuse", status: 500, description: "Internal Server Error" } as const;
    telegram.fail({ method: "setWebhook", times: 1000, action });
    await gateway.start();
    const state = async () => (await readiness(gateway.url).catch(() => undefined))?.platforms.telegram;
    await until(async () => (await state())?.reason?.includes("cannot be set"), "the reason");
    expect(await state()).toMatchObject({ state: "reconnecting" });
    // A call that Telegram made before the webhook went away.
    const from = { id: telegram.userId, is_bot: false, first_name: "Ada" };
    const message = {
      message_id: 77_002,
      date: Math.floor(Date.now() / 1000),
      chat: { id: telegram.chatId, type: "supergroup", title: "Room" },
      from,
      text: "echo sent without a webhook",
    };
    const headers = { "content-type": "application/json", "x-telegram-bot-api-secret-token": SECRET };
    const body = JSON.stringify({ update_id: 999_000_002, message });
    expect((await fetch(`${gateway.url}${PATH}`, { method: "POST", headers, body })).status).toBe(200);
    await answered(telegram.chatId, "sent without a webhook");
    expect(await state()).toMatchObject({ state: "reconnecting" });
    telegram.faults.clear();
    await allOnline(gateway, 90_000, ["telegram"]);
  });

  it("leaves no pause of a refused token behind when the next start has one that Telegram takes", async () => {
    const { gateway, telegram } = stack;
    const action = { kind: "refuse", status: 401, description: "Unauthorized" } as const;
    telegram.fail({ method: "sendMessage|getMe", times: 1000, action });
    telegram.people.says("echo with the renewed token", { chatId: telegram.chatId });
    const state = async () => (await readiness(gateway.url)).platforms.telegram?.state;
    await until(async () => (await state()) === "offline", "the platform being offline");
    await gateway.stop();
    telegram.faults.clear();
    await gateway.start();
    await allOnline(gateway, 90_000, ["telegram"]);
    const pauses = async () => (await invoke(gateway.url, "/pauses")).text;
    await until(async () => !(await pauses()).includes("Unauthorized"), "the end of the pause");
    await answered(telegram.chatId, "with the renewed token");
  });

  it("refuses a call without the secret, or with a wrong one, and takes nothing from it", async () => {
    const update = {
      update_id: 999_000_001,
      message: {
        message_id: 77_001,
        date: 1,
        chat: { id: stack.telegram.userId, type: "private" },
        from: { id: stack.telegram.userId, is_bot: false, first_name: "Ada" },
        text: "echo forged",
      },
    };
    const call = (headers: Record<string, string>, body: string) =>
      fetch(`${stack.gateway.url}${PATH}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
      });
    const secret = (value: string) => ({ "x-telegram-bot-api-secret-token": value });
    expect((await call({}, JSON.stringify(update))).status).toBe(401);
    expect((await call(secret("wrong"), JSON.stringify(update))).status).toBe(401);
    expect((await call(secret(SECRET), "no json at all")).status).toBe(400);
    stack.telegram.people.says("echo after the forgery", { chatId: stack.telegram.chatId });
    await answered(stack.telegram.chatId, "after the forgery");
    expect(stack.noted("message_received").some(({ payload }) => payload.message.text === "echo forged")).toBe(false);
  });

  it("loses nothing that is said while the process is dead, and answers it once", async () => {
    await stack.gateway.kill();
    stack.telegram.people.says("echo said to nobody", { chatId: stack.telegram.chatId });
    await stack.gateway.start();
    await allOnline(stack.gateway);
    await answered(stack.telegram.chatId, "said to nobody");
    const sends = stack.telegram
      .callsOf("sendMessage")
      .filter(({ payload }) => String(payload.text).includes("said to nobody"));
    expect(sends).toHaveLength(1);
  });
});

describe("a group that becomes a supergroup", () => {
  it("is served under its new id, and what was on its way follows it, once", async () => {
    const { telegram } = stack;
    const group = telegram.groupId;
    telegram.people.says("echo before", { chatId: group });
    await answered(group, "before ‹");
    // The answer is asked for in the old chat and comes when there is a new one.
    telegram.people.says("slow 700 under way", { chatId: group });
    await until(
      () => stack.noted("inbound_claim").some(({ text }) => text === "slow 700 under way"),
      "the slow message",
    );
    const supergroup = telegram.people.migrates(group);
    await answered(supergroup, "slow under way");
    telegram.people.says("echo after", { chatId: supergroup });
    await answered(supergroup, "after ‹");
    const effective = telegram
      .callsOf("sendMessage")
      .filter(({ payload, status }) => status === 200 && String(payload.text).includes("slow under way"));
    expect(effective).toHaveLength(1);
    // Its question has another id there, or is another person's message.
    expect(effective[0]?.payload.reply_parameters).toBeUndefined();
  });

  it("keeps the messages of its members: ids of the group before are not used", async () => {
    const { telegram } = stack;
    const { world, people } = telegram;
    const group = world.addChat({ type: "group", title: "Basic", id: -4777 }).id;
    people.says("post old card v1", { chatId: group });
    const card = await answered(group, "old card v1");
    const { discord: far } = stack.platforms;
    const original = await far.say(far.places[0], "guest", "bridge the copy");
    const copy = await answered(group, "the copy");
    const supergroup = people.migrates(group);
    const chat = world.chats.get(supergroup);
    // Others' messages get the ids that the card and the copy had.
    const members = new Map<number, string>();
    while ((chat?.nextMessageId ?? 0) <= Math.max(card.message_id, copy.message_id)) {
      const text = `of a member ${members.size}`;
      members.set(people.says(text, { chatId: supergroup }).message_id, text);
    }
    expect([...members.keys()]).toEqual(expect.arrayContaining([card.message_id, copy.message_id]));

    people.says("repost old card v2", { chatId: supergroup });
    const anew = await answered(supergroup, "old card v2");
    people.says("repost old card v3", { chatId: supergroup });
    await answered(supergroup, "old card v3");
    expect(chat?.messages.get(anew.message_id)?.text).toContain("old card v3");

    await far.remove?.(far.places[0], "guest", original);
    const left = async () => (await invoke(stack.gateway.url, "/outbox list cancelled")).text;
    await until(async () => (await left()).includes("before its chat moved"), "the deletion being left out");
    for (const [id, text] of members) expect(chat?.messages.get(id)?.text).toBe(text);
    const changed = [...telegram.callsOf("editMessageText"), ...telegram.callsOf("deleteMessage")]
      .filter(({ payload }) => Number(payload.chat_id) === supergroup)
      .map(({ payload }) => Number(payload.message_id));
    expect(new Set(changed)).toEqual(new Set([anew.message_id]));
  });
});
