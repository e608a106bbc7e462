/** Forms where a platform has none: questions that are answered by replying to them. */
import { expect, it } from "vitest";
import type { Form, InboundMessage } from "../../src/domain/chat/message.js";
import type { Command } from "../../src/gateway/commands.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { messageOf, type Rig, type RigOptions, startRig } from "./rig.js";

type Fields = Form["fields"];
const FIELDS: Fields = [
  { id: "for", label: "How long", required: true },
  { id: "why", label: "Why" },
];
const cardWith = (fields: Fields): Command => ({
  name: "card",
  summary: "Shows a button with a form",
  role: "operator",
  options: [],
  run: async () => ({
    message: {
      text: "card",
      buttons: [
        [
          {
            label: "Snooze…",
            action: { kind: "command", line: "/snooze a1", form: { title: "Snooze", fields } },
          },
        ],
      ],
    },
  }),
});
const snooze: Command = {
  name: "snooze",
  summary: "Takes what was answered",
  role: "operator",
  options: [
    { name: "id", summary: "which", type: "string", required: true },
    { name: "for", summary: "how long", type: "integer", required: true },
    { name: "why", summary: "why", type: "string", rest: true },
  ],
  run: async ({ options }) => ({ message: { text: JSON.stringify(options) } }),
};

async function shown(options: RigOptions, fields: Fields): Promise<Rig> {
  const rig = await startRig({
    commands: [cardWith(fields), snooze],
    platforms: [new LoopbackPlatform("loop")],
    operators: { operator: ["loop:1", "loop:2"] },
    ...options,
  });
  rig.platform.width = 1_000;
  await rig.say("/card", { userId: "1" });
  await rig.idle();
  return rig;
}

function press(rig: Rig) {
  const buttons = rig.platform.messages[0]?.body.buttons as { token: string }[][];
  const message = messageOf("", { userId: "1", messageId: rig.platform.messages[0]?.id ?? "" });
  return rig.receive({ kind: "action", eventId: "press", token: buttons[0]?.[0]?.token ?? "", message });
}

async function asked(options: RigOptions = {}, fields = FIELDS): Promise<Rig> {
  const rig = await shown(options, fields);
  await press(rig);
  await rig.idle();
  return rig;
}

const question = (rig: Rig) => rig.platform.messages.findLast(({ isDeleted }) => !isDeleted);
async function answer(rig: Rig, text: string, facts: Partial<InboundMessage> = {}, replyToId = question(rig)?.id) {
  await rig.say(text, { userId: "1", replyToUserId: "bot", replyToId, ...facts });
  await rig.idle();
}

it("asks for one field after the other, runs the command with all of them, and takes its questions away", async () => {
  const rig = await asked();
  expect(question(rig)?.text).toMatch(/^<@1\|Ada> \*\*Snooze\*\*: How long\?\n/);
  await answer(rig, "30");
  expect(question(rig)?.text).toContain("Why?");
  expect(question(rig)?.text).toContain("`-` for none");
  await answer(rig, "it can wait");
  expect(rig.platform.texts()).toEqual(["card", '{"id":"a1","for":30,"why":"it can wait"}']);
  expect((await rig.store.audit.list({ limit: 1 }))[0]).toMatchObject({
    action: "command",
    target: "snooze",
    details: { options: { id: "a1", for: 30, why: "it can wait" } },
    outcome: "done",
  });
});

it("takes an answer that was written before the chat got another id", async () => {
  const rig = await asked({}, FIELDS.slice(0, 1));
  const { chatId } = messageOf("");
  const asking = question(rig)?.id;
  const address = { platform: "loop", botId: "bot", chatId };
  await rig.receive({ kind: "moved", eventId: "moved", address, toChatId: "-100", at: 1 });
  await answer(rig, "30", {}, asking);
  expect(rig.platform.texts("-100")).toEqual(['{"id":"a1","for":30}']);
  await answer(rig, "40", {}, asking);
  expect(rig.platform.texts("-100")[1]).toContain("That has been answered already");
});

it("asks a question that has its question mark already as it is", async () => {
  const rig = await asked({}, [{ id: "why", label: "What do you need to know?", required: true }]);
  expect(question(rig)?.text).toContain("**Snooze**: What do you need to know?\nReply");
});

it("no answer is a message for anybody else: no hook may claim it, no route gets it", async () => {
  const seen: string[] = [];
  const rig = await asked({
    hooks: (registry) =>
      void registry.register({
        id: "claimer",
        hook: "inbound_claim",
        handler: ({ message }) => {
          seen.push(message.text);
          return { handled: true };
        },
      }),
  });
  await answer(rig, "30");
  await answer(rig, "-");
  expect(seen).toEqual([]);
  expect(rig.platform.texts().at(-1)).toBe('{"id":"a1","for":30}');
});

it("asks again, below the reason, when its value was no good, until there is a good one", async () => {
  const rig = await asked({}, FIELDS.slice(0, 1));
  const id = question(rig)?.id;
  await answer(rig, "soon");
  expect(rig.platform.texts().at(-2)).toMatch(/`for` is a whole number, not "soon"/);
  // The newest message is what people reply to.
  const again = question(rig)?.id;
  expect([rig.platform.texts().at(-1), again === id]).toEqual([
    expect.stringContaining("Reply to this message"),
    false,
  ]);
  await answer(rig, "30", {}, again);
  expect(rig.platform.texts().at(-1)).toBe('{"id":"a1","for":30}');
  for (const old of [id, again]) {
    await answer(rig, "40", {}, old);
    expect(rig.platform.texts().at(-1)).toMatch(/answered already/);
  }
});

it("only who pressed may answer", async () => {
  const rig = await asked();
  await answer(rig, "30", { userId: "2" });
  expect(rig.platform.texts().at(-1)).toBe("Another person was asked that.");
  expect(rig.platform.texts().join()).not.toContain("Why?");
});

it.each(["/cancel", "cancel", "/cancel@ours"])(
  "%s ends it, on record, and a later answer does nothing",
  async (word) => {
    const rig = await asked();
    const id = question(rig)?.id;
    await answer(rig, word);
    expect(rig.platform.texts()).toEqual(["card", "Cancelled; nothing was done."]);
    expect((await rig.store.audit.list({ limit: 1 }))[0]).toMatchObject({ action: "cancel", target: "snooze" });
    await answer(rig, "30", {}, id);
    expect(rig.platform.texts().at(-1)).toMatch(/answered already/);
  },
);

it("a question that is older than its time says what to type", async () => {
  const rig = await asked({ gateway: { prompt_life: "1m" } });
  await rig.clock.advance(60_000);
  await answer(rig, "30");
  expect(rig.platform.texts().at(-1)).toMatch(/has expired.*`\/snooze a1 …`/);
});

it("is answered after a crash and a start", async () => {
  const rig = await asked();
  const { file, clock, platform } = rig;
  await rig.crash();
  const again = await startRig({
    commands: [cardWith(FIELDS), snooze],
    platforms: [platform],
    operators: { operator: ["loop:1"] },
    file,
    clock,
  });
  await answer(again, "30");
  await answer(again, "later");
  expect(platform.texts()).toEqual(["card", '{"id":"a1","for":30,"why":"later"}']);
});

it.each(["hold", "cancel"] as const)("that hooks %s: the person gets the reason and the next step", async (how) => {
  const rig = await asked({
    hooks: (registry) =>
      void registry.register({
        id: "guard",
        hook: "message_sending",
        failurePolicy: "fail-closed",
        handler: ({ message }) => {
          if (!message.text?.includes("Reply to this message")) return undefined;
          if (how === "hold") throw new Error("down");
          return { cancel: "no questions here" };
        },
      }),
  });
  const { text } = question(rig) ?? { text: "" };
  expect(text).toMatch(/^\*\*The question of the button was (held|cancelled)\.\*\*\n> .*(down|no questions here)/);
  expect(text).toMatch(/Press the button again, or type `\/snooze a1 …`\. `\/outbox show d_m2q` has the details\.$/);
});

it("what a press brings goes before what waits for its turn in the group", async () => {
  const limits = { perSecond: Number.POSITIVE_INFINITY, perChatPerSecond: 1 };
  const rig = await shown({ platforms: [new LoopbackPlatform("loop", { limits })] }, FIELDS.slice(0, 1));
  const copies = Array.from({ length: 20 }, (_, i) => `copy ${i}`);
  const at = { platform: "loop", botId: "bot", chatId: messageOf("").chatId };
  for (const text of copies) await rig.gateway.send(at, { text }, { cause: { kind: "api", id: "test", depth: 0 } });
  const isShown = (words: string) =>
    until(async () => {
      await rig.clock.advance(200);
      return rig.platform.texts().some((text) => text.includes(words));
    }, words);
  await press(rig);
  await rig.settled("press");
  await isShown("How long?");
  const asking = rig.platform.messages.find(({ text }) => text.includes("How long?"))?.id;
  await rig.say("30", { userId: "1", replyToUserId: "bot", replyToId: asking });
  await isShown('"for":30');
  expect(rig.platform.texts()).not.toContain("copy 19");
});
