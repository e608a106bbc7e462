/** Single deliveries as operators see and decide them. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { InboundEvent } from "../../src/domain/chat/event.js";
import { shortenMessage } from "../../src/domain/chat/long-message.js";
import type { InboundMessage } from "../../src/domain/chat/message.js";
import { HOOKS_MAY_CRASH, MAY_HAVE_BEEN_SENT } from "../../src/domain/deliveries/letters.js";
import type { DeliveryPart, NewDelivery } from "../../src/domain/store.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

const at = { platform: "web", botId: "web", chatId: "lobby" };
const delivery = (id: string, text = "hello"): NewDelivery => ({
  id,
  address: at,
  operation: "send",
  message: { text },
  cause: { kind: "reply", id: "m1", depth: 0 },
});
const now = () => desk.clock.now();
const part = (index: number): DeliveryPart => ({
  index,
  operation: "create",
  part: { text: `part ${index}`, body: {} },
  nonce: `n${index}`,
  status: "waiting",
  attempts: 0,
});

it("a message that waits for its platform is explained by what the platform is away for", async () => {
  await desk.store.outbox.enqueue([delivery("d_away")], now());
  const status = await desk.deps.status();
  const away = { platform: "web", since: 0, restarts: 0, conversationsWaiting: 1, reason: "502 Bad Gateway" };
  desk.deps.status = () => ({ ...status, adapters: [{ ...away, phase: "offline" }] });
  expect((await desk.say("/hooks why d_away")).shown).toMatch(/waiting.* · web is offline: 502 Bad Gateway/);
  desk.deps.status = () => ({ ...status, adapters: [{ ...away, phase: "reconnecting", isSending: true }] });
  expect((await desk.say("/hooks why d_away")).shown).not.toContain("502");
});

describe("a message that was shortened", () => {
  it("is explained as such", async () => {
    const message = { text: "x".repeat(34_000) };
    await desk.store.outbox.enqueue([delivery("d_long", message.text)], now());
    await desk.store.outbox.freeze("d_long", shortenMessage(message), [part(0)], []);
    await desk.store.outbox.partSent("d_long", 0, "100", now());
    expect((await desk.say("/hooks why d_long")).shown).toContain("shortened: it had 34,000 characters");
    expect((await desk.say("/outbox show d_long")).shown).toContain(
      "The message was shortened: it had 34,000 characters.",
    );
  });
});

describe("a change of a message that was not posted yet", () => {
  it("is explained by the message that it changed, and not as if nothing had been sent", async () => {
    const { inbox } = desk.store;
    const message = (messageId: string, isEdit = false): InboundMessage => ({
      ...{ ...at, messageId, isEdit, userId: "7", text: "the price is 10", attachments: [] },
      ...{ isDm: false, isGroupMention: true, receivedAt: now() },
    });
    const settle = async (event: InboundEvent, outcome: string, deliveries: NewDelivery[] = []) =>
      `m${(await inbox.accept(event, "web:web:lobby", now(), false, () => ({ outcome, deliveries }))).id}`;
    const original = await settle({ kind: "message", eventId: "1", message: message("1") }, "returned", [
      { ...delivery("d_m1f"), cause: { kind: "forward", id: "m1", depth: 0 } },
    ]);
    const edit = { kind: "edited", eventId: "e1", message: message("1", true) } as const;
    const deletion = { kind: "deleted", eventId: "x1", address: at, messageId: "1", at: now() } as const;
    for (const [change, what] of [
      [edit, "It corrected"],
      [deletion, "It cancelled"],
    ] as const) {
      const { shown } = await desk.say(`/hooks why ${await settle(change, "forwarded")}`);
      expect(shown).toContain(`${what} \`${original}\` before that was posted: \`/hooks why ${original}\` shows`);
      expect(shown).not.toContain("Nothing was sent");
    }
    const other = await settle({ ...edit, eventId: "e2" }, "noted");
    expect((await desk.say(`/hooks why ${other}`)).shown).toContain("Nothing was sent in answer.");
    const dead = { kind: "message", eventId: "2", message: message("2") } as const;
    const { id } = await inbox.accept(dead, "web:web:lobby", now(), true);
    await inbox.dead(id, "the guard is down", now());
    const late = await settle({ ...edit, eventId: "e3", message: message("2", true) }, "noted");
    expect((await desk.say(`/hooks why ${late}`)).shown).toContain(`It corrected \`m${id}\` before that was posted`);
  });
});

describe("a message that was sent again by an operator whom the audit does not have any more", () => {
  it("is not said never to have failed", async () => {
    const { outbox } = desk.store;
    await outbox.enqueue([delivery("d_again")], now());
    await outbox.freeze("d_again", undefined, [part(0)], []);
    await outbox.finish("d_again", "dead", "400: no such chat", now());
    await outbox.release("d_again", now());
    await outbox.partSent("d_again", 0, "100", now());
    const { shown } = await desk.say("/hooks why delivery_failed d_again");
    expect(shown).toContain("it was held or given up, and an operator sent it again: then it was sent.");
    expect(shown).not.toContain("nothing failed");
  });
});

describe("what a hook posted because of a message", () => {
  it("is in its path, also when hundreds of messages were sent since", async () => {
    const { inbox, outbox } = desk.store;
    const message = {
      platform: "web",
      botId: "web",
      chatId: "lobby",
      userId: "1",
      text: "hello",
      messageId: "7",
      attachments: [],
      isDm: false,
      isGroupMention: false,
      isEdit: false,
      receivedAt: now(),
    };
    const { id } = await inbox.accept({ kind: "message", eventId: "7", message }, "web:web:lobby", now(), true);
    await inbox.settle(id, { outcome: "unrouted", deliveries: [] }, now());
    const cause = { kind: "hook", id: `m${id}:message_received/1`, depth: 1 } as const;
    await outbox.enqueue([{ ...delivery("d_post"), cause }], now());
    const others = Array.from({ length: 600 }, (_, n) => ({
      ...delivery(`d_noise${n}`),
      cause: { ...cause, id: "r_1" },
    }));
    await outbox.enqueue(others, now());
    const parsed = vi.spyOn(JSON, "parse");
    onTestFinished(() => parsed.mockRestore());
    expect((await desk.say(`/hooks why m${id}`)).shown).toContain("d_post");
    expect(parsed.mock.calls.filter(([text]) => text.includes('"r_1"'))).toEqual([]);
  });
});

describe("a message that hooks were asked about twice", () => {
  it("has a button for each time, named after the hook that failed", async () => {
    const { outbox } = desk.store;
    desk.registry.registerModifying("message_sending", () => null, { id: "calm" });
    desk.registry.registerModifying("message_sending", () => Promise.reject(new Error("no guard")), {
      id: "guard",
      failurePolicy: "fail-closed",
    });
    await outbox.enqueue([delivery("d_twice")], now());
    const payload = { chatId: "lobby", platform: "web", botId: "web", deliveryId: "d_twice", message: { text: "hi" } };
    const cause = { kind: "reply", id: "m42", depth: 0 } as const;
    for (const dispatchId of ["d_twice:message_sending", "d_twice:message_sending:2"])
      await desk.registry
        .fireModifying("message_sending", { ...payload, cause }, undefined, { dispatchId })
        .catch(() => undefined);
    const { message } = await desk.say("/hooks why d_twice");
    expect((message.buttons ?? []).flat().map(({ label }) => label)).toEqual([
      "The message",
      "message_sending: guard (1)",
      "message_sending: guard (2)",
    ]);
  });
});

describe("a number that is no row of /runs", () => {
  it("is said to be read as a message's id, where several chats have one of it", async () => {
    for (const chatId of ["lobby", "side"]) {
      const message = {
        ...{ platform: "web", botId: "web", chatId, messageId: "7", userId: "1", text: "hi", attachments: [] },
        ...{ isDm: false, isGroupMention: false, isEdit: false, receivedAt: now() },
      };
      await desk.store.inbox.accept({ kind: "message", eventId: "7", message }, `web:web:${chatId}`, now(), true);
    }
    const { shown } = await desk.say("/run 7", { source: "cli" });
    expect(shown).toMatch(/^No row 7 of `\/runs` was shown to you here lately.*\n\n2 chats have a message `7`/);
  });
});

describe("a message that is partly sent", () => {
  it("can be ended; the answer says how many parts were sent", async () => {
    await desk.store.outbox.enqueue([delivery("d_parts")], now());
    await desk.store.outbox.freeze(
      "d_parts",
      undefined,
      Array.from({ length: 500 }, (_, n) => part(n)),
      [],
    );
    for (let n = 0; n < 3; n++) await desk.store.outbox.partSent("d_parts", n, String(n), now(), { nextWaits: true });
    const shown = await desk.say("/outbox show d_parts");
    expect(shown.lines).toContain("/outbox purge d_parts");
    const asked = await desk.say("/outbox purge d_parts");
    expect(asked.shown).toContain("3 of its 500 parts are sent and stay; the rest will not be sent.");
    expect((await desk.store.outbox.get("d_parts"))?.status).toBe("sending");
    await desk.store.outbox.enqueue([delivery("d_whole")], now());
    await desk.store.outbox.freeze("d_whole", undefined, [part(0), part(1)], []);
    expect((await desk.say("/outbox purge d_whole")).shown).toContain("It waits for its turn, and will not be sent.");
    const { shown: text, data } = await desk.say("/outbox purge d_parts yes=true");
    expect(text).toContain("is cancelled: 3 of 500 parts were sent before.");
    expect(data).toMatchObject({ withdrawn: 1, sent: 3, parts: 500 });
    expect(await desk.store.outbox.get("d_parts")).toMatchObject({
      status: "cancelled",
      reason: expect.stringContaining("(3 of 500 parts were sent)"),
    });
    await expect(desk.say("/outbox purge d_parts yes=true")).resolves.toMatchObject({ data: { purged: 1 } });
  });

  it("is said to be unclear when one part is on its way", async () => {
    await desk.store.outbox.enqueue([delivery("d_wire")], now());
    await desk.store.outbox.freeze("d_wire", undefined, [part(0)], []);
    await desk.store.outbox.partSending("d_wire", 0);
    const asked = (await desk.say("/outbox purge d_wire")).shown;
    expect(asked).toContain("It is on its way and may still arrive.");
    expect(asked).not.toContain("will not be sent");
    expect((await desk.say("/outbox purge d_wire yes=true")).shown).toContain(
      "`d_wire` is cancelled. It **may have arrived**, or may still arrive: look in the chat.",
    );
    expect((await desk.say("/outbox show d_wire")).shown).toMatch(/1 +not known +1/);
  });
});

describe("messages whose hooks may crash the gateway", () => {
  const held = async (id: string, reason: string) => {
    await desk.store.outbox.enqueue([delivery(id)], now());
    await desk.store.outbox.finish(id, "held", reason, now());
  };
  const crash = `the gateway ended 3 times while hooks decided about it: ${HOOKS_MAY_CRASH}`;

  it("are left out of a release of all, and released by their id", async () => {
    await held("d_crash1", crash);
    await held("d_plain", "hook guard failed");
    await held("d_crash2", crash);
    const { shown, data } = await desk.say("/outbox release all");
    expect(desk.released.map(({ id }) => id)).toEqual(["d_plain"]);
    expect(shown).toContain(
      "1 message on the way again. Hooks decide first: `/outbox` shows what they hold again, `/outbox list cancelled` what they cancel.",
    );
    expect(shown).toContain("2 messages left out: the hooks that decide about them may crash the gateway.");
    expect(shown).toContain("Repair the hooks, then release them with `/outbox release all reason=crash`.");
    expect(data).toMatchObject({ released: 1, leftOut: ["d_crash1", "d_crash2"] });
    const again = await desk.say("/outbox release held");
    expect(again.outcome).toBe("refused");
    expect(again.shown).not.toContain("can be confirmed");
    await desk.say("/outbox release d_crash1");
    expect(desk.released.map(({ id }) => id)).toEqual(["d_plain", "d_crash1"]);
  });

  it("are released together by the command that the answer names, after a question", async () => {
    await held("d_crash1", crash);
    await held("d_plain", "hook guard failed");
    await held("d_crash2", crash);
    const left = await desk.say("/outbox release all chat=web:web:lobby reason=o");
    expect(left.lines).toEqual(["/outbox release all chat=web:web:lobby reason=crash"]);
    expect(left.shown).toContain(`\`${left.lines[0]}\``);
    const asked = await desk.say(left.lines[0] as string);
    expect(asked).toMatchObject({ outcome: "refused", isQuestion: true });
    expect(asked.shown).toContain("Release 2 messages? Repair the hooks first");
    expect(asked.lines).toEqual([
      expect.stringMatching(/^\/outbox release all chat=web:web:lobby reason=crash yes=true selection=\w{12}$/),
    ]);
    expect(desk.released.map(({ id }) => id)).toEqual(["d_plain"]);
    const done = await desk.say(asked.lines[0] as string);
    expect(done).toMatchObject({ data: { released: 2, leftOut: undefined }, lines: [] });
    expect(done.shown).toBe(
      "2 messages on the way again. Hooks decide first: `/outbox` shows what they hold again, `/outbox list cancelled` what they cancel.",
    );
    expect(desk.released.map(({ id }) => id)).toEqual(["d_plain", "d_crash1", "d_crash2"]);
  });

  it("are released by the button of the question only while they are the same", async () => {
    await held("d_crash1", crash);
    const asked = await desk.say("/outbox release all reason=crash");
    await held("d_crash2", crash);
    await held("d_named", "hook crash-guard failed");
    const again = await desk.say(asked.lines[0] as string);
    expect(again).toMatchObject({ data: { released: 0, leftOut: ["d_crash1", "d_crash2"] }, isQuestion: true });
    expect(again.shown).toContain("The messages are not the same as when you were asked; nothing was done.");
    expect(again.shown).toContain("Release 2 messages?");
    expect((await desk.say(again.lines[0] as string)).data).toMatchObject({ released: 2 });
    expect(desk.released.map(({ id }) => id)).toEqual(["d_crash1", "d_crash2"]);
  });

  it("and may have arrived need a yes and the decision: the buttons lead to both", async () => {
    await held("d_both", `${MAY_HAVE_BEEN_SENT} since; ${crash}`);
    const left = await desk.say("/outbox release all");
    const asked = await desk.say(left.lines[0] as string);
    const decide = await desk.say(asked.lines[0] as string);
    expect(decide.lines).toEqual([
      expect.stringMatching(/^\/outbox release all reason=crash yes=true selection=\w{12} confirmed=true$/),
      expect.stringMatching(/^\/outbox release all reason=crash yes=true selection=\w{12} confirmed=false$/),
    ]);
    expect(desk.released).toEqual([]);
    await desk.say(decide.lines[1] as string);
    expect(desk.released).toEqual([{ id: "d_both", confirmed: false }]);
  });

  it("are left out by a yes alone", async () => {
    await held("d_crash1", crash);
    await desk.say("/outbox release all yes=true");
    expect(desk.released).toEqual([]);
  });
});

describe("a message that expired before it was tried", () => {
  it("names the one that its chat waited for until then", async () => {
    const start = now();
    await desk.store.outbox.enqueue(
      [delivery("d_first"), { ...delivery("d_behind"), expiresAt: start + 60_000 }],
      start,
    );
    await desk.store.outbox.freeze("d_first", { text: "hello" }, [part(0)], []);
    await desk.store.outbox.retryAt("d_first", start + 70_000, "no answer");
    await desk.store.outbox.finish("d_first", "dead", "no answer", start + 70_000);
    await desk.store.outbox.finish("d_behind", "dead", "not sent in time", start + 70_001);
    expect((await desk.say("/hooks why d_behind")).shown).toContain(
      "until then its chat waited for `d_first` (**dead**)",
    );
    expect((await desk.say("/hooks why d_first")).shown).not.toContain("waited for");
  });
});
