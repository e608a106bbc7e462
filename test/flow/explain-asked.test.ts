/** What may be asked of `/hooks why`, `/run` and `/runs`: a point instead of a hook, a message that was edited or deleted, `last`, a hook whose post was withheld. */
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    withFlow: false,
    online: ["web"],
    plugins: [{ module: resolve(import.meta.dirname, "../fixtures/plugins/journeys.mjs"), critical: true }],
    config: {
      operators: { owner: ["web:1"] },
      gateway: { unanswered_note: false },
      web: {
        access: { dms: "everyone", chats: ["general", "second"], mention: "always" },
        rooms: [
          { id: "general", name: "General" },
          { id: "second", name: "Second" },
        ],
        people: [{ id: "3", name: "Grace", token_env: "GUEST_TOKEN" }],
      },
    },
  });
});
afterAll(() => stack.stop());

const bare = (text: string) => text.replace(/[\\`*]/g, "");
const why = async (line: string) => bare((await invoke(stack.gateway.url, line)).text);
const place = () => stack.platforms.web.places[0];

function rows<T>(sql: string, ...values: unknown[]): T[] {
  const database = openSqlite(join(stack.gateway.folder, "data/hookgate.db"), { readonly: true });
  try {
    return database.prepare(sql).all(...values) as T[];
  } finally {
    database.close();
  }
}

/** The gateway's own id of an event that it has handled. */
const handled = (sql: string, ...values: unknown[]): Promise<string> =>
  until(
    () => {
      const [found] = rows<{ id: number }>(`SELECT id FROM inbox WHERE status = 'done' AND ${sql}`, ...values);
      return found && `m${found.id}`;
    },
    `an event with ${sql} (${values.join(", ")}) being handled`,
  );

async function say(text: string): Promise<{ id: string; row: string }> {
  const id = await stack.platforms.web.say(place(), "owner", text);
  return { id, row: await handled("event_id = ?", id) };
}

const sent = (id: string) =>
  until(() => rows("SELECT 1 FROM deliveries WHERE id = ? AND status = 'sent'", id).length > 0, `${id} being sent`);

/** A command in the chat itself; resolves with the answer's words. */
async function ask(line: string, facts = {}): Promise<string> {
  const { web } = stack.platforms;
  const before = new Set((await web.seen(place(), "owner")).map(({ id }) => id));
  await web.say(place(), "owner", line, facts);
  const answer = await until(
    async () => (await web.seen(place(), "owner")).find(({ id, text }) => !before.has(id) && text !== ""),
    `the answer to ${line}`,
  );
  return bare(answer.text);
}

describe("/hooks why with a point", () => {
  it("answers for a message: who ran there, and who did not and why", async () => {
    const { id, row } = await say("say a point");
    await sent(`d_${row}r`);
    for (const answer of [
      await why(`/hooks why inbound_claim ${row}`),
      await ask("/hooks why inbound_claim", { replyToId: id }),
      await ask("/hooks why inbound_claim last"),
      await ask("/hooks why inbound_claim"),
    ]) {
      expect(answer).toContain(`inbound_claim and ${row}:`);
      expect(answer).toMatch(/\d\. mine\.words ✋ claimed/);
      expect(answer).toContain(
        "– mine.off, mine.behind did not run. mine.words runs before them and claimed the message",
      );
    }
    expect(await why(`/hooks why delivery_failed ${row}`)).toContain("it was sent, so nothing failed");
    expect(await why(`/hooks why task:fail ${row}`)).toContain(`No firing of task:fail for ${row} is on record.`);
  });

  it("answers without a message for the last time that it fired, or that it has not fired", async () => {
    const { row } = await say("block the last");
    // The journal is written behind the message, so the newest record may come a moment later.
    const last = await until(async () => {
      const answer = await why("/hooks why inbound_claim");
      return answer.includes("mine.bouncer ✋ claimed: bad word") && answer;
    }, "the last firing of inbound_claim in the answer");
    expect(last).toContain("inbound_claim last fired:");
    expect(last).not.toContain(row);
    expect(await why("/hooks why task:fail")).toContain("no hook is registered there");
    await invoke(stack.gateway.url, "/hooks disable mine.edits");
    expect(await why("/hooks why message_edited")).toContain("while all its hooks are disabled");
    await invoke(stack.gateway.url, "/hooks enable mine.edits");
    expect(await why("/hooks why message_edited")).toContain("has not fired since a hook was enabled there");
  });

  it("suggests the nearest name of a point or a hook", async () => {
    expect((await invoke(stack.gateway.url, "/hooks why message_recieved")).text).toContain("message_received");
  });
});

describe("what people type for a message", () => {
  it("is understood in either order and with a capital, and is called no id when it is none", async () => {
    const { id, row } = await say("say either order");
    await sent(`d_${row}r`);
    expect(await why(`/hooks why ${row.toUpperCase()}`)).toContain(`What happened to ${row}`);
    expect(await why(`/hooks why d_${row}r mine.words`)).toContain(`mine.words and d_${row}r:`);
    expect(await ask(`/hooks why ${row}`, { replyToId: id })).toContain(`What happened to ${row}`);
    for (const typo of [`${row},m1`, "-1", "mine.words nope", "message=nope"])
      expect(await why(`/hooks why ${typo}`)).toContain("is no id of a message");
    expect(await why("/hooks why m0")).toContain("There is no m0: the first message is m1.");
  });
});

describe("/hooks why with a hook and no message", () => {
  it("answers for the last message of the chat, and names the newest run of the hook when that was for another one", async () => {
    const { web } = stack.platforms;
    const { row: mine } = await say("quietly here");
    const other = await handled("event_id = ?", await web.say(web.places[1], "owner", "say withheld"));
    const line = `/hooks why mine.censor d_${other}r`;
    await until(async () => (await why(line)).includes("⊘ cancelled"), "the veto being on record");
    const answer = await ask("/hooks why mine.censor");
    expect(answer).toContain(mine);
    expect(answer).toMatch(/Its newest run was for another message, .+: ⊘ cancelled\. (\S+ \S+ \S+ \S+) shows it\.$/);
    expect(answer).toContain(`${line} shows it.`);
    const { row } = await say("say it here");
    await sent(`d_${row}r`);
    expect(await ask("/hooks why mine.censor")).not.toContain("newest run");
  });
});

describe("/hooks why last", () => {
  it("names the message that it is about", async () => {
    const { row } = await say("say which one");
    await sent(`d_${row}r`);
    expect(await ask("/hooks why mine.words last")).toContain(`mine.words and ${row}:`);
    expect(await ask("/hooks why mine.behind last")).toContain(`mine.behind did not run for ${row}, though`);
  });

  it("is the last of its chat, also when hundreds were written in others since", async () => {
    const { web } = stack.platforms;
    const { row } = await say("say before the noise");
    await sent(`d_${row}r`);
    const ids: string[] = [];
    for (let i = 0; i < 510; i++) ids.push(await web.say(web.places[1], "owner", "quietly"));
    await handled("event_id = ?", ids.at(-1));
    expect(await ask("/hooks why last")).toContain(`What happened to ${row}`);
    expect(await ask("/hooks why mine.words")).toContain(`mine.words and ${row}:`);
  });
});

describe("a message that was edited and deleted", () => {
  it("has both in its path, and the hooks that were asked", async () => {
    const { id, row } = await say("say it wrong");
    await sent(`d_${row}r`);
    expect(await why(`/hooks why mine.edits ${row}`)).toContain("The gateway recorded no edit of this message");
    await stack.platforms.web.edit(place(), "owner", id, "say it better");
    await stack.platforms.web.edit(place(), "owner", id, "say it right");
    const edit = await handled("event_id GLOB ? AND event LIKE '%say it right%'", `edit:${id}:*`);
    await invoke(stack.gateway.url, "/hooks disable mine.edits");
    await stack.platforms.web.remove?.(place(), "owner", id);
    const deletion = await handled("event_id = ?", `delete:${id}`);
    const path = await why(`/hooks why ${row}`);
    expect(path).toMatch(new RegExp(`edited 2 times, the last is ${edit} · message_edited: 1 hook ran`));
    expect(path).toMatch(new RegExp(`deleted \\(${deletion}\\) · no hook was enabled at message_deleted`));
    expect(path.split("\n").filter((line) => /^\d\. /.test(line))).toHaveLength(5);
    const [delivery = ""] = path.match(/d_m\d+\w/) ?? [];
    expect(delivery).not.toBe("");
    expect(await why(`/hooks why message=${delivery.slice(2)}`)).toBe(
      `There is no ${delivery.slice(2)}. Did you mean ${delivery}, a message of the gateway?`,
    );
    expect(await why(`/hooks why mine.edits ${row}`)).toContain("It ran");
    await invoke(stack.gateway.url, "/hooks enable mine.edits");
  });
});

describe("/hooks why outside of chats", () => {
  it("answers from the last time that the point fired, and not from an attempt of a background run there", async () => {
    const { row } = await say("say in the background");
    const point = `d_${row}r:message_sent`;
    await until(
      async () => (await invoke(stack.gateway.url, "/runs message_sent limit=1")).text.includes(`${point}/`),
      "the background run",
    );
    const { data } = await invoke(stack.gateway.url, "/hooks why mine.calm");
    expect(data).toMatchObject({ lastDispatchId: point });
  });
});

describe("a delivery of a message that there is not yet", () => {
  it("is not blamed on the platform", async () => {
    const answer = await why("/hooks why d_m99999999r");
    expect(answer).toContain("no message has this id yet");
    expect(answer).not.toContain("privacy mode");
  });
});

describe("/runs", () => {
  it("names the rooms", async () => {
    const { row } = await say("say with a name");
    expect(await why("/runs inbound_claim")).toMatch(
      new RegExp(`^\\d+\\. .+ in General · \\d\\d:\\d\\d:\\d\\d · ${row}:inbound_claim$`, "m"),
    );
  });
});
