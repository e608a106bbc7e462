/** A delivery that its sender does not need any more, at each moment of its way. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { type Rig, type RigOptions, startRig } from "./rig.js";

const ROOM = { platform: "loop", botId: "bot", chatId: "room" };
const cause = { kind: "alert" as const, id: "al_1", depth: 0 };
const errors: string[] = [];
const logger: RigOptions["logger"] = {
  debug() {},
  info() {},
  warn: (_, message) => void errors.push(message ?? ""),
  error: (_, message) => void errors.push(message ?? ""),
  child: () => logger as NonNullable<typeof logger>,
};
const statusOf = async (rig: Rig, id: string) => (await rig.store.outbox.get(id))?.status;

it("while hooks decide about it, is not sent; what waits behind it is, and nothing is reported as broken", async () => {
  errors.length = 0;
  const failed: string[] = [];
  let decide: (() => void) | undefined;
  const rig = await startRig({
    logger,
    hooks(registry) {
      registry.registerModifying("message_sending", ({ message }) =>
        message.text === "page" ? new Promise((done) => (decide = () => done(null))) : null,
      );
      registry.registerVoid("delivery_failed", ({ error }) => void failed.push(error));
    },
  });
  const id = await rig.gateway.send(ROOM, { text: "page" }, { cause });
  await rig.gateway.send(ROOM, { text: "next" }, { cause });
  await until(() => decide !== undefined, "the hook being asked");
  expect(await rig.gateway.withdraw(id, "no longer needed")).toBe(true);
  expect(await rig.gateway.withdraw(id, "no longer needed")).toBe(false);
  decide?.();
  await rig.idle();
  expect(rig.platform.texts()).toEqual(["next"]);
  expect(await rig.store.outbox.get(id)).toMatchObject({ status: "cancelled", reason: "no longer needed" });
  expect(failed).toEqual(["no longer needed"]);
  expect(errors).toEqual([]);
});

it("while it waits for its chat's next free place, is not sent", async () => {
  const limits = { perSecond: 1_000, perChatPerSecond: 0.1 };
  const rig = await startRig({ platforms: [new LoopbackPlatform("loop", { limits })] });
  await rig.gateway.send(ROOM, { text: "first" }, { cause });
  await until(() => rig.platform.requests.length === 1, "the first");
  const id = await rig.gateway.send(ROOM, { text: "page" }, { cause });
  await until(async () => (await statusOf(rig, id)) === "sending", "its decision");
  expect(await rig.gateway.withdraw(id, "no longer needed")).toBe(true);
  await rig.clock.advance(60_000);
  await rig.idle();
  expect(rig.platform.texts()).toEqual(["first"]);
});

it("while its platform cannot be reached, is not sent after that, nor is what waits behind it", async () => {
  const rig = await startRig();
  rig.platform.script = () => ({ kind: "retry", error: "503", scope: "bot" });
  const id = await rig.gateway.send(ROOM, { text: "page" }, { cause });
  await until(async () => ((await rig.store.outbox.get(id))?.attempts ?? 0) > 0, "a try");
  const behind = await rig.gateway.send(ROOM, { text: "page again" }, { cause });
  expect(await rig.gateway.withdraw(id, "no longer needed")).toBe(true);
  expect(await rig.gateway.withdraw(behind, "no longer needed")).toBe(true);
  rig.platform.script = () => undefined;
  await rig.clock.advance(600_000);
  await rig.idle();
  expect(rig.platform.texts()).toEqual([]);
});

it("while it is being sent, comes", async () => {
  const rig = await startRig();
  let answer: (() => void) | undefined;
  const take = rig.platform.take.bind(rig.platform);
  rig.platform.take = async (operation, signal) => {
    await new Promise<void>((done) => (answer = done));
    return take(operation, signal);
  };
  const id = await rig.gateway.send(ROOM, { text: "page" }, { cause });
  await until(() => answer !== undefined, "the request");
  expect(await rig.gateway.withdraw(id, "no longer needed")).toBe(false);
  answer?.();
  await rig.idle();
  expect(rig.platform.texts()).toEqual(["page"]);
  expect(await statusOf(rig, id)).toBe("sent");
  expect(await rig.gateway.withdraw(id, "no longer needed")).toBe(false);
});

describe("an operator ends a message in parts", () => {
  const text = "0123456789".repeat(40); // ten parts

  it("while one of them is on its way: that one comes, no other does, and its chat goes on", async () => {
    errors.length = 0;
    const failed: string[] = [];
    const rig = await startRig({
      logger,
      hooks: (registry) => void registry.registerVoid("delivery_failed", ({ error }) => void failed.push(error)),
    });
    let answer: (() => void) | undefined;
    const take = rig.platform.take.bind(rig.platform);
    rig.platform.take = async (operation, signal) => {
      if (rig.platform.requests.length === 3) await new Promise<void>((done) => (answer = done));
      return take(operation, signal);
    };
    const id = await rig.gateway.send(ROOM, { text }, { cause });
    await rig.gateway.send(ROOM, { text: "next" }, { cause });
    await until(() => answer !== undefined, "the fourth request");
    expect(await rig.gateway.cancelRest(id, "withdrawn by Ada")).toEqual({ sent: 3, parts: 10, isUnclear: true });
    expect(await rig.gateway.cancelRest(id, "withdrawn by Ada")).toBeUndefined();
    answer?.();
    await rig.idle();
    expect(rig.platform.texts()).toEqual([...Array.from({ length: 4 }, () => "0123456789".repeat(4)), "next"]);
    const delivery = await rig.store.outbox.get(id);
    expect(delivery).toMatchObject({ status: "cancelled", reason: "withdrawn by Ada (4 of 10 parts were sent)" });
    expect(delivery?.parts.filter(({ status }) => status === "sent")).toHaveLength(4);
    expect(failed).toEqual(["withdrawn by Ada; it may or may not have arrived (3 of 10 parts were sent)"]);
    expect(errors).toEqual([]);
  });

  it("while the platform refuses the next one: nothing more is reported of it", async () => {
    const failed: string[] = [];
    const rig = await startRig({
      hooks: (registry) => void registry.registerVoid("delivery_failed", ({ error }) => void failed.push(error)),
    });
    let answer: (() => void) | undefined;
    const take = rig.platform.take.bind(rig.platform);
    rig.platform.script = (_, n) => (n === 2 ? { kind: "permanent", error: "no such chat" } : undefined);
    rig.platform.take = async (operation, signal) => {
      if (rig.platform.requests.length === 1) await new Promise<void>((done) => (answer = done));
      return take(operation, signal);
    };
    const id = await rig.gateway.send(ROOM, { text }, { cause });
    await until(() => answer !== undefined, "the second request");
    expect(await rig.gateway.cancelRest(id, "withdrawn by Ada")).toMatchObject({ sent: 1 });
    answer?.();
    await rig.idle();
    expect(failed).toEqual(["withdrawn by Ada; it may or may not have arrived (1 of 10 parts were sent)"]);
    expect(await statusOf(rig, id)).toBe("cancelled");
  });

  it("between two tries: it is not tried again", async () => {
    const rig = await startRig();
    rig.platform.script = (_, n) => (n > 2 ? { kind: "retry", error: "503", scope: "chat" } : undefined);
    const id = await rig.gateway.send(ROOM, { text }, { cause });
    await until(async () => ((await rig.store.outbox.get(id))?.attempts ?? 0) > 0, "a try");
    expect(await rig.gateway.cancelRest(id, "enough")).toEqual({ sent: 2, parts: 10, isUnclear: false });
    rig.platform.script = () => undefined;
    await rig.clock.advance(600_000);
    await rig.idle();
    expect(rig.platform.texts()).toHaveLength(2);
  });
});
