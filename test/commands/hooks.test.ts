import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hooks } from "../../commands/hooks.js";
import type { InboundMessage } from "../../src/domain/chat/message.js";
import { parseOptions } from "../../src/gateway/inbound/parse-command.js";
import { findModule } from "../../src/plugins/load.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

const message = (text: string, messageId = "42"): InboundMessage => ({
  platform: "web",
  botId: "web",
  chatId: "lobby",
  userId: "7",
  text,
  attachments: [],
  isDm: false,
  isGroupMention: true,
  messageId,
  isEdit: false,
  receivedAt: 0,
});

describe("/hooks list", () => {
  it("says what to do when there are none", async () => {
    const { shown, data } = await desk.say("/hooks");
    expect(shown).toContain("No hooks yet");
    const [, named = ""] = /plugins:\n {2}- (\S+)/.exec(shown) ?? [];
    expect(findModule(named, tmpdir()).file).toMatch(/greeter\.js$/);
    expect(data).toEqual({ hooks: [], families: [], total: 0, page: 1, pages: 1, broken: [] });
  });

  it("shows long ids whole, so that they can be copied", async () => {
    const id = "reply-to-customers-of-the-night-shift";
    desk.registry.registerVoid("message_received", () => {}, { id });
    desk.registry.registerVoid("message_received", () => {}, { id: "short" });
    const { shown } = await desk.say("/hooks");
    expect(shown).toMatch(new RegExp(`● {2}${id}( \\(\\w+\\))?\n +never\n● +short`));
  });

  it("shows state, when it last fired, fires, failures and marks those that never fired", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "seen" });
    desk.registry.registerVoid("message_received", () => Promise.reject(new Error("broken")), { id: "broken" });
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "greeter", enabled: false });
    await desk.registry.fireVoid("message_received", { message: message("hi"), access: "allowed" });
    await desk.clock.advance(120_000);

    const { shown, data } = await desk.say("/hooks");
    expect(shown).toMatch(/●\s+seen\s+2 min\s+1\b/);
    expect(shown).toMatch(/●\s+broken\s+2 min\s+1\s+1\b/);
    expect(shown).toMatch(/○\s+greeter\s+never/);
    expect(shown.indexOf("message_received")).toBeLessThan(shown.indexOf("inbound_claim"));
    expect(data).toMatchObject({
      total: 3,
      hooks: [
        {
          id: "seen",
          family: "inbound",
          point: "message_received",
          enabled: true,
          fires: 1,
          failures: 0,
          neverFired: false,
          lastOutcome: "passed",
        },
        { id: "broken", fires: 1, failures: 1, lastOutcome: "failed" },
        { id: "greeter", enabled: false, neverFired: true, fires: 0 },
      ],
    });
  });

  it("shows one table per family, each point above its hooks, in rows that fit a phone", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "sent" });
    desk.registry.registerVoid("message_received", () => {}, { id: "a-plugin-with-a-long-name.and-a-long-hook" });
    desk.registry.registerVoid("reaction_added", () => {}, { id: "smile" });
    desk.registry.register({ hook: "task:complete", phase: "after", handler: () => {}, id: "done" });
    const { message, data } = await desk.say("/hooks");
    expect(message.text.match(/^\*\*\w+\*\*$/gm)).toEqual(["**inbound**", "**outbound**", "**tasks**"]);
    const [inbound = ""] = message.text.split("**outbound**");
    expect(inbound.match(/^(message_received|● {2}a-plugin.*|reaction_added|● {2}smile.*)$/gm)).toHaveLength(4);
    const rows = [...message.text.matchAll(/```\n([\s\S]*?)\n```/g)].flatMap(([, rows = ""]) => rows.split("\n"));
    // A long id is whole, on a line of its own.
    const others = rows.filter((row) => row !== "●  a-plugin-with-a-long-name.and-a-long-hook");
    expect(others).toHaveLength(rows.length - 1);
    expect(Math.max(...others.map((row) => [...row].length))).toBeLessThanOrEqual(40);
    expect((data as { families: unknown }).families).toEqual([
      { family: "inbound", hooks: ["a-plugin-with-a-long-name.and-a-long-hook", "smile"] },
      { family: "outbound", hooks: ["sent"] },
      { family: "tasks", hooks: ["done"] },
    ]);
  });

  it("filters by part of a name, by point and by state", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "one" });
    desk.registry.registerVoid("message_sent", () => {}, { id: "two", enabled: false });
    const ids = async (line: string) =>
      ((await desk.say(line)).data as { hooks: { id: string }[] }).hooks.map(({ id }) => id);
    expect(await ids("/hooks list tw")).toEqual(["two"]);
    expect(await ids("/hooks list message_rec")).toEqual(["one"]);
    expect(await ids("/hooks list off")).toEqual(["two"]);
    expect(await ids("/hooks list on")).toEqual(["one"]);
    expect(await ids("/hooks list never")).toEqual(["one", "two"]);
    const nothing = await desk.say("/hooks list zebra");
    expect(nothing.shown).toContain("No hook matches `zebra`.");
  });

  it("takes a word that is no action for a filter: part of an id, of a point, of a plugin's name", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "deploy.site" });
    desk.registry.registerVoid("message_sent", () => {}, { id: "other", pluginId: "greeter" });
    const ids = async (line: string) =>
      ((await desk.say(line)).data as { hooks: { id: string }[] }).hooks.map(({ id }) => id);
    expect(await ids("/hooks deploy")).toEqual(["deploy.site"]);
    expect(await ids("/hooks greet limit=5")).toEqual(["other"]);
    expect(await ids("/hooks message_s")).toEqual(["other"]);
    expect(await ids("/hooks never")).toEqual(["deploy.site", "other"]);
  });

  it("says what is nearest to a word that nothing matches, hooks and actions", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "deploy.site" });
    const { shown, data, lines } = await desk.say("/hooks depoly");
    expect(shown).toContain("No hook matches `depoly`; nearest: `deploy.site`.");
    expect(shown).not.toContain("As an action");
    expect(data).toMatchObject({ hooks: [], total: 0, nearest: ["deploy.site"] });
    expect(lines).toEqual(["/hooks list id=deploy.site", "/hooks list"]);
    expect((await desk.say("/hooks enabel")).shown).toContain("As an action, the nearest is `/hooks enable`.");
    expect(() => desk.say("/hooks enabel deploy.site")).toThrow('did you mean "enable"?');
  });

  it("pages a long list, keeps the filter, and loses no hook between pages", async () => {
    for (let n = 0; n < 30; n++) desk.registry.registerVoid("message_received", () => {}, { id: `hook-${n}` });
    const seen: string[] = [];
    let line: string | undefined = "/hooks list hook";
    for (let turns = 0; line !== undefined && turns < 10; turns++) {
      const { data, lines, shown } = await desk.say(line);
      expect(shown).toContain(`page ${turns + 1} of 3`);
      seen.push(...(data as { hooks: { id: string }[] }).hooks.map(({ id }) => id));
      line = lines.find((one) => one === `/hooks list id=hook page=${turns + 2}`);
    }
    expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => `hook-${n}`));
  });
});

describe("/hooks show", () => {
  it("tells everything about one hook, and offers what comes next", async () => {
    desk.registry.registerModifying("message_sending", () => null, {
      id: "redact.secrets",
      pluginId: "redact",
      priority: 10,
      failurePolicy: "fail-closed",
      match: { platforms: ["web"] },
    });
    const { shown, lines, data } = await desk.say("/hooks show redact.secrets");
    for (const part of [
      "redact.secrets",
      "message_sending",
      "1 of 1",
      "priority 10",
      "fail-closed",
      "platforms: `web`",
      "never fired",
      "plugin `redact`",
    ])
      expect(shown).toContain(part);
    expect(lines).toEqual(
      expect.arrayContaining(["/hooks disable redact.secrets", "/fire-hook redact.secrets example"]),
    );
    expect(data).toMatchObject({ id: "redact.secrets", failurePolicy: "fail-closed", neverFired: true });
  });

  it("suggests the nearest id for a slip", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "greeter" });
    await expect(desk.say("/hooks show greter")).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining('Did you mean "greeter"?'),
    });
  });

  it("offers a viewer nothing that a viewer may not do", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "greeter" });
    const { lines } = await desk.say("/hooks show greeter", { role: "viewer" });
    expect(lines.some((line) => line.includes("disable"))).toBe(false);
  });
});

describe("/hooks enable and disable", () => {
  it("switches at once, for the next dispatch, and writes it down with who did it", async () => {
    let runs = 0;
    desk.registry.registerVoid("message_received", () => void runs++, { id: "counter" });
    const fire = () => desk.registry.fireVoid("message_received", { message: message("hi"), access: "allowed" });
    await fire();
    const { data } = await desk.say("/hooks disable counter");
    expect(data).toEqual({ id: "counter", enabled: false, changed: true });
    await fire();
    expect(runs).toBe(1);
    expect(await desk.store.hookState.list()).toEqual([
      { hookId: "counter", enabled: false, by: "web:1 (Ada)", at: desk.clock.now() },
    ]);

    await desk.say("/hooks enable counter");
    await fire();
    expect(runs).toBe(2);
    // It is as the plugin has it again.
    expect(await desk.store.hookState.list()).toEqual([]);
  });

  it("is refused to an operator, and changes nothing", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "counter" });
    await expect(desk.say("/hooks disable counter", { role: "operator" })).rejects.toMatchObject({ code: "REFUSED" });
    expect(desk.registry.get("counter")?.enabled).toBe(true);
    expect(await desk.store.hookState.list()).toEqual([]);
  });

  it("holds when the plugin that brought the hook is loaded again", async () => {
    const load = () => desk.registry.registerVoid("message_received", () => {}, { id: "p.note", pluginId: "p" });
    load();
    await desk.say("/hooks disable p.note");
    desk.registry.unregisterPlugin("p");
    load();
    expect(desk.registry.get("p.note")?.enabled).toBe(false);
    await desk.say("/hooks enable p.note");
    desk.registry.unregisterPlugin("p");
    load();
    expect(desk.registry.get("p.note")?.enabled).toBe(true);
  });

  it("says that the configuration takes it back at the next start", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "pinned" });
    const { shown } = await desk.say("/hooks disable pinned");
    expect(shown).toContain("overrides.pinned.enabled: true");
    expect(shown).not.toContain("after a restart too");
  });

  it("warns when a guard is switched off", async () => {
    desk.registry.registerModifying("message_sending", () => null, { id: "guard", failurePolicy: "fail-closed" });
    expect((await desk.say("/hooks disable guard")).shown).toContain("goes through");
  });

  it("stores nothing, and credits nobody, when it changes nothing", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "counter" });
    const { data } = await desk.say("/hooks enable counter");
    expect(data).toMatchObject({ changed: false });
    expect(await desk.store.hookState.list()).toEqual([]);
    expect((await desk.say("/hooks show counter")).shown).not.toContain("Ada");
  });
});

describe("/hooks order", () => {
  it("shows who runs in what order, dependencies counted, disabled ones marked", async () => {
    desk.registry.registerModifying("message_sending", () => null, { id: "footer", priority: 1, after: ["redact"] });
    desk.registry.registerModifying("message_sending", () => null, { id: "redact", priority: 50 });
    desk.registry.registerModifying("message_sending", () => null, { id: "off", priority: 60, enabled: false });
    const { shown, data } = await desk.say("/hooks order message_sending");
    const orders = (data as { orders: { hooks: { id: string }[] }[] }).orders;
    expect(orders[0]?.hooks.map(({ id }) => id)).toEqual(["redact", "footer", "off"]);
    expect(shown).toMatch(/sees/);
    expect(shown).toMatch(/footer.*merged/);
    expect(shown).toMatch(/3\s+○ off\s+off/);
    expect(shown).toContain("can veto");
  });

  it("takes a hook's id for its point, and says so when there is no hook", async () => {
    desk.registry.registerVoid("message_sent", () => {}, { id: "counter" });
    expect((await desk.say("/hooks order counter")).data).toMatchObject({ point: "message_sent" });
    expect((await desk.say("/hooks order message_deleted")).shown).toContain("No hook is registered here");
  });

  it("suggests the nearest point", async () => {
    await expect(desk.say("/hooks order mesage_sent")).rejects.toMatchObject({
      message: expect.stringContaining("message_sent"),
    });
  });
});

describe("/hooks why", () => {
  const claim = (id: string, messageId = "42") =>
    desk.registry.fireClaiming("inbound_claim", { message: message("hi", messageId), isAnswer: false }, undefined, {
      dispatchId: id,
      messageId,
      conversation: "web:web:lobby",
    });

  it("names the hook that claimed the message earlier", async () => {
    desk.registry.registerClaiming("inbound_claim", () => ({ handled: true }), { id: "first", priority: 1 });
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "second", priority: 2 });
    await claim("m1:inbound_claim");
    const { shown, data } = await desk.say("/hooks why second 42");
    expect(shown).toContain("did **not** run");
    expect(shown).toContain("`first` runs before it and claimed the message");
    expect(data).toMatchObject({ found: true, ran: false, fired: true });
  });

  it("tells that it ran, and how it went", async () => {
    desk.registry.registerClaiming("inbound_claim", () => Promise.reject(new Error("no route")), { id: "first" });
    await claim("m1:inbound_claim");
    const { shown, data } = await desk.say("/hooks why first 42");
    expect(shown).toContain("failed");
    expect(shown).toContain("no route");
    expect(data).toMatchObject({ ran: true });
  });

  it("tells the field of the matcher that kept it out", async () => {
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "elsewhere", match: { chats: ["office"] } });
    await claim("m1:inbound_claim");
    const { shown, data } = await desk.say("/hooks why elsewhere 42");
    expect(shown).toMatch(/skipped|not\*\* run/);
    expect(shown).toMatch(/chats/);
    expect(data).toMatchObject({ ran: false });
  });

  it("tells that it is disabled", async () => {
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "asleep" });
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "awake" });
    desk.registry.setEnabled("asleep", false);
    await claim("m1:inbound_claim");
    expect((await desk.say("/hooks why asleep 42")).shown).toContain("It is **disabled**");
    expect((await desk.say("/hooks why asleep")).shown).toContain("would **not** run");
  });

  it("tells that the point never fired for the message, because the sender was denied", async () => {
    desk.registry.registerVoid("message_received", () => {}, { id: "seen", match: { access: "any" } });
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "router" });
    await desk.registry.fireVoid("message_received", { message: message("hi"), access: "denied" }, undefined, {
      messageId: "42",
      access: "denied",
    });
    const { shown } = await desk.say("/hooks why router 42");
    expect(shown).toContain("`inbound_claim` did not fire");
    expect(shown).toContain("denied");
  });

  it("tells of a message that was not taken, and why", async () => {
    const reason = "its sender had 1000 messages waiting";
    const event = { kind: "message" as const, eventId: "42", message: { ...message("hi"), messageId: "42" } };
    const settled = () => ({ outcome: "not_taken", reason, deliveries: [] });
    const { id } = await desk.store.inbox.accept(event, "web:web:general", desk.clock.now(), false, settled);
    const { shown } = await desk.say(`/hooks why m${id}`);
    expect(shown).toContain(`**not taken**: ${reason}. No hook saw it`);
    expect(shown).not.toContain("message_received");
  });

  it("takes the message that the command answers to", async () => {
    desk.registry.registerClaiming("inbound_claim", () => ({ handled: true }), { id: "first" });
    await claim("m1:inbound_claim");
    expect((await desk.say("/hooks why first", { replyToId: "42" })).data).toMatchObject({ message: "42", ran: true });
  });

  it("says that it knows no such message", async () => {
    desk.registry.registerClaiming("inbound_claim", () => null, { id: "first" });
    const answer = await desk.say("/hooks why first 999");
    expect(answer.outcome).toBe("failed");
    expect(answer.shown).toContain("knows no message");
  });

  it("knows that a message was received when no message is left", async () => {
    const { store, clock } = desk;
    const event = {
      kind: "message" as const,
      eventId: "1",
      message: {
        platform: "web",
        botId: "web",
        chatId: "general",
        messageId: "1",
        userId: "1",
        text: "hello",
        receivedAt: clock.now(),
        attachments: [],
        isDm: false,
        isGroupMention: false,
        isEdit: false,
      },
    };
    const { id } = await store.inbox.accept(event, "web:web:general", clock.now(), true);
    await store.inbox.settle(id, { outcome: "unrouted", deliveries: [] }, clock.now());
    await store.sweep(clock.now() + 400 * 86_400_000);
    expect(await store.inbox.list({ limit: 1 })).toEqual([]);
    expect((await desk.say("/hooks why m1")).shown).toContain("`m1` was received, but its record is gone");
    expect((await desk.say("/hooks why m2")).shown).toContain(
      "There is no `m2`: no message has this id yet, the newest is `m1`",
    );
  });

  it("explains a hook that never fired, whose point has not fired either", async () => {
    desk.registry.registerVoid("message_deleted", () => {}, { id: "mourner" });
    expect((await desk.say("/hooks why mourner")).shown).toContain("`message_deleted` has not fired either");
  });
});

describe("the words behind an action", () => {
  it.each([
    ["test flow.echo last", { action: "test", id: "flow.echo", payload: "last" }],
    ['Test flow.echo example {"a": 1}', { action: "test", id: "flow.echo", payload: 'example {"a": 1}' }],
    ["test flow.echo {bad json", { action: "test", id: "flow.echo", payload: "{bad json" }],
    ["why flow.echo 42", { action: "why", id: "flow.echo", message: "42" }],
    ["list flow 2", { action: "list", id: "flow", page: 2 }],
  ])("are what it needs: %s", (line, options) => {
    expect(parseOptions(hooks.spec, line)).toEqual({ kind: "options", options });
  });

  it("are refused when it needs no more", () => {
    expect(parseOptions(hooks.spec, "show flow.echo 42")).toMatchObject({
      message: '"42" is more than this command takes',
    });
  });
});
