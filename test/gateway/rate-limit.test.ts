/** The rate limiter alone: whatever is asked of it, and however late requests are written, no window holds too many. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RateLimiter, type Ticket, type Urgency } from "../../src/gateway/outbound/send/rate-limit.js";
import { LoopbackAdapter, LoopbackPlatform } from "./loopback-adapter.js";

const limits = { perSecond: 10, perChatPerSecond: 1, perGroupPerMinute: 5 };
const adapter = new LoopbackAdapter(new LoopbackPlatform("loop", { limits }));
const at = (chatId: string) => ({ platform: "loop", botId: "bot", chatId });

/** Sends `counts[i]` requests to chat i, each as soon as it may, each written some ms later. Gives when they were written. */
function simulate(counts: readonly number[], writeMs: (n: number) => number): { at: number; chatId: string }[] {
  const limiter = new RateLimiter();
  const written: { at: number; chatId: string }[] = [];
  const queue = counts.map((left, i) => ({
    chatId: i === 0 ? "-group" : `c${i}`,
    left,
    dueAt: 0,
    writeAt: undefined as number | undefined,
    ticket: undefined as Ticket | undefined,
  }));
  for (let now = 0; queue.some(({ left }) => left > 0) && now < 600_000; now++)
    for (const chat of queue) {
      if (chat.writeAt === now) {
        limiter.writing(chat.ticket as Ticket, now);
        written.push({ at: now, chatId: chat.chatId });
        chat.left--;
        chat.writeAt = undefined;
        chat.dueAt = now;
      }
      if (chat.left === 0 || chat.writeAt !== undefined || chat.dueAt > now) continue;
      chat.ticket = limiter.take(adapter, at(chat.chatId), chat.chatId, now);
      if (chat.ticket.at > now) chat.dueAt = chat.ticket.at;
      else chat.writeAt = now + 1 + writeMs(written.length);
    }
  return written;
}

/** A group that takes twenty requests a minute: whether a request goes at that time. */
function groupOfTwenty(): (name: string, now: number, urgency: Urgency) => boolean {
  const limiter = new RateLimiter();
  const group = new LoopbackAdapter(new LoopbackPlatform("loop", { limits: { perSecond: 30, perGroupPerMinute: 20 } }));
  return (name, now, urgency) => limiter.take(group, at("-g"), name, now, urgency).at <= now;
}

function most(times: readonly { at: number }[], lengthMs: number): number {
  return Math.max(
    0,
    ...times.map(({ at: from }) => times.filter(({ at }) => at >= from && at < from + lengthMs).length),
  );
}

describe("the rate limiter", () => {
  it("keeps every window, with disk writes of up to 15 ms between counting and writing", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 25 }),
        fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 1, maxLength: 20 }),
        (counts, delays) => {
          const written = simulate(counts, (n) => delays[n % delays.length] as number);
          expect(written).toHaveLength(counts.reduce((sum, count) => sum + count, 0));
          expect(most(written, 1_000)).toBeLessThanOrEqual(limits.perSecond);
          for (const chatId of new Set(written.map((one) => one.chatId))) {
            const chat = written.filter((one) => one.chatId === chatId);
            expect(most(chat, 1_000)).toBeLessThanOrEqual(1);
            if (chatId === "-group") expect(most(chat, 60_000)).toBeLessThanOrEqual(limits.perGroupPerMinute);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it("uses what is allowed: 40 chats take four seconds", () => {
    const written = simulate(
      Array.from({ length: 41 }, (_, i) => (i === 0 ? 0 : 1)),
      () => 0,
    );
    expect(written.at(-1)?.at).toBeLessThan(3_200);
  });

  it("leaves new messages half of what a group takes in a minute, however many changes wait that may come later", () => {
    const goes = groupOfTwenty();
    const changes = Array.from({ length: 13 }, (_, n) => goes(`edit ${n}`, n, 1)).filter(Boolean);
    expect(changes).toHaveLength(10);
    const messages = Array.from({ length: 10 }, (_, n) => goes("messages", 1_000 + n, 2)).filter(Boolean);
    expect(messages).toHaveLength(10);
    // The minute is full, and what waits is a message: it has the next place, and a page goes before it.
    expect(goes("messages", 2_000, 2)).toBe(false);
    expect(goes("page", 2_000, 3)).toBe(false);
    expect(goes("edit 10", 61_300, 1)).toBe(false);
    expect(goes("messages", 61_300, 2)).toBe(false);
    expect(goes("page", 61_300, 3)).toBe(true);
    expect(goes("edit 10", 61_350, 1)).toBe(true);
  });

  it("lets changes of cards go before those of what has ended", () => {
    const goes = groupOfTwenty();
    for (let n = 0; n < 10; n++) expect(goes(`edit ${n}`, n, 1)).toBe(true);
    expect(goes("ended", 100, 0)).toBe(false);
    expect(goes("card", 101, 1)).toBe(false);
    expect(goes("ended", 61_250, 0)).toBe(false);
    expect(goes("card", 61_260, 1)).toBe(true);
    expect(goes("ended", 61_300, 0)).toBe(true);
  });

  it("asks nothing of a platform without limits", () => {
    const free = new LoopbackAdapter(new LoopbackPlatform());
    const limiter = new RateLimiter();
    for (let i = 0; i < 1_000; i++) expect(limiter.take(free, at("c"), "c", 5).at).toBe(5);
  });
});
