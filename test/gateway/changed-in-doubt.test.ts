/** A message whose copy is in doubt, on its way or in a crowded group is corrected or deleted by its author. */
import { expect, it } from "vitest";
import type { AdapterTraits } from "../../src/domain/chat/adapter.js";
import type { Delivery } from "../../src/domain/store.js";
import { until } from "../support/until.js";
import { LoopbackPlatform, type Scripted } from "./loopback-adapter.js";
import { messageOf, startRig } from "./rig.js";

const ROOM = { platform: "loop", botId: "bot", chatId: "room" };
const LOST = { kind: "ambiguous", error: "500" } as const;

/** What is written in the room of `loop` is copied to `far`, which answers what `script` says to requests that post a part with "poison" in it. */
async function startDesk(
  script: (n: number) => Scripted | undefined,
  width = 1_000,
  traits: Partial<AdapterTraits> = {},
) {
  const far = new LoopbackPlatform("far", { idempotentCreate: true, ...traits });
  far.width = width;
  let n = 0;
  far.script = (operation) =>
    operation.kind === "create" && operation.part.text.includes("poison") ? script(++n) : undefined;
  const rig = await startRig({
    gateway: { default_route: { forward: "far:bot:-desk" }, unanswered_note: false },
    platforms: [new LoopbackPlatform("loop"), far],
  });
  const only = (rows: Delivery[]) => rows.find(({ operation }) => operation === "send");
  const says = async (text: string, messageId: string) => {
    await rig.say(text, { messageId });
    return until(async () => {
      const row = await rig.store.inbox.find(ROOM, messageId);
      return row && only(await rig.store.outbox.answersTo(`m${row.id}`));
    }, `the copy of "${text}"`);
  };
  const handled = (eventId: string) =>
    until(async () => (await rig.store.inbox.find(ROOM, eventId))?.status === "done", `${eventId} handled`);
  const deletes = async (messageId: string) => {
    const eventId = `delete:${messageId}`;
    await rig.receive({ kind: "deleted", eventId, address: ROOM, messageId, at: rig.clock.now() });
    await handled(eventId);
  };
  const edits = async (messageId: string, text: string) => {
    const eventId = `edit:${messageId}:${text}`;
    await rig.receive({ kind: "edited", eventId, message: messageOf(text, { messageId, isEdit: true }) });
    await handled(eventId);
  };
  const get = (id: string) => rig.store.outbox.get(id);
  const change = async (id: string) => (await rig.store.outbox.list({ targetId: id, limit: 1 }))[0];
  const posts = () => far.requests.filter(({ kind }) => kind === "create").length;
  /** After three attempts without a clear answer. */
  const overtaken = (id: string) =>
    until(async () => {
      await rig.clock.advance(1_000);
      return (await get(id))?.isApart === true;
    }, "others may pass");
  return { rig, far, says, deletes, edits, get, change, posts, overtaken };
}

it("a correction of a message in doubt waits for it, nothing else of its chat waits for that correction, and the newest is shown", async () => {
  let isDown = true;
  const { rig, far, says, edits, get, change, overtaken } = await startDesk(() => (isDown ? LOST : undefined));
  const copy = await says("poison", "m1");
  await overtaken(copy.id);
  await edits("m1", "corrected");
  await says("from another person", "m2");
  await until(() => far.texts("-desk").join().includes("from another person"), "the later message");
  const correction = await change(copy.id);
  expect(correction).toMatchObject({ status: "waiting", reason: expect.stringContaining(copy.id) });
  await edits("m1", "corrected again");
  isDown = false;
  await until(async () => {
    await rig.clock.advance(1_000);
    return (await get(copy.id))?.status === "sent" && (await change(copy.id))?.status === "sent";
  }, "the end of the doubt");
  expect(await get(correction?.id as string)).toMatchObject({ status: "superseded" });
  expect(far.texts("-desk")).toEqual([
    expect.stringContaining("from another person"),
    expect.stringContaining("corrected again"),
  ]);
});

it("a message in doubt is not sent again once it is deleted: an operator decides, and later ones pass", async () => {
  const { rig, far, says, deletes, get, change, posts, overtaken } = await startDesk(() => LOST);
  const copy = await says("poison", "m1");
  await overtaken(copy.id);
  const before = posts();
  await deletes("m1");
  await says("from another person", "m2");
  await until(() => far.texts("-desk").length > 0, "the later message");
  await until(async () => {
    await rig.clock.advance(1_000);
    return (await change(copy.id))?.status === "held";
  }, "the deletion");
  expect(await get(copy.id)).toMatchObject({
    status: "held",
    reason: "it may or may not have arrived: 500, and its author deleted it before the request could be repeated",
  });
  await rig.clock.advance(200_000);
  await rig.idle();
  expect(posts()).toBe(before + 1);
  expect(await rig.gateway.release(copy.id)).toBe(true);
  await rig.idle();
  expect(posts()).toBe(before + 1);
});

it("the parts of a deleted message whose ids are known are deleted at once, although another part is in doubt", async () => {
  const { rig, far, says, deletes, get, posts } = await startDesk(() => LOST, 40);
  const copy = await says(`${"x".repeat(60)} poison`, "m1");
  await until(async () => (await get(copy.id))?.parts.some(({ mayHaveArrived }) => mayHaveArrived), "the doubt");
  expect(far.texts("-desk")).not.toEqual([]);
  const before = posts();
  await deletes("m1");
  await until(async () => {
    await rig.clock.advance(1_000);
    return far.texts("-desk").length === 0;
  }, "the deletion");
  await rig.clock.advance(200_000);
  await rig.idle();
  expect(posts()).toBe(before);
  expect(await get(copy.id)).toMatchObject({ status: "held" });
});

it("no further part is posted of a message that is deleted while the request of a part is under way", async () => {
  const { rig, far, says, deletes, get, posts } = await startDesk(() => undefined, 40);
  let go: (() => void) | undefined;
  const take = far.take.bind(far);
  far.take = async (operation, signal) => {
    if (operation.kind === "create") await new Promise<void>((done) => (go = done));
    return take(operation, signal);
  };
  const copy = await says("x".repeat(120), "m1");
  await until(() => go !== undefined, "the first request");
  await deletes("m1");
  go?.();
  await until(async () => (await get(copy.id))?.status === "cancelled", "the end of the copy");
  await until(() => far.requests.some(({ kind }) => kind === "delete"), "the deletion");
  await rig.idle();
  expect(posts()).toBe(1);
  expect(far.texts("-desk")).toEqual([]);
});

it("a deletion waits neither for a place in the minute of a group nor behind a message that waits for one", async () => {
  const limits = { perSecond: Number.POSITIVE_INFINITY, perGroupPerMinute: 2 };
  const { rig, far, says, deletes } = await startDesk(() => undefined, 1_000, { limits });
  await says("message 1", "m1");
  await says("x".repeat(1_500), "m2");
  await until(() => far.texts("-desk").length === 2, "the messages of this minute");
  await says("message 3", "m3");
  for (const messageId of ["m1", "m2"]) await deletes(messageId);
  await until(() => far.texts("-desk").length === 0, "the deletions");
  await rig.clock.advance(62_000);
  await rig.idle();
  expect(far.texts("-desk")).toEqual([expect.stringContaining("message 3")]);
});

it("a limit on new messages to a chat holds up no correction and no deletion there, where the platform limits those apart", async () => {
  const limited = { kind: "retry", error: "rate limited", afterMs: 40_000, scope: "chat" } as const;
  let isLimited = true;
  const { rig, far, says, deletes, edits, posts } = await startDesk(() => (isLimited ? limited : undefined), 1_000, {
    limitsChangesApart: true,
  });
  await says("secret", "m1");
  await says("typo", "m2");
  await until(() => far.texts("-desk").length === 2, "the messages");
  await says("poison", "m3");
  await until(async () => (await rig.gateway.status()).pauses.length > 0, "the limit");
  const before = posts();
  await edits("m2", "corrected");
  await deletes("m1");
  await until(() => far.texts("-desk").length === 1 && far.texts("-desk").join().includes("corrected"), "the changes");
  expect(posts()).toBe(before);
  isLimited = false;
  await rig.clock.advance(41_000);
  await until(() => far.texts("-desk").length === 2, "the limited message");
});
