/** A delivery that would expire before its next try is given up at once, with the reason, and does not wait for a try that never comes. */
import { describe, expect, it } from "vitest";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { until } from "../support/until.js";
import type { Scripted } from "./loopback-adapter.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { type Rig, startRig } from "./rig.js";

const ROOM = { platform: "loop", botId: "bot", chatId: "room" };
const cause = { kind: "api" as const, id: "test", depth: 0 };
const send = (rig: Rig, text: string, ttlMs: number) => rig.gateway.send(ROOM, { text }, { cause, ttlMs });
/** All requests come to this. */
const answering = (answer: Scripted) => {
  const platform = new LoopbackPlatform();
  platform.script = () => answer;
  return platform;
};

describe("a delivery whose next try would be too late", () => {
  it.each<[string, Scripted, string, string]>([
    [
      "for the platform asks for a longer wait",
      { kind: "retry", error: "Too Many Requests", afterMs: 600_000, scope: "chat" },
      "dead",
      "Too Many Requests; given up before the next try, because that would have been 10 min later, and the message could be sent for 1 min more only (the limit is 1 min)",
    ],
    [
      "for the platform cannot be reached",
      { kind: "retry", error: "no route", scope: "bot" },
      "dead",
      "no route; given up before the next try, because that would have been",
    ],
    [
      "for the pause after an error is longer",
      { kind: "retry", error: "503", scope: "chat" },
      "dead",
      "503; given up before the next try, because that would have been",
    ],
    [
      "and that may have arrived is held",
      { kind: "ambiguous", error: "no answer" },
      "held",
      "it may or may not have arrived: no answer",
    ],
  ])("%s", async (_, answer, status, reason) => {
    const rig = await startRig({ platforms: [answering(answer)], gateway: { retry_first: "2m", ambiguous: "resend" } });
    const id = await send(rig, "late", 60_000);
    await rig.idle();
    const delivery = await rig.store.outbox.get(id);
    expect(delivery).toMatchObject({ status, reason: expect.stringContaining(reason) });
    expect(delivery?.reason).toContain("given up before the next try, because");
    expect(rig.platform.requests).toHaveLength(1);
  });

  it("leaves the pause of its chat to the others: what expires meanwhile names it", async () => {
    const rig = await startRig({
      platforms: [answering({ kind: "retry", error: "Too Many Requests", afterMs: 600_000, scope: "chat" })],
    });
    await send(rig, "first", 60_000);
    const behind = await send(rig, "behind", 300_000);
    const patient = await send(rig, "patient", 3_600_000);
    await until(async () => (await rig.gateway.status()).pauses.length === 1, "the pause");
    rig.platform.script = () => undefined;
    await rig.clock.advance(300_000);
    await until(async () => (await rig.store.outbox.get(behind))?.status === "dead", "the end of the second");
    expect((await rig.store.outbox.get(behind))?.reason).toMatch(
      /^not sent in time \(the limit is 5 min\); sending was paused until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: Too Many Requests$/,
    );
    await rig.clock.advance(300_000);
    await rig.idle();
    expect((await rig.store.outbox.get(patient))?.status).toBe("sent");
    expect(rig.platform.requests).toHaveLength(2);
  });

  it("that waited for its turn under the rate limit says so", async () => {
    const platform = new LoopbackPlatform("loop", { limits: { perSecond: 30, perChatPerSecond: 0.001 } });
    const rig = await startRig({ platforms: [platform] });
    await send(rig, "first", 60_000);
    const id = await send(rig, "second", 60_000);
    await until(async () => (await rig.store.outbox.get(id))?.status === "sending", "the wait for its turn");
    await rig.clock.advance(60_000);
    await until(async () => (await rig.store.outbox.get(id))?.status === "dead", "its end");
    expect((await rig.store.outbox.get(id))?.reason).toBe(
      "not sent in time (the limit is 1 min); it waited for its turn under the rate limit",
    );
  });

  it("counts the parts that were sent", async () => {
    const rig = await startRig();
    rig.platform.script = (_, n) =>
      n < 3 ? undefined : { kind: "retry", error: "Too Many Requests", afterMs: 600_000, scope: "chat" };
    const id = await send(rig, "0123456789".repeat(20), 60_000);
    await rig.idle();
    expect((await rig.store.outbox.get(id))?.reason).toContain(
      "Too Many Requests (2 of 5 parts were sent); given up before the next try",
    );
  });

  it("is tried again when there is time for it", async () => {
    const rig = await startRig({ gateway: { retry_first: "10s" } });
    rig.platform.script = (_, n) => (n === 1 ? { kind: "retry", error: "503", scope: "chat" } : undefined);
    const id = await send(rig, "soon", 60_000);
    await until(async () => {
      await rig.clock.advance(1_000);
      return (await rig.store.outbox.get(id))?.status === "sent";
    }, "the second try");
  });
});

describe("a file that cannot be fetched", () => {
  it.each([
    ["while there are attempts", 3, 3_600_000, 3],
    ["while there is time", 8, 60_000, 2],
  ])("is waited for %s, at most 30 seconds each; then the words go without it", async (_, attempts, ttlMs, times) => {
    const logged: string[] = [];
    const warn = (_: object, message = "") => void logged.push(message);
    const logger: Logger = { ...silentLogger, warn, child: () => logger };
    const rig = await startRig({ gateway: { outbox_attempts: attempts }, logger });
    rig.platform.script = (operation) =>
      operation.kind === "create" && operation.isLastAttempt
        ? undefined
        : { kind: "retry", error: "a file could not be fetched: HTTP 429", afterMs: 600_000, scope: "file" };
    const attachments = [{ type: "file" as const, ref: "", url: "https://files.example/a", mimeType: "text/plain" }];
    const id = await rig.gateway.send(ROOM, { text: "words", attachments }, { cause, ttlMs });
    for (let n = 1; n < times; n++) {
      await until(async () => (await rig.store.outbox.get(id))?.attempts === n, `attempt ${n}`);
      await rig.clock.advance(29_000);
      expect(rig.platform.requests).toHaveLength(n);
      expect((await rig.gateway.status()).pauses).toEqual([]);
      await rig.clock.advance(1_000);
    }
    await rig.idle();
    expect((await rig.store.outbox.get(id))?.status).toBe("sent");
    expect(rig.platform.requests).toHaveLength(times);
    expect(logged.filter((line) => line.includes("a file of a message could not be fetched"))).toHaveLength(1);
  });
});
