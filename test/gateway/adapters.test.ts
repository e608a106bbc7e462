/** The supervisor: platforms are started, restarted and left alone, and none of them touches the others. */
import { describe, expect, it } from "vitest";
import { HookgateError } from "../../src/lib/errors.js";
import { storeError } from "../../src/store/errors.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { startRig } from "./rig.js";

const two = () => [new LoopbackPlatform("loop"), new LoopbackPlatform("far")];

describe("a platform that fails", () => {
  it("is started again with growing pauses, says why and since when, and the others go on", async () => {
    const rig = await startRig({
      platforms: two(),
      beforeStart: ({ adapters: [, far] }) => {
        if (far)
          far.onRun = (n) => {
            if (n <= 2) throw new HookgateError({ code: "DOWN", message: "no route to host", retryable: true });
          };
      },
    });
    await rig.gateway.send(
      { platform: "loop", botId: "", chatId: "room" },
      { text: "fine" },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["fine"]);
    const failing = async () => (await rig.gateway.status()).adapters[1];
    expect(await failing()).toMatchObject({
      phase: "reconnecting",
      reason: "no route to host",
      since: rig.clock.now(),
    });
    await rig.clock.advance(1_000);
    await until(async () => (await failing())?.restarts === 2);
    await rig.clock.advance(2_000);
    await until(async () => (await failing())?.phase === "online");
    expect(rig.adapters[1]?.runs).toBe(3);
  });

  it("is started again after a short pause when it was online for a minute since the last failure", async () => {
    const rig = await startRig({});
    const { adapter, clock } = rig;
    const state = async () => (await rig.gateway.status()).adapters[0];
    const fail = async () => {
      adapter.fail(new HookgateError({ code: "DOWN", message: "no route to host", retryable: true }));
      await until(async () => (await state())?.phase === "reconnecting", "the failure");
    };
    for (let n = 1; n <= 5; n++) {
      await fail();
      await clock.advance(32_000);
      await until(async () => (await state())?.phase === "online", "the start after it");
    }
    await clock.advance(60_000);
    await fail();
    await clock.advance(1_000);
    await until(async () => (await state())?.phase === "online", "a start after a second");
  });

  it("sends while only what comes in is in trouble", async () => {
    const rig = await startRig({});
    rig.adapter.context.gateway.state({ phase: "reconnecting", reason: "calls do not arrive", isSending: true });
    const cause = { kind: "api", id: "t", depth: 0 } as const;
    await rig.gateway.send({ platform: "loop", botId: "", chatId: "room" }, { text: "meanwhile" }, { cause });
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["meanwhile"]);
    expect((await rig.gateway.status()).adapters[0]).toMatchObject({ phase: "reconnecting" });
  });

  it("for good is left offline with its reason; what is meant for it waits", async () => {
    const rig = await startRig({
      platforms: two(),
      beforeStart: ({ adapters: [, far] }) => {
        if (far)
          far.onRun = () => {
            throw new HookgateError({ code: "TOKEN_WRONG", message: "the token is wrong" });
          };
      },
    });
    await rig.clock.advance(3_600_000);
    const id = await rig.gateway.send(
      { platform: "far", botId: "", chatId: "x" },
      { text: "later" },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
    await until(async () => (await rig.gateway.status()).adapters[1]?.conversationsWaiting === 1);
    expect((await rig.gateway.status()).adapters).toMatchObject([
      { phase: "online" },
      { phase: "offline", reason: "the token is wrong" },
    ]);
    expect(await rig.store.outbox.get(id)).toMatchObject({ status: "waiting" });
    expect(rig.adapters[1]?.runs).toBe(1);
  });

  it("with a wait that the platform asks for is started again after it, and not before", async () => {
    const wait = { code: "LIMITED", message: "the platform limits this bot", retryAfterMs: 120_000 };
    const rig = await startRig({
      beforeStart: ({ adapter }) => {
        adapter.onRun = (n) => {
          if (n === 1) throw new HookgateError({ ...wait, retryable: true });
          if (n === 2) throw new HookgateError({ ...wait, message: "the token is wrong", retryable: false });
        };
      },
    });
    const state = async () => (await rig.gateway.status()).adapters[0];
    expect(await state()).toMatchObject({ phase: "reconnecting", reason: "the platform limits this bot" });
    await rig.clock.advance(119_000);
    expect(rig.adapter.runs).toBe(1);
    await rig.clock.advance(1_000);
    await until(async () => (await state())?.phase === "offline");
    expect(await state()).toMatchObject({ reason: "the token is wrong" });
    await rig.clock.advance(119_000);
    expect(rig.adapter.runs).toBe(2);
    await rig.clock.advance(1_000);
    await until(async () => (await state())?.phase === "online");
  });

  it("with a pause for all its requests is started again at the end of that pause, however often it failed before", async () => {
    const rig = await startRig({
      beforeStart: ({ adapter }) => {
        adapter.onRun = (n) => {
          if (n === 5) adapter.context.gateway.pause(3_000, "limited");
          if (n <= 5) throw new HookgateError({ code: "LIMITED", message: "limited", retryable: true });
        };
      },
    });
    await until(async () => {
      if (rig.adapter.runs < 5) await rig.clock.advance(1_000);
      return rig.adapter.runs === 5;
    });
    await rig.clock.advance(3_000);
    await until(async () => (await rig.gateway.status()).adapters[0]?.phase === "online");
  });

  it.each([
    ["SQLITE_IOERR_WRITE", "STORE_FAILED"],
    ["SQLITE_FULL", "STORE_FULL"],
    ["SQLITE_READONLY", "STORE_READ_ONLY"],
    ["SQLITE_CORRUPT", "STORE_CORRUPT"],
    ["SQLITE_CANTOPEN", "STORE_FAILED"],
  ])("because the disk of the gateway fails (%s) is started again until the disk works", async (sqlite, code) => {
    const error = storeError(Object.assign(new Error("the disk fails"), { code: sqlite }), "/data/hookgate.db");
    expect(error.code).toBe(code);
    const rig = await startRig({
      beforeStart: ({ adapter }) => {
        adapter.onRun = (n) => {
          if (n <= 3) throw error;
        };
      },
    });
    const state = async () => (await rig.gateway.status()).adapters[0];
    expect(await state()).toMatchObject({ phase: "reconnecting", reason: error.message, hint: error.hint });
    await until(async () => {
      await rig.clock.advance(60_000);
      return (await state())?.phase === "online";
    });
    expect(rig.adapter.runs).toBe(4);
  });

  it("with an error of another kind, or by ending, is started again", async () => {
    const rig = await startRig({
      beforeStart: ({ adapter }) => {
        adapter.onRun = (n) => {
          if (n === 1) throw new TypeError("x is not a function");
        };
      },
    });
    expect((await rig.gateway.status()).adapters[0]).toMatchObject({
      phase: "reconnecting",
      reason: "x is not a function",
    });
    await rig.clock.advance(1_000);
    await until(async () => (await rig.gateway.status()).adapters[0]?.phase === "online");
  });
});

it("two adapters for one platform are refused", async () => {
  await expect(
    startRig({ platforms: [new LoopbackPlatform("loop"), new LoopbackPlatform("loop")] }),
  ).rejects.toMatchObject({ code: "ADAPTER_TWICE" });
});
