/** Hooks that are told of ends: what a crash right after the end kept from them is told by the next process. */
import { expect, it } from "vitest";
import { DELIVERY_ENDS } from "../../src/domain/pending.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { partsOf, reply } from "../store/support/open-test-store.js";
import { until } from "../support/until.js";
import { type Rig, restart, startRig } from "./rig.js";

const at = { platform: "loop", botId: "bot", chatId: "room" };
const send = (rig: Rig, text: string, deliveryId: string) =>
  rig.gateway.send(at, { text }, { cause: { kind: "api", id: "test", depth: 0 }, deliveryId });

/** The deliveries whose ends are pending. */
const pending = async ({ store }: Rig) =>
  (await store.pending.list([DELIVERY_ENDS])).flatMap(
    ({ payload }) => (payload as { deliveries: string[] }).deliveries,
  );

interface Told {
  text: string;
  dispatchId: string;
  attempt: number;
}

/** Notes what it is told; texts that begin with `slow` never end. */
function listen(point: "message_sent" | "delivery_failed", told: Told[]) {
  return (registry: HookRegistry) =>
    void registry.registerVoid(point, ({ message }, { dispatchId, attempt }) => {
      const text = message?.text ?? "";
      told.push({ text, dispatchId, attempt });
      return text.startsWith("slow") ? new Promise(() => {}) : undefined;
    });
}

it("message_sent is pending until its hooks were notified, and is repeated under the same dispatch id", async () => {
  const told: Told[] = [];
  const rig = await startRig({ hooks: listen("message_sent", told) });
  await send(rig, "quick", "d_quick");
  await until(() => told.length === 1, "the first");
  await rig.clock.advance(1_500);
  await until(async () => (await pending(rig)).length === 0, "it being noted as told");
  await send(rig, "slow to tell", "d_slow");
  await until(() => told.length === 2, "the second");
  expect(await pending(rig)).toEqual(["d_slow"]);
  await rig.clock.advance(1_000);

  const again: Told[] = [];
  const next = await restart(rig, {
    hooks: (registry) =>
      void registry.registerVoid("message_sent", ({ message: { text } }, { dispatchId, attempt }) => {
        again.push({ text, dispatchId, attempt });
      }),
  });
  await until(() => again.length > 0, "the word of the second");
  expect(again).toEqual([{ text: "slow to tell", dispatchId: "d_slow:message_sent", attempt: 2 }]);
  await until(async () => (await pending(next)).length === 0, "nothing being pending");
  expect(next.platform.requests).toHaveLength(2);

  await next.stop();
  const third = await startRig({ file: next.file, clock: next.clock, hooks: listen("message_sent", again) });
  await send(third, "later", "d_later");
  await until(() => again.length === 2, "a later one");
  expect(again.map(({ text }) => text)).toEqual(["slow to tell", "later"]);
});

it("so is delivery_failed", async () => {
  const told: Told[] = [];
  const rig = await startRig({ hooks: listen("delivery_failed", told) });
  rig.platform.script = () => ({ kind: "permanent", error: "no such chat" });
  await send(rig, "slow to tell", "d_dead");
  await until(() => told.length === 1, "the failure");
  const again: Told[] = [];
  await restart(rig, { hooks: listen("delivery_failed", again) });
  await until(() => again.length === 1, "its word");
  expect(again).toEqual([{ text: "slow to tell", dispatchId: "d_dead:delivery_failed", attempt: expect.any(Number) }]);
});

it("nothing is pending where no hook listens, nor for a delivery that was deleted meanwhile", async () => {
  const rig = await startRig();
  await send(rig, "unheard", "d_unheard");
  await until(async () => (await rig.store.outbox.get("d_unheard"))?.status === "sent", "it being sent");
  expect(await pending(rig)).toEqual([]);

  const told: Told[] = [];
  const heard = await restart(rig, { hooks: listen("message_sent", told) });
  await send(heard, "slow", "d_slow");
  await until(() => told.length === 1, "the word");
  await heard.store.outbox.purge({ ids: ["d_slow"] });
  const again: Told[] = [];
  const next = await restart(heard, { hooks: listen("message_sent", again) });
  await send(next, "later", "d_later");
  await until(() => again.length > 0, "a later one");
  expect(again.map(({ text }) => text)).toEqual(["later"]);
});

it("of many ends of one commit, each is repeated by itself, until hooks were notified or three starts did not get through it", async () => {
  const first: Told[] = [];
  let rig = await startRig({ hooks: listen("message_sent", first) });
  const texts = ["one", "two", "slow to tell"];
  await rig.store.outbox.enqueue(
    texts.map((text) => reply({ id: `d_${text}`, message: { text } })),
    1,
  );
  await Promise.all(texts.map((text) => rig.store.outbox.freeze(`d_${text}`, { text }, partsOf(text), [])));
  await Promise.all(texts.map((text) => rig.store.outbox.partSent(`d_${text}`, 0, text, 2, { hasHooks: true })));
  expect(await rig.store.pending.list([DELIVERY_ENDS])).toHaveLength(1);

  const again: Told[] = [];
  for (const seen of [3, 4, 5, 5]) {
    await rig.crash();
    rig = await startRig({ file: rig.file, clock: rig.clock, hooks: listen("message_sent", again) });
    await until(() => again.length === seen, "hooks being notified");
    await until(async () => (await pending(rig)).length <= 1, "the others being done");
  }
  await until(async () => (await pending(rig)).length === 0, "the last being given up");
  const tries = (wanted: string) => again.filter(({ text }) => text === wanted).map(({ attempt }) => attempt);
  expect(texts.map(tries)).toEqual([[2], [2], [2, 3, 4]]);
});
