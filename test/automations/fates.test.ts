/** What became of what a run sent (posts, edits, replies; also after a purge) is the same in every view. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { until } from "../support/until.js";
import { type LiveApp, liveApp } from "./support/live-app.js";

const ROOM = "web:web:general";

/** Guards that withhold what has their name in its text; people's messages that begin with a name start what posts it. */
const guards = `
  - { id: cancels, on: message_sending, match: { when: 'has(payload.message.text) && payload.message.text.contains("cancels")' }, run: { shell: { sh: "echo no keys >&2; exit 2" } } }
  - { id: hushes, on: before_dispatch, match: { when: 'payload.text.contains("hushes")' }, run: { shell: { sh: "echo hush >&2; exit 2" } } }
  - { id: holds, on: message_sending, on_failure: closed, match: { when: 'has(payload.message.text) && payload.message.text.contains("holds")' }, run: { shell: { sh: "exit 1" } } }
  - { id: delays, on: message_sending, timeout: 60s, match: { when: 'has(payload.message.text) && payload.message.text.contains("delays")' }, run: { shell: { sh: "until [ -e go ]; do sleep 0.05; done" } } }
`;
const posts = `  - { id: posts, trigger: manual, run: { chat: { to: "${ROOM}", text: "post {{ event.input.say }}" } } }\n`;
const edits = `  - { id: edits, trigger: manual, run: { chat: { to: "${ROOM}", text: "edit {{ event.input.say }}", update: true } } }\n`;
const slow = `  - { id: slow, on: message_received, match: { when: 'payload.message.text.startsWith("slow")' }, run: { chat: { to: here, text: "answer {{ event.message.text }}" } } }\n`;

interface Shown {
  text: string;
  data: { id: string; withheld?: { delivery: string; status: string }[]; toSend?: string[]; notKnown?: string[] };
}

function desk(live: LiveApp) {
  const ask = async (line: string): Promise<Shown> => {
    const shown = (await live.post("/api/command", { line })) as unknown as Shown;
    return { ...shown, text: shown.text.replaceAll(/\\|\*\*|`/g, "") };
  };
  const fire = (id: string, say: string) => ask(`/fire-hook ${id} {"say":"${say}"} live=true`);
  const answers = async (id: string, runId: string) => ({
    why: (await ask(`/hooks why ${id}`)).text,
    show: (await ask(`/hooks show ${id}`)).text,
    list: (await ask("/hooks list limit=100")).text,
    runs: (await ask(`/runs ${id}`)).text,
    run: (await ask(`/run ${runId}`)).text,
    // What a person typed is not kept for a replay.
    replay: runId.startsWith("m") ? (await ask(`/replay ${runId}`)).text : undefined,
  });
  /** Every view of a hook and of its last run has these words, and none says that all went well. */
  const expectEverywhere = async (id: string, runId: string, words: string) => {
    const all = await answers(id, runId);
    expect(all.why).toContain(`: ${words}`);
    expect(all.show).toContain(`, ${words}`);
    expect(all.list).toContain(`${id} ${words}`);
    expect(all.runs).toContain(words);
    expect(all.run).toContain(`${id} ${words}`);
    if (all.replay !== undefined) expect(all.replay).toContain(`Then: ${id} ${words}`);
    for (const text of [all.why, all.show, all.run]) expect(text).not.toMatch(/✓ (passed|succeeded)/);
    expect(all.runs).toMatch(new RegExp(`\\n1\\. ${words} · `));
    return all;
  };
  const say = async (text: string): Promise<string> => {
    await live.post("/api/rooms/dm-1/messages", { text, nonce: `nonce-of-${text.replaceAll(" ", "-")}` });
    const { id } = await until(async () => {
      const found = await live.runs("slow");
      return found.find(({ endedAt, payload }) => endedAt !== undefined && JSON.stringify(payload).length > 0);
    }, `the run for ${text}`);
    return id.split(":")[0] ?? "";
  };
  return { ask, fire, expectEverywhere, say };
}

test.each([
  ["cancels", "cancelled"],
  ["hushes", "suppressed"],
  ["holds", "held"],
])(
  "an edit that %s is no success in any view, and the message that it was to change names it",
  async (guard, status) => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n${edits}${guards}` });
    const { ask, fire, expectEverywhere } = desk(live);
    const first = await fire("edits", "one");
    expect(first.text).toMatch(/edits ✓ succeeded/);
    const { text, data } = await fire("edits", guard);
    expect(text).toContain("edits ⊘ not sent");
    expect(text).toMatch(new RegExp(`It had no effect: its edit d_\\S+ in .* is ${status}`));
    expect(data.withheld).toMatchObject([{ status }]);
    expect(await live.room()).toEqual(["edit one"]);
    await expectEverywhere("edits", data.id, "⊘ not sent");
    expect(await live.info("edits")).toMatchObject({ withheld: [{ status }] });
    expect(await live.get(`/api/v1/runs/${data.id}`)).toMatchObject({ withheld: [{ status }] });
    const posted = (await live.runs("edits"))[0]?.attempts[0]?.output as { said: { delivery: string }[] };
    const path = (await ask(`/hooks why ${posted.said[0]?.delivery}`)).text;
    expect(path).toContain("sent by hook edits");
    expect(path).toMatch(new RegExp(`edit ${data.withheld?.[0]?.delivery} .*${status}`));
  },
);

test.each(["cancels", "hushes", "holds"])(
  "a message that %s stays unsent in every view after it was purged",
  async (guard) => {
    const live = await liveApp({ "hookgate.yaml": `hooks:\n${posts}${slow}${guards}` });
    const { ask, fire, expectEverywhere, say } = desk(live);
    const { data } = await fire("posts", guard);
    const [{ delivery } = { delivery: "" }] = data.withheld ?? [];
    const made = (await ask(`/hooks why posts ${delivery}`)).text;
    expect(made).toMatch(/posts made this message .*\n\n⊘ It had no effect/);
    expect(made).not.toContain("sent this message");
    expect((await ask(`/hooks why ${delivery}`)).text).toContain("1. made by hook posts");
    const message = await say(`slow ${guard}`);
    await until(async () => (await ask(`/hooks why slow ${message}`)).text.includes("⊘ not sent"));
    await ask(guard === "holds" ? `/outbox purge ${delivery} yes=true` : "/outbox purge all yes=true");
    if (guard === "holds") await ask("/outbox purge held yes=true");
    const { why } = await expectEverywhere("posts", data.id, "⊘ not sent");
    expect(why).toMatch(/It had no effect: its message d_\S+ was (cancelled|suppressed|held).*purged by Owner/i);
    expect((await ask(`/hooks why posts ${delivery}`)).text).toMatch(
      /posts made this message .*\n\n⊘ It had no effect/,
    );
    const ofMessage = (await ask(`/hooks why slow ${message}`)).text;
    expect(ofMessage).toContain("It ran, ⊘ not sent");
    expect(ofMessage).toMatch(/It had no effect: .*purged by/);
    const path = (await ask(`/hooks why ${message}`)).text;
    expect(path).toMatch(/d_once_\S+ was .*purged by/);
    expect(path).not.toContain("Nothing was sent in answer");
  },
);

test("a message that was deleted after the retention is not known, and not a success", async () => {
  const live = await liveApp({ "hookgate.yaml": `hooks:\n${posts}${guards}` });
  const { fire, expectEverywhere } = desk(live);
  const { data } = await fire("posts", "this");
  const { id } = data;
  const database = openSqlite(join(live.folder, "test.db"));
  database.prepare("DELETE FROM deliveries").run();
  database.close();
  await expectEverywhere("posts", id, "⚠ not known");
  expect(await live.info("posts")).toMatchObject({ notKnown: [expect.stringMatching(/^d_/)] });
});

test("a message that waits is not sent yet in every view", async () => {
  const live = await liveApp({ "hookgate.yaml": `hooks:\n${posts}${guards}` });
  const { fire, expectEverywhere, ask } = desk(live);
  const { data } = await fire("posts", "delays");
  await expectEverywhere("posts", data.id, "⏳ not sent yet");
  expect(await live.info("posts")).toMatchObject({ toSend: data.toSend });
  live.write("go", "");
  await until(async () => (await ask("/hooks why posts")).text.includes("✓ passed"));
});

test("a hook whose answer was withheld has not answered: its person gets the note, and every view says so", async () => {
  const live = await liveApp({ "hookgate.yaml": `hooks:\n${slow}${guards}` });
  const { ask, say, expectEverywhere } = desk(live);
  const message = await say("slow cancels");
  await until(async () => (await live.room("dm-1")).some((text) => text.startsWith("No hook answered.")), "the note");
  const path = (await ask(`/hooks why ${message}`)).text;
  expect(path).not.toContain("the hook slow answered");
  expect(path).toMatch(/d_once_\S+ .*cancelled by cancels/);
  const why = (await ask(`/hooks why slow ${message}`)).text;
  expect(why).toContain("It ran, ⊘ not sent");
  expect(why).not.toContain("It ran, ✓");
  expect((await ask(`/run ${message}:message_received`)).text).toMatch(/1 {2}⊘ not sent +slow/);
  expect(await live.get(`/api/v1/runs/${message}:message_received`)).toMatchObject({
    runs: [{ hookId: "slow", withheld: [{ status: "cancelled" }] }],
  });
  expect((await ask(`/hooks why message_received ${message}`)).text).toContain("slow ⊘ not sent");
  await expectEverywhere("slow", `${message}:message_received/1`, "⊘ not sent");
});

test("a hook whose answer waits has not answered yet when its message was handled", async () => {
  const live = await liveApp({ "hookgate.yaml": `hooks:\n${slow}${guards}` });
  const { ask, say } = desk(live);
  const message = await say("slow delays");
  const path = () => ask(`/hooks why ${message}`).then(({ text }) => text);
  await until(async () =>
    (await path()).includes("no note was sent yet: an answer of the hook slow had not been sent by then"),
  );
  live.write("go", "");
  await until(async () => (await live.room("dm-1")).includes("answer slow delays"));
});

test("a message that is not to the gateway gets no note, and its path does not say why there is none", async () => {
  const live = await liveApp({ "hookgate.yaml": `hooks:\n${slow}${guards}` });
  const { ask } = desk(live);
  await live.post("/api/rooms/general/messages", { text: "slow delays", nonce: "nonce-of-one-in-a-room" });
  const run = await until(async () => (await live.runs("slow"))[0], "the run");
  const path = () => ask(`/hooks why ${run.id.split(":")[0]}`).then(({ text }) => text);
  await until(async () => (await path()).includes("no default route"), "the end of the message");
  expect(await path()).not.toContain("no note was sent");
  live.write("go", "");
});

test("a claim whose reply was withheld is no success in any view after the reply was purged", async () => {
  const claim = 'printf \'%s\' \'{\\"decision\\":\\"claim\\",\\"reply\\":\\"cancels\\"}\'';
  const live = await liveApp({
    "hookgate.yaml": `hooks:\n  - { id: claims, on: inbound_claim, run: { shell: { sh: "${claim}" } } }\n${guards.replace("no keys", "cancelled by law")}`,
  });
  const { ask, expectEverywhere } = desk(live);
  await live.post("/api/rooms/dm-1/messages", { text: "hello", nonce: "nonce-of-a-claimed-one" });
  const { id } = await live.ended("claims");
  await until(async () => (await ask("/hooks why claims")).text.includes(": ⊘ reply not sent"), "the veto");
  // The reason is as the hook wrote it.
  expect((await ask("/hooks why d_m1r")).text).toContain("cancelled by cancels: cancelled by law");
  await ask("/outbox purge all yes=true");
  const { why } = await expectEverywhere("claims", id, "⊘ reply not sent");
  expect(why).toMatch(
    /no one got a reply: its reply d_m1r was cancelled by cancels: cancelled by law, and purged by Owner/,
  );
});

test("queries of hooks tell what became of what a run sent", async () => {
  const live = await liveApp({
    "hookgate.yaml": `hooks:
${posts}${guards}
  - id: asks
    trigger: manual
    context:
      - { db_query: { query: runs, args: { hook: posts } } }
      - { db_query: { query: hooks, args: { hook: posts } } }
    run: { chat: { to: "${ROOM}", text: "{{ steps[0].rows[0].messages }} {{ steps[1].rows[0].last_messages }}" } }
`,
  });
  const { fire } = desk(live);
  await fire("posts", "cancels");
  await fire("asks", "");
  await until(async () => (await live.room()).includes("withheld withheld"), "the answer");
});
