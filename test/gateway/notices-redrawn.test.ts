/** What a person reads about an answer of theirs that ends in one way, and then in another: what is so now, in the notice that is there. */
import { describe, expect, it } from "vitest";
import { CLOSED, IN_DOUBT, REFUSED, startDesk } from "./answer-desk.js";
import type { Scripted } from "./loopback-adapter.js";

type Desk = Awaited<ReturnType<typeof startDesk>>;
type End = "fails" | "refuses" | Scripted;

/** What comes of the next answer: by the guard, or by the platform. */
function endAs(end: End, { guard, near }: Desk): void {
  guard.decides = typeof end === "string" ? end : "allows";
  near.script = () => (typeof end === "string" ? undefined : end);
}

const NOT_KNOWN = "It is not known whether your message was posted";
const NOT_POSTED = "Your message was not posted in loop:bot:dm-5: it was";
const PEOPLE = [
  ["an operator", "7"],
  ["a person without a role", "8"],
] as const;
const PLACES = [undefined, CLOSED] as const;

interface Row {
  first: End;
  /** The author corrects it meanwhile. */
  corrected?: string;
  second: End;
  confirmed?: boolean;
  what: string;
  reason: string;
  /** For an operator, who may do it. */
  next: string;
  openly?: string;
}

const ROWS: Record<string, Row> = {
  "held, then in doubt": {
    first: "fails",
    second: { kind: "lost" },
    what: NOT_KNOWN,
    reason: "> it may or may not have arrived: the answer was lost",
    next: "`/outbox release d_m2f` asks what is there",
    openly: "It is not known whether this was passed on.",
  },
  "dead, then in doubt": {
    first: REFUSED,
    second: { kind: "lost" },
    what: NOT_KNOWN,
    reason: "> it may or may not have arrived: the answer was lost",
    next: "`/outbox release d_m2f` asks what is there",
    openly: "It is not known whether this was passed on.",
  },
  "held, then cancelled by the guard": {
    first: "fails",
    second: "refuses",
    what: `${NOT_POSTED} cancelled.`,
    reason: "> not that",
    next: "To answer, write another message.",
  },
  "held and corrected, then cancelled by the guard": {
    first: "fails",
    corrected: "guarded secret",
    second: { kind: "lost" },
    what: `${NOT_POSTED} cancelled.`,
    reason: "> no secrets",
    next: "To answer, write another message.",
  },
  "held, then dead": {
    first: "fails",
    second: REFUSED,
    what: `${NOT_POSTED} given up.`,
    reason: "> 400: strange content",
    next: "`/outbox retry d_m2f` tries it again",
  },
  "in doubt, then dead": {
    first: IN_DOUBT,
    confirmed: false,
    second: REFUSED,
    what: `${NOT_POSTED} given up.`,
    reason: "> 400: strange content",
    next: "`/outbox retry d_m2f` tries it again",
  },
  "in doubt, then held": {
    first: IN_DOUBT,
    corrected: "guarded, but better",
    confirmed: false,
    second: "fails",
    what: `${NOT_POSTED} held.`,
    reason: "the guard is down",
    next: "`/outbox release d_m2f` posts it",
  },
};

describe.each(PEOPLE)("the notice about an answer that ended in two ways, for %s", (_, userId) => {
  it.each(Object.entries(ROWS))("has the second, with its reason and the next step: %s", async (_, row) => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { rig, near, far, answer, correct, lines } = desk;
      const notices = () => (direct ? lines() : far.texts(`dm-${userId}`));
      endAs(row.first, desk);
      await answer("guarded answer", { userId });
      expect(notices()).toHaveLength(1);
      const [before] = notices();
      if (row.corrected !== undefined) await correct(row.corrected, { userId });
      endAs(row.second, desk);
      await rig.gateway.release("d_m2f", false);
      await rig.idle();
      const command = row.what.endsWith("cancelled.") ? "/outbox list cancelled" : "/outbox";
      const see = userId === "7" ? `\`${command}\` shows why.` : "The operators can see why.";
      for (const notice of notices())
        if (direct) expect(notice).toBe(`${row.openly ?? "This message was not passed on."} ${see}`);
        else {
          expect(notice).toContain(row.what);
          for (const part of [row.reason, row.next])
            if (userId === "7") expect(notice).toContain(part);
            else expect(notice).not.toContain(part);
        }
      if (!direct) expect(notices()[0]).not.toBe(before);
      // A correction that waited with it has its own.
      expect(notices()).toHaveLength(row.first === IN_DOUBT && row.corrected ? 2 : 1);
      endAs({ kind: "sent", messageId: "9" }, desk);
      near.script = () => undefined;
      if (row.what === NOT_KNOWN || row.what.endsWith("given up.")) {
        await rig.gateway.release("d_m2f", row.what === NOT_KNOWN);
        await rig.idle();
        expect(notices()).toEqual([
          direct ? "This message was passed on." : "**Your message was posted in loop:bot:dm-5.**",
        ]);
        expect(near.texts("dm-5")).toEqual(["**Ada**: guarded answer"]);
      }
    }
  });

  it("is the same one when it ends in the same way again", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { rig, far, answer } = desk;
      endAs("fails", desk);
      await answer("guarded answer", { userId });
      await rig.gateway.release("d_m2f");
      await rig.idle();
      const chatId = direct ? "desk" : `dm-${userId}`;
      expect(far.messages.filter((one) => one.chatId === chatId).slice(direct ? 1 : 0)).toEqual([
        expect.objectContaining({ edits: 0 }),
      ]);
    }
  });

  it("goes back to an earlier end, and is posted anew where it was deleted", async () => {
    const desk = await startDesk();
    const { rig, far, answer } = desk;
    const dm = `dm-${userId}`;
    endAs("fails", desk);
    await answer("guarded answer", { userId });
    const [first] = far.texts(dm);
    const texts: (string | undefined)[] = [];
    for (const end of [REFUSED, IN_DOUBT, REFUSED] as const) {
      endAs(end, desk);
      await rig.gateway.release("d_m2f");
      await rig.idle();
      texts.push(...far.texts(dm));
    }
    expect(texts).toEqual([texts[0], expect.stringContaining(NOT_KNOWN), texts[0]]);
    expect(texts[0]).not.toBe(first);
    const shown = far.messages.find(({ chatId }) => chatId === dm);
    if (shown) shown.isDeleted = true;
    endAs({ kind: "lost" }, desk);
    await rig.gateway.release("d_m2f");
    await rig.idle();
    expect(far.texts(dm)).toEqual([expect.stringContaining(NOT_KNOWN)]);
  });

  it("is in the group's new chat after the group moved, and is changed there", async () => {
    const desk = await startDesk(CLOSED, true);
    const { rig, far, answer, lines } = desk;
    endAs("fails", desk);
    await answer("guarded answer", { userId });
    expect(lines()).toHaveLength(1);
    const address = { platform: "far", botId: "bot", chatId: "desk" };
    await rig.receive({ kind: "moved", eventId: "moved", address, toChatId: "desk2", at: 1 });
    await rig.idle();
    for (const [end, text] of [
      [{ kind: "lost" }, "It is not known whether this was passed on."],
      [REFUSED, "This message was not passed on."],
    ] as const) {
      endAs(end, desk);
      await rig.gateway.release("d_m2f");
      await rig.idle();
      expect(far.texts("desk2")).toEqual([expect.stringContaining(text)]);
    }
  });

  it("comes where it was written when the private one cannot be changed any more", async () => {
    const desk = await startDesk();
    const { rig, far, answer, lines } = desk;
    endAs("fails", desk);
    await answer("guarded answer", { userId });
    far.script = ({ address }) => (address.chatId.startsWith("dm-") ? CLOSED : undefined);
    for (const [end, text] of [
      [{ kind: "lost" }, "It is not known whether this was passed on."],
      [REFUSED, "This message was not passed on."],
    ] as const) {
      endAs(end, desk);
      await rig.gateway.release("d_m2f");
      await rig.idle();
      expect(lines()).toEqual([expect.stringContaining(text)]);
    }
  });

  it("is about the deletion, once its author deleted the answer", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { far, answer, remove, lines } = desk;
      endAs("fails", desk);
      await answer("guarded answer", { userId });
      await remove();
      expect(direct ? lines() : far.texts(`dm-${userId}`)).toEqual([
        direct
          ? "The deletion of this message was passed on."
          : "**Your deleted message is not shown in loop:bot:dm-5.**",
      ]);
    }
  });
});

describe.each(PEOPLE)("the notice about a correction of an answer in doubt, for %s", (_, userId) => {
  it("has that the answer was cancelled with it, and so has the record", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { rig, near, far, answer, correct, lines } = desk;
      endAs(IN_DOUBT, desk);
      await answer("the answer", { userId });
      await correct("a secret", { userId });
      endAs({ kind: "lost" }, desk);
      await rig.gateway.release("d_m2f", false);
      await rig.idle();
      const notices = direct ? lines() : far.texts(`dm-${userId}`);
      const text = direct ? "This message was not passed on." : `**${NOT_POSTED} cancelled.**`;
      expect(notices).toEqual([expect.stringContaining(text), expect.stringContaining(text)]);
      expect(await rig.store.outbox.list({ targetId: "d_m2f", limit: 5 })).toEqual([
        expect.objectContaining({ status: "cancelled", reason: "d_m2f has its text now, and was cancelled" }),
      ]);
      // It can still be corrected to what the guard allows.
      near.script = () => undefined;
      await correct("a better answer", { userId });
      expect(near.texts("dm-5")).toEqual(["**Ada**: a better answer"]);
      const shown = direct
        ? "The corrected message was passed on."
        : "**Your corrected message is shown in loop:bot:dm-5.**";
      expect(direct ? lines() : far.texts(`dm-${userId}`)).toEqual([shown, shown]);
    }
  });

  it("has that the answer was given up with it, until that is posted", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { rig, far, answer, correct, lines } = desk;
      const notices = () => (direct ? lines() : far.texts(`dm-${userId}`));
      const reason = async () => (await rig.store.outbox.list({ targetId: "d_m2f", limit: 1 }))[0]?.reason;
      endAs(IN_DOUBT, desk);
      await answer("the answer", { userId });
      await correct("the better answer", { userId });
      endAs(REFUSED, desk);
      await rig.gateway.release("d_m2f", false);
      await rig.idle();
      const text = direct ? "This message was not passed on." : `**${NOT_POSTED} given up.**`;
      expect(notices()).toEqual([expect.stringContaining(text), expect.stringContaining(text)]);
      expect(await reason()).toBe("d_m2f has its text now");
      desk.near.script = () => undefined;
      await rig.gateway.release("d_m2f");
      await rig.idle();
      expect(notices()).toEqual(
        direct
          ? ["This message was passed on.", "The corrected message was passed on."]
          : ["**Your message was posted in loop:bot:dm-5.**", "**Your corrected message is shown in loop:bot:dm-5.**"],
      );
      expect(await reason()).toBe("the message was sent with a correction");
    }
  });

  it("has that the guard cancelled it, when the answer had arrived", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { rig, near, far, answer, correct, lines } = desk;
      endAs({ kind: "lost" }, desk);
      await answer("the answer", { userId });
      await correct("a secret", { userId });
      near.script = () => undefined;
      await rig.gateway.release("d_m2f", true);
      await rig.idle();
      const [posted, corrected, ...more] = direct ? lines() : far.texts(`dm-${userId}`);
      expect(more).toEqual([]);
      expect(posted).toContain(direct ? "This message was passed on." : "Your message was posted");
      expect(corrected).toContain(
        direct
          ? "The correction of this message was not passed on."
          : "The correction of your message is not shown in loop:bot:dm-5: it was cancelled.",
      );
      expect(corrected).not.toContain("and this follows");
    }
  });

  it("has that the deletion has to be made by hand, when the answer had arrived", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { rig, near, far, answer, correct, remove, lines } = desk;
      endAs({ kind: "lost" }, desk);
      await answer("the answer", { userId });
      await correct("the better answer", { userId });
      await remove();
      near.script = () => undefined;
      await rig.gateway.release("d_m2f", true);
      await rig.idle();
      const [posted, ...deleted] = direct ? lines() : far.texts(`dm-${userId}`);
      expect(posted).toContain(direct ? "This message was passed on." : "Your message was posted");
      expect(deleted).toHaveLength(2);
      for (const notice of deleted) {
        expect(notice).toContain(direct ? "The deletion of this message was not passed on" : "it was given up");
        expect(notice).not.toMatch(/and this follows|tries it again/);
      }
    }
  });

  it("is the notice of the answer, when the answer was given up and its corrections, too", async () => {
    for (const direct of PLACES) {
      const desk = await startDesk(direct);
      const { near, far, answer, correct, lines } = desk;
      endAs(REFUSED, desk);
      await answer("the answer", { userId });
      await correct("the better answer", { userId });
      near.script = () => IN_DOUBT;
      await correct("the best answer", { userId });
      const notices = direct ? lines() : far.texts(`dm-${userId}`);
      expect(notices).toEqual([
        expect.stringContaining(
          direct ? "It is not known whether this was passed on." : "It is not known whether your message was posted",
        ),
      ]);
    }
  });
});
