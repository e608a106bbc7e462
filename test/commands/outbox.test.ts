import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MessageEvent } from "../../src/domain/chat/event.js";
import { DELETED_BEFORE } from "../../src/domain/deliveries/given-up.js";
import { MAY_HAVE_BEEN_HANDLED } from "../../src/domain/deliveries/letters.js";
import type { NewDelivery } from "../../src/domain/store.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

const at = { platform: "web", botId: "web", chatId: "lobby" };
const delivery = (id: string): NewDelivery => ({
  id,
  address: at,
  operation: "send",
  message: { text: "the PIN is 1234" },
  cause: { kind: "reply", id: "m1", depth: 0 },
});
const now = () => desk.clock.now();

async function dead(id: string): Promise<void> {
  await desk.store.outbox.enqueue([delivery(id)], now());
  await desk.store.outbox.finish(id, "dead", "the chat is gone", now());
}

/** Hooks let it go; the platform did not take it yet. */
async function frozen(id: string): Promise<void> {
  await desk.store.outbox.enqueue([delivery(id)], now());
  const part = { text: "the PIN is 1234", body: { text: "the PIN is 1234" } };
  await desk.store.outbox.freeze(
    id,
    undefined,
    [{ index: 0, operation: "create", part, nonce: id, status: "waiting", attempts: 0 }],
    [],
  );
}

/** Written to the wire, and no answer came. */
async function ambiguous(id: string): Promise<void> {
  await frozen(id);
  await desk.store.outbox.partSending(id, 0);
  await desk.store.outbox.finish(id, "held", "no answer to the request", now());
}

/** A fail-closed hook failed: nothing was sent. */
async function guarded(id: string): Promise<void> {
  await desk.store.outbox.enqueue([delivery(id)], now());
  await desk.store.outbox.finish(id, "held", "hook guard failed", now());
}

async function deadInbox(messageId: string, reason = "handling failed 5 times"): Promise<number> {
  const event: MessageEvent = {
    kind: "message",
    eventId: messageId,
    message: {
      ...at,
      userId: "7",
      text: "the PIN is 1234",
      attachments: [],
      isDm: false,
      isGroupMention: true,
      messageId,
      isEdit: false,
      receivedAt: now(),
    },
  };
  const { id } = await desk.store.inbox.accept(event, "web:web:lobby", now(), false);
  await desk.store.inbox.dead(id, reason, now());
  return id;
}

const status = async (id: string) => (await desk.store.outbox.get(id))?.status;

describe("/outbox list", () => {
  it("is glad when nothing waits", async () => {
    const { shown, data } = await desk.say("/outbox");
    expect(shown).toContain("Nothing waits for you");
    expect(data).toMatchObject({ letters: [] });
  });

  it("shows dead letters, held ones and dead inbox messages, marks what may have arrived, and shows no text of theirs", async () => {
    await dead("d_dead");
    await ambiguous("d_maybe");
    await guarded("d_guarded");
    const inboxId = await deadInbox("42");
    const { shown, data, lines } = await desk.say("/outbox");
    const letters = (data as { letters: { id: string; ambiguous: boolean }[] }).letters;
    expect(new Set(letters.map(({ id }) => id))).toEqual(new Set(["d_dead", "d_maybe", "d_guarded", `m${inboxId}`]));
    expect(letters.filter((letter) => letter.ambiguous).map(({ id }) => id)).toEqual(["d_maybe"]);
    expect(shown).toContain("the chat is gone");
    expect(shown).toContain("may have arrived");
    expect(`${shown}${JSON.stringify(data)}`).not.toContain("1234");
    expect(lines).toContain("/outbox retry all");
    // A viewer may not.
    expect((await desk.say("/outbox", { role: "viewer" })).lines).not.toContain("/outbox retry all");
  });

  it("lists one status, and refuses what is none", async () => {
    await dead("d_dead");
    await guarded("d_guarded");
    expect((await desk.say("/outbox list held")).data).toMatchObject({ letters: [{ id: "d_guarded" }] });
    expect((await desk.say("/outbox list sent")).shown).toContain("Nothing is sent");
    await expect(desk.say("/outbox list all")).rejects.toMatchObject({
      code: "BAD_USAGE",
      hint: expect.stringContaining("Without one, /outbox list shows what is dead or held."),
    });
    expect((await desk.say("/outbox purge held")).shown).toContain("Delete 1 message that is held? It will be neither");
  });
});

describe("many messages", () => {
  const OTHER = { platform: "telegram", botId: "1", chatId: "-5" };
  /** 250 are held in the lobby; three older ones in another chat were given up. */
  const fill = async () => {
    const reason = "Too Many Requests";
    for (const id of ["d_x1", "d_x2", "d_x3"]) {
      await desk.store.outbox.enqueue([{ ...delivery(id), address: OTHER }], now());
      await desk.store.outbox.finish(id, "dead", reason, now());
    }
    await desk.clock.advance(3_600_000);
    for (let n = 0; n < 250; n++) await ambiguous(`d_held${n}`);
  };

  it("are counted and paged truly, beyond 200, and listed by chat, age and reason", async () => {
    await fill();
    const { shown, data } = await desk.say("/outbox list held");
    expect(shown).toContain("250 messages: held** · page 1 of 32");
    expect(data).toMatchObject({ total: 250 });
    const last = await desk.say("/outbox list held page=32");
    expect((last.data as { letters: { id: string }[] }).letters.map(({ id }) => id)).toContain("d_held0");
    const ids = async (line: string) =>
      ((await desk.say(line)).data as { letters: { id: string }[] }).letters.map(({ id }) => id).sort();
    expect(await ids("/outbox list chat=telegram:1:-5")).toEqual(["d_x1", "d_x2", "d_x3"]);
    expect(await ids("/outbox list older=30m")).toEqual(["d_x1", "d_x2", "d_x3"]);
    expect(await ids('/outbox list reason="too many"')).toEqual(["d_x1", "d_x2", "d_x3"]);
    await expect(desk.say("/outbox list older=soon")).rejects.toMatchObject({ code: "BAD_USAGE" });
  });

  it("that may have arrived are decided upon at once, after one question, in order", async () => {
    await fill();
    await guarded("d_guarded");
    const asked = await desk.say("/outbox release all chat=web:web:lobby");
    expect(asked.data).toMatchObject({ released: 1, unclear: 250 });
    expect(asked.lines).toEqual([
      expect.stringMatching(/^\/outbox release all chat=web:web:lobby selection=\w{12} confirmed=true$/),
      expect.stringMatching(/^\/outbox release all chat=web:web:lobby selection=\w{12} confirmed=false$/),
    ]);
    expect(asked.shown).toContain("`confirmed=true` counts them as sent, `confirmed=false` sends them");
    expect(await status("d_guarded")).toBe("waiting");
    expect((await desk.say("/outbox release all confirmed=false")).data).toMatchObject({ released: 250 });
    expect(desk.released.slice(1).map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, n) => `d_held${n}`));
    expect(await status("d_x1")).toBe("dead");
  });

  it("an answer to a question decides on the messages of that question only", async () => {
    await ambiguous("d_first");
    const [arrived = "", absent = ""] = (await desk.say("/outbox release all")).lines;
    await ambiguous("d_later");
    for (const line of [arrived, absent]) {
      const again = await desk.say(line);
      expect(again.data).toMatchObject({ released: 0, unclear: 2 });
      expect(again.shown).toContain("The messages are not the same as when you were asked; nothing was done.");
    }
    expect([await status("d_first"), await status("d_later")]).toEqual(["held", "held"]);
    const [remove = ""] = (await desk.say("/outbox purge all")).lines;
    await guarded("d_last");
    const again = await desk.say(remove);
    expect(again.data).toMatchObject({ purged: 0, wouldPurge: 3 });
    expect((await desk.say(again.lines[0] ?? "")).data).toMatchObject({ purged: 3 });
  });

  it("an id with options that select among many is refused, and nothing is done", async () => {
    await guarded("d_1");
    await dead("d_2");
    for (const line of ["release d_1 chat=web:web:other", "purge d_1 older=2h yes=true", "retry d_2 reason=frog"])
      await expect(desk.say(`/outbox ${line}`)).rejects.toMatchObject({
        code: "BAD_USAGE",
        message: expect.stringMatching(/^d_[12] is one message, and/),
      });
    expect([await status("d_1"), await status("d_2")]).toEqual(["held", "dead"]);
  });

  it("are retried and purged by chat, age or reason, all of them at once", async () => {
    await fill();
    expect((await desk.say("/outbox purge all older=30m")).data).toMatchObject({ purged: 0, wouldPurge: 3 });
    expect((await desk.say("/outbox purge all older=30m")).shown).toContain(
      "Delete 3 messages older than 30 min (3 dead)?",
    );
    expect((await desk.say("/outbox retry all chat=web:web:lobby")).data).toMatchObject({ retried: [] });
    await expect(desk.say("/outbox retry older=abc")).rejects.toMatchObject({
      hint: expect.stringContaining("Write 30m"),
    });
    expect((await desk.say("/outbox retry older=30m")).data).toMatchObject({ retried: ["d_x1", "d_x2", "d_x3"] });
    expect((await desk.say("/outbox purge all yes=true")).data).toMatchObject({ purged: 250 });
  });
});

describe("/outbox show", () => {
  it("shows where it stands, masked; an admin may reveal it, and that is written down", async () => {
    await dead("d_dead");
    const masked = await desk.say("/outbox show d_dead", { role: "viewer" });
    expect(masked.shown).toContain("the chat is gone");
    expect(`${masked.shown}${JSON.stringify(masked.data)}`).not.toContain("1234");
    await expect(desk.say("/outbox show d_dead reveal", { role: "operator" })).rejects.toMatchObject({
      code: "REFUSED",
    });
    expect((await desk.say("/outbox show d_dead", { role: "operator" })).lines.join()).not.toContain("reveal");
    expect((await desk.say("/outbox show d_dead", { role: "admin" })).lines).toContain(
      "/outbox show d_dead reveal=true",
    );
    expect((await desk.say("/outbox show d_dead reveal", { role: "admin" })).shown).toContain("1234");
    expect(await desk.store.audit.list({ limit: 5 })).toMatchObject([{ action: "reveal", target: "d_dead" }]);
  });

  it("shows an inbox message, masked", async () => {
    const id = await deadInbox("42");
    const { shown, lines } = await desk.say(`/outbox show m${id}`);
    expect(shown).toContain("handling failed 5 times");
    expect(shown).not.toContain("1234");
    expect(lines).toContain(`/outbox retry m${id}`);
  });

  it("says that there is no such delivery", async () => {
    await expect(desk.say("/outbox show d_none")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(desk.say("/outbox show m999")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("/outbox retry", () => {
  it("sends a dead letter again and handles a dead inbox message again", async () => {
    await dead("d_dead");
    const inboxId = await deadInbox("42");
    await desk.say("/outbox retry d_dead");
    await desk.say(`/outbox retry m${inboxId}`);
    expect(await status("d_dead")).toBe("waiting");
    expect((await desk.store.inbox.get(inboxId))?.status).toBe("waiting");
  });

  it("says that its author deleted it", async () => {
    const id = await deadInbox("42");
    await desk.store.inbox.withdraw(id, now());
    await expect(desk.say(`/outbox retry m${id}`)).rejects.toMatchObject({
      code: "DELETED",
      message: `m${id} is not handled again: its author deleted the message.`,
    });
    const { shown, lines } = await desk.say(`/outbox show m${id}`);
    expect(shown).toContain("**deleted by its author**: it is not handled again");
    expect(lines).not.toContain(`/outbox retry m${id}`);
    expect((await desk.say(`/hooks why m${id}`)).shown).toContain("**deleted by its author**");
    expect((await desk.say("/outbox")).shown).toContain("Nothing waits for you");
  });

  it("says until when a message waits whose chat is paused, as a release does", async () => {
    const status = await desk.deps.status();
    desk.deps.status = () => ({
      ...status,
      pauses: [{ key: "web:web:lobby", askedMs: 60_000, until: now() + 60_000, reason: "rate limited" }],
    });
    await dead("d_dead");
    await guarded("d_guarded");
    const waits = /`d_\w+` is on its way[^.]*\..* It waits until \S+ UTC, because .*lobby.* is paused: `\/pauses`\./;
    expect((await desk.say("/outbox retry d_dead")).shown).toMatch(waits);
    expect((await desk.say("/outbox release d_guarded")).shown).toMatch(waits);
    desk.deps.status = () => status;
    await dead("d_more");
    expect((await desk.say("/outbox retry d_more")).shown).toBe("`d_more` is on its way again.");
  });

  it("retries all dead ones, oldest first, and leaves held ones alone", async () => {
    await dead("d_1");
    await ambiguous("d_maybe");
    await dead("d_2");
    const { data } = await desk.say("/outbox retry all");
    expect(data).toEqual({ retried: ["d_1", "d_2"] });
    expect(await status("d_maybe")).toBe("held");
    expect((await desk.say("/outbox retry all")).shown).toContain("nothing dead");
  });

  it("never repeats one that may have arrived", async () => {
    await ambiguous("d_maybe");
    await expect(desk.say("/outbox retry d_maybe")).rejects.toMatchObject({
      code: "HELD",
      hint: expect.stringContaining("release"),
    });
    expect(desk.released).toEqual([]);
  });

  it("leaves the reason of what its author deleted to viewers, too: no hook gave it", async () => {
    expect((await desk.say("/outbox list waiting")).shown).toContain("Nothing is waiting to be sent.");
    await desk.store.outbox.enqueue([delivery("d_gone")], now());
    await desk.store.outbox.finish("d_gone", "cancelled", DELETED_BEFORE, now());
    expect((await desk.say("/outbox show d_gone", { role: "viewer" })).shown).toContain(DELETED_BEFORE);
  });

  it("is refused to a viewer", async () => {
    await dead("d_dead");
    await expect(desk.say("/outbox retry d_dead", { role: "viewer" })).rejects.toMatchObject({ code: "REFUSED" });
    expect(await status("d_dead")).toBe("dead");
  });
});

describe("/outbox release", () => {
  it("asks which it is before it sends one that may have arrived", async () => {
    await ambiguous("d_maybe");
    const { outcome, lines, data } = await desk.say("/outbox release d_maybe");
    expect(outcome).toBe("refused");
    expect(data).toMatchObject({ ambiguous: true, released: false });
    expect(lines).toEqual(["/outbox release d_maybe confirmed=true", "/outbox release d_maybe confirmed=false"]);
    expect(await status("d_maybe")).toBe("held");
  });

  it("counts one that did arrive as sent", async () => {
    await ambiguous("d_maybe");
    await desk.say("/outbox release d_maybe --confirmed");
    expect(desk.released).toEqual([{ id: "d_maybe", confirmed: true }]);
    expect(await status("d_maybe")).toBe("sent");
  });

  it("sends one that did not arrive, with its frozen decision", async () => {
    await ambiguous("d_maybe");
    await desk.say("/outbox release d_maybe confirmed=false");
    expect(await status("d_maybe")).toBe("sending");
  });

  it("sends one that a guard held through the hooks, and cannot be told that it arrived", async () => {
    await guarded("d_guarded");
    await expect(desk.say("/outbox release d_guarded confirmed")).rejects.toMatchObject({ code: "BAD_USAGE" });
    expect((await desk.say("/outbox release d_guarded")).shown).toContain(
      "Hooks decide first, and may hold or cancel it: `/outbox show d_guarded` shows that.",
    );
    expect(await status("d_guarded")).toBe("waiting");
  });

  it("does not release a change of what is held alone: the message that it changes is named everywhere", async () => {
    await ambiguous("d_maybe");
    await desk.store.outbox.enqueue([{ ...delivery("d_edit"), operation: "edit", targetId: "d_maybe" }], now());
    await desk.store.outbox.finish("d_edit", "held", "what it changes is held: d_maybe", now());
    await expect(desk.say("/outbox release d_edit")).rejects.toMatchObject({
      code: "HELD_WITH_TARGET",
      hint: "/outbox release d_maybe decides about that message, and d_edit follows.",
    });
    expect((await desk.say("/outbox show d_edit")).lines).toContain("/outbox release d_maybe");
    const why = (await desk.say("/hooks why d_edit")).shown;
    expect(why).toContain("`/outbox release d_maybe` decides about that message, and this follows");
    expect(why).not.toContain("release d_edit");
    expect((await desk.say("/outbox release all")).data).toMatchObject({ released: 0, unclear: 1 });
    expect(desk.released).toEqual([]);
    await desk.store.outbox.finish("d_maybe", "cancelled", "withdrawn", now());
    await desk.say("/outbox release d_edit");
    expect(desk.released).toEqual([{ id: "d_edit", confirmed: false }]);
  });

  it("has nothing to release in one that was sent or decided upon", async () => {
    await ambiguous("d_maybe");
    await desk.say("/outbox release d_maybe confirmed");
    await expect(desk.say("/outbox release d_maybe confirmed")).rejects.toMatchObject({ code: "NOT_HELD" });
  });
});

const CUT_OFF = "it was cut off 5 times: handling it may crash the gateway";

describe("dead inbox messages", () => {
  it("are deleted one by one, with the dead ones, or with all, after the question; their events stay known", async () => {
    const one = await deadInbox("41", CUT_OFF);
    const asked = await desk.say(`/outbox purge m${one}`);
    expect(asked.data).toMatchObject({ purged: 0, wouldPurge: 1 });
    expect(asked.lines).toContain(`/outbox purge m${one} yes=true`);
    expect((await desk.say(`/outbox purge m${one} yes=true`)).data).toMatchObject({ purged: 1 });
    expect(await desk.store.inbox.get(one)).toBeUndefined();
    await deadInbox("42", CUT_OFF);
    await dead("d_1");
    expect((await desk.say("/outbox purge dead")).data).toMatchObject({ purged: 0, wouldPurge: 2 });
    expect((await desk.say("/outbox purge dead yes=true")).data).toMatchObject({ purged: 2 });
    await deadInbox("43");
    expect((await desk.say("/outbox purge all yes=true")).data).toMatchObject({ purged: 1 });
    expect((await desk.say("/outbox purge all")).shown).toContain("There is nothing to delete");
    expect((await desk.store.inbox.counts()).dead).toBe(0);
    await deadInbox("42");
    expect((await desk.store.inbox.counts()).dead).toBe(0);
  });

  it("that may crash the gateway are left out of retry all, and tried again singly", async () => {
    const risky = await deadInbox("41", CUT_OFF);
    const plain = await deadInbox("42");
    const { data, shown } = await desk.say("/outbox retry all");
    expect(data).toEqual({ retried: [`m${plain}`], leftOut: [`m${risky}`] });
    expect(shown).toContain("handle it again with `/outbox retry all reason=crash`");
    expect((await desk.say(`/outbox retry m${risky}`)).data).toMatchObject({ retried: [`m${risky}`] });
  });

  it.each(["all", "dead", "inbox"])("that may crash the gateway are tried together: %s", async (which) => {
    const risky = [await deadInbox("41", CUT_OFF), await deadInbox("42", CUT_OFF)].map((id) => `m${id}`);
    const left = await desk.say(`/outbox retry ${which} yes=true`);
    expect(left.data).toEqual({ retried: [], leftOut: risky });
    expect(left.lines).toEqual([`/outbox retry ${which} reason=crash`]);
    expect(left.shown).toContain(`\`${left.lines[0]}\``);
    const asked = await desk.say(left.lines[0] as string);
    expect(asked).toMatchObject({ isQuestion: true, data: { retried: [], leftOut: risky } });
    expect(asked.shown).toContain("Handle 2 messages again? Fix the cause first");
    expect(asked.lines).toEqual([
      expect.stringMatching(RegExp(`^/outbox retry ${which} reason=crash yes=true selection=\\w{12}$`)),
    ]);
    expect(await desk.say(asked.lines[0] as string)).toMatchObject({ data: { retried: risky }, lines: [] });
  });

  it("that may crash the gateway are tried by the button of the question only while they are the same", async () => {
    await deadInbox("41", CUT_OFF);
    const asked = await desk.say("/outbox retry all reason=crash");
    await deadInbox("42", CUT_OFF);
    const again = await desk.say(asked.lines[0] as string);
    expect(again.data).toMatchObject({ retried: [], leftOut: [expect.any(String), expect.any(String)] });
    expect(again.shown).toContain("The messages are not the same as when you were asked; nothing was done.");
    await desk.store.outbox.enqueue([delivery("d_crash")], now());
    await desk.store.outbox.finish("d_crash", "dead", "the other side crashed", now());
    expect((await desk.say(again.lines[0] as string)).data).toMatchObject({
      retried: [expect.any(String), expect.any(String)],
    });
    expect(await status("d_crash")).toBe("dead");
  });

  it("that may have been handled are handled again by the button of the question only while they are the same", async () => {
    await deadInbox("41", MAY_HAVE_BEEN_HANDLED);
    const asked = await desk.say("/outbox retry inbox");
    expect(asked.lines).toEqual([expect.stringMatching(/^\/outbox retry inbox confirmed=false selection=\w{12}$/)]);
    await deadInbox("42", MAY_HAVE_BEEN_HANDLED);
    const again = await desk.say(asked.lines[0] as string);
    expect(again.data).toMatchObject({ retried: [], unclear: 2 });
    expect((await desk.say(again.lines[0] as string)).data).toMatchObject({
      retried: [expect.any(String), expect.any(String)],
    });
  });

  it("are retried as a status, and a retry of held messages names the command that decides on them", async () => {
    const one = await deadInbox("41");
    await dead("d_1");
    expect((await desk.say("/outbox retry dead")).data).toMatchObject({ retried: ["d_1", `m${one}`] });
    await expect(desk.say("/outbox retry held")).rejects.toMatchObject({ code: "HELD" });
  });
});

describe("/outbox purge", () => {
  it("deletes one, or all of a status, for admins only", async () => {
    await dead("d_1");
    await dead("d_2");
    await guarded("d_3");
    await expect(desk.say("/outbox purge dead", { role: "operator" })).rejects.toMatchObject({ code: "REFUSED" });
    for (const line of ["/outbox purge d_3", "/outbox purge d_3 yes=false"]) {
      const one = await desk.say(line);
      expect(one.shown).toContain("Delete `d_3` to `web:web:lobby`? It is **held**: hook guard failed.");
      expect(one.lines).toContain("/outbox purge d_3 yes=true");
      expect(await status("d_3")).toBe("held");
    }
    expect((await desk.say("/outbox purge d_3 yes=true")).data).toMatchObject({ purged: 1 });
    const asked = await desk.say("/outbox purge dead");
    expect(asked.shown).toContain("Delete 2 messages that are dead?");
    expect(asked.lines).toContainEqual(expect.stringMatching(/^\/outbox purge dead yes=true selection=\w{12}$/));
    expect(await status("d_1")).toBe("dead");
    expect((await desk.say("/outbox purge dead yes=true")).data).toMatchObject({ purged: 2 });
    expect(await desk.store.outbox.list({ limit: 10 })).toEqual([]);
  });

  it("cancels what waits, one or many, after asking, and never with all", async () => {
    await desk.store.outbox.enqueue([delivery("d_1"), delivery("d_2"), delivery("d_3")], now());
    expect((await desk.say("/outbox purge all")).shown).toContain("There is nothing to delete");
    const one = await desk.say("/outbox purge d_1");
    expect(one.shown).toContain("Cancel `d_1` to `web:web:lobby`? It waits for its turn");
    expect(await status("d_1")).toBe("waiting");
    expect((await desk.say("/outbox purge d_1 yes=true")).shown).toContain("1 message cancelled");
    expect(await desk.store.outbox.get("d_1")).toMatchObject({ status: "cancelled", reason: "withdrawn by Ada" });
    const asked = await desk.say("/outbox purge waiting chat=web:web:lobby");
    expect(asked.shown).toContain("Cancel 2 messages that wait in `web:web:lobby`?");
    expect(asked.lines).toContainEqual(
      expect.stringMatching(/^\/outbox purge waiting chat=web:web:lobby yes=true selection=\w{12}$/),
    );
    await frozen("d_4");
    const again = await desk.say(asked.lines[0] ?? "");
    expect(again.data).toMatchObject({ withdrawn: 0, wouldWithdraw: 3 });
    expect(again.shown).toContain("The messages are not the same as when you were asked; nothing was done.");
    expect((await desk.say("/outbox purge d_4 yes=true")).data).toMatchObject({ withdrawn: 1 });
    await frozen("d_5");
    const shown = await desk.say("/outbox list waiting chat=web:web:lobby");
    expect((shown.data as { letters: { id: string }[] }).letters.map(({ id }) => id).sort()).toEqual([
      "d_2",
      "d_3",
      "d_5",
    ]);
    expect(shown.shown).toMatch(/3 messages: waiting[\s\S]*outbox: 3 waiting, /);
    expect((await desk.say("/outbox list sending")).shown).toContain("Nothing is sending");
    expect((await desk.say("/outbox purge")).shown).toContain("Delete what? 2 cancelled, 3 waiting.");
    expect((await desk.say("/outbox purge waiting chat=web:web:lobby yes=true")).data).toEqual({ withdrawn: 3 });
    expect([await status("d_2"), await status("d_3")]).toEqual(["cancelled", "cancelled"]);
    expect((await desk.say("/outbox purge waiting")).shown).toMatch(/Nothing is waiting to be sent\.(?! Messages)/);
  });

  it("names the kinds of all messages that it would delete, also of those that /outbox does not list", async () => {
    await dead("d_1");
    await guarded("d_2");
    await desk.store.outbox.enqueue([delivery("d_3")], now());
    await desk.store.outbox.finish("d_3", "cancelled", "a hook cancelled it", now());
    const asked = await desk.say("/outbox purge all");
    expect(asked.shown).toContain("Delete 3 messages (1 dead, 1 held, 1 cancelled)?");
  });

  it("asks what to delete when that was not said", async () => {
    await dead("d_1");
    const { lines, shown } = await desk.say("/outbox purge");
    expect(lines).toEqual(["/outbox purge dead"]);
    expect(shown).toContain("Delete what? 1 dead. Write one of these words");
    expect(await status("d_1")).toBe("dead");
  });

  it("lists the newest of what was sent, and says so where there are more", async () => {
    const ids = Array.from({ length: 203 }, (_, index) => `d_${index}`);
    await desk.store.outbox.enqueue(ids.map(delivery), now());
    for (const id of ids) await desk.store.outbox.finish(id, "sent", "", now());
    const { shown } = await desk.say("/outbox list sent");
    expect(shown).toContain("203 messages: sent** · page 1 of 25");
    expect(shown).toContain("The pages show the newest 200.");
  });

  it("never deletes what is being sent or was sent", async () => {
    await desk.store.outbox.enqueue([delivery("d_1")], now());
    await desk.store.outbox.finish("d_1", "sent", "", now());
    await expect(desk.say("/outbox purge d_1 yes=true")).rejects.toMatchObject({ code: "NOT_PURGEABLE" });
    await expect(desk.say("/outbox purge sent")).rejects.toMatchObject({
      code: "NOT_PURGEABLE",
      message: "Sent messages are not deleted by hand.",
    });
    expect(await status("d_1")).toBe("sent");
  });

  it("says what a chat is written like", async () => {
    await expect(desk.say("/outbox purge all chat=-4002")).rejects.toMatchObject({
      message: '"-4002" is no chat.',
      hint: expect.stringContaining("/whoami"),
    });
  });
});

describe("a message that is named as people copy it", () => {
  const DISCORD = { platform: "discord", botId: "b", chatId: "1576893689626624002" };
  const MESSAGE = "1576893689626624999";
  const accept = async (where: { platform: string; botId: string; chatId: string }, messageId: string) => {
    const message = {
      ...where,
      userId: "7",
      text: "hello",
      attachments: [],
      isDm: false,
      isGroupMention: true,
      messageId,
      isEdit: false,
      receivedAt: now(),
    };
    const lane = `${where.platform}:b:${where.chatId}`;
    return (await desk.store.inbox.accept({ kind: "message", eventId: messageId, message }, lane, now(), false)).id;
  };

  it.each([
    `https://discord.com/channels/1/${DISCORD.chatId}/${MESSAGE}`,
    `https://ptb.discord.com/channels/@me/${DISCORD.chatId}/${MESSAGE}`,
    `https://discordapp.com/channels/1/${DISCORD.chatId}/${MESSAGE}`,
    `${DISCORD.chatId}-${MESSAGE}`,
    `${DISCORD.chatId}/${MESSAGE}`,
    "https://t.me/c/2077/5/12",
    "https://t.me/c/2077/12?single",
  ])("is found by %s", async (named) => {
    const discord = await accept(DISCORD, MESSAGE);
    const telegram = await accept({ platform: "telegram", botId: "b", chatId: "-1000000002077" }, "12");
    await accept({ platform: "telegram", botId: "b", chatId: "9" }, "12");
    const id = named.includes("t.me") ? telegram : discord;
    for (const command of ["/hooks why", "/run", "/outbox show"])
      expect((await desk.say(`${command} ${named}`)).shown).toContain(`m${id}`);
  });

  it("is named by a purge of what waits, which deletes deliveries only", async () => {
    await accept(DISCORD, MESSAGE);
    const { shown, data } = await desk.say("/outbox purge waiting");
    expect(data).toEqual({ withdrawn: 0 });
    expect(shown).toContain(
      "Nothing is waiting to be sent. Messages that wait in the inbox are handled, and are not deleted by hand.",
    );
  });

  it("is found by the id in back-ticks or after a number sign, and in /outbox show by the platform's id", async () => {
    const id = await accept(DISCORD, MESSAGE);
    for (const command of ["/hooks why", "/run", "/outbox show"])
      for (const named of [`\`m${id}\``, `#m${id}`])
        expect((await desk.say(`${command} ${named}`)).lines[0]).toContain(`m${id}`);
    expect((await desk.say(`/outbox show ${MESSAGE}`)).shown).toContain(`m${id}`);
  });

  it("is not looked for by the public name of a group: the answer tells how to name it", async () => {
    await accept({ platform: "telegram", botId: "b", chatId: "-1000000002077" }, "12");
    const next =
      "does not know groups by their public names: name the message in its group by 12, or reply to it there.";
    const link = "https://t.me/somegroup/12";
    for (const command of ["/hooks why", "/run"]) expect((await desk.say(`${command} ${link}`)).shown).toContain(next);
    await expect(desk.say(`/outbox show ${link}`)).rejects.toMatchObject({ hint: expect.stringContaining(next) });
  });

  it("that is not on record is named in the answer", async () => {
    const link = `https://discord.com/channels/1/${DISCORD.chatId}/5`;
    expect((await desk.say(`/hooks why ${link}`)).shown).toContain(
      `knows no message, delivery or dispatch \`${link}\``,
    );
  });
});
