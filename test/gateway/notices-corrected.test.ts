/** What a person reads about an answer of theirs that was not passed on, once it is. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { CLOSED, DESK, IN_DOUBT, REFUSED, startDesk } from "./answer-desk.js";

describe("the notice about an answer that was not passed on", () => {
  it.each([
    ["the platform refused it", "the answer", REFUSED, "/outbox"],
    ["a hook withheld it", "the secret answer", undefined, "/outbox list cancelled"],
  ] as const)(
    "says after the correction that it was, where the answer was written: %s",
    async (_, text, result, command) => {
      const { near, far, answer, correct, lines } = await startDesk(CLOSED);
      near.script = () => result;
      await answer(text);
      expect(lines()).toEqual([`This message was not passed on. \`${command}\` shows why.`]);
      near.script = () => undefined;
      await correct("the corrected answer");
      expect(near.texts("dm-5")).toEqual(["**Ada**: the corrected answer"]);
      expect(lines()).toEqual(["The corrected message was passed on."]);
      await correct("the better answer");
      expect(far.messages.filter(({ chatId }) => chatId === "desk").map(({ edits }) => edits)).toEqual([0, 1]);
    },
  );

  it.each([
    ["an operator", "7"],
    ["a person without a role", "8"],
  ])("says so privately, where %s was notified privately", async (_, userId) => {
    const { near, far, answer, correct, lines } = await startDesk();
    near.script = () => REFUSED;
    await answer("the answer", { userId });
    expect(far.texts(`dm-${userId}`)).toEqual([
      expect.stringContaining("Your message was not posted in loop:bot:dm-5"),
    ]);
    near.script = () => undefined;
    await correct("the corrected answer", { userId });
    expect(far.texts(`dm-${userId}`)).toEqual(["**Your corrected message is shown in loop:bot:dm-5.**"]);
    expect(lines()).toEqual([]);
  });

  it("is not sent when it still waits", async () => {
    const { rig, near, far, replyToId, correct } = await startDesk({
      kind: "retry",
      error: "too fast",
      afterMs: 60_000,
      scope: "chat",
    });
    near.script = () => REFUSED;
    await rig.say("the answer", { ...DESK, messageId: "f1", replyToId });
    await until(() => far.requests.some(({ address }) => address.chatId === "dm-7"), "the notice being tried");
    near.script = () => undefined;
    await correct("the corrected answer");
    far.script = () => undefined;
    rig.clock.advance(120_000);
    await rig.idle();
    expect(far.texts("dm-7")).toEqual([]);
  });

  it("says so after an operator had it tried again, or confirmed that it arrived", async () => {
    const { rig, near, answer, lines } = await startDesk(CLOSED);
    for (const [result, status] of [
      [REFUSED, "dead"],
      [IN_DOUBT, "held"],
    ] as const) {
      near.script = () => result;
      await answer("the answer", { messageId: status });
      near.script = () => undefined;
      const [given] = await rig.store.outbox.list({ status, limit: 1 });
      await rig.gateway.release(given?.id ?? "", status === "held");
      await rig.idle();
    }
    expect(lines()).toEqual(["This message was passed on.", "This message was passed on."]);
  });

  it.each([
    ["a refused one", REFUSED, "dead", "Your message was not posted in", "This message was not passed on."],
    [
      "one in doubt",
      IN_DOUBT,
      "held",
      "It is not known whether your message was posted in",
      "It is not known whether this was passed on.",
    ],
  ] as const)(
    "says that an operator deleted it, and names no command that sends it: %s",
    async (_, result, status, what, line) => {
      for (const direct of [undefined, CLOSED]) {
        const { rig, near, far, answer, lines } = await startDesk(direct);
        near.script = () => result;
        await answer("the answer");
        const [given] = await rig.store.outbox.list({ status, limit: 1 });
        const notices = () => (direct ? lines() : far.texts("dm-7"));
        expect(notices().join()).toContain("/outbox");
        expect(await rig.gateway.discard([given?.id ?? ""])).toHaveLength(1);
        await rig.idle();
        expect(notices()).toEqual([
          direct
            ? `${line} An operator deleted it from the outbox.`
            : expect.stringContaining(`**${what} loop:bot:dm-5: an operator deleted it from the outbox.**`),
        ]);
        expect(notices().join()).not.toContain("/outbox");
      }
    },
  );

  it("says that an operator deleted a vetoed answer, unless a correction of it was posted", async () => {
    const { rig, near, answer, correct, lines } = await startDesk(CLOSED);
    await answer("the secret answer");
    await answer("another secret", { messageId: "f2" });
    await correct("the corrected answer");
    expect(await rig.gateway.discard(["d_m2f", "d_m3f"])).toHaveLength(2);
    await rig.idle();
    expect(lines()).toEqual([
      "The corrected message was passed on.",
      "This message was not passed on. An operator deleted it from the outbox.",
    ]);
    await correct("the better answer");
    expect(near.texts("dm-5")).toEqual(["**Ada**: the better answer"]);
  });

  it("says of a deleted answer in doubt that a correction and a deletion of it are not passed on, once", async () => {
    const { rig, near, answer, correct, remove, lines } = await startDesk(CLOSED);
    near.script = () => IN_DOUBT;
    await answer("the answer");
    const [held] = await rig.store.outbox.list({ status: "held", limit: 1 });
    const { id = "", status = "held", reason } = held ?? {};
    await rig.gateway.discard([id]);
    const operator = { platform: "web", userId: "1", role: "owner" } as const;
    const details = { ids: [id], was: [{ status, reason, ids: [id] }] };
    await rig.store.audit.record({ at: 0, operator, action: "purge", target: id, details, outcome: "done" });
    await correct("the corrected answer");
    await correct("the better answer");
    await remove();
    expect(lines()).toEqual([
      "It is not known whether this was passed on. An operator deleted it from the outbox.",
      expect.stringMatching(/^\*\*The correction of your message was not passed on: .*\n.*text before the correction/),
      expect.stringMatching(/^\*\*The deletion of your message was not passed on: .*\n.*its copy may still be shown/),
    ]);
  });

  it.each([
    ["did not arrive", false],
    ["arrived", true],
  ])("says what became of the corrections and the deletion of an answer in doubt that %s", async (_, confirmed) => {
    for (const direct of [undefined, CLOSED]) {
      const { rig, near, far, answer, correct, remove, lines } = await startDesk(direct);
      near.script = () => IN_DOUBT;
      await answer("the answer");
      await answer("nonsense", { messageId: "f2" });
      near.script = () => undefined;
      await correct("the corrected answer");
      await correct("the better answer");
      await correct("no nonsense", { messageId: "f2" });
      await remove("f2");
      const notices = () => (direct ? lines() : far.texts("dm-7"));
      expect(notices().filter((text) => text.includes("/outbox"))).toHaveLength(6);
      for (const id of ["d_m2f", "d_m3f"]) {
        await rig.gateway.release(id, confirmed);
        // Two in a row got no answer, so the next one has to wait.
        await rig.clock.advance(30_000);
        await rig.idle();
      }
      if (!confirmed) expect(near.texts("dm-5")).toEqual(["**Ada**: the better answer"]);
      const [posted, corrected, deleted] = direct
        ? [
            "This message was passed on.",
            "The corrected message was passed on.",
            "The deletion of this message was passed on.",
          ]
        : [
            "**Your message was posted in loop:bot:dm-5.**",
            "**Your corrected message is shown in loop:bot:dm-5.**",
            "**Your deleted message is not shown in loop:bot:dm-5.**",
          ];
      // The platform never gave the id of what arrived: it has to be deleted by hand.
      const left = direct
        ? "The correction of this message was passed on, but a part of it from before the correction may still be shown, too. An operator can delete it by hand."
        : expect.stringMatching(
            /^\*\*Your corrected message is shown .* may still be shown, too\.\*\*\n.* delete it there by hand/,
          );
      const ends = confirmed ? [posted, posted, left, left] : [posted, deleted, corrected, corrected, deleted, deleted];
      expect(notices().slice(0, ends.length)).toEqual(ends);
    }
  });

  it.each([
    ["refused", REFUSED, "the answer", "/outbox"],
    ["withheld", undefined, "the secret answer", "/outbox list cancelled"],
  ] as const)(
    "is one, and keeps that it was not posted, while its corrections are %s, too",
    async (_, result, text, command) => {
      for (const direct of [undefined, CLOSED]) {
        const { rig, near, far, answer, correct, lines } = await startDesk(direct);
        const notices = () => (direct ? lines() : far.texts("dm-7"));
        near.script = () => result;
        await answer(text);
        for (const id of ["d_m3e0", "d_m4e0"]) {
          await correct(`${text}, corrected in ${id}`);
          expect(notices()).toEqual([
            direct
              ? `This message was not passed on. \`${command}\` shows why.`
              : expect.stringMatching(
                  /^\*\*Your message was not posted in loop:bot:dm-5: it was (given up|cancelled)\./,
                ),
          ]);
          if (!direct) expect(notices().join()).toContain(`/outbox show ${id}`);
          expect(notices().join()).not.toContain("text before the correction");
        }
        expect(near.texts("dm-5")).toEqual([]);
        await rig.gateway.discard(["d_m4e0"]);
        await rig.idle();
        expect(notices()).toEqual([expect.stringContaining("n operator deleted it from the outbox.")]);
      }
    },
  );

  it("is one for each correction: a later one that is refused has its own", async () => {
    const { near, answer, correct, lines } = await startDesk(CLOSED);
    await answer("the answer");
    const refuse = () => {
      near.script = ({ kind }) => (kind === "edit" ? REFUSED : undefined);
    };
    refuse();
    await correct("the first correction");
    expect(lines()).toEqual(["The correction of this message was not passed on. `/outbox` shows why."]);
    near.script = () => undefined;
    await correct("the second correction");
    expect(lines()).toEqual(["The corrected message was passed on."]);
    refuse();
    await correct("the third correction");
    expect(lines()).toEqual([
      "The corrected message was passed on.",
      "The correction of this message was not passed on. `/outbox` shows why.",
    ]);
  });
});

describe("an answer that is given up before it is handled", () => {
  it.each([
    [
      "an operator",
      "7",
      "Your message was not handled: it was given up after one attempt. `/hooks why m2` shows why. `/outbox retry m2` tries it again.",
    ],
    [
      "a person without a role",
      "8",
      "Your message was not passed on: it was given up after one attempt. The operators can see why. Ask one of them before you write again.",
    ],
  ])("has its author notified, privately or else as a reply to each: %s", async (_, userId, text) => {
    const open = await startDesk();
    await open.answer("a crash", { userId, isGroupMention: false });
    expect(open.far.texts(`dm-${userId}`)).toEqual([text]);
    expect(open.near.texts()).toEqual([]);
    const closed = await startDesk(CLOSED);
    for (const messageId of ["f1", "f2"]) await closed.answer("a crash", { userId, messageId });
    expect(closed.lines()).toEqual([text, text.replaceAll("m2", "m3")]);
    expect(closed.far.messages.slice(1).map(({ body }) => body.replyToId)).toEqual(["f1", "f2"]);
  });

  it.each([
    ["an operator", "7"],
    ["a person without a role", "8"],
  ])("has its notice changed when it is posted after all: %s", async (_, userId) => {
    for (const direct of [undefined, CLOSED]) {
      const { rig, near, far, answer, correct, lines } = await startDesk(direct);
      const notices = () => (direct ? lines() : far.texts(`dm-${userId}`));
      await answer("a crash", { userId });
      expect(notices()).toHaveLength(1);
      await rig.gateway.revive(2);
      await rig.idle();
      expect(notices()).toHaveLength(2);
      await correct("the answer", { userId });
      near.script = () => REFUSED;
      await rig.gateway.revive(2);
      await rig.idle();
      const refused = direct
        ? "This message was not passed on."
        : "**Your message was not posted in loop:bot:dm-5: it was given up.**";
      expect(notices()).toEqual([expect.stringContaining(refused), expect.stringContaining(refused)]);
      near.script = () => undefined;
      await rig.gateway.release("d_m2f");
      await rig.idle();
      expect(near.texts("dm-5")).toEqual(["**Ada**: the answer"]);
      const posted = direct ? "This message was passed on." : "**Your message was posted in loop:bot:dm-5.**";
      expect(notices()).toEqual([posted, posted]);
    }
  });

  it.each([
    ["an operator", "7"],
    ["a person without a role", "8"],
  ])("has its notice changed when an operator deletes it: %s", async (_, userId) => {
    for (const direct of [undefined, CLOSED]) {
      const { rig, far, answer, lines } = await startDesk(direct);
      await answer("a crash", { userId });
      expect(await rig.gateway.discard(["m2", "m9"])).toEqual(["m2"]);
      await rig.idle();
      expect(direct ? lines() : far.texts(`dm-${userId}`)).toEqual([
        direct
          ? "This message was not handled. An operator deleted it from the outbox."
          : expect.stringContaining("**Your message was not handled: an operator deleted it from the outbox.**"),
      ]);
    }
  });

  it("tells a customer nothing, nor a colleague who answers no message", async () => {
    const { rig, near, far, answer } = await startDesk();
    await rig.say("a crash", { chatId: "dm-5", userId: "5", isDm: true, messageId: "m2", replyToId: "m1" });
    await answer("a crash among us", { userId: "8", replyToId: undefined, isGroupMention: false });
    expect([near.texts(), far.texts().slice(1)]).toEqual([[], []]);
  });
});
