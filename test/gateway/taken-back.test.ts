/** A message is deleted or corrected by its author, or its copy cancelled by an operator, while the copy is not posted yet: the old words never are. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Address } from "../../src/domain/chat/address.js";
import { WITHDRAWN_BY } from "../../src/domain/deliveries/given-up.js";
import type { Delivery } from "../../src/domain/store.js";
import type { HookRegistry } from "../../src/hooks/registry.js";
import { filesBeside } from "../../src/store/database-file/files.js";
import { restoreDatabase } from "../../src/store/database-file/restore.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { messageOf, newFolder, type Rig, startRig } from "./rig.js";

const DESK: Address = { platform: "far", botId: "bot", chatId: "desk" };
const REFUSED = { kind: "permanent", error: "403 Forbidden: bot was blocked by the user" } as const;
const PAUSE = { kind: "retry", error: "429: too many", afterMs: 60_000, scope: "chat" } as const;
const SAID = (text: string) => `**Nora** in a room on far: ${text}`;
const BACK = "deleted before it was sent";

interface Before {
  rig: Rig;
  far: LoopbackPlatform;
}

/**
 * A customer wrote in the room of `loop`; `answer` is what a colleague without a role replies to the copy. `before`: the next process on
 * its file and platforms.
 */
async function startDesk(hooks?: (registry: HookRegistry) => void, before?: Before) {
  const far =
    before?.far ?? new LoopbackPlatform("far", { privateAddress: (at, userId) => ({ ...at, chatId: `dm-${userId}` }) });
  far.width = 1_000;
  const rig: Rig = await startRig({
    gateway: { default_route: { forward: "far::desk" }, unanswered_note: false, inbox_attempts: 1 },
    platforms: [before?.rig.platform ?? new LoopbackPlatform("loop"), far],
    hooks,
    file: before?.rig.file,
    clock: before?.rig.clock,
  });
  if (!before) await rig.say("hello?", { messageId: "m1", userId: "5" });
  await rig.idle();
  const replyToId = far.messages[0]?.id as string;
  const person = { platform: "far", chatId: "desk", userId: "8", displayName: "Nora" };
  const answer = async (text: string, messageId: string, isDone: (copy: Delivery) => boolean) => {
    await rig.say(text, { ...person, messageId, replyToId });
    return until(async () => {
      const row = await rig.store.inbox.find(DESK, messageId);
      const copy = row && (await rig.store.outbox.answersTo(`m${row.id}`))[0];
      return copy && isDone(copy) ? copy : undefined;
    }, `the copy of "${text}"`);
  };
  const handled = (eventId: string) =>
    until(async () => (await rig.store.inbox.find(DESK, eventId))?.status === "done", `${eventId} handled`);
  /** The answer becomes a dead message of the inbox. */
  const givenUp = async (text: string, messageId: string) => {
    await rig.say(text, { ...person, messageId, replyToId });
    return until(async () => {
      const row = await rig.store.inbox.find(DESK, messageId);
      return row?.status === "dead" ? row.id : undefined;
    }, `"${text}" given up`);
  };
  /** A correction; without a text, a deletion. Gives its event id. */
  const changes = async (messageId: string, text?: string) => {
    const eventId = text === undefined ? `delete:${messageId}` : `edit:${messageId}:${text}`;
    await rig.receive(
      text === undefined
        ? { kind: "deleted", eventId, address: DESK, messageId, at: rig.clock.now() }
        : { kind: "edited", eventId, message: messageOf(text, { ...person, messageId, replyToId, isEdit: true }) },
    );
    return eventId;
  };
  const edits = async (messageId: string, text: string) => handled(await changes(messageId, text));
  const deletes = async (messageId: string) => handled(await changes(messageId));
  return { rig, far, person, answer, givenUp, changes, edits, deletes };
}

const ends = async (rig: Rig, { id }: Delivery) => rig.store.outbox.get(id);

it("a copy that the platform refused is not sent by a retry", async () => {
  const { rig, far, answer, deletes } = await startDesk();
  rig.platform.script = ({ kind }) => (kind === "create" ? REFUSED : undefined);
  const copy = await answer("the price is 5", "f1", ({ status }) => status === "dead");
  await deletes("f1");
  rig.platform.script = () => undefined;
  expect(await ends(rig, copy)).toMatchObject({ status: "cancelled", reason: BACK });
  expect(await rig.gateway.release(copy.id)).toBe(false);
  await rig.idle();
  expect(rig.platform.texts()).toEqual([]);
  // There was nothing to delete: the notice that it was not posted, which names the retry, shows that.
  expect(far.texts("dm-8")).toEqual(["**Your deleted message is not shown in loop:bot:room.**"]);
});

it("of a copy that was partly sent, what was posted is deleted and the rest is not sent by a retry", async () => {
  const { rig, answer, deletes } = await startDesk();
  rig.platform.script = (_, n) => (n === 2 ? REFUSED : undefined);
  const copy = await answer("x".repeat(60), "f1", ({ status }) => status === "dead");
  expect(rig.platform.texts()).toHaveLength(1);
  await deletes("f1");
  await rig.idle();
  expect(await ends(rig, copy)).toMatchObject({ status: "cancelled", reason: BACK });
  expect(rig.platform.texts()).toEqual([]);
});

it.each(["handled", "stored"] as const)(
  "no further part of a message is posted once its deletion is %s, and what was posted is deleted",
  async (what) => {
    const { rig, far, answer, busy, open, changes, deletes } = await startBusyDesk();
    rig.platform.script = (_, n) => (n === 2 ? PAUSE : undefined);
    const copy = await answer("x".repeat(60), "f1", ({ parts, attempts }) => parts.length > 2 && attempts === 1);
    expect(rig.platform.texts("room")).toHaveLength(1);
    if (what === "stored") await busy();
    await (what === "stored" ? changes("f1") : deletes("f1"));
    await rig.clock.advance(61_000);
    await until(async () => (await ends(rig, copy))?.status === "cancelled", "the end of the copy");
    open();
    await until(() => rig.platform.texts("room").length === 0, "the deletion");
    await rig.idle();
    expect(creates(rig)).toHaveLength(2);
    expect(await ends(rig, copy)).toMatchObject({ reason: BACK });
    expect(far.texts("dm-8")).toEqual([]);
  },
);

it("what waits behind a pause is not sent when the pause ends, nor is what was tried once and certainly not posted", async () => {
  const { rig, far, answer, deletes } = await startDesk();
  rig.platform.script = (_, n) => (n === 1 ? PAUSE : undefined);
  const tried = await answer("the first", "f1", ({ attempts }) => attempts === 1);
  const waiting = await answer("the second", "f2", () => true);
  await answer("the third", "f3", () => true);
  for (const messageId of ["f1", "f2"]) await deletes(messageId);
  for (const copy of [tried, waiting])
    expect(await ends(rig, copy)).toMatchObject({ status: "cancelled", reason: BACK });
  await rig.clock.advance(61_000);
  await rig.idle();
  expect(rig.platform.texts("room")).toEqual([expect.stringContaining("the third")]);
  expect(rig.platform.requests.filter(({ kind }) => kind === "create")).toHaveLength(2);
  expect(far.texts("dm-8")).toEqual([]);
});

it("a correction that is posted in place of what was refused is not sent either", async () => {
  const { rig, answer, deletes } = await startDesk();
  rig.platform.script = (_, n) => (n === 1 ? REFUSED : n === 2 ? PAUSE : undefined);
  const copy = await answer("the price is 5", "f1", ({ status }) => status === "dead");
  await answer("wait", "f2", ({ attempts }) => attempts === 1);
  const edit = await rig.gateway.edit(copy.id, { text: "6" }, { cause: { kind: "api", id: "test", depth: 0 } });
  await deletes("f1");
  expect(await rig.store.outbox.get(edit)).toMatchObject({ status: "cancelled", reason: BACK });
  await rig.clock.advance(61_000);
  await rig.idle();
  expect(rig.platform.texts("room")).toEqual([expect.stringContaining("wait")]);
});

it("a copy that is on the wire is sent, and then deleted", async () => {
  const { rig, answer, deletes } = await startDesk();
  let go: (() => void) | undefined;
  const take = rig.platform.take.bind(rig.platform);
  rig.platform.take = async (operation, signal) => {
    if (operation.kind === "create") await new Promise<void>((done) => (go = done));
    return take(operation, signal);
  };
  const copy = await answer("too late", "f1", () => go !== undefined);
  await deletes("f1");
  go?.();
  await rig.idle();
  expect(await ends(rig, copy)).toMatchObject({ status: "sent" });
  expect(rig.platform.requests.map(({ kind }) => kind)).toEqual(["create", "delete"]);
  expect(rig.platform.texts()).toEqual([]);
});

it("one that an operator confirmed after a restore has no known id: its author learns that it is still there", async () => {
  const { rig, far, answer } = await startDesk();
  rig.platform.script = () => PAUSE;
  await answer("wait", "f1", ({ attempts }) => attempts === 1);
  const copy = await answer("the price is 5", "f2", () => true);
  await rig.stop();
  const backup = join(newFolder(), "backup.db");
  copyFileSync(rig.file, backup);
  await restoreDatabase(filesBeside(rig.file), backup, { hold: true, clock: rig.clock });
  rig.platform.script = () => undefined;
  const next = await startDesk(undefined, { rig, far });
  expect(await ends(next.rig, copy)).toMatchObject({ status: "held", parts: [] });
  await next.rig.gateway.release(copy.id, true);
  await rig.clock.advance(61_000);
  await next.deletes("f2");
  await next.rig.idle();
  expect(far.texts("dm-8")).toEqual([expect.stringMatching(/not deleted.*may still be shown/s)]);
});

it("one that an operator cancels while it waits: its author learns that it was not posted, or that it may have been", async () => {
  const { rig, far, answer, edits } = await startDesk();
  rig.platform.script = (_, n) => (n === 1 ? { kind: "retry", error: "503", scope: "chat" } : undefined);
  const tried = await answer("the first", "f1", ({ attempts }) => attempts === 1);
  const waiting = await answer("the second", "f2", () => true);
  const by = `${WITHDRAWN_BY}Owner`;
  expect(await rig.gateway.withdraw(waiting.id, by)).toBe(true);
  expect(await rig.gateway.cancelRest(tried.id, by)).toMatchObject({ isUnclear: false });
  await rig.idle();
  const note = expect.stringMatching(/not posted in .*it was cancelled.*Ask one of them before you write again/s);
  expect(far.texts("dm-8")).toEqual([note, note]);
  // As after the purge of a held one: what an operator stopped is not posted by a correction.
  await edits("f2", "the second, corrected");
  await rig.idle();
  expect(creates(rig).join()).not.toContain("corrected");
  expect(far.texts("dm-8")).toEqual([
    note,
    note,
    expect.stringMatching(/^\*\*The correction of your message was not passed on: an operator cancelled the message\./),
  ]);
  rig.platform.take = () => new Promise(() => {});
  const sent = await answer("the third", "f3", ({ parts }) => parts[0]?.status === "sending");
  await rig.gateway.cancelRest(sent.id, by);
  await until(() => far.texts("dm-8").length === 4, "the third note");
  expect(far.texts("dm-8")[3]).toContain("It is not known whether your message was posted");
});

const creates = ({ platform }: Rig) =>
  platform.requests.flatMap((one) => (one.kind === "create" ? [one.part.text] : []));

it("the reason of what waited until it expired names no operator when its author corrected it", async () => {
  const { rig, answer, edits } = await startDesk();
  rig.platform.script = () => PAUSE;
  await answer("first", "f1", ({ attempts }) => attempts === 1);
  const corrected = await answer("secnod", "f2", () => true);
  await edits("f2", "second");
  await rig.clock.advance(24 * 3_600_000);
  const { reason } = await until(async () => {
    const found = await ends(rig, corrected);
    return found?.status === "dead" ? found : undefined;
  }, "its end");
  expect(reason).toMatch(/^not sent in time \(gateway\.ttl is 1 d\)/);
});

it("a correction changes what waits, in its place and with its reference, also what was tried once and certainly not posted", async () => {
  const { rig, answer, edits } = await startDesk();
  rig.platform.script = (_, n) => (n === 1 ? PAUSE : undefined);
  rig.platform.width = 1_000;
  await answer("frist", "f1", ({ attempts }) => attempts === 1);
  const second = await answer("secnod", "f2", () => true);
  await answer("third", "f3", () => true);
  await edits("f1", "first");
  for (const text of ["secod", "second"]) await edits("f2", text);
  expect(await ends(rig, second)).toMatchObject({ status: "waiting", message: { text: SAID("second") } });
  await rig.clock.advance(61_000);
  await rig.idle();
  expect(creates(rig).slice(1)).toEqual(["first", "second", "third"].map(SAID));
  expect(rig.platform.requests.every(({ kind }) => kind === "create")).toBe(true);
  expect(rig.platform.messages.map(({ body }) => body.replyToId)).toEqual(["m1", "m1", "m1"]);
});

it.each(["cancel", "let through"])(
  "while hooks decide about the first words (%s), the correction is asked about and sent",
  async (then) => {
    let decide: (() => void) | undefined;
    const asked: string[] = [];
    const { rig, far, answer, edits } = await startDesk((registry) => {
      registry.registerModifying("message_sending", ({ message, platform }) => {
        if (platform === "loop") asked.push(message.text);
        const cancel = then === "cancel" ? { cancel: "rude" } : null;
        return message.text.includes("damn") ? new Promise((done) => (decide = () => done(cancel))) : null;
      });
    });
    await answer("damn", "f1", () => decide !== undefined);
    await edits("f1", "polite");
    decide?.();
    await rig.idle();
    expect(asked).toEqual([SAID("damn"), SAID("polite")]);
    expect(creates(rig)).toEqual([SAID("polite")]);
    expect(rig.platform.requests).toHaveLength(1);
    expect(far.texts("dm-8")).toEqual([]);
  },
);

it("a correction of what a guard holds is what the guard is asked about when it is released", async () => {
  const asked: string[] = [];
  const { rig, far, answer, edits } = await startDesk((registry) => {
    registry.registerModifying(
      "message_sending",
      ({ message, platform }) => {
        if (platform === "loop") asked.push(message.text);
        if (message.text.includes("damn")) throw new Error("the guard is down");
        return null;
      },
      { name: "guard", failurePolicy: "fail-closed" },
    );
  });
  const copy = await answer("damn", "f1", ({ status }) => status === "held");
  await edits("f1", "polite");
  await rig.gateway.release(copy.id);
  await rig.idle();
  expect(asked).toEqual([SAID("damn"), SAID("polite")]);
  expect(creates(rig)).toEqual([SAID("polite")]);
  expect(rig.platform.requests).toHaveLength(1);
  expect(far.texts("dm-8")).toHaveLength(1);
});

/** While `isDown`, a fail-closed hook lets no message be handled. */
function shop() {
  const state = { isDown: false, asked: [] as string[], go: undefined as (() => void) | undefined };
  const hooks = (registry: HookRegistry) => {
    registry.registerClaiming(
      "inbound_claim",
      ({ message }) => {
        if (state.isDown) throw new Error("the shop is down");
        state.asked.push(message.text);
        return null;
      },
      { name: "order", failurePolicy: "fail-closed" },
    );
  };
  return { state, hooks };
}

it("a message that was given up is handled by a retry as its author corrected it, and not at all once it is deleted", async () => {
  const { state, hooks } = shop();
  const { rig, far, edits, deletes, ...desk } = await startDesk(hooks);
  state.isDown = true;
  const corrected = await desk.givenUp("it costs 10", "f1");
  const deleted = await desk.givenUp("the code is 1234", "f2");
  for (const text of ["it costs 99", "it costs 100"]) await edits("f1", text);
  await deletes("f2");
  state.isDown = false;
  state.asked = [];
  expect(await rig.gateway.revive(deleted)).toBe(false);
  expect(await rig.gateway.revive(corrected)).toBe(true);
  await rig.idle();
  expect(state.asked).toEqual(["it costs 100"]);
  expect(creates(rig)).toEqual([SAID("it costs 100")]);
  expect(rig.platform.requests).toHaveLength(1);
  expect(rig.platform.messages[0]?.body.replyToId).toBe("m1");
  expect(await rig.store.inbox.get(deleted)).toMatchObject({ status: "done", outcome: "deleted", deliveryIds: [] });
  await edits("f1", "it costs 101");
  await rig.idle();
  expect(rig.platform.texts("room")).toEqual([SAID("it costs 101")]);
  expect(far.texts("desk").join()).not.toContain("1234");
});

it("a correction or a deletion that still waits, or whose hooks fail, counts for the retry as well", async () => {
  const { state, hooks } = shop();
  const { rig, ...desk } = await startDesk((registry) => {
    hooks(registry);
    const fail = () => {
      if (state.isDown) throw new Error("the shop is down");
    };
    for (const point of ["message_edited", "message_deleted"] as const)
      registry.registerVoid(point, fail, { name: point, failurePolicy: "fail-closed" });
    registry.registerVoid(
      "message_received",
      ({ message }) =>
        message.text === "slow" && state.isDown ? new Promise<void>((done) => (state.go = done)) : undefined,
      { name: "slow", failurePolicy: "fail-closed" },
    );
  });
  state.isDown = true;
  const failing = await desk.givenUp("it costs 10", "f1");
  const waiting = await desk.givenUp("it costs 20", "f2");
  const deleted = await desk.givenUp("the code is 1234", "f3");
  await desk.changes("f1", "it costs 11");
  await until(
    async () => (await rig.store.inbox.find(DESK, "edit:f1:it costs 11"))?.status === "dead",
    "the edit given up",
  );
  await rig.say("slow", { ...desk.person, messageId: "f4" });
  await until(() => state.go !== undefined, "the message ahead");
  await desk.changes("f2", "it costs 22");
  await desk.changes("f3");
  expect(await rig.gateway.revive(deleted)).toBe(false);
  for (const id of [failing, waiting]) expect(await rig.gateway.revive(id)).toBe(true);
  state.isDown = false;
  state.go?.();
  await rig.idle();
  expect(creates(rig)).toEqual(["it costs 11", "it costs 22"].map(SAID));
});

/** Until `open()`, a message "slow" holds up all that is written at the desk after it. */
async function startBusyDesk(guard?: () => void) {
  let open: (() => void) | undefined;
  const desk = await startDesk((registry) => {
    registry.registerClaiming("inbound_claim", ({ message }) =>
      message.text === "slow" ? new Promise((done) => (open = () => done(null))) : null,
    );
    registry.registerModifying(
      "message_sending",
      ({ platform }) => {
        if (platform === "loop") guard?.();
        return null;
      },
      { name: "guard", failurePolicy: "fail-closed" },
    );
  });
  const busy = async (messageId = "slow") => {
    open = undefined;
    await desk.rig.say("slow", { ...desk.person, messageId, userId: "9" });
    await until(() => open !== undefined, "the message ahead");
  };
  return { ...desk, busy, open: () => open?.() };
}

it("a message is not posted when its author deletes it while it waits for its turn to be handled", async () => {
  const { rig, far, person, busy, open, changes } = await startBusyDesk();
  await busy();
  const replyToId = far.messages[0]?.id;
  for (const [text, messageId] of [
    ["the password is 1234", "f1"],
    ["here it is", "f2"],
  ] as const)
    await rig.say(text, { ...person, messageId, replyToId });
  await changes("f1");
  open();
  await rig.idle();
  expect(creates(rig)).toEqual([SAID("here it is")]);
  expect(rig.platform.requests).toHaveLength(1);
  const [copy] = await rig.store.outbox.answersTo(`m${(await rig.store.inbox.find(DESK, "f1"))?.id}`);
  expect(copy).toMatchObject({ status: "cancelled", reason: BACK });
  expect(far.texts("dm-8")).toEqual([]);
});

it.each(["held", "dead"] as const)(
  "what is %s is not sent when an operator decides so while its deletion waits for its turn",
  async (ending) => {
    let isDown = ending === "held";
    const { rig, far, answer, busy, open, changes } = await startBusyDesk(() => {
      if (isDown) throw new Error("the guard is down");
    });
    rig.platform.script = () => (ending === "dead" ? REFUSED : undefined);
    const copy = await answer("the password is 1234", "f1", ({ status }) => status === ending);
    const before = rig.platform.requests.length;
    isDown = false;
    rig.platform.script = () => undefined;
    await busy();
    const eventId = await changes("f1");
    expect(await rig.gateway.release(copy.id)).toBe(true);
    expect(await ends(rig, copy)).toMatchObject({ status: "cancelled", reason: BACK });
    await until(
      () => far.texts("dm-8").join() === "**Your deleted message is not shown in loop:bot:room.**",
      "its notice",
    );
    open();
    await until(async () => (await rig.store.inbox.find(DESK, eventId))?.status === "done", "the deletion handled");
    await rig.idle();
    expect(rig.platform.requests).toHaveLength(before);
    expect(far.texts("dm-8")).toEqual(["**Your deleted message is not shown in loop:bot:room.**"]);
  },
);

it("what its platform asked to wait, or hooks take their time for, is not sent when the deletion waits for its turn", async () => {
  let decide: (() => void) | undefined;
  const { rig, answer, busy, open, changes } = await startBusyDesk();
  rig.platform.script = (_, n) => (n === 1 ? PAUSE : undefined);
  const tried = await answer("the password is 1234", "f1", ({ attempts }) => attempts === 1);
  await busy();
  await changes("f1");
  await rig.clock.advance(61_000);
  await until(async () => (await ends(rig, tried))?.status === "cancelled", "the end of what was tried");
  open();
  await rig.idle();
  rig.registry.registerModifying("message_sending", ({ platform }) =>
    platform === "loop" ? new Promise<null>((done) => (decide = () => done(null))) : null,
  );
  const decided = await answer("the password is 5678", "f2", () => decide !== undefined);
  await busy("slow2");
  await changes("f2");
  decide?.();
  await until(async () => (await ends(rig, decided))?.status === "cancelled", "the end of what hooks decided about");
  open();
  await rig.idle();
  expect(creates(rig)).toHaveLength(1);
});
