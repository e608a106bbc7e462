/** The alert "Messages wait for an operator" pages people: its pages are looked after as those of any other alert. Its messages are no dead letters. */
import { expect, it } from "vitest";
import { parseAddress } from "../../src/domain/chat/address.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { ANN, HOUR, MINUTE, ROOM, type Watch, watch } from "./watch.js";

const OTHER_OPS = "other:bot:ops";
const TITLE = "Messages wait for an operator";
const DOUBT = { kind: "ambiguous", error: "other side closed" } as const;
const REFUSED = { kind: "permanent", error: "400 Bad Request: not enough rights" } as const;
type Answer = typeof DOUBT | typeof REFUSED;

function set(on: Watch, phase: "offline" | "online"): void {
  on.rig.adapters.find(({ platform }) => platform === "loop")?.context.gateway.state({ phase, botId: "bot" });
}

/** What waits for its chat is not waited for. Whole minutes pass in steps of 5 s. */
async function pass(on: Watch, ms: number): Promise<void> {
  const step = ms % MINUTE === 0 ? 5_000 : 1_000;
  for (let left = ms; left > 0; left -= step) {
    await on.clock.advance(step);
    await on.settle({ isAway: true });
  }
}

/**
 * The first message is in doubt, so that the alert is raised, with these answers to its card and to its page in the room. Default of the
 * first message: one of a person.
 */
async function raised(answers: {
  first?: "message" | "page";
  /** Default: 10s. */
  after?: string;
  card?: Answer;
  page?: Answer;
  isAway?: boolean;
  /** The step after it: ben has an account at the fallback, cara a private chat. */
  second?: Answer;
}): Promise<{ on: Watch; other: LoopbackPlatform }> {
  const loop = new LoopbackPlatform("loop");
  const other = new LoopbackPlatform("other");
  other.width = 10_000;
  let isFirst = true;
  loop.script = (operation) => {
    if (operation.address.chatId === "elsewhere") return REFUSED;
    if (operation.kind !== "create" || operation.address.chatId !== "room") return undefined;
    const { text } = operation.part;
    const isPage = text.includes("Escalated: step");
    if (text.includes(TITLE) && text.includes("step 2 of 2")) return answers.second;
    if (text.includes(TITLE)) return isPage ? answers.page : answers.card;
    if (!(isPage || text === "hello") || !isFirst) return undefined;
    isFirst = false;
    return DOUBT;
  };
  const on = await watch(
    {
      routes: {
        default: {
          to: [ROOM],
          remind: { times: 0 },
          escalate: [
            { after: answers.after ?? "10s", mention: ["ann"] },
            ...(answers.second ? [{ after: "40s", mention: ["ben", "cara"] }] : []),
          ],
        },
      },
      fallback: [OTHER_OPS],
      fallback_after: "20s",
      people: { ann: ["loop:7"], ben: ["other:5"], cara: ["loop:8"] },
      watch_gateway: { offline_after: "1d", undelivered_after: "15s" },
    },
    {
      platform: loop,
      others: [other],
      direct: (ref) => (/^loop:[78]$/.test(ref) ? parseAddress(`loop:bot:dm-${ref.slice(5)}`) : undefined),
      personOf: ({ chatId }) => (chatId.startsWith("dm-") ? `loop:${chatId.slice(3)}` : undefined),
    },
  );
  if (answers.first === "page") await on.raise();
  await pass(on, 10_000);
  const at = { platform: "loop", botId: "bot", chatId: "room" };
  if (answers.first !== "page")
    await on.rig.gateway.send(at, { text: "hello" }, { cause: { kind: "api", id: "x", depth: 0 } });
  await pass(on, 25_000);
  if (answers.isAway) set(on, "offline");
  await pass(on, 55_000);
  return { on, other };
}

const lose = (on: Watch) =>
  on.rig.gateway.send(
    { platform: "loop", botId: "bot", chatId: "elsewhere" },
    { text: "hello" },
    { cause: { kind: "api", id: "y", depth: 0 } },
  );

const about = (posted: { text: string }[]) =>
  posted.map(({ text }) => text).filter((text) => text.includes(TITLE) && text.includes("Escalated: step 1 of 1"));

async function historyOf(on: Watch): Promise<string[]> {
  const alert = (await on.alerts.list({ limit: 9 })).find(({ signal }) => signal.title === TITLE);
  return (await on.alerts.history(alert?.id ?? "")).map(({ reason = "" }) => reason);
}

it.each([
  ["in doubt, as its card", { card: DOUBT, page: DOUBT }, "may not have arrived", "may not be notified"],
  ["in doubt", { page: DOUBT }, "may not have arrived", "may not be notified"],
  ["refused", { page: REFUSED }, "did not arrive", "cannot be notified"],
])(
  "a page that is %s goes to the private chat of its person, and the fallback says so",
  async (_, answers, fate, why) => {
    const { on, other } = await raised(answers);
    expect(about(on.posted("loop:bot:dm-7"))).toEqual([
      expect.stringMatching(new RegExp(`ann ${why} .*and is notified in a private chat`)),
    ]);
    const copies = about(other.messages);
    expect(copies.at(-1)).toMatch(
      new RegExp(`step 1 of 1.*${ROOM}.*ann has no other account and is notified in a private`),
    );
    expect(copies.at(-1)).toContain(fate);
    expect((await historyOf(on)).join("\n")).toMatch(/loop:bot:room .*"Escalated: step 1 of 1 \(ann\)": /);
    // The first message alone waits for an operator.
    expect(await on.rig.store.outbox.counts()).toMatchObject({ held: 1, dead: 0 });
    await pass(on, 5 * MINUTE);
    expect(about(on.posted("loop:bot:dm-7"))).toHaveLength(1);
  },
);

it("a page says how many messages wait, and for which chat", async () => {
  const { on } = await raised({});
  expect(about(on.posted(ROOM))).toEqual([
    expect.stringMatching(/1 held, since <t:\d+:f[^>]*>\. Chats: \S*room\b.*\nRunbook: \/outbox list/),
  ]);
  // It is about no deadline: it is not overdue.
  const [alert] = await on.alerts.list({ open: true, limit: 1 });
  const details = JSON.stringify(await on.alerts.details(alert?.id ?? "", ROOM));
  expect(details).toMatch(/"History","value":"[^"]* fired: 1 held, since <t:/);
  // As its card and its page.
  expect(details).toContain('"title":"⚠️ Messages wait for an operator"');
});

it("of more messages than are read, the time of the oldest is not given", async () => {
  const { on } = await raised({});
  for (let n = 0; n < 20; n++) await lose(on);
  await pass(on, MINUTE);
  const [alert] = await on.alerts.list({ open: true, limit: 1 });
  expect(alert?.signal.reason).toMatch(/^20 given up, 1 held\. Chats: /);
});

it("a message that is lost later pages people again, also when an operator has the alert", async () => {
  const { on } = await raised({});
  const [known] = await on.alerts.list({ open: true, limit: 5 });
  await on.alerts.act(known?.id as string, { kind: "ack" }, ANN);
  await pass(on, MINUTE);
  // Its page shows who has it.
  expect(about(on.posted(ROOM))).toEqual([]);
  const shown = () => on.posted(ROOM).filter(({ text }) => text.includes(TITLE) && !text.includes("step 1"));
  const before = shown().length;
  // They go on and on; within `reopen_within` (10 min) they belong to the same trouble.
  for (let minute = 0; minute < 8; minute++) {
    await lose(on);
    await pass(on, MINUTE);
  }
  expect([about(on.posted(ROOM)), shown().length]).toEqual([[], before]);
  for (let minute = 0; minute < 3; minute++) {
    await lose(on);
    await pass(on, MINUTE);
  }
  expect(about(on.posted(ROOM))).toEqual([
    expect.stringMatching(/\d+ given up, 1 held, the oldest since <t:.*elsewhere/),
  ]);
  // Its card is a new message, too: there may be no steps.
  expect(shown()).toHaveLength(before + 1);
  // For those that were lost since then once more, and no more: the earlier page shows that it has ended.
  await pass(on, 30 * MINUTE);
  expect([about(on.posted(ROOM)).length, shown().length]).toEqual([1, before + 3]);
});

it("messages that are lost all the time do not put its steps off", async () => {
  const { on } = await raised({ after: "20m" });
  for (let minute = 0; minute < 19; minute++) {
    await lose(on);
    await pass(on, MINUTE);
  }
  await pass(on, MINUTE / 2);
  expect(about(on.posted())).not.toEqual([]);
});

it("a message that is given up before it is handled pages people again, too", async () => {
  const { on } = await raised({});
  const [known] = await on.alerts.list({ open: true, limit: 5 });
  await on.alerts.act(known?.id as string, { kind: "ack" }, ANN);
  // Its condition has no answer, so that the message is given up at once.
  on.rig.registry.registerClaiming("inbound_claim", () => ({ handled: true }), {
    id: "strict",
    failurePolicy: "fail-closed",
    match: { when: 'payload.message.threadId == "5"' },
  });
  await on.rig.say("help", { messageId: "m1" });
  await pass(on, 12 * MINUTE);
  expect(about(on.posted(ROOM))).toEqual([expect.stringMatching(/1 held, 1 not handled, the oldest since <t:/)]);
});

it("a silence that keeps the alert quiet keeps it so when more are lost", async () => {
  const { on } = await raised({});
  const [known] = await on.alerts.list({ open: true, limit: 5 });
  await on.alerts.silences.add(["kind=letters"], HOUR, "moving", ANN);
  await pass(on, MINUTE);
  const before = on.posted().length;
  await lose(on);
  await pass(on, 12 * MINUTE);
  const open = await on.alerts.list({ open: true, limit: 5 });
  expect(open.map(({ id, state, signal }) => [id, state, signal.reason.slice(0, 19)])).toEqual([
    [known?.id, "silenced", "1 given up, 1 held,"],
  ]);
  expect(on.posted()).toHaveLength(before);
});

const cards = (on: Watch) => on.posted(ROOM).filter(({ text }) => text.includes(TITLE) && text.includes("1 held"));

it("a page that was lost pages people again only when no other message called them and no operator has its alert", async () => {
  const replaced = (await raised({ first: "page" })).on;
  expect(replaced.posted("loop:bot:dm-7").at(-1)?.text).toMatch(/Reply to Bob[\s\S]*Sent to ann in a private chat/);
  await pass(replaced, 5 * MINUTE);
  expect(cards(replaced)).toHaveLength(1);
  expect(about(replaced.posted())).toEqual([]);
  // Another message waits besides: it is a reason.
  await lose(replaced);
  await pass(replaced, 2 * MINUTE);
  expect(about(replaced.posted(ROOM))).toHaveLength(1);
});

it("a step that is taken again mentions nobody once more where its own message has mentioned them", async () => {
  const { on, other } = await raised({ page: DOUBT, second: DOUBT });
  await pass(on, MINUTE);
  const pages = other.messages.filter(({ text }) => text.includes(TITLE) && text.includes("step 2 of 2"));
  expect(pages.map(({ text }) => text)).toEqual([
    expect.stringContaining(`cara has no other account and is mentioned in ${ROOM}`),
    expect.stringContaining(`The page in ${ROOM} may not have arrived`),
  ]);
  expect(pages.map(({ body }) => body.mentions)).toEqual([{ users: ["5"] }, undefined]);
  expect(on.posted("loop:bot:dm-8").filter(({ text }) => text.includes("step 2 of 2"))).toHaveLength(1);
});

it("a page that its platform does not take in time is at the fallback, and in its chat later", async () => {
  const { on, other } = await raised({ isAway: true });
  expect(about(other.messages)).toEqual([expect.stringContaining(`(it waits at ${ROOM})`)]);
  expect((await historyOf(on)).join("\n")).toContain('"Escalated: step 1 of 1 (ann)": ');
  set(on, "online");
  await pass(on, MINUTE);
  expect(about(on.posted(ROOM))).toHaveLength(1);
  expect(await on.rig.store.outbox.counts()).toMatchObject({ held: 1, dead: 0 });
});
