/** A message that was not posted, whose correction posts it and gets no answer: the correction is in doubt as the message itself would be. */
import { describe, expect, it } from "vitest";
import type { Delivery } from "../../src/domain/store.js";
import { until } from "../support/until.js";
import { DESK, REFUSED, startDesk } from "./answer-desk.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { messageOf, startRig } from "./rig.js";

const LOST = { kind: "lost" } as const;
const FIRST = "**Ada**: the corrected answer";
const BY_HAND = "delete it in the chat by hand";

/** An answer that a hook withheld or the platform refused; its correction arrives, and the platform gives no answer. */
async function startDoubt(first: "withheld" | "refused" = "withheld") {
  const desk = await startDesk();
  const { rig, near, answer, correct } = desk;
  near.script = () => (first === "refused" ? REFUSED : undefined);
  await answer(first === "refused" ? "the answer" : "the secret answer");
  near.script = () => LOST;
  await correct("the corrected answer");
  near.script = () => undefined;
  const doubted = await rig.store.outbox.get("d_m3e0");
  expect(doubted).toMatchObject({ status: "held", operation: "edit", targetId: "d_m2f" });
  expect(near.texts("dm-5")).toEqual([FIRST]);
  const notices = () => desk.far.texts("dm-7");
  const release = async (confirmed: boolean) => {
    await rig.gateway.release("d_m3e0", confirmed);
    await rig.clock.advance(2_000);
    await rig.idle();
  };
  return { ...desk, notices, release, statusOf: async (id: string) => (await rig.store.outbox.get(id))?.status };
}

describe.each(["withheld", "refused"] as const)("a correction in doubt of an answer that was %s", (first) => {
  it("has a deletion wait for it, which is not reported as done", async () => {
    const { rig, near, remove, notices, release } = await startDoubt(first);
    await remove();
    expect(await rig.store.outbox.get("d_m4x0")).toMatchObject({
      status: "held",
      reason: "what it changes is held: d_m3e0",
    });
    expect(notices().join()).not.toContain("is not shown in");
    expect(notices().at(-1)).toContain("`/outbox release d_m3e0` decides about that message, and this follows");
    await release(true);
    expect(await rig.store.outbox.get("d_m4x0")).toMatchObject({
      status: "dead",
      reason: expect.stringContaining(BY_HAND),
    });
    expect(notices().at(-1)).toContain(BY_HAND);
    expect(near.texts("dm-5")).toEqual([FIRST]);
  });

  it("is not sent again after a deletion, when it did not arrive", async () => {
    const { near, remove, release, notices, statusOf } = await startDoubt(first);
    await remove();
    await release(false);
    expect(near.requests.filter(({ kind }) => kind === "create")).toHaveLength(first === "refused" ? 2 : 1);
    expect([await statusOf("d_m3e0"), await statusOf("d_m4x0")]).toEqual(["cancelled", "sent"]);
    expect(new Set(notices())).toEqual(new Set(["**Your deleted message is not shown in loop:bot:dm-5.**"]));
  });

  it("has a later correction wait for it, and is sent with its text when it did not arrive", async () => {
    const { rig, near, correct, release, notices, statusOf } = await startDoubt(first);
    await correct("the better answer");
    await correct("the best answer");
    expect(near.texts("dm-5")).toEqual([FIRST]);
    for (const id of ["d_m4e0", "d_m5e0"])
      expect(await rig.store.outbox.get(id)).toMatchObject({ reason: "what it changes is held: d_m3e0" });
    await release(false);
    expect(near.texts("dm-5")).toEqual([FIRST, "**Ada**: the best answer"]);
    expect([await statusOf("d_m3e0"), await statusOf("d_m5e0")]).toEqual(["sent", "superseded"]);
    expect(new Set(notices())).toEqual(new Set(["**Your corrected message is shown in loop:bot:dm-5.**"]));
    await correct("the last answer");
    expect(near.texts("dm-5")).toEqual([FIRST, "**Ada**: the last answer"]);
  });

  it("is not there to delete by its id once it is confirmed", async () => {
    const { rig, near, remove, release } = await startDoubt(first);
    await release(true);
    await remove();
    expect(await rig.store.outbox.get("d_m4x0")).toMatchObject({
      status: "dead",
      reason: expect.stringContaining(BY_HAND),
    });
    expect(near.texts("dm-5")).toEqual([FIRST]);
  });

  it.each([
    [
      "correction",
      "d_m4e0",
      /^\*\*The correction of your message is not shown .*deleted it.*\n.*text before .*may still/,
    ],
    [
      "deletion",
      "d_m4x0",
      /^\*\*Your message was not deleted .*an operator deleted it.*\n.*It may still be shown there/,
    ],
  ])("is purged with the %s that is held behind it, whose author is notified", async (what, id, text) => {
    const { rig, near, correct, remove, notices, statusOf } = await startDoubt(first);
    await (what === "deletion" ? remove() : correct("the better answer"));
    expect(notices().at(-1)).toContain("`/outbox release d_m3e0` decides about that message, and this follows");
    expect(await rig.gateway.discard(["d_m3e0"])).toEqual(["d_m3e0", "d_m2f", id]);
    await rig.idle();
    expect(await statusOf(id)).toBeUndefined();
    expect(notices().at(-1)).toMatch(text);
    expect(notices().join()).not.toContain("/outbox release");
    expect(near.texts("dm-5")).toEqual([FIRST]);
  });

  it("leaves a change behind whose message is not known any more, which is not offered to be tried again", async () => {
    const { rig, remove, notices } = await startDoubt(first);
    await remove();
    await rig.store.outbox.purge({ ids: ["d_m2f", "d_m3e0"] });
    await rig.gateway.release("d_m4x0", false);
    await rig.idle();
    expect(await rig.store.outbox.get("d_m4x0")).toMatchObject({
      status: "dead",
      reason: "what it changes is not known any more. If it is in the chat, delete it by hand",
    });
    expect(notices().at(-1)).toContain("delete it by hand");
    expect(notices().at(-1)).not.toContain("/outbox retry");
  });

  it("is purged with its message: later changes are not passed on, and their author is notified", async () => {
    const { rig, near, correct, remove, notices } = await startDoubt(first);
    const { status = "held", reason } = (await rig.store.outbox.get("d_m3e0")) ?? {};
    const ids = await rig.gateway.discard(["d_m3e0"]);
    expect(ids).toEqual(["d_m3e0", "d_m2f"]);
    const operator = { platform: "web", userId: "1", role: "owner" } as const;
    const details = { ids, was: [{ status, reason, ids: ["d_m3e0"] }] };
    await rig.store.audit.record({ at: 0, operator, action: "purge", target: "d_m3e0", details, outcome: "done" });
    await correct("the better answer");
    await remove();
    expect(near.texts("dm-5")).toEqual([FIRST]);
    expect(notices().slice(-2)).toEqual([
      expect.stringMatching(/^\*\*The correction of your message was not passed on: .*\n.*text before the correction/),
      expect.stringMatching(/^\*\*The deletion of your message was not passed on: .*\n.*its copy may still be shown/),
    ]);
  });
});

describe("a message of which a later part is in doubt", () => {
  const start = async () => {
    const desk = await startDesk();
    const { rig, near, far } = desk;
    near.width = 40;
    const loseCreate = (count: number) => {
      let creates = 0;
      near.script = ({ kind }) => (kind === "create" && ++creates === count ? LOST : undefined);
    };
    const release = async (id: string, confirmed: boolean) => {
      near.script = () => undefined;
      await rig.gateway.release(id, confirmed);
      await rig.idle();
    };
    const creates = () => near.requests.filter(({ kind }) => kind === "create").length;
    const endOf = async (id: string) => {
      const { status, reason } = (await rig.store.outbox.get(id)) ?? {};
      return `${status}: ${reason}`;
    };
    return { ...desk, loseCreate, release, creates, endOf, notice: () => far.texts("dm-7").at(-1) };
  };
  const LONG = "words that are long ".repeat(4);
  /** Three parts or two, the second without an answer: posted as a message, or by a correction of one. */
  const cases: [string, string, (desk: Awaited<ReturnType<typeof start>>) => Promise<void>][] = [
    [
      "answer",
      "d_m2f",
      async ({ answer, loseCreate }) => {
        loseCreate(2);
        await answer(LONG);
      },
    ],
    [
      "correction",
      "d_m3e0",
      async ({ answer, correct, loseCreate }) => {
        await answer("short");
        loseCreate(1);
        await correct(LONG);
      },
    ],
  ];

  it.each(cases)(
    "(%s) loses what is known of it to a deletion, which then waits for the rest",
    async (_, id, doubt) => {
      const desk = await start();
      await doubt(desk);
      expect(await desk.endOf(id)).toContain("held: it may or may not have arrived");
      await desk.remove();
      expect(desk.near.texts("dm-5")).toHaveLength(1);
      const deletion = id === "d_m2f" ? "d_m3x0" : "d_m4x0";
      expect(await desk.endOf(deletion)).toBe(`held: what it changes is held: ${id}`);
      expect(desk.notice()).toContain(`\`/outbox release ${id}\` decides about that message, and this follows`);
      const before = desk.creates();
      await desk.release(id, false);
      expect(desk.creates()).toBe(before);
      expect(await desk.endOf(id)).toBe("cancelled: deleted before it was sent");
      expect(await desk.endOf(deletion)).toContain("sent");
      expect(desk.notice()).toBe("**Your deleted message is not shown in loop:bot:dm-5.**");
    },
  );

  it.each(cases)(
    "(%s) is to be deleted by hand once it is confirmed, and nothing more of it is posted",
    async (_, id, doubt) => {
      const desk = await start();
      await doubt(desk);
      await desk.remove();
      const before = desk.creates();
      await desk.release(id, true);
      expect(desk.creates()).toBe(before);
      expect(desk.near.texts("dm-5")).toHaveLength(1);
      expect(await desk.endOf(id === "d_m2f" ? "d_m3x0" : "d_m4x0")).toMatch(/^dead: .*delete it in the chat by hand$/);
      expect(desk.notice()).toMatch(/^\*\*Your message was not deleted .*by hand/s);
    },
  );

  it("that was confirmed is to be deleted by hand, also after a correction that was posted anew", async () => {
    const { near, answer, correct, remove, loseCreate, release, endOf, notice } = await start();
    loseCreate(1);
    await answer("short");
    await release("d_m2f", true);
    await correct("better");
    expect(near.texts("dm-5")).toEqual(["**Ada**: short", "**Ada**: better"]);
    expect(await endOf("d_m3e0")).toMatch(/^dead: the corrected message is shown, but .*by hand$/);
    await remove();
    expect(near.texts("dm-5")).toEqual(["**Ada**: short"]);
    expect(await endOf("d_m3e0")).toMatch(/^dead/);
    expect(await endOf("d_m4x0")).toMatch(/^dead: .*delete it in the chat by hand$/);
    expect(notice()).toContain("by hand");
  });

  it("that was confirmed may still be shown after a correction that takes it back: its author is notified, and no retry offered", async () => {
    const { near, answer, correct, loseCreate, release, endOf, notice } = await start();
    loseCreate(2);
    await answer(LONG);
    await release("d_m2f", true);
    await correct(`${LONG}and longer`);
    expect(await endOf("d_m3e0")).toMatch(/^sent/);
    await correct("short");
    expect(near.texts("dm-5")).toEqual(["**Ada**: short", expect.stringContaining("words")]);
    expect(await endOf("d_m4e0")).toMatch(
      /^dead: the corrected message is shown, but .*Delete it in the chat by hand$/,
    );
    expect(notice()).toMatch(
      /^\*\*Your corrected message is shown .* may still be shown, too.*delete it there by hand/s,
    );
    expect(notice()).not.toContain("/outbox retry");
  });

  it("that is all known is gone with its deletion, and the held correction of it ends", async () => {
    const { rig, near, answer, remove, release, endOf, replyToId } = await start();
    await answer("short");
    let edits = 0;
    near.script = ({ kind }) => (kind !== "edit" ? undefined : ++edits === 1 ? LOST : REFUSED);
    const message = messageOf("better", { ...DESK, messageId: "f1", replyToId, isEdit: true });
    await rig.receive({ kind: "edited", eventId: "edit:f1:1", message });
    await until(async () => {
      await rig.clock.advance(1_000);
      return (await endOf("d_m3e0")).startsWith("held");
    }, "the correction being held");
    near.script = () => undefined;
    await remove();
    expect(near.texts("dm-5")).toEqual([]);
    await release("d_m3e0", false);
    expect(near.texts("dm-5")).toEqual([]);
    expect(await endOf("d_m3e0")).toBe("cancelled: deleted before it was sent");
    expect(await endOf("d_m4x0")).toContain("sent");
  });
});

it("a correction in doubt of a customer's message that was withheld has later changes wait for it", async () => {
  const { rig, far, lines } = await startDesk();
  const customer = { chatId: "dm-5", userId: "5", isDm: true, messageId: "m2" };
  const correct = async (text: string, eventId: string) => {
    await rig.receive({ kind: "edited", eventId, message: messageOf(text, { ...customer, isEdit: true }) });
    await rig.idle();
  };
  await rig.say("a secret question", customer);
  await rig.idle();
  far.script = () => LOST;
  await correct("a question", "e1");
  far.script = () => undefined;
  await correct("a better question", "e2");
  const address = { platform: "loop", botId: "bot", chatId: "dm-5" };
  await rig.receive({ kind: "deleted", eventId: "x1", address, messageId: "m2", at: 1 });
  await rig.idle();
  expect(lines().filter((text) => text.includes("question"))).toEqual([expect.stringMatching(/: a question$/)]);
  const held = await rig.store.outbox.list({ status: "held", limit: 9 });
  expect(held.map(({ id, reason }) => [id, reason?.replace(/:.*not .*/, "")])).toEqual([
    ["d_m5x0", "what it changes is held: d_m3e0"],
    ["d_m3e0", expect.stringContaining("it may or may not have arrived")],
  ]);
});

it("a correction that may have arrived and is tried again apart is not passed by a later one", async () => {
  const rig = await startRig({
    platforms: [new LoopbackPlatform("loop", { idempotentCreate: true })],
    hooks: (registry) =>
      registry.registerModifying("message_sending", ({ message: { text } }) =>
        text === "secret" ? { cancel: "no secrets" } : null,
      ),
  });
  const passTimeUntil = (isDone: (edit: Delivery | undefined) => boolean, id: string) =>
    until(async () => {
      if (isDone(await rig.store.outbox.get(id))) return true;
      await rig.clock.advance(250);
      return false;
    }, `time for ${id}`);
  const cause = { kind: "api", id: "test", depth: 0 } as const;
  const id = await rig.gateway.send({ platform: "loop", botId: "bot", chatId: "room" }, { text: "secret" }, { cause });
  await rig.idle();
  rig.platform.script = () => LOST;
  const first = await rig.gateway.edit(id, { text: "first" }, { cause });
  await passTimeUntil((edit) => edit?.isApart === true, first);
  const second = await rig.gateway.edit(id, { text: "second" }, { cause });
  await passTimeUntil((edit) => (edit?.dueAt ?? 0) > (edit?.createdAt ?? 0), first);
  rig.platform.script = () => undefined;
  await passTimeUntil((edit) => edit?.status === "sent", second);
  expect(rig.platform.texts()).toEqual(["second"]);
});

describe.each(["message", "correction"] as const)(
  "a %s whose first part is in doubt, and whose others were not sent",
  (what) => {
    it("may still be shown once a person saw that part, after its author deleted it", async () => {
      const { rig, near, far, answer, correct, remove } = await startDesk();
      const text = "a long answer ".repeat(5);
      if (what === "correction") await answer("the secret answer");
      near.width = 40;
      near.script = ({ kind }) => (kind === "create" ? LOST : undefined);
      await (what === "correction" ? correct(text) : answer(text));
      near.script = () => undefined;
      const [doubted, deletion] = what === "correction" ? ["d_m3e0", "d_m4x0"] : ["d_m2f", "d_m3x0"];
      expect(await rig.store.outbox.get(doubted)).toMatchObject({ status: "held" });
      await remove();
      expect(await rig.store.outbox.get(deletion)).toMatchObject({ reason: `what it changes is held: ${doubted}` });
      await rig.gateway.release(doubted, true);
      await rig.clock.advance(2_000);
      await rig.idle();
      expect(near.texts("dm-5")).toHaveLength(1);
      expect((await rig.store.outbox.get(doubted))?.reason).toMatch(
        /^deleted before it was sent \(1 of \d parts were sent\)$/,
      );
      expect(await rig.store.outbox.get(deletion)).toMatchObject({
        status: "dead",
        reason: expect.stringContaining(BY_HAND),
      });
      expect(far.texts("dm-7").at(-1)).toMatch(/^\*\*Your message was not deleted in.*It may still be shown there/s);
    });
  },
);

it("a part that a person saw may still be shown, when the part after it is in doubt, too, and not there", async () => {
  const { rig, near, far, answer, remove } = await startDesk();
  near.width = 40;
  near.script = () => LOST;
  await answer("a long answer ".repeat(5));
  await rig.gateway.release("d_m2f", true);
  await rig.idle();
  expect(await rig.store.outbox.get("d_m2f")).toMatchObject({ status: "held" });
  near.script = () => undefined;
  await remove();
  await rig.gateway.release("d_m2f", false);
  await rig.clock.advance(2_000);
  await rig.idle();
  expect(await rig.store.outbox.get("d_m2f")).toMatchObject({ status: "cancelled" });
  expect(await rig.store.outbox.get("d_m3x0")).toMatchObject({
    status: "dead",
    reason: expect.stringContaining(BY_HAND),
  });
  expect(far.texts("dm-7").at(-1)).toContain("It may still be shown there");
});
