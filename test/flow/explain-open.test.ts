/** What `/hooks why`, `/runs` and `/run` answer about a message that is not settled yet, was put off, blocked, released or sent by a hook. */
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { until } from "../support/until.js";
import { allOnline, invoke, type Stack, startStack } from "./stack.js";

const ADAM = "the-token-of-a-guest-0001";
const OPERATOR = "the-token-of-a-stranger-01";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/journeys.mjs"), critical: true }],
    config: ({ discord, telegram }) => ({
      operators: {
        owner: ["web:1", `discord:${discord.userId}`, `telegram:${telegram.userId}`],
        admin: ["web:3"],
        operator: ["web:2"],
      },
      gateway: { unanswered_note: false, retry_first: "100ms", retry_max: "200ms", inbox_attempts: 100 },
      overrides: { "mine.off": { enabled: false } },
      hooks: [
        { id: "nightly", trigger: { cron: "0 3 * * *" }, run: { shell: { command: ["true"] } } },
        { id: "hand", trigger: "manual", run: { chat: { to: "web:web:general", text: "posted by hand" } } },
        {
          id: "wire",
          trigger: "manual",
          run: { chat: { to: `telegram:${telegram.world.bot.id}:${telegram.forumId}`, text: "posted by wire" } },
        },
        {
          id: "unwanted",
          enabled: false,
          on: "inbound_claim",
          priority: 150,
          run: { chat: { to: "web:web:second", text: "x" } },
        },
        {
          id: "program",
          on: "inbound_claim",
          priority: 5,
          match: { when: 'payload.message.text == "run it"' },
          run: { shell: { command: ["true"] } },
        },
      ],
    }),
  });
});
afterAll(() => stack.stop());

const bare = (text: string) => text.replace(/[\\`*]/g, "");
const why = async (line: string, token?: string) => bare((await invoke(stack.gateway.url, line, token)).text);
const go = (name: string) => writeFileSync(join(stack.gateway.folder, name), "");

function rows<T>(sql: string, ...values: unknown[]): T[] {
  const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: true });
  try {
    return database.prepare(sql).all(...values) as T[];
  } finally {
    database.close();
  }
}

const place = () => stack.platforms.web.places[0];
const say = (text: string, facts = {}) => stack.platforms.web.say(place(), "owner", text, facts);

/** The gateway's own id of a message in the web chat, in this status. */
const rowOf = (platformId: string, status = "done"): Promise<string> =>
  until(() => {
    const [found] = rows<{ id: number }>(
      "SELECT id FROM inbox WHERE platform = 'web' AND event_id = ? AND status = ?",
      platformId,
      status,
    );
    return found && `m${found.id}`;
  }, `message ${platformId} being ${status}`);

const deliveryIs = (id: string, status: string) =>
  until(
    () => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = ?", id, status).length > 0,
    `${id} being ${status}`,
  );

/** A command in the web chat; resolves with the answer's words. */
async function ask(line: string, facts = {}): Promise<string> {
  const { web } = stack.platforms;
  const before = new Set((await web.seen(place(), "owner")).map(({ id }) => id));
  await say(line, facts);
  const answer = await until(
    async () => (await web.seen(place(), "owner")).find(({ id, text }) => !before.has(id) && text !== ""),
    `the answer to ${line}`,
  );
  return bare(answer.text);
}

describe("a message that is being handled", () => {
  it("has no answer yet, and the hook that is at work is named", async () => {
    const row = await rowOf(await say("slow one"), "running");
    try {
      const path = await until(async () => {
        const text = await why(`/hooks why ${row}`);
        return text.includes("mine.slow") ? text : undefined;
      }, "the hook at work being named");
      expect(path).toContain("being handled now");
      expect(path).not.toContain("no hook was enabled");
      for (const hook of ["mine.words", "mine.bouncer"]) {
        const answer = await why(`/hooks why ${hook} ${row}`);
        expect(answer).not.toContain("did not");
        expect(answer).toContain("not known yet");
        expect(answer).toContain("mine.slow");
      }
      expect(await why(`/hooks why mine.slow ${row}`)).toContain("It is running now");
    } finally {
      go("go-slow");
    }
    await until(() => rows("SELECT 1 FROM inbox WHERE status = 'running'").length === 0, "it being handled");
    expect(await why(`/hooks why mine.slow ${row}`)).toContain("It ran");
  });
});

describe("a message that a hook puts off", () => {
  it("is shown with the hook, the reason and the time; what waits behind it names it; afterwards it is counted", async () => {
    const asked = await say("later one");
    const row = await rowOf(asked, "deferred");
    await stack.platforms.web.edit(place(), "owner", asked, "later one, edited");
    await stack.platforms.web.remove?.(place(), "owner", asked);
    const [edit, deletion] = await until(() => {
      const found = rows<{ id: number }>(
        "SELECT id FROM inbox WHERE event_id GLOB ? OR event_id = ? ORDER BY id",
        `edit:${asked}:*`,
        `delete:${asked}`,
      );
      return found.length === 2 && found.map(({ id }) => `m${id}`);
    }, "the edit and the deletion being stored");
    const behind = await rowOf(await say("say behind it"), "waiting");
    try {
      const path = await until(async () => {
        const text = await why(`/hooks why ${row}`);
        return text.includes("until") ? text : undefined;
      }, "it being put off");
      expect(path).toMatch(/put off by mine\.later \(not yet\), until \d\d:\d\d:\d\d/);
      expect(path).not.toContain("claimed");
      expect(await why(`/hooks why mine.later ${row}`)).toMatch(/It put the message off: not yet/);
      expect(await why(`/hooks why mine.words ${row}`)).toContain("mine.later runs before it and put the message off");
      expect((await invoke(stack.gateway.url, "/runs mine.later")).text).toContain("… put off");
      expect(await why("/runs put-off")).toContain(`${row}:inbound_claim`);
      const waiting = await why(`/hooks why ${behind}`);
      expect(waiting).toMatch(new RegExp(`waits for ${row}, which .*until \\d\\d:\\d\\d:\\d\\d`));
      expect(waiting).not.toContain("no hook was enabled");
      expect(await why(`/hooks why mine.words ${behind}`)).toContain(`waits for ${row}`);
      const waits = `on record (${edit}). The edit waits for ${row}, which mine.later put off, until`;
      const hook = await why(`/hooks why mine.edits ${row}`);
      expect(hook).toContain(`mine.edits did not run for ${row} yet: message_edited did not fire.`);
      for (const answer of [hook, await why(`/hooks why message_edited ${row}`)]) expect(answer).toContain(waits);
      expect(await why(`/hooks why message_deleted ${row}`)).toContain(`(${deletion}). The deletion waits for ${row},`);
      expect(await why(`/hooks why ${row}`)).toContain(`edited (${edit}) · not handled yet`);
    } finally {
      go("go-later");
    }
    await deliveryIs(`d_${behind}r`, "sent");
    expect(await why(`/hooks why mine.edits ${row}`)).toContain("It ran");
    expect(await why(`/hooks why ${row}`)).toMatch(/it was put off (once|\d+ times), by mine\.later: not yet/);
  });
});

describe("a message that a plugin's hook took without a reply", () => {
  it("is shown with the reason, and so is it for the hooks behind", async () => {
    const row = await rowOf(await say("block this"));
    expect(await why(`/hooks why ${row}`)).toContain("claimed by mine.bouncer, without a reply: bad word");
    expect(await why(`/hooks why mine.behind ${row}`)).toContain("mine.bouncer runs before it and claimed");
    expect(await why(`/hooks why mine.bouncer ${row}`)).toMatch(/It ran, ✋ claimed.*: bad word/);
    expect(await why(`/run ${row}:inbound_claim`)).toMatch(/✋ claimed +mine\.bouncer/);
    expect((await invoke(stack.gateway.url, "/runs mine.bouncer")).text).toContain("✋ claimed");
  });
});

describe("a hook that the configuration disables", () => {
  it.each(["mine.off", "unwanted"])("is disabled first, and only then behind others: %s", async (hook) => {
    const row = await rowOf(await say("say who is off"));
    const answer = await why(`/hooks why ${hook} ${row}`);
    expect(answer).toContain("disabled in the configuration");
    expect(answer).not.toContain("runs before it");
  });

  it("is not said to be disabled by who disabled it once more", async () => {
    const row = await rowOf(await say("say who is off"));
    expect(await why("/hooks disable unwanted")).toContain("was disabled already");
    const later = await rowOf(await say("say who is off"));
    for (const id of [row, later]) {
      const answer = await why(`/hooks why unwanted ${id}`);
      expect(answer).toContain("disabled in the configuration");
      expect(answer).not.toContain("disabled then, by");
    }
  });
});

describe("an edit", () => {
  it("is explained by its own point", async () => {
    const asked = await say("say it wrong");
    const row = await rowOf(asked);
    await deliveryIs(`d_${row}r`, "sent");
    await stack.platforms.web.edit(place(), "owner", asked, "say it right");
    const edit = await until(() => {
      const [found] = rows<{ id: number }>(
        "SELECT id FROM inbox WHERE json_extract(event, '$.kind') = 'edited' AND status = 'done'",
      );
      return found && `m${found.id}`;
    }, "the edit");
    const path = await why(`/hooks why ${edit}`);
    expect(path).toContain("message_edited: 1 hook ran");
    expect(path).not.toContain("message_received");
    expect(path).not.toContain("inbound_claim");
    expect(await why(`/hooks why mine.edits ${edit}`)).toContain("It ran");
  });
});

describe("a message whose edit a plugin answered", () => {
  it("shows what was posted for that", async () => {
    const asked = await say("quietly");
    const row = await rowOf(asked);
    await until(() => rows("SELECT 1 FROM inbox WHERE event_id = ? AND status = 'done'", asked)[0], "the message");
    expect(await why(`/hooks why ${row}`)).toContain("Nothing was sent in answer");
    await stack.platforms.web.edit(place(), "owner", asked, "quietly tell me");
    const [posted] = await until(() => {
      const found = rows<{ id: string }>(
        "SELECT id FROM deliveries WHERE message LIKE '%I saw your edit%' AND status = 'sent'",
      );
      return found.length > 0 && found;
    }, "the post of the plugin");
    const path = await why(`/hooks why ${row}`);
    expect(path).toContain(posted?.id);
    expect(path).toMatch(/plugin mine/);
    expect(path).not.toContain("Nothing was sent in answer");
  });
});

describe("a hook that was disabled twice", () => {
  it("was disabled by the first, by name", async () => {
    const { url } = stack.gateway;
    await invoke(url, "/hooks disable mine.edits");
    expect((await invoke(url, "/hooks disable mine.edits", ADAM)).text).toContain("already");
    const row = await rowOf(await say("say disabled"));
    try {
      const answer = await why(`/hooks why mine.behind ${row}`);
      expect(answer).not.toContain("Grace");
      const { text, message } = (await invoke(url, "/hooks show mine.edits")) as { text: string; message?: unknown };
      const shown = bare(`${text} ${JSON.stringify(message ?? "")}`);
      expect(shown).toMatch(/disabled by Owner/);
      expect(shown).not.toContain("Grace");
      const { data } = await invoke(url, "/hooks show mine.edits");
      expect(data).toMatchObject({ switched: { by: expect.stringContaining("web:1") } });
    } finally {
      await invoke(url, "/hooks enable mine.edits");
    }
  });
});

describe("a message whose answer from the platform was lost", () => {
  /** Posted, and the answer lost. */
  async function inDoubt(text: string): Promise<string> {
    const [room] = stack.platforms.telegram.places;
    stack.telegram.fail({ method: "sendMessage", chatId: Number(room.chatId), action: { kind: "drop-after" } });
    await stack.platforms.telegram.say(room, "owner", `say ${text}`);
    return until(() => rows<{ id: string }>("SELECT id FROM deliveries WHERE status = 'held'")[0]?.id, "held");
  }

  it("is not said to be unsent, and after it is confirmed the person and the time are shown", async () => {
    const id = await inDoubt("unclear");
    const answer = await why(`/hooks why mine.calm ${id}`);
    expect(answer).toContain("whether it arrived is not known");
    expect(answer).not.toContain("it was not sent");
    await invoke(stack.gateway.url, `/outbox release ${id} confirmed=true`);
    await deliveryIs(id, "sent");
    const path = await why(`/hooks why ${id}`);
    expect(path).toMatch(/\d\d:\d\d:\d\d Owner confirmed that it arrived/);
    expect(path).toMatch(new RegExp(`What happened to ${id}, a message to .*, which counts as sent since`));
    expect(path).not.toContain("which the gateway sent");
  });

  it("is known to have arrived when somebody asks about it in a reply", async () => {
    const { telegram } = stack.platforms;
    const [room] = telegram.places;
    const id = await inDoubt("hazy");
    const arrived = (await telegram.seen(room)).find(({ text }) => text.includes("hazy") && !text.startsWith("say"));
    await telegram.say(room, "owner", "/hooks why", { replyToId: arrived?.id ?? "none" });
    await deliveryIs(id, "sent");
    const told = async () =>
      (await telegram.seen(room)).find(({ text }) => text.includes(`What happened to ${id}`))?.text;
    await until(told, "the answer about the message that arrived");
  });
});

describe("a message of a hook whose answer from the platform was lost", () => {
  it("is in doubt for its run, which is not said to have had no effect", async () => {
    const [room] = stack.platforms.telegram.places;
    stack.telegram.fail({ method: "sendMessage", chatId: Number(room.chatId), action: { kind: "drop-after" } });
    await invoke(stack.gateway.url, "/fire-hook wire live=true");
    const id = await until(
      () => rows<{ id: string }>("SELECT id FROM deliveries WHERE status = 'held' AND message LIKE '%by wire%'")[0]?.id,
      "held",
    );
    const { text, data } = await invoke(stack.gateway.url, "/runs wire");
    expect(text).toContain("⚠ in doubt");
    const [run] = (data as { runs: { id: string; withheld: unknown }[] }).runs;
    expect(run?.withheld).toEqual([expect.objectContaining({ delivery: id, isInDoubt: true })]);
    const shown = await why(`/run ${run?.id}`);
    expect(shown).toMatch(new RegExp(`Whether its message ${id} to .* arrived is not known`));
    expect(shown).not.toContain("no effect");
    await invoke(stack.gateway.url, `/outbox release ${id} confirmed=true`);
    await deliveryIs(id, "sent");
    expect((await why(`/run ${run?.id}`)).split("\n")[0]).toContain("✓ succeeded");
  });
});

describe("a message that a hook sent", () => {
  it("names the hook and who fired it, for the hook as well", async () => {
    await invoke(stack.gateway.url, "/fire-hook hand live=true", ADAM);
    const posted = await until(
      async () => (await stack.platforms.web.seen(place())).find(({ text }) => text === "posted by hand")?.id,
      "the post",
    );
    const id = rows<{ id: string }>("SELECT id FROM deliveries WHERE message LIKE '%posted by hand%'")[0]?.id;
    expect(await why(`/hooks why ${id}`)).toMatch(/sent by hook hand, .*fired by Grace/);
    for (const answer of [await why(`/hooks why hand ${id}`), await ask(`/hooks why hand ${posted}`)]) {
      expect(answer).toContain("hand sent this message");
      expect(answer).not.toContain("did not run");
    }
    expect(await why(`/hooks why mine.calm ${id}`)).toContain("It ran");
  });
});

describe("/hooks why without a message", () => {
  it("answers in a chat about its last message, as with last", async () => {
    await deliveryIs(`d_${await rowOf(await say("say the last"))}r`, "sent");
    const answer = await ask("/hooks why mine.behind");
    const withoutAge = (text: string) => text.replace(/(just now|\d+ s ago)$/gm, "");
    const [first, ofAnother] = answer.split(/\n+(?=Its newest run was for another message)/);
    expect(withoutAge(first ?? "")).toBe(withoutAge(await ask("/hooks why mine.behind last")));
    expect(ofAnother).toMatch(
      /^Its newest run was for another message, .*: ✓ passed\. \/hooks why mine\.behind m\d+ shows it\.$/,
    );
    expect(answer).toContain("mine.words runs before it and claimed");
  });

  it("names what held for a message, also when the hook was disabled afterwards", async () => {
    const row = await rowOf(await say("say before the switch"));
    await deliveryIs(`d_${row}r`, "sent");
    await invoke(stack.gateway.url, "/hooks disable mine.behind");
    try {
      const answer = await why(`/hooks why mine.behind ${row}`);
      expect(answer).toContain("mine.words runs before it and claimed");
      expect(answer).not.toContain("It is disabled");
    } finally {
      await invoke(stack.gateway.url, "/hooks enable mine.behind");
    }
  });

  it("answers outside of chats that a hook which claimed before it keeps it from running, and cuts no list of names", async () => {
    await rowOf(await say("say outside"));
    const answer = await why("/hooks why mine.behind");
    expect(answer).toContain("mine.behind did not run for the last inbound_claim");
    expect(answer).toContain("mine.words runs before it and claimed");
    expect(await why("/hooks why mine.drain7")).toMatch(/It starts after 9 others, directly after mine\.drain6/);
  });
});

describe("failures of hooks", () => {
  it("are named by the hook that failed, are counted when they are not all shown, and do not stutter", async () => {
    const row = await rowOf(await say("say flood"));
    await deliveryIs(`d_${row}r`, "sent");
    const { text } = await until(async () => {
      const answer = await invoke(stack.gateway.url, "/runs failed");
      return answer.text.includes(`d_${row}r:message_sent`) ? answer : undefined;
    }, "the failures in /runs");
    expect(text).toMatch(/⚠ passed, 8 failed\*\* · `mine\.drain0`/);
    const path = await why(`/hooks why ${row}`);
    expect(path).toContain("and 4 more failures");
    expect(path).not.toContain("error: error");
  });
});

describe("a message that was forwarded", () => {
  it("is said to be forwarded, with the room's name", async () => {
    const row = await rowOf(await say("forward this"));
    await deliveryIs(`d_${row}f`, "sent");
    expect(await why(`/hooks why ${row}`)).toMatch(/forwarded to Second/);
  });
});

describe("a message of a plugin in another room", () => {
  it("is shown with the room and the plugin, and is no answer", async () => {
    const row = await rowOf(await say("talk elsewhere"));
    const found = () => rows<{ id: string }>("SELECT id FROM deliveries WHERE message LIKE '%talk elsewhere%'")[0]?.id;
    const id = await until(found, "the plugin's message");
    await deliveryIs(id, "sent");
    expect(await why(`/hooks why ${row}`)).toMatch(
      new RegExp(`${id} sent to Second on web as \\d+ · posted by plugin mine`),
    );
    expect(await why(`/hooks why ${id}`)).toContain(`sent by plugin mine, because of ${row}`);
    // Its hooks know the cause by the message, or by the dispatch in which the hook sent it.
    expect(await why(`/run ${id}:message_sent`)).toMatch(
      /because of (a hook of a plugin, for m\d+|hook mine\.\w+ \(m\d+:\w+\)|a hook at \w+ \(m\d+:\w+\))/,
    );
  });
});

describe("what happened to a delivery", () => {
  it("is not headed as sent when it was cancelled, held or given up", async () => {
    const row = await rowOf(await say("say first"));
    await deliveryIs(`d_${row}r`, "sent");
    expect(await why(`/hooks why d_${row}r`)).toMatch(
      new RegExp(`^What happened to d_${row}r, which the gateway sent to General on web`),
    );
    const { web } = stack.platforms;
    const gone = await rowOf(await web.say(place(), "owner", "say withheld"));
    await deliveryIs(`d_${gone}r`, "cancelled");
    expect(await why(`/hooks why d_${gone}r`)).toMatch(
      new RegExp(`^What happened to d_${gone}r, an answer to ${gone} in General on web, created .*: cancelled`),
    );
  });
});

describe("/run", () => {
  it("takes a platform's id and a reply", async () => {
    const asked = await say("say by id");
    const row = await rowOf(asked);
    await deliveryIs(`d_${row}r`, "sent");
    expect(await ask(`/run ${asked}`)).toContain(`What happened to ${row}`);
    expect(await ask("/run", { replyToId: asked })).toContain(`What happened to ${row}`);
  });
});

describe("an id that is no message", () => {
  it.each([
    ["t_01hzzzzzzzzz", "There is no task t_01hzzzzzzzzz"],
    ["al_01hzzzzzzzzz", "/alerts show al_01hzzzzzzzzz"],
    ["r_01hzzzzzzzzz", "/run r_01hzzzzzzzzz"],
  ])("is pointed to where it belongs: %s", async (id, line) => {
    const answer = await why(`/hooks why ${id}`);
    expect(answer).toContain(line);
    expect(answer).not.toContain("privacy mode");
  });

  it("and has a number that no message got yet is not blamed on the platform", async () => {
    const answer = await why("/hooks why m99999999");
    expect(answer).toContain("no message has this id yet");
    expect(answer).not.toContain("privacy mode");
  });
});

describe("/replay", () => {
  it("refuses with the reason when a hook runs a program", async () => {
    const row = await rowOf(await say("say for replay"));
    const answer = await why(`/replay ${row}:inbound_claim`, OPERATOR);
    expect(answer).toContain("program runs a program");
    expect(answer).toContain("owner");
  });
});

describe("people and rooms", () => {
  it("have names: who paused the hooks, where a message came in", async () => {
    await invoke(stack.gateway.url, "/hooks pause", ADAM);
    try {
      expect(await why("/hooks next")).toContain("paused, by Grace");
    } finally {
      await invoke(stack.gateway.url, "/hooks resume", ADAM);
    }
    const row = await rowOf(await say("say where"));
    expect(await why(`/hooks why ${row}`)).toContain("in General");
  });
});

describe("a background run", () => {
  it("that is replayed live runs its own hook again, and no other of the point", async () => {
    const { url } = stack.gateway;
    const row = await rowOf(await say("say recorded"));
    await deliveryIs(`d_${row}r`, "sent");
    const id = await until(async () => {
      const { data } = await invoke(url, "/runs mine.recorder");
      const { dispatches } = data as { dispatches: { id: string }[] };
      return dispatches.find((one) => one.id.startsWith(`d_${row}r:message_sent/`))?.id;
    }, "the background run");
    const { data } = await invoke(url, `/replay ${id} live=true`);
    expect((data as { runs: { hookId: string }[] }).runs.map(({ hookId }) => hookId)).toEqual(["mine.recorder"]);
  });
});

describe("a message that failed several times", () => {
  it("shows the last attempt, its number, and one line for the failure that repeats", async () => {
    const asked = await say("flaky one");
    await until(
      // An attempt is counted when it begins: three have failed.
      () => rows("SELECT 1 FROM inbox WHERE event_id = ? AND attempts >= 4", asked).length > 0,
      "a fourth attempt",
    );
    go("go-flaky");
    const row = await rowOf(asked);
    const path = await why(`/hooks why ${row}`);
    expect(path).toMatch(/attempt [4-9]/);
    expect(path.match(/✗ mine\.flaky failed/g)).toHaveLength(1);
    expect(path).toMatch(/\d\d:\d\d:\d\d ✗ mine\.flaky failed .*the pot is empty.* \(\d+ times; this is the newest\)/);
  });
});

describe("a delivery that waits behind another", () => {
  it("names the one that it waits for", async () => {
    const { telegram } = stack.platforms;
    const [, room] = telegram.places;
    const deliveryWith = (text: string) =>
      until(
        () => rows<{ id: string }>("SELECT id FROM deliveries WHERE message LIKE ?", `%${text}%`)[0]?.id,
        `the delivery "${text}"`,
      );
    stack.telegram.fail({ method: "sendMessage", times: 9, action: { kind: "rate-limit", retryAfterS: 600 } });
    await telegram.say(room, "owner", "say paused first");
    const first = await deliveryWith("paused first");
    await telegram.say(room, "owner", "say paused second");
    const second = await deliveryWith("paused second");
    expect(await why(`/hooks why ${second}`)).toContain(`waits behind ${first}, which is`);
    expect(await why(`/hooks why mine.calm ${second}`)).toContain(`waits behind ${first}, which is`);
  });
});

// The last of the suite: it kills the gateway.
describe("a message whose handling was cut off by the end of the process", () => {
  it("is shown with the attempt and the new start", async () => {
    rmSync(join(stack.gateway.folder, "go-slow"));
    const asked = await say("slow to the end");
    await rowOf(asked, "running");
    await stack.gateway.kill();
    go("go-slow");
    await stack.gateway.start();
    await allOnline(stack.gateway);
    const path = await why(`/hooks why ${await rowOf(asked)}`);
    expect(path).toMatch(/attempt 2; the process ended in between and was started again at \d\d:\d\d:\d\d/);
  });
});
