/** What `/hooks why` answers about the gateway's own words: notes, refusals, lines in a room; and about messages that were sent late. */
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { until } from "../support/until.js";
import type { Speaker } from "./platform.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/journeys.mjs"), critical: true }],
    config: {
      hooks: [
        {
          id: "gate",
          on: "message_sending",
          execution: "blocking",
          on_failure: "closed",
          match: { when: 'payload.message.text.contains("guarded")' },
          run: { shell: { sh: "exit 1" } },
        },
        { id: "failed", enabled: false, on: "delivery_failed", run: { shell: { command: ["true"] } } },
      ],
    },
  });
});
afterAll(() => stack.stop());

const bare = (text: string) => text.replace(/[\\`*]/g, "");
const why = async (line: string) => bare((await invoke(stack.gateway.url, line)).text);
const telegram = () => stack.platforms.telegram;
const group = () => telegram().places[1];

function rows<T>(sql: string, ...values: unknown[]): T[] {
  const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: true });
  try {
    return database.prepare(sql).all(...values) as T[];
  } finally {
    database.close();
  }
}

/** Says it in the group; resolves with the gateway's own id when it was handled. */
async function say(who: Speaker, text: string): Promise<string> {
  const id = await telegram().say(group(), who, text);
  return until(() => {
    const [found] = rows<{ id: number }>(
      "SELECT id FROM inbox WHERE platform = 'telegram' AND chat = ? AND event_id = ? AND status = 'done'",
      group().chatId,
      id,
    );
    return found && `m${found.id}`;
  }, `"${text}" being handled`);
}

const lineWith = (words: string) =>
  until(
    async () => (await telegram().seen(group())).find(({ text }) => text.includes(words)),
    `"${words}" in the group`,
  );
const deliveryIs = (id: string, status: string) =>
  until(
    () => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = ?", id, status).length > 0,
    `${id} being ${status}`,
  );

/** A reply of the owner; resolves with the answer's words. */
async function ask(line: string, replyToId: string): Promise<string> {
  const known = new Set((await telegram().seen(group())).map(({ id }) => id));
  await telegram().say(group(), "owner", line, { replyToId });
  const found = await until(
    async () => (await telegram().seen(group())).find(({ id }) => !known.has(id)),
    `the answer to ${line}`,
  );
  return bare(found.text);
}

describe("the note to a person without a role", () => {
  it("is a note of the gateway, and is shown where the private one could not be delivered", async () => {
    const row = await say("stranger", `@${stack.telegram.world.bot.username} hmm`);
    const line = await lineWith("I am ");
    const posted = await ask("/hooks why", line.id);
    expect(posted).toContain(`sent by the gateway itself: a note that no hook answered ${row}, in the room because`);
    expect(posted).not.toContain("sent by command");
    const path = await why(`/hooks why ${row}`);
    expect(path).toMatch(new RegExp(`d_${row}a \\(a note that no hook answered ${row}\\) cancelled: 403`));
    expect(path).toMatch(new RegExp(`d_o\\w+ \\(a note .* in the room .*\\) sent as ${line.id}`));
  });

  it("is the same in the web chat, where the owner's message was not answered", async () => {
    const { web } = stack.platforms;
    const room = { chatId: "dm-1" };
    await web.say(room, "owner", "is anybody here?");
    const note = await until(
      async () => (await web.seen(room, "owner")).find(({ text }) => text.includes("No hook answered")),
      "the note",
    );
    await web.say(room, "owner", "/hooks why", { replyToId: note.id });
    const answer = await until(
      async () => (await web.seen(room, "owner")).find(({ text }) => text.includes("What happened to")),
      "the answer",
    );
    expect(bare(answer.text)).toMatch(/sent by the gateway itself: a note that no hook answered m\d+/);
  });
});

describe("a refused command", () => {
  it("is explained with the role, and with the line in the room, or why there is none", async () => {
    const first = await say("guest", "/status");
    const line = await lineWith("You may not do that here");
    const path = await until(async () => {
      const text = await why(`/hooks why ${first}`);
      // The line stands there a moment before it is stored as sent.
      return text.includes(`sent as ${line.id}`) ? text : undefined;
    }, "the line being stored as sent");
    expect(path).toContain("refused: /status needs the role viewer, and the sender has no role");
    expect(path).toMatch(new RegExp(`d_o\\w+ \\(a line, in the room because .*\\) sent as ${line.id}`));
    const second = await say("guest", "/status");
    await deliveryIs(`d_${second}a`, "cancelled");
    expect(await why(`/hooks why ${second}`)).toContain(
      `nothing was posted in the room in place of d_${second}a: the room gets one such line a person in 10 min`,
    );
  });
});

describe("a message that a platform refused for a while", () => {
  it("has the time of its next try, and afterwards why it was late", async () => {
    const chatId = Number(group().chatId);
    stack.telegram.fail({ method: "sendMessage", chatId, times: 1, action: { kind: "rate-limit", retryAfterS: 8 } });
    const id = `d_${await say("owner", "say it late")}r`;
    const waiting = await until(async () => {
      const text = await why(`/hooks why ${id}`);
      return text.includes("next try at") ? text : undefined;
    }, "the refusal");
    expect(waiting).toMatch(/tried once · next try at \d\d:\d\d:\d\d \(in [\d.]+ s\)/);
    await invoke(stack.gateway.url, "/pauses lift all");
    await deliveryIs(id, "sent");
    expect(await why(`/hooks why ${id}`)).toMatch(/sent as \d+ after 1 failed try: 429/);
    expect(await why(`/outbox show ${id}`)).toMatch(/sent; a try before that failed: .*429/);
  });
});

describe("a message behind a pause of its chat", () => {
  it("names the pause, until when it lasts and why", async () => {
    const chatId = Number(group().chatId);
    stack.telegram.fail({ method: "sendMessage", chatId, times: 1, action: { kind: "rate-limit", retryAfterS: 600 } });
    const first = `d_${await say("owner", "say it is too much")}r`;
    await until(
      async () => (await why("/pauses")).includes("600 s") || (await why("/pauses")).includes("10 min"),
      "it",
    );
    await invoke(stack.gateway.url, `/outbox purge ${first} yes=true`);
    await deliveryIs(first, "cancelled");
    const row = await say("owner", "say it behind the pause");
    try {
      const paused = /is paused until (?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)? \(in [^)]+\): .*429/;
      for (const line of [`m${row.slice(1)}`, `message_sent ${row}`, `message_sending ${row}`, `mine.calm ${row}`])
        expect(await why(`/hooks why ${line}`)).toMatch(paused);
    } finally {
      await invoke(stack.gateway.url, "/pauses lift all");
    }
    await deliveryIs(`d_${row}r`, "sent");
  });
});

describe("a message that was given up, and that an operator had tried again", () => {
  /** The answer is refused, tried again by the owner, and sent. */
  async function sayRefusedOnce(text: string, why: string, retried = ""): Promise<string> {
    const chatId = Number(group().chatId);
    const action = { kind: "refuse" as const, status: 400, description: `Bad Request: ${why}` };
    stack.telegram.fail({ method: "sendMessage", chatId, times: 1, action });
    const row = await say("owner", text);
    await deliveryIs(`d_${row}r`, "dead");
    await invoke(stack.gateway.url, `/outbox retry ${retried || `d_${row}r`}`);
    await deliveryIs(`d_${row}r`, "sent");
    return row;
  }

  it("is not said never to have failed, and its path has the end before", async () => {
    const row = await sayRefusedOnce("say it is broken", "message text is broken");
    const id = `d_${row}r`;
    const givenUp = `${id}: it was given up (400 Bad Request: message text is broken), and Owner had it sent again`;
    for (const line of [`delivery_failed ${id}`, `failed ${row}`]) {
      const text = await why(`/hooks why ${line}`);
      expect(text).toContain(givenUp);
      expect(text).toContain("then it was sent. No hook was enabled at delivery_failed then.");
      expect(text).not.toContain("nothing failed");
    }
    const path = await why(`/hooks why ${row}`);
    expect(path).toContain(
      `Owner had ${id} tried again, after it was given up: 400 Bad Request: message text is broken`,
    );
    expect(path).not.toContain("not on record");
  });

  it("quotes nothing of what was sent, also where the platform's answer does", async () => {
    const row = await sayRefusedOnce("say the pin is 4711", "inline keyboard button URL 'the pin is 4711' is invalid");
    const path = await why(`/hooks why ${row}`);
    expect(path).toContain("after it was given up: 400 Bad Request: inline keyboard button URL '[text]' is invalid");
  });

  it("has the reason also where all were tried again at once", async () => {
    const row = await sayRefusedOnce("say it is torn", "message text is torn", "dead");
    expect(await why(`/hooks why ${row}`)).toContain(
      `Owner had d_${row}r tried again, after it was given up: 400 Bad Request: message text is torn`,
    );
  });

  it("has the reason where a hook was notified of it", async () => {
    await invoke(stack.gateway.url, "/hooks enable failed");
    const row = await sayRefusedOnce("say it is odd", "message text is too odd");
    const path = await why(`/hooks why ${row}`);
    expect(path).toMatch(new RegExp(`d_${row}r was given up: .*too odd`));
    expect(path).not.toContain("not on record");
    expect(await why(`/hooks why failed ${row}`)).toContain("It ran");
  });
});

describe("a message that may have arrived, and that an operator decided on", () => {
  /** The platform fails while it posts the answer. */
  async function sayInDoubt(text: string, decision: string): Promise<string> {
    const chatId = Number(group().chatId);
    stack.telegram.fail({ method: "sendMessage", chatId, times: 1, action: { kind: "drop-after" } });
    const row = await say("owner", text);
    await deliveryIs(`d_${row}r`, "held");
    await invoke(stack.gateway.url, `/outbox release ${decision.replace("ID", `d_${row}r`)}`);
    await deliveryIs(`d_${row}r`, "sent");
    return row;
  }
  const doubt = "it may or may not have arrived: ";

  it.each(["ID confirmed=false", "all confirmed=false"])("was sent again: /outbox release %s", async (decision) => {
    const row = await sayInDoubt(`say it is vague ${decision.length}`, decision);
    const path = await why(`/hooks why ${row}`);
    expect(path).toMatch(
      new RegExp(
        `Owner released d_${row}r; until then it was held: ${doubt}.*\\. Owner reported that it had not arrived\\n`,
      ),
    );
    expect(await why(`/hooks why failed ${row}`)).toContain(`it was held (${doubt}`);
    expect(await why(`/hooks why failed ${row}`)).toContain("That it was held is no failure.");
  });

  it("counts as sent", async () => {
    const row = await sayInDoubt("say it is there", "ID confirmed=true");
    const path = await why(`/hooks why ${row}`);
    expect(path).toContain(`Owner confirmed that it arrived (d_${row}r); until then it was held: ${doubt}`);
    expect(path).not.toContain("again");
  });
});

describe("a held message", () => {
  it("has a button for the dispatch in which a hook failed", async () => {
    const row = await say("owner", "say it is guarded");
    await deliveryIs(`d_${row}r`, "held");
    const { id } = await lineWithButtons(row);
    expect((await telegram().seen(group())).find((one) => one.id === id)?.buttons).toContain("message_sending");
  });
});

async function lineWithButtons(row: string) {
  const known = new Set((await telegram().seen(group())).map(({ id }) => id));
  await telegram().say(group(), "owner", `/hooks why ${row}`);
  return until(
    async () => (await telegram().seen(group())).find(({ id }) => !known.has(id)),
    `the answer about ${row}`,
  );
}

describe("direct messages", () => {
  it("have the name of the person, in answers and in choices", async () => {
    const { world, people } = stack.telegram;
    const grace = [...world.users.values()].find(({ first_name }) => first_name === "Grace")?.id as number;
    people.says("say hello", { dm: true, userId: grace });
    const row = await until(
      () => rows<{ id: number }>("SELECT id FROM inbox WHERE chat = ? AND status = 'done'", String(grace))[0],
      "the direct message being handled",
    );
    await deliveryIs(`d_m${row.id}r`, "sent");
    const place = "direct messages with Grace";
    expect(await why(`/hooks why m${row.id}`)).toContain(`in ${place}`);
    expect(await why(`/outbox show d_m${row.id}r`)).toContain(place);
    expect(await why("/runs inbound_claim")).toMatch(/· Grace in direct messages ·/);
    const { data } = await invoke(stack.gateway.url, "/outbox show");
    // Of the tests above; what was sent is not offered.
    expect(JSON.stringify(data)).toMatch(new RegExp(`d_m\\d+a · cancelled · ${place}`));
    expect(JSON.stringify(data)).not.toContain("· sent ·");
  });
});
