/** What waits for the disk, and what goes on meanwhile: on a disk whose syncs end when they are told to. */
import { afterEach, describe, expect, it } from "vitest";
import type { Accepted } from "../../src/domain/chat/adapter.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import type { Disk } from "../../src/store/database-file/wal-sync.js";
import { until } from "../support/until.js";
import { messageOf, type Rig, startRig } from "./rig.js";

const SLOW_MS = 2;

class HeldDisk implements Disk {
  #isHeld = false;
  #waiting: (() => void)[] = [];

  get waiting(): number {
    return this.#waiting.length;
  }

  /** So slow that the gateway's thread does not do it again. */
  syncNow(): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLOW_MS);
  }

  syncLater(_log: number, done: (error: NodeJS.ErrnoException | null) => void): void {
    if (this.#isHeld) this.#waiting.push(() => done(null));
    else setTimeout(done, SLOW_MS, null);
  }

  hold(): void {
    this.#isHeld = true;
  }

  /** The syncs under way end; the next one is held again. */
  step(): void {
    for (const end of this.#waiting.splice(0)) end();
  }

  letGo(): void {
    this.#isHeld = false;
    this.step();
  }
}

/** Long enough for everything that waits for no disk. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 50));

const disks: HeldDisk[] = [];
// Else a test that failed could not be cleaned up after.
afterEach(() => {
  for (const disk of disks.splice(0)) disk.letGo();
});

async function start(hooks: (registry: HookRegistry) => void = () => {}): Promise<{ rig: Rig; disk: HeldDisk }> {
  const disk = new HeldDisk();
  disks.push(disk);
  const rig = await startRig({ disk, hooks, gateway: { unanswered_note: false } });
  await rig.say("the first one");
  await rig.idle();
  return { rig, disk };
}

describe("while the disk is waited for", () => {
  it("a message is handled; its platform hears that it arrived, and its reply goes out, when it is on disk", async () => {
    const handled: string[] = [];
    const { rig, disk } = await start((registry) => {
      registry.registerClaiming("inbound_claim", ({ message }) => {
        handled.push(message.text);
        return { handled: true, reply: { text: `re: ${message.text}` } };
      });
    });
    disk.hold();
    let accepted: Accepted | undefined;
    const said = rig.say("hello").then((answer) => {
      accepted = answer;
    });
    await until(() => handled.length === 2);
    await aMoment();
    expect(accepted).toBeUndefined();
    expect(rig.platform.texts()).toEqual(["re: the first one"]);
    disk.letGo();
    await said;
    expect(accepted).toMatchObject({ kind: "accepted" });
    await until(() => rig.platform.texts().includes("re: hello"));
  });

  it("a reply that hooks rewrite waits for two syncs: of its message, and of one commit with the settled event and the decision", async () => {
    const { rig, disk } = await start((registry) => {
      registry.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: `re: ${message.text}` }));
      registry.registerModifying("message_sending", async ({ message }) => ({
        message: { ...message, text: `${message.text}!` },
      }));
    });
    disk.hold();
    const said = rig.say("hello");
    for (let syncs = 0; syncs < 2; syncs++) {
      await until(() => disk.waiting > 0);
      await aMoment();
      expect(rig.platform.requests).toHaveLength(1);
      disk.step();
    }
    await until(() => rig.platform.requests.length === 2, "the reply being sent");
    disk.letGo();
    await said;
    await until(() => rig.platform.texts().includes("re: hello!"));
  });

  it("a message that comes a second time is not called known before the first one is on disk", async () => {
    const { rig, disk } = await start();
    disk.hold();
    const message = messageOf("twice");
    const answers: string[] = [];
    const say = () =>
      rig
        .receive({ kind: "message", eventId: message.messageId, message })
        .then((accepted) => answers.push(accepted.kind));
    const both = Promise.all([say(), say()]);
    await until(() => disk.waiting > 0);
    await aMoment();
    expect(answers).toEqual([]);
    disk.letGo();
    await both;
    expect(answers.sort()).toEqual(["accepted", "duplicate"]);
  });

  it("the next part of a long message waits until it is on disk that it is being sent", async () => {
    const { rig, disk } = await start();
    rig.platform.script = () => void disk.hold();
    const cause = { kind: "api", id: "test", depth: 0 } as const;
    const at = { platform: "loop", botId: "bot", chatId: "room" };
    await rig.gateway.send(at, { text: "0123456789".repeat(10) }, { cause });
    await until(() => disk.waiting > 0);
    await aMoment();
    expect(rig.platform.requests).toHaveLength(1);
    rig.platform.script = () => undefined;
    disk.letGo();
    await rig.idle();
    expect(rig.platform.requests).toHaveLength(3);
  });

  it("the next message of a room begins when the one before is committed as done", async () => {
    const handled: string[] = [];
    const { rig, disk } = await start((registry) => {
      registry.registerVoid("message_received", ({ message }) => void handled.push(message.text));
    });
    disk.hold();
    const both = Promise.all([rig.say("one"), rig.say("two")]);
    await until(() => handled.includes("one") && disk.waiting > 0);
    expect(handled).not.toContain("two");
    disk.step();
    await until(() => handled.includes("two"));
    expect(disk.waiting).toBe(1);
    disk.letGo();
    await both;
  });

  it("hooks hear of what was sent when it is committed", async () => {
    const sent: string[] = [];
    const { rig, disk } = await start((registry) => {
      registry.registerVoid("message_sent", ({ message }) => void sent.push(message?.text ?? ""));
    });
    rig.platform.script = () => void disk.hold();
    const cause = { kind: "api", id: "test", depth: 0 } as const;
    await rig.gateway.send({ platform: "loop", botId: "bot", chatId: "room" }, { text: "hello" }, { cause });
    await until(() => sent.length === 1);
    expect(disk.waiting).toBe(1);
  });
});
