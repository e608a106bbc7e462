/** What comes faster than the gateway works it off waits as text; nothing of it is lost, and what must not wait does not. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/server.js";
import { LeapClock } from "../../support/leap-clock.js";
import { ManualClock } from "../../support/manual-clock.js";
import { MemoryCursors } from "../../support/memory-cursors.js";
import { until } from "../../support/until.js";
import { RecordingGateway, type Rig, type RigOptions, startRig } from "./rig.js";

let fake: FakeDiscord;
const rigs: Rig[] = [];
beforeEach(async () => {
  fake = await startFakeDiscord();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
  await fake.stop();
});

async function start(options: RigOptions): Promise<Rig> {
  const rig = await startRig(fake, options);
  rigs.push(rig);
  return rig;
}

/** A gateway whose room the test opens and shuts. */
class FullGateway extends RecordingGateway {
  #open: (() => void) | undefined;
  #opened: Promise<void> | undefined;

  room = () => this.#opened;

  shut(): void {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#opened = undefined;
    this.#open?.();
  }
}

const hear = (rig: Rig) => until(() => rig.gateway.stored.some((event) => event.kind === "command"), "the command");

it("messages wait for room and come in order, with what became of them; a command does not wait", async () => {
  const gateway = new FullGateway();
  const rig = await start({ gateway });
  gateway.shut();
  const first = fake.people.says("first");
  fake.people.says("second");
  fake.people.edits(first.id, "first, corrected");
  fake.people.deletes(first.id);
  fake.people.slash("status", {});
  await hear(rig);
  expect(gateway.stored.map((event) => event.kind)).toEqual(["command"]);
  gateway.open();
  await until(() => gateway.stored.length === 5);
  expect(gateway.stored.slice(1).map((event) => event.kind)).toEqual(["message", "message", "edited", "deleted"]);
  expect(gateway.texts).toEqual(["first", "second"]);
});

it("what is unread when the process dies is replayed to the next one, and so is what came after it", async () => {
  const gateway = new FullGateway();
  const cursors = new MemoryCursors();
  const rig = await start({ gateway, cursors });
  fake.people.says("done");
  await until(() => gateway.texts.length === 1);
  gateway.shut();
  fake.people.says("unread");
  fake.people.slash("status", {});
  await hear(rig);
  await rig.stop();
  gateway.open();
  await start({ gateway, cursors });
  await until(() => gateway.texts.length === 2);
  expect(gateway.texts).toEqual(["done", "unread"]);
  expect(gateway.duplicates).toBe(1); // the command
});

it("a broken frame among those that wait is skipped", async () => {
  const gateway = new FullGateway();
  const rig = await start({ gateway });
  gateway.shut();
  fake.people.says("before");
  fake.people.slash("status", {});
  fake.gateway.sendRaw('{"t":"MESSAGE_CREATE","s":9000,"op":0,"d":{"id":');
  fake.gateway.sendRaw('{"t":"MESSAGE_CREATE","s":9001,"op":0,"d":{"id":[]}}');
  await hear(rig);
  gateway.open();
  await until(
    () => rig.logger.lines.filter((line) => line.includes("skipped a malformed")).length === 2,
    "both skipped",
  );
  expect(gateway.texts).toEqual(["before"]);
});

it("a new session takes what is left of the one before first", async () => {
  const gateway = new FullGateway();
  await start({ gateway });
  gateway.shut();
  fake.people.says("old");
  fake.people.slash("status", {});
  await until(() => gateway.stored.length === 1);
  fake.gateway.invalidate(false);
  await until(() => fake.gateway.log.filter(({ kind }) => kind === "identify").length === 2, "a new session");
  await until(() => gateway.texts.length === 1);
  gateway.open();
  fake.people.says("new");
  await until(() => gateway.texts.length === 2);
  expect(gateway.texts).toEqual(["old", "new"]);
});

it("more than memory should hold is not heard before there is room, and then comes whole", async () => {
  const stopped = vi.spyOn(WebSocket.prototype, "pause");
  const gateway = new FullGateway();
  await start({ gateway, clock: new ManualClock() });
  gateway.shut();
  const long = "x".repeat(1_000_000);
  const texts = Array.from({ length: 50 }, (_, n) => `${n} ${long}`);
  for (const text of texts) fake.people.says(text);
  await until(() => stopped.mock.calls.length > 0, "it stops hearing");
  expect(fake.gateway.unsent).toBeGreaterThan(0);
  gateway.open();
  await until(() => gateway.texts.length === texts.length);
  expect(gateway.texts.map((text) => text.slice(0, 3))).toEqual(texts.map((text) => text.slice(0, 3)));
});

it("when there is no room for long, it waits on the disk instead, and whatever comes goes there at once", async () => {
  const gateway = new FullGateway();
  const clock = new LeapClock();
  const rig = await start({ gateway, clock });
  gateway.shut();
  fake.people.says("one");
  fake.people.says("two");
  fake.people.slash("status", {});
  await hear(rig);
  expect(gateway.texts).toEqual([]);
  clock.leap(1_000);
  await until(() => gateway.texts.length === 2);
  fake.people.says("three");
  await until(() => gateway.texts.length === 3);
  gateway.open();
  await until(() => gateway.room() === undefined);
  gateway.shut();
  fake.people.says("four");
  fake.people.slash("help", {});
  await until(() => gateway.stored.length === 5);
  expect(gateway.texts).toEqual(["one", "two", "three"]); // patient again
});
