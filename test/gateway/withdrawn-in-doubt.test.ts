/** A copy that an operator withdrew while it was in doubt, and whose original is deleted then. */
import { expect, it } from "vitest";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { startRig } from "./rig.js";

it("a deletion of what was withdrawn in doubt does not report that there was nothing to delete", async () => {
  const far = new LoopbackPlatform("far", { idempotentCreate: true });
  far.script = () => ({ kind: "lost" });
  const rig = await startRig({
    gateway: { default_route: { forward: "far:bot:desk" } },
    platforms: [new LoopbackPlatform("loop"), far],
  });
  await rig.say("hello?", { messageId: "m1" });
  const copy = await until(async () => {
    const [open] = await rig.store.outbox.list({ status: "sending", limit: 1 });
    return open?.parts.some(({ mayHaveArrived }) => mayHaveArrived) ? open : undefined;
  }, "the copy in doubt");
  await rig.gateway.cancelRest(copy.id, "withdrawn by Ada");
  far.script = () => undefined;
  const address = { platform: "loop", botId: "bot", chatId: "room" };
  await rig.receive({ kind: "deleted", eventId: "d1", address, messageId: "m1", at: 1 });
  await rig.idle();
  const [deletion] = await rig.store.outbox.list({ targetId: copy.id, limit: 1 });
  expect(far.texts("desk")).toHaveLength(1);
  expect(deletion).toMatchObject({
    status: "dead",
    reason: expect.stringContaining("If it is there, delete it by hand"),
  });
});
