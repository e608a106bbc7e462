import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventPoint } from "../../src/automations/triggers/event-point.js";
import { until } from "../support/until.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

interface FireData {
  id: string;
  dryRun: boolean;
  runs: { hookId: string; outcome: string; latencyMs: number; diff?: unknown }[];
  result?: unknown;
  source: string;
}

describe("/fire-hook", () => {
  it("fires one hook with the example, and nobody else", async () => {
    const seen: string[] = [];
    desk.registry.registerModifying(
      "message_sending",
      ({ message }) => ({ message: { ...message, text: message.text.toUpperCase() } }),
      { id: "shout" },
    );
    desk.registry.registerModifying("message_sending", () => void seen.push("other"), { id: "other" });
    const { shown, data, outcome } = await desk.say("/fire-hook shout live=true");
    expect(outcome).toBeUndefined();
    expect(seen).toEqual([]);
    expect(shown).toContain("HELLO BACK");
    expect(data).toMatchObject({
      point: "message_sending",
      dryRun: false,
      source: "example",
      runs: [{ hookId: "shout", outcome: "modified" }],
      cause: { kind: "command" },
    });
  });

  it("fires a whole point, in order, and shows each outcome and what it changed", async () => {
    desk.registry.registerModifying("message_sending", ({ message }) => ({ message: { ...message, text: "one" } }), {
      id: "first",
    });
    desk.registry.registerModifying("message_sending", () => Promise.reject(new Error("out of order")), {
      id: "second",
    });
    const { shown, data, outcome } = await desk.say("/fire-hook message_sending live=true");
    expect(outcome).toBe("failed");
    expect((data as FireData).runs.map(({ hookId, outcome }) => [hookId, outcome])).toEqual([
      ["first", "modified"],
      ["second", "failed"],
    ]);
    expect(shown).toContain("out of order");
    expect(shown).toContain('"text": "one"');
  });

  it("asks for a field of an event of which no example can be made, and takes it on top of the others", async () => {
    const text = { type: "string" as const };
    const properties = { branch: text, at: { ...text, format: "date-time" }, run: { ...text, pattern: "^[0-9]+$" } };
    const required = Object.keys(properties);
    const typed = desk.registry.declare(eventPoint("deploy", { schema: { type: "object", properties, required } }));
    const seen: unknown[] = [];
    typed.registerVoid("event:deploy", (body) => void seen.push(body), { id: "note" });
    await expect(desk.say("/fire-hook note live=true")).rejects.toMatchObject({
      message: expect.stringContaining("- run: expected text that matches ^[0-9]+$"),
      hint: expect.stringContaining("Give each field here `examples:` in the event's schema"),
    });
    await desk.say('/fire-hook note example {"run": "12"} live=true');
    expect(seen).toEqual([{ branch: "text", at: "2026-01-01T12:00:00Z", run: "12" }]);
  });

  it("takes a payload typed by hand, the example with fields on top, and the last real one", async () => {
    const texts: string[] = [];
    desk.registry.registerVoid("message_sent", ({ message }) => void texts.push(message.text), { id: "note" });
    await desk.say('/fire-hook note example {"message": {"text": "typed on top"}} live=true');
    const typed = {
      chatId: "c",
      platform: "web",
      deliveryId: "d",
      cause: { kind: "api", id: "x", depth: 0 },
      messageId: "1",
      messageIds: ["1"],
      message: { text: "typed whole" },
    };
    await desk.say(`/fire-hook note ${JSON.stringify(typed)} live=true`);
    await desk.registry.fireVoid("message_sent", {
      ...typed,
      cause: { kind: "reply", id: "m1", depth: 0 },
      message: { text: "the real one" },
    });
    await desk.say("/fire-hook note example live=true");
    const { data } = await desk.say("/fire-hook note last");
    expect(texts).toEqual(["typed on top", "typed whole", "the real one", "hello back", "the real one"]);
    expect(data).toMatchObject({ source: "last" });
  });

  it("masks what a person wrote when the last real payload is fired", async () => {
    desk.registry.registerModifying(
      "message_sending",
      ({ message }) => ({ message: { ...message, text: `${message.text} PS` } }),
      { id: "ps" },
    );
    await desk.registry.fireModifying("message_sending", {
      chatId: "c",
      platform: "web",
      deliveryId: "d",
      cause: { kind: "reply", id: "m1", depth: 0 },
      message: { text: "the PIN is 1234" },
    });
    const { shown, data } = await desk.say("/fire-hook ps last", { role: "viewer" });
    expect(`${shown}${JSON.stringify(data)}`).not.toContain("1234");
    expect(data).toMatchObject({ payload: { message: { text: "[text]" } } });
  });

  it("refuses a payload that is none, naming every field that is wrong", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "note" });
    await expect(desk.say('/fire-hook note {"chatId": 5, "platform": "web", "mesage": {}}')).rejects.toMatchObject({
      code: "BAD_USAGE",
      message: [
        "This is no payload of `message_sent`:",
        '- mesage: no such field (did you mean "message"?)',
        "- chatId: expected text, got 5",
        "- deliveryId: it is missing: expected text",
        "- cause: it is missing: expected an object",
        "- messageId: it is missing: expected text",
        "- messageIds: it is missing: expected a list",
        "- message: it is missing: expected an object",
      ].join("\n"),
      hint: 'To start from the point\'s example: `/fire-hook note example {"platform":"web"}`',
    });
    const nested = '{"message": {"text": "hi", "card": {"tone": "red"}, "buttons": {}}, "cause": {"kind": "hok"}}';
    await expect(desk.say(`/fire-hook note example ${nested}`)).rejects.toMatchObject({
      message: [
        "This is no payload of `message_sent`:",
        '- cause.kind: "hok" is not known here (did you mean "hook"?)',
        '- message.card.tone: expected one of neutral, good, warning, bad, got "red"',
        "- message.buttons: expected a list, got {}",
      ].join("\n"),
      hint: 'To start from the point\'s example: `/fire-hook note example {"message":{"text":"hi"}}`',
    });
    await expect(desk.say('/fire-hook note example {"mesage": {"text": "x"}}')).rejects.toMatchObject({
      message: expect.stringContaining('mesage: no such field (did you mean "message"?)'),
    });
    for (const line of ["note {bad json", "note {bad json}", "note {bad} json", "note payload={bad json live"])
      await expect(desk.say(`/fire-hook ${line}`)).rejects.toMatchObject({
        code: "BAD_USAGE",
        message: expect.stringMatching(/^The payload is not JSON: .*Read was `\{bad\}? json\}?`\.$/),
        hint: expect.stringContaining("payload='…'"),
      });
    await expect(desk.say("/fire-hook note example dry-run=true")).rejects.toMatchObject({
      code: "BAD_USAGE",
      message: "This command has no option `dry-run`, and a payload must be a JSON object.",
    });
    await expect(desk.run("fire-hook", { id: "note", payload: "{“text”: 1}" })).rejects.toMatchObject({
      hint: expect.stringContaining("curly"),
    });
    await expect(desk.say(`/fire-hook note ${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`)).rejects.toMatchObject({
      code: "BAD_USAGE",
      message: "The payload is nested deeper than 100 levels.",
    });
    await expect(desk.say(`/fire-hook note {"a":[${"1,".repeat(20_000)}1]}`)).rejects.toMatchObject({
      code: "BAD_USAGE",
      message: "The payload has more than 20000 values.",
    });
    await expect(desk.run("fire-hook", { id: "note", payload: "[1]" })).rejects.toMatchObject({
      message: expect.stringContaining("a list"),
    });
    await expect(desk.say("/fire-hook note last")).rejects.toMatchObject({
      message: expect.stringContaining("has not fired yet"),
    });
  });

  it("suggests hooks and points for a slip", async () => {
    await expect(desk.say("/fire-hook mesage_sent")).rejects.toMatchObject({
      message: expect.stringContaining("message_sent"),
    });
  });

  it("is dry unless live is said, says which of the two it is while it runs and afterwards, and has a button for the real thing", async () => {
    const finish: (() => void)[] = [];
    const dry: boolean[] = [];
    const fireSlow = async (line: string) => {
      const progress: string[] = [];
      const running = desk.say(line, { progress: ({ text = "" }) => void progress.push(text) });
      await desk.clock.advance(1000);
      finish.shift()?.();
      return { ...(await running), progress };
    };
    desk.registry.registerVoid(
      "message_sent",
      (_payload, context) => {
        dry.push(context.dryRun);
        return new Promise<void>((done) => void finish.push(done));
      },
      { id: "note" },
    );
    const tried = await fireSlow("/fire-hook note example");
    expect(tried.progress[0]).toMatch(/^Dry run of `message_sent`: 0 ended/);
    expect(tried.shown).toMatch(/^\*\*Dry run\*\*: `note`/);
    expect(tried.shown).toContain("Nothing was sent and no state was written. `live=true` fires it for real.");
    const [button] = tried.message.buttons?.flat() ?? [];
    expect(button).toMatchObject({ label: "Fire it", action: { line: "/fire-hook note payload=example live=true" } });
    const fired = await fireSlow("/fire-hook note example live");
    expect(fired.progress[0]).toMatch(/^Firing live: `message_sent`: 0 ended/);
    expect(fired.shown).toMatch(/^\*\*Fired live\*\*: `note`/);
    expect(fired.shown).toContain("This was no dry run");
    expect(dry).toEqual([true, false]);
  });

  it("keeps the phase of a point in its buttons", async () => {
    const { lines } = await desk.say("/fire-hook task:create phase=after");
    expect(lines).toContain("/fire-hook task:create phase=after live=true");
  });

  it("runs dry for a viewer, and refuses to do anything else for one", async () => {
    const dry: boolean[] = [];
    desk.registry.registerVoid("message_sent", (_payload, { dryRun }) => void dry.push(dryRun), { id: "note" });
    const { data, shown } = await desk.say("/fire-hook note", { role: "viewer" });
    expect(data).toMatchObject({ dryRun: true });
    expect(shown).toContain("Nothing was sent");
    await expect(desk.say("/fire-hook note live=true", { role: "viewer" })).rejects.toMatchObject({
      code: "REFUSED",
    });
    await desk.say("/fire-hook note example", { role: "operator" });
    await desk.say("/fire-hook note live", { role: "operator" });
    expect(dry).toEqual([true, true, false]);
  });

  it("offers an operator the real thing after a dry run, and a viewer not", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "note" });
    const payload = '{"message": {"text": "it\'s \\"quoted\\""}}';
    const mine = await desk.run("fire-hook", { id: "note", payload: `example ${payload}` });
    const live = mine.lines.find((line) => line.endsWith("live=true"));
    expect(live).toBeDefined();
    expect((await desk.say(live ?? "")).data).toMatchObject({
      dryRun: false,
      payload: { message: { text: 'it\'s "quoted"' } },
    });
    const theirs = await desk.say("/fire-hook note", { role: "viewer" });
    expect(theirs.lines.some((line) => line.endsWith("live=true"))).toBe(false);
  });

  it("answers at once for a slow hook, and shows the runs as they end", async () => {
    const finish = new Map<string, () => void>();
    const hold = (name: string) => () => new Promise<void>((done) => void finish.set(name, done));
    desk.registry.registerVoid("message_sent", () => {}, { id: "quick" });
    desk.registry.registerVoid("message_sent", hold("middle"), { id: "middle" });
    desk.registry.registerVoid("message_sent", hold("slow"), { id: "slow" });
    const progress: string[] = [];
    const running = desk.run(
      "fire-hook",
      { id: "message_sent", live: true },
      { progress: ({ text }) => void progress.push(text) },
    );
    await desk.clock.advance(1000);
    expect(progress).toHaveLength(1);
    expect(progress[0]).toMatch(/1 ended, 2 under way for \d+ ms/);
    expect(progress[0]).toContain("Waiting for `middle`, `slow`");
    finish.get("middle")?.();
    await desk.clock.advance(500);
    expect(progress).toHaveLength(2);
    expect(progress[1]).toContain("Waiting for `slow`");
    finish.get("slow")?.();
    expect(((await running).data as FireData).runs).toHaveLength(3);
    expect(progress).toHaveLength(2);
  });

  it("refuses a hook that is being fired already, with that run's id and age, and takes it again afterwards", async () => {
    let finish = () => {};
    let runs = 0;
    desk.registry.registerVoid(
      "message_sent",
      () => (runs++ === 0 ? new Promise<void>((done) => (finish = done)) : undefined),
      { id: "slow" },
    );
    const first = desk.say("/fire-hook slow live=true");
    await until(() => runs === 1);
    await desk.clock.advance(5000);
    const refused = await desk.say("/fire-hook message_sent live=true").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "HOOK_RUNNING", message: expect.stringContaining("for 5 s") });
    finish();
    const { id } = (await first).data as FireData;
    expect((refused as Error).message).toContain(id);
    expect((await desk.say("/fire-hook slow live=true")).data).toMatchObject({ runs: [{ hookId: "slow" }] });
  });

  it("refuses a hook that runs for live traffic, in every model, with that run's id and age; a point is fired all the same", async () => {
    const finish: (() => void)[] = [];
    const held = () => new Promise<undefined>((done) => void finish.push(() => done(undefined)));
    const firstOnly = () => (finish.length < 3 ? held() : undefined);
    desk.registry.registerVoid("message_sent", firstOnly, { id: "slow-void", timeoutMs: 60_000 });
    desk.registry.registerModifying("message_sending", firstOnly, { id: "slow-modifying", timeoutMs: 60_000 });
    desk.registry.registerVoid("delivery_failed", firstOnly, { id: "slow-detached", execution: "fire_and_record" });
    const target = {
      chatId: "c",
      platform: "web",
      deliveryId: "d",
      cause: { kind: "reply", id: "m1", depth: 0 },
    } as const;
    const message = { text: "x" };
    const dispatch = (dispatchId: string) => ({ dispatchId });
    const sent = { ...target, messageId: "1", messageIds: ["1"], message };
    const live = [
      desk.registry.fireVoid("message_sent", sent, undefined, dispatch("m7:a")),
      desk.registry.fireModifying("message_sending", { ...target, message }, undefined, dispatch("m7:b")),
      desk.registry.fireVoid("delivery_failed", { ...target, error: "e", attempts: 1 }, undefined, dispatch("m7:c")),
    ];
    await desk.clock.advance(4000);
    for (const [id, run] of [
      ["slow-void", "m7:a/1"],
      ["slow-modifying", "m7:b/1"],
      ["slow-detached", "m7:c/1"],
    ])
      await expect(desk.say(`/fire-hook ${id}`)).rejects.toMatchObject({
        code: "HOOK_RUNNING",
        message: `${id} is running already: run ${run}, for 4 s.`,
      });
    expect((await desk.say("/fire-hook message_sent live=true")).data).toMatchObject({
      runs: [{ hookId: "slow-void" }],
    });
    // What the command's own message set off does not stand in its way.
    expect((await desk.say("/fire-hook slow-void live=true", { causeId: "m7" })).data).toMatchObject({ dryRun: false });
    for (const end of finish) end();
    await Promise.all(live);
    await until(() => desk.registry.running().length === 0);
    for (const id of ["slow-void", "slow-modifying", "slow-detached"])
      expect((await desk.say(`/fire-hook ${id}`)).data).toMatchObject({ runs: [{ hookId: id }] });
  });

  it("tells why nobody ran", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "note", enabled: false });
    expect((await desk.say("/fire-hook note")).shown).toMatch(/It did not run\. It is disabled\.(\n|$)/);
    expect((await desk.say("/fire-hook message_deleted")).shown).toContain("No hook ran: none is registered here");
  });

  it("is journalled like any other dispatch, and can be looked up", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "note" });
    const { data } = await desk.say("/fire-hook note");
    expect((await desk.say(`/run ${(data as FireData).id}`)).data).toMatchObject({
      point: "message_sent",
      runs: [{ hookId: "note" }],
    });
  });
});

describe("/replay", () => {
  const fire = (text: string) =>
    desk.registry.fireModifying(
      "message_sending",
      {
        chatId: "c",
        platform: "web",
        deliveryId: "d",
        cause: { kind: "reply", id: "m1", depth: 0 },
        message: { text },
      },
      undefined,
      { dispatchId: "d_9:message_sending" },
    );

  it("fires the payload of then once more, dry, and shows what came out differently", async () => {
    const seen: [string, boolean][] = [];
    let isBroken = true;
    desk.registry.registerModifying(
      "message_sending",
      ({ message }, { dryRun }) => {
        seen.push([message.text, dryRun]);
        if (isBroken) throw new Error("broken");
        return null;
      },
      { id: "mender" },
    );
    await fire("as it was");
    isBroken = false;
    desk.registry.registerModifying("message_sending", () => null, { id: "newcomer" });
    const { shown, data } = await desk.say("/replay d_9:message_sending", { role: "viewer" });
    expect(seen).toEqual([
      ["as it was", false],
      ["as it was", true],
    ]);
    expect(data).toMatchObject({ replayOf: "d_9:message_sending", dryRun: true });
    expect(shown).toMatch(/mender.*failed →/);
    expect(shown).toContain("newcomer");
  });

  it("goes live for operators only", async () => {
    const dry: boolean[] = [];
    desk.registry.registerModifying("message_sending", (_payload, { dryRun }) => void dry.push(dryRun), { id: "note" });
    await fire("x");
    await expect(desk.say("/replay d_9:message_sending --live", { role: "viewer" })).rejects.toMatchObject({
      code: "REFUSED",
    });
    await desk.say("/replay d_9:message_sending --live", { role: "operator" });
    expect(dry).toEqual([false, false]);
  });

  it("replays a run by its own id with that hook only", async () => {
    desk.registry.registerModifying("message_sending", () => null, { id: "one" });
    desk.registry.registerModifying("message_sending", () => null, { id: "two" });
    await fire("x");
    await desk.store.journal.flush();
    const runId = (await desk.store.journal.get("d_9:message_sending"))?.runs[1]?.id ?? "";
    expect(((await desk.say(`/replay ${runId}`)).data as FireData).runs.map(({ hookId }) => hookId)).toEqual(["two"]);
  });

  it("says that there is no such dispatch", async () => {
    await expect(desk.say("/replay nothing")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
