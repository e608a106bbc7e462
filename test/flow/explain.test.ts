/** "Why did my hook not run?": what `/hooks why` answers is what really happened, on each platform, by every id that people have. */
import { join, resolve } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { runCli } from "../cli/run-cli.js";
import { TOKEN } from "../support/gateway-process.js";
import { jsonLines } from "../support/lines.js";
import { until } from "../support/until.js";
import type { FlowPlatform, Place } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

const NAMES = ["web", "discord", "telegram"] as const;
type Name = (typeof NAMES)[number];

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/explain.mjs"), critical: true }],
    config: ({ discord, telegram }) => ({
      // Much longer than anything takes here, apart from what is to expire.
      gateway: { ttl: "15s", unanswered_note: false },
      operators: {
        owner: ["web:1", `discord:${discord.userId}`, `telegram:${telegram.userId}`],
        viewer: ["web:3"],
      },
      web: {
        access: { dms: "operators", chats: ["general"], mention: "required" },
        rooms: [
          { id: "general", name: "General" },
          { id: "second", name: "Second" },
        ],
        people: [
          { id: "2", name: "Mallory", token_env: "STRANGER_TOKEN" },
          { id: "3", name: "Grace", token_env: "GUEST_TOKEN" },
        ],
      },
      discord: { access: { chats: [discord.channelId] } },
      telegram: {
        access: { chats: [String(telegram.forumId)] },
        limits: { per_second: 1000, per_chat_per_second: 1000, per_group_per_minute: 60_000 },
      },
    }),
  });
});
afterAll(() => stack.stop());

const platformOf = (name: Name): FlowPlatform => stack.platforms[name];
const roomOf = (name: Name): Place => platformOf(name).places[0];
const run = (line: string) => invoke(stack.gateway.url, line);
const bare = (text: string) => text.replace(/[\\`*]/g, "");
const ran = (hook: string): { dispatchId: string }[] =>
  jsonLines<{ hook: string; dispatchId: string }>(join(stack.gateway.folder, "explain.jsonl")).filter(
    (one) => one.hook === hook,
  );

/** With the mention that each platform asks for. */
function addressed(name: Name, text: string): string {
  if (name === "web") return `@Hookgate ${text}`;
  if (name === "discord") return `<@${stack.discord.world.bot.id}> ${text}`;
  return `@${stack.telegram.world.bot.username} ${text}`;
}

function rows<T>(sql: string, ...values: unknown[]): T[] {
  const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: true });
  try {
    return database.prepare(sql).all(...values) as T[];
  } finally {
    database.close();
  }
}

/** The gateway's own id of a message that it has handled. */
const rowOf = (name: Name, platformId: string, place = roomOf(name)): Promise<string> =>
  until(() => {
    const [found] = rows<{ id: number }>(
      "SELECT id FROM inbox WHERE platform = ? AND chat = ? AND event_id = ? AND status = 'done'",
      name,
      place.chatId,
      platformId,
    );
    return found && `m${found.id}`;
  }, `message ${platformId} on ${name} being handled`);

const deliveryIs = (id: string, status: string) =>
  until(
    () => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = ?", id, status).length > 0,
    `${id} being ${status}`,
  );

/** A command in the chat itself, as a reply to a message if one is given; resolves with the answer's words. */
async function ask(name: Name, line: string, replyToId?: string, place = roomOf(name)): Promise<string> {
  const platform = platformOf(name);
  const before = new Set((await platform.seen(place, "owner")).map(({ id }) => id));
  await platform.say(place, "owner", line, replyToId === undefined ? {} : { replyToId });
  const answer = await until(
    async () => (await platform.seen(place, "owner")).find(({ id, text }) => !before.has(id) && text !== ""),
    `the answer to ${line} on ${name}`,
  );
  return bare(answer.text);
}

/** The platform's id of what the gateway posted with these words. */
const postedWith = (name: Name, part: string): Promise<string> =>
  until(
    async () => (await platformOf(name).seen(roomOf(name))).find(({ text }) => text.includes(part))?.id,
    `"${part}" on ${name}`,
  );

describe.each(NAMES)("a message that was answered, on %s", (name) => {
  it("is explained for each point that it passed, by the person's message and by the bot's, by platform id and by our own", async () => {
    const asked = await platformOf(name).say(roomOf(name), "owner", addressed(name, `say coffee on ${name}`));
    const row = await rowOf(name, asked);
    const delivery = `d_${row}r`;
    await deliveryIs(delivery, "sent");
    const posted = await postedWith(name, `coffee on ${name} -- the footer`);
    expect(ran("footer").some(({ dispatchId }) => dispatchId.startsWith(`${delivery}:message_sending`))).toBe(true);

    for (const [line, reply] of [
      ["/hooks why mine.footer", posted],
      ["/hooks why mine.footer", asked],
      [`/hooks why mine.footer ${posted}`, undefined],
      [`/hooks why mine.footer ${row}`, undefined],
      [`/hooks why mine.footer ${delivery}`, undefined],
      [`/hooks why mine.footer ${delivery}:message_sending`, undefined],
    ] as const) {
      const answer = await ask(name, line, reply);
      expect(answer, `${line} as a reply to ${reply}`).toContain("It ran, ✎ modified");
      expect(answer).toContain("message_sending");
    }
    expect(await ask(name, "/hooks why mine.sent", posted)).toContain("It ran, ✓ passed");
    expect(await ask(name, "/hooks why mine.words", posted)).toContain("It ran, ✋ claimed");
    expect(await ask(name, "/hooks why mine.late", asked)).toContain(
      "mine.words runs before it and claimed the message",
    );
    const overruled = await ask(name, "/hooks why mine.loser", posted);
    expect(overruled).toContain("It ran, ⊝ overruled");
    expect(overruled).toContain('"mine.footer" set message before it');
    expect(await ask(name, "/hooks why mine.lost", posted)).toContain("it was sent, so nothing failed");
  });

  it("has its whole path shown: received, claimed, changed, sent", async () => {
    const asked = await platformOf(name).say(roomOf(name), "owner", addressed(name, `say coffee again on ${name}`));
    const row = await rowOf(name, asked);
    await deliveryIs(`d_${row}r`, "sent");
    const posted = await postedWith(name, `coffee again on ${name}`);
    for (const [line, reply] of [
      ["/hooks why last", undefined],
      ["/hooks why", asked],
      [`/hooks why ${row}`, undefined],
      [`/run ${row}`, undefined],
    ] as const) {
      const answer = await ask(name, line, reply);
      expect(answer, line).toContain(`What happened to ${row}`);
      expect(answer).toContain("claimed by mine.words");
      expect(answer).toContain(`d_${row}r sent as ${posted} · changed by mine.footer · overruled: mine.loser`);
      expect(answer.split("\n").filter((part) => /^\d\. /.test(part)).length).toBeLessThanOrEqual(5);
    }
    expect(await ask(name, `/run d_${row}r`)).toContain(`d_${row}r sent as ${posted}`);
  });
});

describe.each(NAMES)("a message that was denied, on %s", (name) => {
  it("because it did not mention the gateway: the reason is that, and not the sender", async () => {
    const asked = await platformOf(name).say(roomOf(name), "owner", "say nothing at all");
    const row = await rowOf(name, asked);
    for (const [line, reply] of [
      ["/hooks why mine.words", asked],
      [`/hooks why mine.words ${row}`, undefined],
      ["/hooks why mine.words last", undefined],
    ] as const) {
      const answer = await ask(name, line, reply);
      expect(answer, line).toContain("mine.words did not run");
      expect(answer).toContain("denied: not addressed");
      expect(answer).toContain("does not mention the gateway");
      // Hooks at message_received got it.
      expect(answer).not.toContain("no hook.");
    }
    expect(await ask(name, "/hooks why mine.footer", asked)).toContain("Nothing was sent in answer");
    expect(await ask(name, "/hooks why", asked)).toContain("denied: not addressed");
  });

  it("because its chat is not listed", async () => {
    const [, elsewhere] = platformOf(name).places;
    const asked = await platformOf(name).say(elsewhere, "guest", addressed(name, "say hello"));
    const row = await rowOf(name, asked, elsewhere);
    const answer = await ask(name, `/hooks why mine.words ${row}`);
    expect(answer).toContain("denied: this place is not listed");
    expect(answer).toContain("access.chats");
    expect(answer).toContain("/whoami in this chat shows the lines to add");
  });
});

describe("a message that was denied", () => {
  it("because direct messages are for operators", async () => {
    const mallory = [...stack.discord.world.users.values()].find(({ username }) => username === "mallory")
      ?.id as string;
    const { id, channel_id: chatId } = stack.discord.people.says("say hello", { dm: true, userId: mallory });
    const row = await rowOf("discord", id, { chatId });
    expect(await ask("discord", `/hooks why mine.words ${row}`)).toContain(
      "denied: direct messages are for operators (the sender has no role",
    );
  });

  it("because a bot sent it", async () => {
    const bot = stack.discord.world.addUser({ username: "another-bot", isBot: true }).id;
    const { id } = stack.discord.people.says(addressed("discord", "say hello"), {
      channelId: stack.discord.channelId,
      userId: bot,
    });
    const row = await rowOf("discord", id);
    expect(await ask("discord", `/hooks why mine.words ${row}`)).toContain("denied: written by a bot account");
  });
});

describe("an answer that was not sent", () => {
  it.each([
    ["hush now", "suppressed", "mine.quiet", "it is night"],
    ["money now", "cancelled", "mine.guard", "talks about money"],
    ["guarded now", "held", "mine.guard", "the guard is out of order"],
  ])("is explained: %s is %s", async (text, status, by, reason) => {
    const asked = await platformOf("discord").say(roomOf("discord"), "owner", addressed("discord", `say ${text}`));
    const row = await rowOf("discord", asked);
    await deliveryIs(`d_${row}r`, status);
    const path = await ask("discord", "/hooks why", asked);
    expect(path).toContain(status);
    expect(path).toContain(by);
    expect(await ask("discord", `/hooks why mine.words ${row}`)).toContain(`its reply d_${row}r to`);
    expect(path).toContain(reason);
    const sent = await ask("discord", `/hooks why mine.sent ${row}`);
    expect(sent).toContain("mine.sent did not run");
    expect(sent).toContain(`it was not sent. It is ${status}`);
    expect(sent).toContain(reason);
    const footer = await ask("discord", `/hooks why mine.footer ${row}`);
    if (status === "suppressed") expect(footer).toContain("it was suppressed at before_dispatch");
    else expect(footer).toContain("It ran");
    if (status === "cancelled") expect(await ask("discord", `/hooks why mine.lost ${row}`)).toContain("It ran");
    if (status === "held") expect(await ask("discord", `/hooks why mine.lost ${row}`)).toContain("held");
    if (status === "suppressed")
      expect(await ask("discord", `/hooks why mine.lost ${row}`)).toContain(
        "it is suppressed by mine.quiet: it is night. That is no failure.",
      );
  });

  it("is explained after it was purged", async () => {
    const asked = await platformOf("discord").say(roomOf("discord"), "owner", addressed("discord", "say guarded then"));
    const row = await rowOf("discord", asked);
    await deliveryIs(`d_${row}r`, "held");
    // To be asked back is no refusal.
    await run(`/outbox purge d_${row}r`);
    const audited = (await run(`/audit d_${row}r`)).data as { entries: { outcome: string }[] };
    expect(audited.entries.map(({ outcome }) => outcome)).toEqual(["asked"]);
    expect((await run("/audit refused")).text).not.toContain(`d_${row}r`);
    await run(`/outbox purge d_${row}r yes=true`);
    const path = bare((await run(`/hooks why d_${row}r`)).text);
    expect(path).toMatch(/purged|deleted/);
    const footer = bare((await run(`/hooks why mine.sent ${row}`)).text);
    expect(footer).toContain("mine.sent did not run");
    expect(footer).toMatch(/purged|deleted/);
    expect(bare((await run(`/hooks why mine.words ${row}`)).text)).toMatch(
      new RegExp(`It claimed the message, and no one got a reply: its reply d_${row}r was .*purged by Owner`),
    );
  });

  it("names the purge that deleted it, and not one before that deleted nothing, and the hook that had cancelled it", async () => {
    const asked = await platformOf("discord").say(roomOf("discord"), "owner", addressed("discord", "say money again"));
    const row = await rowOf("discord", asked);
    await deliveryIs(`d_${row}r`, "cancelled");
    expect(await ask("discord", "/outbox purge waiting")).toContain("Nothing is waiting");
    expect(await ask("discord", "/outbox purge superseded yes=true")).toContain("Nothing is superseded");
    await run("/outbox purge cancelled yes=true");
    const listed = bare((await run("/runs cancelled")).text);
    expect(listed).toContain("mine.guard");
    expect(listed).toContain(`d_${row}r:message_sending`);
    await run("/outbox list chat=web:web:nosuch");
    const audited = bare((await run("/audit")).text);
    expect(audited).toContain("/outbox list chat=web:web:nosuch");
    expect(audited).toContain("/outbox purge cancelled yes=true");
    const gone = `d_${row}r was cancelled by mine.guard: talks about money, and purged by Owner`;
    for (const line of [`/hooks why d_${row}r`, `/hooks why ${row}`, `/run d_${row}r`]) {
      const answer = bare((await run(line)).text);
      expect(answer, line).toContain(gone);
      expect(answer, line).toContain("(/outbox purge cancelled)");
    }
  });

  it("that never existed is neither deleted nor purged", async () => {
    const denied = await rowOf("web", await platformOf("web").say(roomOf("web"), "owner", "nothing for the gateway"));
    const heard = addressed("web", "say once here");
    const answered = await rowOf("web", await platformOf("web").say(roomOf("web"), "owner", heard));
    await run("/outbox purge cancelled yes=true");
    for (const line of [`/hooks why d_${denied}r`, `/run d_${denied}r`, `/hooks why mine.sent d_${denied}r`])
      expect(bare((await run(line)).text), line).toContain(
        `${denied} was answered with no message: there is no d_${denied}r.`,
      );
    for (const line of [`/hooks why d_${answered}x`, `/hooks why mine.sent d_${answered}p`])
      expect(bare((await run(line)).text), line).toMatch(
        new RegExp(`There is no d_${answered}[xp]: the deliveries of ${answered} are d_${answered}r\\.`),
      );
  });
});

describe("a hook that was removed since", () => {
  it("is explained for the message that it ran for", async () => {
    const asked = await platformOf("web").say(roomOf("web"), "owner", addressed("web", "only once"));
    await rowOf("web", asked);
    const answer = await ask("web", "/hooks why mine.once", asked);
    expect(answer).toContain("This hook is no longer registered.");
    expect(answer).toContain("It ran, ✋ claimed");
    expect(bare((await run("/hooks why mine.once")).text)).toContain("mine.once is no longer registered. It last ran");
  });
});

describe("a hook that is alone at its point", () => {
  it("and disabled, is named as disabled, with who did it", async () => {
    await run("/hooks disable mine.sent");
    try {
      const asked = await platformOf("web").say(roomOf("web"), "owner", addressed("web", "say alone"));
      const row = await rowOf("web", asked);
      await deliveryIs(`d_${row}r`, "sent");
      const answer = await ask("web", "/hooks why mine.sent", asked);
      expect(answer).toContain("no hook was enabled there");
      expect(answer).toMatch(/It was disabled then, by \S+/);
      const { text } = await run("/audit mine.sent");
      expect(text).toMatch(/\d\d:\d\d:\d\d +\S+.* \/hooks disable mine\.sent/);
      const viewed = await invoke(stack.gateway.url, "/audit", "the-token-of-a-guest-0001");
      expect(viewed.outcome).toBe("refused");
    } finally {
      await run("/hooks enable mine.sent");
    }
    const asked = await platformOf("web").say(roomOf("web"), "owner", addressed("web", "say awake"));
    await deliveryIs(`d_${await rowOf("web", asked)}r`, "sent");
    expect(await ask("web", "/hooks why mine.sent", asked)).toContain("It ran");
  });
});

describe("a hook that can never run", () => {
  it("because its platform never reports what it waits for, would not run", async () => {
    const { text, data } = await run("/hooks why mine.gone");
    expect(bare(text)).toContain("mine.gone would not run");
    expect(bare(text)).toContain("never reports this to a bot");
    expect(data).toMatchObject({ runs: false });
  });
});

describe("an id", () => {
  it("of a platform is looked up in the chat where it is asked, and in no other", async () => {
    const asked = await platformOf("telegram").say(roomOf("telegram"), "owner", addressed("telegram", "say only here"));
    const row = await rowOf("telegram", asked);
    await postedWith("telegram", "only here");
    expect(await ask("telegram", `/hooks why ${asked}`)).toContain(`What happened to ${row}`);
    const elsewhere = await ask("discord", `/hooks why mine.words ${asked}`);
    expect(elsewhere).toContain("never received");
    expect(elsewhere).toContain("in this chat");
  });

  it("that several chats have, asked about outside of any chat, is answered with the ids to choose from", async () => {
    const { people, chatId, forumId, userId } = stack.telegram;
    const inForum = new Set<number>();
    const inChat = new Set<number>();
    let shared: number | undefined;
    for (let i = 0; shared === undefined && i < 300; i++) {
      const isForumBehind = Math.max(0, ...inForum) < Math.max(0, ...inChat);
      const said = people.says("not for the bot", { chatId: isForumBehind ? forumId : chatId, userId }).message_id;
      (isForumBehind ? inForum : inChat).add(said);
      shared = [...inForum].find((id) => inChat.has(id));
    }
    const first = await rowOf("telegram", String(shared));
    const second = await rowOf("telegram", String(shared), { chatId: String(chatId) });
    const answer = bare((await run(`/hooks why ${shared}`)).text);
    expect(answer).toContain(first);
    expect(answer).toContain(second);
    expect(answer).toMatch(new RegExp(`${first}, \\d\\d:\\d\\d:\\d\\d, by \\S+ .*in `));
    expect(bare((await run(`/hooks why ${first}`)).text)).toContain(`What happened to ${first}`);
  });

  it("that the gateway never saw is said to be unknown", async () => {
    const answer = await ask("web", "/hooks why mine.words 99999999");
    expect(answer).toContain("never received");
  });
});

describe("START in a direct message on Telegram", () => {
  it("is answered as a command after hooks were asked, and its path says so", async () => {
    const { people, userId, world } = stack.telegram;
    const dm = String(world.dmWith(userId).id);
    const { message_id: id } = people.says("/start", { dm: true, userId });
    const row = await rowOf("telegram", String(id), { chatId: dm });
    await until(
      async () =>
        /answered as a command · inbound_claim: \d+ hooks ran/.test(bare((await run(`/hooks why ${row}`)).text)),
      "the hooks that were asked",
    );
  });
});

describe("a chat of direct messages", () => {
  it("is named by its person", async () => {
    const asked = await platformOf("web").say({ chatId: "dm-3" }, "guest", "a direct message of Grace");
    const row = await rowOf("web", asked, { chatId: "dm-3" });
    expect(bare((await run(`/hooks why ${row}`)).text)).toContain("in direct messages with Grace on web");
    expect(bare((await run(`/outbox show ${row}`)).text)).toContain("in direct messages with Grace (web:web:dm-3)");
    expect(bare((await run(`/run ${row}:inbound_claim`)).text)).toContain("in direct messages with Grace");
  });
});

describe("a hook that throws", () => {
  it("shows the plugin's file and line to the owner, and not to a viewer", async () => {
    const asked = await platformOf("web").say(roomOf("web"), "owner", addressed("web", "boom"));
    const row = await rowOf("web", asked);
    const place = /explain\.mjs:\d+:\d+/;
    expect(await ask("web", "/hooks why mine.thrower", asked)).toMatch(place);
    expect(bare((await run(`/run ${row}:inbound_claim`)).text)).toMatch(place);
    const viewed = await invoke(stack.gateway.url, `/run ${row}:inbound_claim`, "the-token-of-a-guest-0001");
    expect(viewed.text).toContain("operators see the reason");
    expect(JSON.stringify(viewed)).not.toMatch(/the pot is empty|explain\.mjs:\d+/);
  });

  it("and one that takes too long names where it is registered, and no place inside Node", async () => {
    const asked = await platformOf("web").say(roomOf("web"), "owner", addressed("web", "doze"));
    const row = await rowOf("web", asked);
    const answer = bare((await run(`/run ${row}:inbound_claim`)).text);
    expect(answer).toContain("did not end within 200 ms");
    expect(answer).toMatch(/did not end within 200 ms \(at \S+\.mjs:\d+:\d+\)/);
    expect(answer).not.toContain("node:");
  });

  it("is no success when it is fired by hand, dry or live, and each says which it was", async () => {
    const fire = '/fire-hook mine.thrower example {"message":{"text":"boom"}}';
    const dry = await run(fire);
    expect(bare(dry.text)).toContain("Dry run");
    expect(bare(dry.text)).toContain("inbound_claim ✗ failed");
    const live = await run(`${fire} live`);
    expect(bare(live.text)).toContain("Fired live");
    expect(bare(live.text)).toContain("This was no dry run");
    const { id } = live.data as { id: string };
    const again = bare((await run(`/replay ${id}`)).text);
    expect(again).toContain("Dry run");
    expect(again).toContain("live=true");
  });
});

describe("/runs", () => {
  it("numbers its rows, names the hook that decided, and leaves out what commands set off", async () => {
    const asked = await platformOf("discord").say(roomOf("discord"), "owner", addressed("discord", "say money again"));
    const row = await rowOf("discord", asked);
    await deliveryIs(`d_${row}r`, "cancelled");
    await run("/status");
    const { text, data } = await run("/runs limit=20");
    const numbered = bare(text).match(
      new RegExp(
        `^(\\d+)\\. ⊘ cancelled · mine\\.guard · .+ in #.+ · \\d\\d:\\d\\d:\\d\\d · d_${row}r:message_sending$`,
        "m",
      ),
    );
    expect(numbered).not.toBeNull();
    const listed = await ask("discord", "/runs");
    expect(listed).toMatch(/^\d+\. ⊘ cancelled · mine\.guard · .+ in #.+ · \d\d:\d\d:\d\d$/m);
    const [, number] = /^(\d+)\. ⊘ cancelled · mine\.guard/m.exec(listed) ?? [];
    const opened = await ask("discord", `/run ${number}`);
    expect(opened).toContain(`Number ${number} of /runs, as you saw it`);
    expect(opened).toContain(`dispatch d_${row}r:message_sending`);
    const { dispatches } = data as { dispatches: { point: string; cause?: { kind: string } }[] };
    expect(dispatches.some(({ point }) => point === "command_invoked")).toBe(false);
    expect(bare((await run(`/run d_${row}r:message_sending`)).text)).toContain("talks about money");
    expect((await run("/runs failed page=99")).text).toContain("there is no page 99");
  });

  it("opens every failed attempt: what was released has an id of its own", async () => {
    const asked = await platformOf("discord").say(
      roomOf("discord"),
      "owner",
      addressed("discord", "say guarded twice"),
    );
    const id = `d_${await rowOf("discord", asked)}r`;
    await deliveryIs(id, "held");
    const { port } = new URL(stack.gateway.url);
    const env = { HOOKGATE_PORT: port, HOOKGATE_TOKEN: TOKEN };
    const { out } = await runCli(["outbox"], { cwd: stack.gateway.folder, env });
    expect(out).toMatch(/^ID +BOX +STATUS +WHERE .* CHAT$/m);
    expect(out).toMatch(new RegExp(`^${id} +outbox +held +#\\S+ .* discord:\\d+:\\d+$`, "m"));
    await run(`/outbox release ${id}`);
    await until(async () => {
      const { data } = await run(`/runs mine.guard`);
      return JSON.stringify(data).includes(`${id}:message_sending:2`);
    }, "the second dispatch");
    for (const dispatch of [`${id}:message_sending`, `${id}:message_sending:2`]) {
      const { text } = await run(`/run ${dispatch}`);
      expect(bare(text)).toContain(dispatch);
      expect(text).toContain("the guard is out of order");
    }
  });
});

describe("/whoami", () => {
  it("offers an owner the lines for a chat that is not listened to, and none for one that is", async () => {
    const [listed, other] = platformOf("discord").places;
    await platformOf("discord").command(listed, "owner", "/whoami");
    await platformOf("discord").command(other, "owner", "/whoami");
    const told = (place: Place) =>
      until(
        async () => (await platformOf("discord").seen(place, "owner")).find(({ text }) => text.includes("role:")),
        "the answer to /whoami",
      );
    expect((await told(listed)).text).not.toContain("To let the gateway listen here");
    expect((await told(other)).text).toContain("To let the gateway listen here");
  });

  it("offers no role to who has one", async () => {
    const answer = await invoke(stack.gateway.url, "/whoami", "the-token-of-a-guest-0001");
    expect(bare(answer.text)).toContain("role: viewer");
    expect(answer.text).not.toContain("give you a role");
  });

  it("is what a person without a role is pointed to for a command that does not exist, not /help", async () => {
    const answer = await invoke(stack.gateway.url, "/nosuch", "the-token-of-a-stranger-01");
    expect(answer.text).toContain("/whoami");
    expect(answer.text).not.toContain("/help");
  });
});

describe("a slip of the pen", () => {
  it.each(NAMES)("gets a button with the nearest name, on %s", async (name) => {
    await ask(name, "/hooks show mine.wrods");
    const [shown] = (await platformOf(name).seen(roomOf(name), "owner")).filter(({ text }) => text.includes("wrods"));
    expect(shown?.buttons[0]).toContain("mine.words");
  });

  it("gets the nearest hook point, and a name that is like none gets no list of unrelated hooks", async () => {
    const order = await run("/hooks order inbound_clam");
    expect((order.data as { choices: { value: string }[] }).choices.map(({ value }) => value)).toEqual([
      "inbound_claim",
    ]);
    expect(order.text).toContain('Did you mean "inbound_claim"?');
    expect(order.text).not.toContain("Which one?");
    const unlike = await run("/hooks show qqqqqqqqqqqq");
    expect(unlike.text).not.toContain("Which one?");
    expect(JSON.stringify(unlike.data)).not.toContain("mine.words");
    expect((await run("/hooks show w")).text).not.toContain("Which one?");
  });
});

// The last of the suite: Telegram lets nothing more into this chat.
describe("a delivery that was not sent in time", () => {
  it("is explained as expired, with the platform's words", async () => {
    stack.telegram.fail({ method: "sendMessage", times: 9, action: { kind: "rate-limit", retryAfterS: 600 } });
    const asked = await platformOf("telegram").say(roomOf("telegram"), "owner", addressed("telegram", "say late"));
    const row = await rowOf("telegram", asked);
    const { title = "" } = stack.telegram.world.chats.get(stack.telegram.forumId) ?? {};
    expect(title).not.toBe("");
    const pauses = await until(async () => {
      const { text } = await run("/pauses");
      return text.includes("Nothing") ? undefined : bare(text);
    }, "the pause");
    const paused = new RegExp(`${title} \\(telegram:\\S+\\)`);
    expect(pauses).toMatch(paused);
    expect(bare((await run("/status")).text)).toMatch(paused);
    await deliveryIs(`d_${row}r`, "dead");
    const behind = await platformOf("telegram").say(roomOf("telegram"), "owner", addressed("telegram", "say later"));
    const later = await rowOf("telegram", behind);
    const path = bare((await run(`/hooks why ${row}`)).text);
    expect(path).toMatch(`d_${row}r dead: 429 Too Many Requests`);
    expect(path).toContain("given up before the next try, because that would have been 10 min later");
    expect(bare((await run("/outbox")).text)).toMatch(new RegExp(`d_${row}r in ${title} \\(telegram:`));
    expect(path).toMatch(/Too Many Requests/i);
    expect(bare((await run(`/hooks why mine.sent ${row}`)).text)).toContain(
      "it was not sent. It is dead: 429 Too Many Requests",
    );
    expect(bare((await run(`/hooks why mine.footer ${row}`)).text)).toContain("It ran, ✓ passed");
    expect(bare((await run(`/hooks why mine.lost ${row}`)).text)).toContain("It ran");
    // Of one that waited behind the pause, the end of the pause is kept as a time: the record is read long after.
    await until(
      () => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = 'dead'", `d_${later}r`).length > 0,
      "its end",
    );
    for (const line of [`/hooks why ${later}`, `/outbox show d_${later}r`])
      expect(bare((await run(line)).text), line).toMatch(
        /dead: not sent in time .*; sending was paused until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: 429 Too Many Requests/,
      );
  });
});
