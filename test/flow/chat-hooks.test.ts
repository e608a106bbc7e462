/** Hooks that speak, on all three platforms: where they are spoken to, in threads where there are any, in place where they speak again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import type { FlowPlatform, Place } from "./platform.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const when = (expression: string) => ({ match: { when: `payload.message.text.startsWith("${expression}")` } });
const DAY = { thread: "day", timezone: "UTC" };
const hooks = (forumId: string) => [
  {
    id: "reports",
    on: "message_received",
    ...when("report"),
    run: { chat: { to: "here", text: "*{{ event.message.text }}* is noted", thread: "run" } },
    when_busy: "queue",
  },
  {
    id: "dailies",
    on: "message_received",
    ...when("daily"),
    run: { chat: { to: "here", text: "{{ event.message.text }} too", ...DAY } },
    concurrency: 3,
    when_busy: "queue",
  },
  {
    id: "counts",
    on: "message_received",
    ...when("count"),
    run: { chat: { to: "here", card: { title: "Latest", text: "{{ event.message.text }}" }, update: true } },
    when_busy: "queue",
  },
  {
    id: "posts",
    on: "message_received",
    ...when("post"),
    run: { chat: { to: `discord::${forumId}`, text: "{{ event.message.text }} too", ...DAY } },
    when_busy: "queue",
  },
  {
    id: "states",
    on: "message_received",
    ...when("state"),
    run: { chat: { to: "here", text: "{{ event.message.text }} too", update: true, ...DAY } },
    when_busy: "queue",
  },
];

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ config: ({ discord }) => ({ hooks: hooks(discord.forumId) }) });
}, 120_000);
afterAll(() => stack.stop());

const texts = async (platform: FlowPlatform, place: Place) => (await platform.seen(place)).map(({ text }) => text);

describe.each(["web", "discord", "telegram"] as const)("on %s", (name) => {
  it("a hook answers where it was spoken to, in a thread where the platform can open one", async () => {
    const platform = stack.platforms[name];
    const [place] = platform.places;
    await platform.say(place, "guest", "report one");
    const inThread = async (): Promise<string[]> => {
      if (name === "telegram") {
        const { chats } = stack.telegram.world;
        const topics = [...(chats.get(Number(place.chatId))?.topics ?? [])].filter(([, title]) =>
          /^reports · /.test(title),
        );
        expect(topics.length).toBeLessThan(2);
        const [topic] = topics;
        return topic === undefined ? [] : texts(platform, { chatId: place.chatId, threadId: String(topic[0]) });
      }
      const opener = (await platform.seen(place)).find(({ text }) => text.startsWith("reports · "));
      if (opener === undefined) return [];
      if (name === "discord") return texts(platform, { chatId: opener.id });
      return texts(platform, { chatId: place.chatId, threadId: opener.id });
    };
    await until(async () => (await inThread()).some((text) => text.includes("report one")), "the answer");
    expect((await inThread()).filter((text) => text.includes("is noted"))).toHaveLength(1);
  });

  if (name === "telegram")
    it("a hook answers in the chat itself where there are no topics, and opens one topic a day where there are", async () => {
      const platform = stack.platforms.telegram;
      const [forum, group] = platform.places;
      await platform.say(group, "guest", "report two");
      const inGroup = async () => (await texts(platform, group)).filter((text) => text.includes("is noted"));
      await until(async () => (await inGroup()).length === 1, "the answer");
      expect(await texts(platform, group)).toHaveLength(1);

      // All three ask for the topic before there is one.
      stack.telegram.fail({ method: "createForumTopic", action: { kind: "slow", delayMs: 1_000 }, times: 3 });
      for (const n of [1, 2, 3]) await platform.say(forum, "guest", `daily ${n}`);
      const topics = () =>
        [...(stack.telegram.world.chats.get(Number(forum.chatId))?.topics ?? [])].filter(([, title]) =>
          title.startsWith("dailies · "),
        );
      const inTopic = () => texts(platform, { chatId: forum.chatId, threadId: String(topics()[0]?.[0]) });
      await until(async () => topics().length > 0 && (await inTopic()).length === 3, "three answers");
      expect(topics()).toHaveLength(1);

      // The topic is remembered over a kill.
      await stack.gateway.kill();
      await stack.gateway.start();
      await allOnline(stack.gateway);
      await platform.say(forum, "guest", "daily 4");
      await until(async () => (await inTopic()).length === 4, "the fourth");
      expect(topics()).toHaveLength(1);
    }, 120_000);

  it("a hook that speaks again edits what it said", async () => {
    const platform = stack.platforms[name];
    const [, place] = platform.places;
    for (const n of [1, 2, 3]) {
      await platform.say(place, "guest", `count ${n}`);
      await until(async () => (await texts(platform, place)).some((text) => text.includes(`count ${n}`)), `count ${n}`);
    }
    expect((await texts(platform, place)).filter((text) => text.includes("count"))).toHaveLength(1);
  });

  // The other two do not let people delete what a bot account said.
  if (name !== "discord") return;
  it("what somebody deleted is said anew", async () => {
    const platform = stack.platforms[name];
    const [, place] = platform.places;
    const [last] = (await platform.seen(place)).filter(({ text }) => text.includes("count"));
    await platform.remove?.(place, "owner", last?.id ?? "");
    await platform.say(place, "guest", "count 4");
    await until(async () => (await texts(platform, place)).some((text) => text.includes("count 4")), "count 4");
  });
});

describe("a thread that the platform refuses", () => {
  /** What people are shown of the one message with these words. */
  const explained = async (name: "discord" | "telegram", place: Place, words: string) => {
    const platform = stack.platforms[name];
    const find = async () =>
      (await platform.seen(place)).find(({ text }) => text.includes(words) && text.includes("is noted"));
    const { id } = await until(find, "the answer in the chat");
    // The message stands in the chat a moment before the gateway has its id, and the run ends after that.
    const answered = (line: string) =>
      until(async () => {
        const { text } = await invoke(stack.gateway.url, line);
        return text.includes("opened no") ? text : undefined;
      }, `${line} with the reason`);
    return Promise.all([`/hooks why ${id}`, "/hooks why reports"].map(answered));
  };
  const logged = (words: string) => stack.gateway.output().split(words).length - 1;

  it("is reported once with what to do, and /hooks why shows it: Discord", async () => {
    const [place] = stack.platforms.discord.places;
    const body = { message: "Missing Permissions", code: 50013 };
    stack.discord.fail({ path: "/threads$", times: 2, action: { kind: "status", status: 403, body } });
    for (const words of ["report refused one", "report refused two"]) {
      await stack.platforms.discord.say(place, "guest", words);
      for (const text of await explained("discord", place, words)) {
        expect(text).toContain("Discord opened no thread: Missing Permissions (50013)");
        expect(text).toContain("Create Public Threads");
      }
    }
    expect(logged("Discord opened no thread: Missing Permissions (50013); messages go to the chat itself")).toBe(1);
  });

  it("is reported once with what to do, and /hooks why shows it: Telegram", async () => {
    const { telegram, platforms } = stack;
    const place = { chatId: String(telegram.forumId) };
    const description = "Bad Request: not enough rights to create a topic";
    telegram.faults.clear();
    telegram.fail({ method: "createForumTopic", times: 2, action: { kind: "refuse", status: 400, description } });
    for (const words of ["report denied one", "report denied two"]) {
      await platforms.telegram.say(place, "guest", words);
      for (const text of await explained("telegram", place, words)) {
        expect(text).toContain("not enough rights to create a topic");
        expect(text).toContain("Manage Topics");
      }
    }
    expect(logged("not enough rights to create a topic; messages go to the chat itself")).toBe(1);
  });
});

describe("a topic that Telegram does not open", () => {
  it("is asked for again after an error page, and else the hook speaks in the chat itself", async () => {
    const { telegram, platforms } = stack;
    const place = { chatId: String(telegram.forumId) };
    const action = { kind: "proxy-error", status: 502 } as const;
    telegram.faults.clear();
    telegram.fail({ method: "createForumTopic", action });
    await platforms.telegram.say(place, "guest", "report after one error page");
    const inTopic = () =>
      telegram.callsOf("sendMessage").find(({ payload }) => String(payload.text).includes("after one error page"));
    const sent = await until(inTopic, "the answer in a topic");
    expect(sent.payload.message_thread_id).toBeDefined();
    telegram.fail({ method: "createForumTopic", times: 9, action });
    await platforms.telegram.say(place, "guest", "report without a topic");
    await until(
      async () => (await texts(platforms.telegram, place)).some((text) => text.includes("without a topic")),
      "the answer in the chat",
    );
    telegram.faults.clear();
  });
});

describe("a day's thread that a moderator deleted on Discord", () => {
  const threadsOf = (hookId: string) =>
    [...stack.discord.world.channels.values()].filter(({ messages, name, parentId }) => {
      const [first] = [...messages.values()];
      return parentId !== undefined && (name?.startsWith(`${hookId} · `) || first?.content.startsWith(`${hookId} · `));
    });
  const saidIn = ({ id }: { id: string }) =>
    [...(stack.discord.world.channels.get(id)?.messages.values() ?? [])]
      // The flow plugin marks what it saw.
      .map(({ content }) => content.replace(/ ‹.*›$/, ""))
      .filter((content) => content.endsWith(" too"));
  const sayAll = async (...texts: string[]) => {
    const { discord } = stack.platforms;
    await Promise.all(texts.map((text) => discord.say(discord.places[0], "guest", text)));
  };
  /** The one thread of the hook, once it has so many messages. */
  const threadWith = (hookId: string, count: number) =>
    until(() => {
      const threads = threadsOf(hookId);
      expect(threads.length).toBeLessThan(2);
      return threads[0] && saidIn(threads[0]).length >= count && threads[0];
    }, `${count} messages in the thread of ${hookId}`);
  const callsTo = ({ id }: { id: string }) =>
    stack.discord.calls.filter(({ path }) => path === `/channels/${id}/messages`);

  it.each([
    ["dailies", "daily"],
    ["posts", "post"],
  ])(
    "is opened again by the next message, once for two runs, and later messages go there: %s",
    async (hookId, word) => {
      await sayAll(`${word} 1`);
      const first = await threadWith(hookId, 1);
      stack.discord.people.deletesThread(first.id);
      await sayAll(`${word} 2`, `${word} 3`);
      const second = await threadWith(hookId, 2);
      const asked = callsTo(first).length;
      await sayAll(`${word} 4`);
      await threadWith(hookId, 3);
      expect(saidIn(second).sort()).toEqual([2, 3, 4].map((n) => `${word} ${n} too`));
      expect(callsTo(first)).toHaveLength(asked);
      expect((await invoke(stack.gateway.url, "/outbox list dead")).text).not.toContain("10003");
    },
  );

  it("is opened once when the gateway is killed while it opens it", async () => {
    const { discord, gateway } = stack;
    const second = await threadWith("dailies", 3);
    discord.people.deletesThread(second.id);
    const [room] = stack.platforms.discord.places;
    const openers = () =>
      callsTo({ id: room.chatId }).filter(({ body }) => JSON.stringify(body).includes("dailies · "));
    const before = openers().length;
    discord.fail({
      method: "POST",
      path: `^/channels/${room.chatId}/messages$`,
      action: { kind: "slow", delayMs: 60_000 },
    });
    await sayAll("daily 5");
    await until(() => openers().length > before, "the first message of the new thread");
    await gateway.kill();
    await gateway.start();
    await allOnline(gateway);
    const third = await threadWith("dailies", 1);
    // The platform takes the words of the thread: no further run comes between.
    discord.fail({ method: "POST", path: `^/channels/${third.id}/messages$`, action: { kind: "drop-after" } });
    await sayAll("daily 6");
    await threadWith("dailies", 2);
    expect(saidIn(third)).toEqual(["daily 5 too", "daily 6 too"]);
    // After the start, Discord has named no channel: what is a forum is known from the disk.
    discord.people.deletesThread((await threadWith("posts", 3)).id);
    await sayAll("post 5");
    await threadWith("posts", 1);
  });

  it("shows a message that is kept up to date again", async () => {
    await sayAll("state 1");
    stack.discord.people.deletesThread((await threadWith("states", 1)).id);
    await sayAll("state 2");
    const thread = await threadWith("states", 1);
    await sayAll("state 3");
    await until(() => saidIn(thread).includes("state 3 too"), "state 3");
    expect(saidIn(thread)).toEqual(["state 3 too"]);
  });

  it("is not opened again where Discord refuses it: the message goes to the chat", async () => {
    const { discord, platforms } = stack;
    const [room] = platforms.discord.places;
    discord.people.deletesThread((await threadWith("dailies", 2)).id);
    const body = { message: "Missing Permissions", code: 50013 };
    discord.fail({ path: "/threads$", action: { kind: "status", status: 403, body } });
    await sayAll("daily 7");
    await until(
      async () => (await texts(platforms.discord, room)).some((text) => text.startsWith("daily 7 too")),
      "the message in the chat",
    );
  });
});
