import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ValueReader } from "../../src/fast/pack/value-reader.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
  desk.registry.registerModifying(
    "message_sending",
    ({ message }) => ({ message: { ...message, text: `${message.text}!` } }),
    { id: "shout" },
  );
  desk.registry.registerVoid(
    "message_sent",
    ({ message }) => Promise.reject(new Error(`cannot note ${message.text.length}`)),
    { id: "note" },
  );
});
afterEach(() => desk.close());

const sent = {
  chatId: "lobby",
  platform: "web",
  botId: "web",
  deliveryId: "d_1",
  cause: { kind: "reply" as const, id: "m42", depth: 0 },
  message: { text: "meet me at noon" },
};
const sending = (dispatchId: string) =>
  desk.registry.fireModifying("message_sending", sent, undefined, {
    dispatchId,
    conversation: "web:web:lobby",
    messageId: "42",
  });
const failing = (dispatchId: string) =>
  desk.registry.fireVoid("message_sent", { ...sent, messageId: "43", messageIds: ["43"] }, undefined, { dispatchId });

interface RunsData {
  dispatches: { id: string }[];
  total: number;
}

describe("/runs", () => {
  it("says what to do when nothing fired", async () => {
    expect((await desk.say("/runs")).shown).toContain("Nothing fired yet");
    expect((await desk.say("/runs failed")).shown).toContain("No run failed");
    expect((await desk.say("/runs last")).shown).toContain("Nothing fired yet");
  });

  it("names what it takes when asked for what it does not", async () => {
    await expect(desk.say("/runs held")).rejects.toMatchObject({
      code: "NOT_FOUND",
      hint: expect.stringContaining("Write a hook, a hook point, or one of failed, last, all, configured, queued, "),
    });
    await expect(desk.say("/runs faild")).rejects.toMatchObject({ message: expect.stringContaining('mean "failed"?') });
  });

  it("lists the newest first, with outcome and failures, and masks the payloads", async () => {
    await sending("a");
    await desk.clock.advance(1000);
    await failing("b");
    const { shown, data } = await desk.say("/runs");
    expect((data as RunsData).dispatches.map(({ id }) => id)).toEqual(["b", "a"]);
    expect(shown).toMatch(
      /^1\. \*\*✗ failed\*\* · `note` · [\d:]+ · `b`\n2\. ✎ modified · `shout` · in `web:web:lobby` · /m,
    );
    expect(`${shown}${JSON.stringify(data)}`).not.toContain("noon");
  });

  it("leads to the list from a row that no list had", async () => {
    await sending("a");
    const hint = (text: RegExp) => ({ hint: expect.stringMatching(text) });
    await expect(desk.say("/replay 7", { source: "cli" })).rejects.toMatchObject(hint(/^No list of \/runs/));
    await expect(desk.say("/replay 7")).rejects.toMatchObject(hint(/^Row numbers hold in a chat/));
    await expect(desk.say("/replay x7")).rejects.toMatchObject({ hint: expect.stringContaining("retention") });
  });

  it("unpacks no payload that is not on the page", async () => {
    const messageIds = Array.from({ length: 200 }, (_, n) => `m${n}`);
    for (let n = 0; n < 30; n++)
      await desk.registry.fireVoid("message_sent", { ...sent, messageId: "43", messageIds }, undefined, {
        dispatchId: `d${n}`,
      });
    const read = vi.spyOn(ValueReader.prototype, "value");
    onTestFinished(() => read.mockRestore());
    const readFor = async (limit: number) => {
      read.mockClear();
      expect((await desk.run("runs", { limit })).data).toMatchObject({ total: 30 });
      return read.mock.calls.length;
    };
    const [one, all] = [await readFor(1), await readFor(30)];
    expect(one).toBeLessThan(all / 3);
  });

  it("names people by their user name where they have no other", async () => {
    const named = {
      ...{ platform: "web", botId: "web", chatId: "lobby", userId: "7", username: "vera", messageId: "42" },
      ...{ text: "hi", attachments: [], isDm: false, isGroupMention: false, isEdit: false, receivedAt: 1000 },
    };
    desk.registry.registerVoid("message_received", () => {}, { id: "seen" });
    const dispatchId = "m7:message_received";
    await desk.registry.fireVoid("message_received", { message: named, access: "allowed" }, undefined, { dispatchId });
    expect((await desk.say("/runs all")).shown).toContain("· vera");
  });

  it("names the point, and not the hook, of what goes on in the background", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "later", execution: "background" });
    desk.registry.setEnabled("note", false);
    await desk.registry.fireVoid("message_sent", { ...sent, messageId: "1", messageIds: ["1"] }, undefined, {
      dispatchId: "d_1:message_sent",
    });
    const { shown } = await desk.say("/runs");
    expect(shown).toContain("`message_sent`");
    expect(shown).not.toContain("`later`");
  });

  it("filters by hook, by point and by failure", async () => {
    await sending("a");
    await failing("b");
    const ids = async (line: string) => ((await desk.say(line)).data as RunsData).dispatches.map(({ id }) => id);
    expect(await ids("/runs shout")).toEqual(["a"]);
    expect(await ids("/runs message_sent")).toEqual(["b"]);
    expect(await ids("/runs failed")).toEqual(["b"]);
    await expect(desk.say("/runs shot")).rejects.toMatchObject({ message: expect.stringContaining("shout") });
  });

  it("says what was looked for and what to do when there is none", async () => {
    const empty = async (line: string) => (await desk.say(line)).shown;
    expect(await empty("/runs shout")).toContain("No run of `shout` is on record.** `/hooks why shout` shows why.");
    expect(await empty("/runs message_sent")).toMatch(
      /No firing of `message_sent` is on record.*\/hooks order message_sent/,
    );
    expect(await empty("/runs claimed")).toContain("No run of a hook ended as `claimed`** in the last 200 dispatches.");
    desk.registry.registerVoid("command_invoked", async () => {}, { id: "watch" });
    await desk.registry.fireVoid(
      "command_invoked",
      { command: "status", options: {}, operator: { platform: "web", userId: "1" }, outcome: "done" },
      undefined,
      { dispatchId: "c" },
    );
    expect(await empty("/runs")).toContain(
      "Only commands fired lately.**\n\n1 dispatch of commands left out: `/runs all`",
    );
    expect(await empty("/runs all")).toContain("**1 dispatch** of `all`");
  });

  it("shows the last one whole", async () => {
    await sending("a");
    await desk.clock.advance(1000);
    await failing("b");
    expect((await desk.say("/runs last")).data).toMatchObject({
      id: "b",
      runs: [{ hookId: "note", outcome: "failed" }],
    });
  });

  it("pages", async () => {
    for (let n = 0; n < 23; n++) {
      await sending(`n${n}`);
      await desk.clock.advance(10);
    }
    const first = await desk.say("/runs");
    expect(first.shown).toContain("page 1 of 3");
    expect(first.lines).toContain("/runs page=2");
    expect((await desk.say("/runs page=3")).data).toMatchObject({
      dispatches: [{ id: "n2" }, { id: "n1" }, { id: "n0" }],
      total: 23,
    });
  });
});

describe("a row of /runs by its number", () => {
  const at = { platform: "web", botId: "web", chatId: "lobby" };
  const inLobby = { at, source: "web" };
  beforeEach(async () => {
    for (const id of ["a", "b", "c"]) {
      await (id === "b" ? failing(id) : sending(id));
      await desk.clock.advance(1000);
    }
  });
  const opened = async (line: string, by: Parameters<Desk["say"]>[1] = inLobby) => {
    const { shown, data } = await desk.say(line, by);
    return [shown.split("\n")[0], (data as { id: string }).id];
  };

  it("is what `/run` opens: of the list that the person saw last in this chat", async () => {
    const { lines, shown } = await desk.say("/runs", inLobby);
    expect(shown).not.toContain("`a`");
    expect(lines).toEqual(["/run c", "/run b", "/run a", "/runs failed"]);
    // What fires later moves no number that was read.
    await sending("d");
    expect(await opened("/run 3")).toEqual(["Number 3 of `/runs`, as you saw it just now:", "a"]);
    await desk.say("/runs failed", inLobby);
    await desk.clock.advance(60_000);
    expect(await opened("/run 1")).toEqual(["Number 1 of `/runs failed`, as you saw it 1 min ago:", "b"]);
  });

  it("keeps the numbers of the pages that were turned", async () => {
    for (const page of [1, 2, 3]) await desk.say(`/runs limit=1 page=${page}`, inLobby);
    expect(await opened("/run 1")).toEqual([expect.any(String), "c"]);
    expect(await opened("/run 3")).toEqual([expect.any(String), "a"]);
    await desk.say("/runs failed", inLobby);
    await desk.say("/runs limit=1 page=2", inLobby);
    expect(await opened("/run 1")).toEqual(["Number 1 of what `/runs` lists now:", "c"]);
  });

  it("is counted in the list of now where none was seen: by another person, in another chat, a day later", async () => {
    await desk.say("/runs failed", inLobby);
    const now = ["Number 2 of what `/runs` lists now:", "b"];
    const grace = { platform: "web", userId: "2", role: "viewer" as const };
    expect(await opened("/run 2", { ...inLobby, operator: grace })).toEqual(now);
    expect(await opened("/run 2", { at: { ...at, chatId: "hall" }, source: "web" })).toEqual(now);
    await desk.clock.advance(25 * 3_600_000);
    expect((await opened("/run 1"))[1]).toBe("c");
    await expect(desk.say("/run 150", inLobby)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: 'The journal has no dispatch or run "150".',
      hint: expect.stringContaining("has this row"),
    });
  });

  it("goes before a message of the platform with the same number, which else is opened", async () => {
    for (let n = 0; n < 42; n++) await sending(`n${n}`);
    expect((await desk.say("/run 42", inLobby)).shown).not.toContain("Number 42");
    await desk.say("/runs limit=50", inLobby);
    expect(await opened("/run 42")).toEqual([expect.stringContaining("Number 42 of `/runs`"), "n0"]);
  });

  it("is what `/replay` fires again, and only of a list that was seen", async () => {
    await expect(desk.say("/replay 3", inLobby)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await desk.say("/runs", inLobby);
    expect((await desk.say("/replay 3", inLobby)).data).toMatchObject({ replayOf: "a", dryRun: true });
  });

  it("is kept of the newest hundred lists", async () => {
    for (let n = 0; n < 105; n++) {
      await desk.say("/runs", { ...inLobby, at: { ...at, chatId: `room ${n}` } });
      await desk.clock.advance(1);
    }
    expect(await desk.store.keyValue.list("commands.runs", "")).toHaveLength(100);
  });
});

describe("/run", () => {
  it("shows who ran, in what order, what each changed, where and because of what, masked", async () => {
    await sending("d_1:message_sending");
    const { shown, data } = await desk.say("/run d_1:message_sending", { role: "viewer" });
    for (const part of ["message_sending", "shout", "modified", "m42", "web:web:lobby"]) expect(shown).toContain(part);
    expect(`${shown}${JSON.stringify(data)}`).not.toContain("noon");
    expect(data).toMatchObject({ redacted: true, payload: { chatId: "lobby", message: { text: "[text]" } } });
  });

  it("reveals what people wrote to an admin, and writes down who looked", async () => {
    await sending("a");
    const { shown, data } = await desk.say("/run a reveal", { role: "admin" });
    expect(shown).toContain("meet me at noon!");
    expect(data).toMatchObject({ redacted: false, payload: { message: { text: "meet me at noon" } } });
    expect(await desk.store.audit.list({ limit: 5 })).toMatchObject([
      { action: "reveal", target: "a", outcome: "done", operator: { platform: "web", userId: "1" } },
    ]);
  });

  it("refuses to reveal to an operator, and shows nothing", async () => {
    await sending("a");
    await expect(desk.say("/run a reveal", { role: "operator" })).rejects.toMatchObject({ code: "REFUSED" });
    expect(await desk.store.audit.list({ limit: 5 })).toEqual([]);
  });

  it.each([
    [
      "/run m42 reveal",
      "/run m42 lists the dispatches: reveal one by its id. /outbox show m42 reveal=true shows the text",
    ],
    [
      "/run d_1 reveal",
      "/run d_1 lists the dispatches: reveal one by its id. /outbox show d_1 reveal=true shows the text",
    ],
    ["/run 42 reveal", "/run 42 lists the dispatches: reveal one by its id."],
  ])("reveals nothing of all that a message led to, and says what can be revealed: %s", async (line, hint) => {
    await sending("d_1:message_sending");
    await expect(desk.say(line, { role: "admin" })).rejects.toMatchObject({
      code: "BAD_USAGE",
      message: expect.stringMatching(/^Nothing was revealed: reveal shows one dispatch or run/),
      hint: expect.stringContaining(hint),
    });
    await expect(desk.say(line, { role: "operator" })).rejects.toMatchObject({ code: "REFUSED" });
    expect(await desk.store.audit.list({ limit: 5 })).toEqual([]);
  });

  it("finds a dispatch by the id of a run", async () => {
    await failing("b");
    await desk.store.journal.flush();
    const runId = (await desk.store.journal.get("b"))?.runs[0]?.id ?? "";
    expect(runId).not.toBe("");
    const { shown, data } = await desk.say(`/run ${runId}`);
    expect(data).toMatchObject({ id: "b" });
    expect(shown).toContain("cannot note 15");
  });

  it("shows an error that tries to be Markdown or a mention as plain text", async () => {
    desk.registry.registerVoid("message_deleted", () => Promise.reject(new Error("@everyone **now** ```")), {
      id: "rude",
    });
    const at = { platform: "web", botId: "web", chatId: "lobby" };
    await desk.registry.fireVoid(
      "message_deleted",
      { address: at, messageId: "1", access: "allowed", at: 0 },
      undefined,
      { dispatchId: "r" },
    );
    expect((await desk.say("/run r")).shown).toContain("\\@everyone \\*\\*now\\*\\* \\`\\`\\`");
  });

  it("says that there is no such run", async () => {
    await expect(desk.say("/run nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("/audit", () => {
  it("finds an entry behind thousands of newer ones", async () => {
    const operator = { platform: "web", userId: "1", role: "owner" as const };
    const record = (target: string) =>
      desk.store.audit.record({ at: 1, operator, action: "command", target, outcome: "done" });
    await record("purge");
    for (let i = 0; i < 1_100; i++) await record("status");
    expect((await desk.say("/audit purge", { role: "admin" })).data).toMatchObject({ total: 1 });
    expect((await desk.say("/audit nothing", { role: "admin" })).shown).toContain("Nothing recorded");
  });

  it("finds a person by a part of the name, and asks which one of several", async () => {
    const people = [
      { platform: "telegram", userId: "2003", displayName: "Vera_Viewer", role: "viewer" as const },
      { platform: "web", userId: "3", displayName: "Otto Operator", role: "operator" as const },
      { platform: "discord", userId: "7734", displayName: "Otto" },
      { platform: "web", userId: "4", displayName: "Purging Pia", role: "admin" as const },
    ];
    for (const operator of people)
      await desk.store.audit.record({ at: 1, operator, action: "command", target: "purge", outcome: "refused" });
    const asked = { target: "audit", details: { options: { filter: "Vera" } } };
    await desk.store.audit.record({
      at: 2,
      operator: people[1] as never,
      action: "command",
      ...asked,
      outcome: "done",
    });
    const whose = async (line: string) =>
      ((await desk.say(line)).data as { entries: { operator: { userId: string } }[] }).entries.map(
        ({ operator }) => operator.userId,
      );
    expect(await whose("/audit vera")).toEqual(["3", "2003"]);
    expect(await whose("/audit Otto Operator")).toEqual(["3", "3"]);
    expect(await whose("/audit Otto")).toEqual(["7734"]);
    await expect(desk.say("/audit ott")).rejects.toMatchObject({
      message: 'More than one person fits "ott".',
      option: "filter",
    });
    expect(await whose("/audit refused")).toHaveLength(4);
    expect(await whose("/audit outbox")).toEqual([]);
  });

  it("finds a command as it is written, with what follows it, and an outcome beside other words", async () => {
    const operator = { platform: "web", userId: "3", displayName: "Otto", role: "operator" as const };
    const record = (target: string, options: Record<string, string>, outcome: "done" | "refused") =>
      desk.store.audit.record({ at: 1, operator, action: "command", target, details: { options }, outcome });
    await record("outbox", { action: "purge", id: "all" }, "refused");
    await record("outbox", { action: "list" }, "done");
    await record("task", { action: "cancel", id: "One" }, "done");
    const total = async (line: string) => ((await desk.say(line)).data as { total: number }).total;
    for (const line of ["/audit outbox purge", "/audit /outbox purge", "/audit task cancel", "/audit Otto refused"])
      expect(await total(line), line).toBe(1);
    expect(await total("/audit /outbox")).toBe(2);
    expect(await total("/audit outbox done")).toBe(1);
    expect(await total("/audit outbox pur")).toBe(0);
  });

  it("finds by an outcome what ended so, and no command that contains its name", async () => {
    const operator = { platform: "web", userId: "1", role: "owner" as const };
    const details = { options: { filter: "failed" } };
    const record = (target: string, outcome: "done" | "failed", more = {}) =>
      desk.store.audit.record({ at: 1, operator, action: "command", target, outcome, ...more });
    await record("runs", "done", { details });
    await record("purge", "failed");
    const { shown, data } = await desk.say("/audit failed", { role: "admin" });
    expect(data).toMatchObject({ total: 1 });
    expect(shown).toContain("/purge");
    expect(shown).not.toContain("/runs failed");
  });

  it("says of one entry that stands for many what it was and that the others had other options", async () => {
    const operator = { platform: "web", userId: "5", displayName: "Vie", role: "viewer" as const };
    for (const [at, id] of ["disable", "enable", "pause"].entries())
      await desk.store.audit.record({
        at: desk.clock.now() + at,
        operator,
        action: "command",
        target: "hooks",
        details: { options: { action: id } },
        outcome: "refused",
      });
    const { shown } = await desk.say("/audit vie", { role: "admin" });
    expect(shown).toMatch(/Vie +\/hooks disable +refused, and 2 more of \/hooks until \d\d:\d\d:\d\d/);
  });

  it("shows a command as a person may give it again", async () => {
    const operator = { platform: "web", userId: "1", role: "owner" as const };
    const given: [string, object, string][] = [
      ["hooks", { action: "why", id: "greeter", message: "m5" }, "/hooks why greeter m5"],
      ["hooks", { action: "list", id: "greet me", page: 2 }, '/hooks list "greet me" page=2'],
      ["hooks", { action: "why", message: "m5" }, "/hooks why message=m5"],
      ["ack", { id: "al_1", for: "2 h" }, '/ack al_1 "2 h"'],
      ["gone", { id: "x" }, "/gone id=x"],
    ];
    for (const [target, options] of given)
      await desk.store.audit.record({
        at: 1,
        operator,
        action: "command",
        target,
        details: { options },
        outcome: "done",
      });
    const { shown } = await desk.say("/audit", { role: "admin" });
    for (const [, , line] of given) expect(shown).toContain(` ${line}`);
  });

  it("names what was revealed, with the id last", async () => {
    await sending("a");
    await desk.say("/run a reveal", { role: "admin" });
    await desk.store.audit.record({
      at: 2,
      operator: { platform: "web", userId: "1", displayName: "Ada", role: "owner" },
      action: "reveal",
      target: "r_gone",
      outcome: "done",
    });
    const { shown } = await desk.say("/audit", { role: "admin" });
    expect(shown).toMatch(/Ada +reveal shout at message_sending, a$/m);
    expect(shown).toMatch(/Ada +reveal r_gone$/m);
  });

  it("shows a stranger with the name of an operator by the account", async () => {
    const ann = { platform: "web", userId: "2", displayName: "Ann", role: "admin" as const };
    const stranger = { platform: "discord", userId: "7734", displayName: "Ann" };
    await desk.store.audit.record({ at: 1, operator: ann, action: "command", target: "silence", outcome: "done" });
    await desk.store.audit.record({
      at: 2,
      operator: stranger,
      action: "command",
      target: "silence",
      outcome: "refused",
    });
    const lines = (await desk.say("/audit silence", { role: "admin" })).shown.split("\n");
    expect(lines.find((line) => line.includes("refused"))).toMatch(/ discord:7734 \(Ann\) /);
    expect(lines.find((line) => line.includes("/silence") && !line.includes("refused"))).toMatch(/ Ann +\/silence/);
  });
});
