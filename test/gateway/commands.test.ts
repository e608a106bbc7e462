/** Operator commands in chat: who may, how they are read, how they are answered, and that all of it is on record. */
import { describe, expect, it } from "vitest";
import { outbox as outboxCommand } from "../../commands/outbox.js";
import type { SendResult } from "../../src/domain/chat/adapter.js";
import type { ActionEvent, CommandEvent } from "../../src/domain/chat/event.js";
import type { OutboundMessage } from "../../src/domain/chat/message.js";
import type { Command } from "../../src/gateway/commands.js";
import { messageAddress } from "../../src/gateway/inbound/receiving.js";
import { HookgateError } from "../../src/lib/errors.js";
import { type LogLine, logTo } from "../hooks/points.js";
import { until } from "../support/until.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { interaction, messageOf, type Rig, type RigOptions, restart, startRig } from "./rig.js";

const whoami: Command = {
  name: "whoami",
  summary: "",
  role: "anyone",
  options: [],
  run: async ({ operator }) => ({ message: { text: `${operator.userId} ${operator.role ?? "none"}` } }),
};
const fireHook: Command = {
  name: "fire-hook",
  summary: "",
  role: "viewer",
  options: [
    { name: "id", summary: "", type: "string", required: true, complete: "hooks-and-points" },
    { name: "times", summary: "", type: "integer" },
    { name: "dry-run", summary: "", type: "boolean" },
  ],
  async run({ options, need }) {
    if (options["dry-run"] !== true) need("operator");
    if (options.id === "broken")
      throw new HookgateError({ code: "NOT_FOUND", message: "There is no hook.", hint: "Look at /hooks." });
    return { message: { text: JSON.stringify(options) } };
  },
};
const list: Command = {
  name: "list",
  summary: "",
  role: "viewer",
  options: [{ name: "page", summary: "", type: "integer" }],
  run: async ({ options: { page = 1 } }) => ({
    message: {
      text: `page ${page}`,
      buttons: [[{ label: "next", action: { kind: "command", line: `/list ${Number(page) + 1}` } }]],
    },
  }),
};
const commands = [whoami, fireHook, list];
const start = (options: RigOptions = {}) => startRig({ commands, ...options });

function slash(name: string, options: CommandEvent["options"], userId = "1", id = "1"): CommandEvent {
  return {
    kind: "command",
    eventId: `interaction:${id}`,
    message: messageOf(`/${name}`, { userId, messageId: `i${id}` }),
    name,
    options,
    interaction: interaction({ id }),
  };
}

function press(token: string, userId = "1", id = "p1", facts: Partial<ActionEvent> = {}): ActionEvent {
  return {
    kind: "action",
    eventId: `interaction:${id}`,
    message: messageOf("", { userId, messageId: "card", isGroupMention: false }),
    token,
    interaction: interaction({ id }),
    ...facts,
  };
}

function tokenOf(rig: Rig, index = -1): string {
  const message = rig.platform.messages.at(index);
  const buttons = message?.body.buttons as OutboundMessage["buttons"];
  const token = buttons?.[0]?.[0]?.token;
  if (!token) throw new Error("there is no button");
  return token;
}

describe("a command as text", () => {
  it("runs in the thread that it was given in, and - and _ are the same", async () => {
    const rig = await start();
    await rig.say("/fire_hook greeter dry_run", { userId: "3", threadId: "t1" });
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([
      { threadId: "t1", visibleTo: "3", text: '{"id":"greeter","dry-run":true}' },
    ]);
  });

  it("of one person are limited, typed or slash, and say so once; others and owners are not held up", async () => {
    const rig = await start({ gateway: { commands_per_minute: 3 } });
    for (let i = 0; i < 6; i++) await rig.say("/whoami", { userId: "3", messageId: `typed${i}` });
    await rig.receive(slash("whoami", {}, "3"));
    for (let i = 0; i < 5; i++) await rig.say("/whoami", { userId: "1", messageId: `owner${i}` });
    await rig.say("/whoami", { userId: "7", messageId: "other" });
    await rig.idle();
    const texts = rig.platform.texts();
    const limited = texts.filter((text) => /^You sent too many commands; try again in/.test(text));
    expect(texts.filter((text) => text === "3 viewer")).toHaveLength(3);
    // One for the typed ones, one in place of the slash command, which the platform shows as waiting.
    expect(limited).toHaveLength(2);
    expect(texts.filter((text) => text === "1 owner")).toHaveLength(5);
    expect(texts).toContain("7 none");
    expect(await rig.settled("typed5")).toMatchObject({
      outcome: "denied",
      reason: "more than 3 commands of one person within a minute",
    });
    await rig.clock.advance(60_000);
    await rig.say("/whoami", { userId: "3", messageId: "later" });
    expect(await rig.settled("later")).toMatchObject({ outcome: "command" });
  });

  it("that is not in the table is an ordinary message", async () => {
    const rig = await start({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: message.text })),
    });
    await rig.say("/unknown thing");
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["/unknown thing"]);
  });

  it("that is badly written is answered with what is wrong, the nearest name, and the usage", async () => {
    const rig = await start();
    await rig.say("/fire-hook greeter --dryrun", { userId: "1", messageId: "a" });
    await rig.say("/fire-hook", { userId: "1", messageId: "b" });
    await rig.idle();
    const text = rig.platform.texts().join("");
    expect(text).toContain('there is no option "dryrun" (did you mean "dry-run"?)');
    expect(text).toContain("`id` is missing");
    expect(text).toContain("Usage: `/fire-hook <id> [times] [dry-run]`");
  });

  it("that repeats a very long name in its answer shortens it", async () => {
    const echo: Command = {
      ...whoami,
      name: "echo",
      options: [
        { name: "id", summary: "", type: "string" },
        { name: "times", summary: "", type: "integer" },
      ],
      run: async ({ options }) => {
        throw new HookgateError({
          code: "NOT_FOUND",
          message: `There is no "${options.id}".`,
          hint: `Not ${options.id}?`,
        });
      },
    };
    const rig = await start({ commands: [echo] });
    const long = "x".repeat(5_000);
    const short = `${"x".repeat(99)}…`;
    const lines = [
      `/echo ${long}`,
      `/echo a ${long}`,
      `/echo a --${long}`,
      `/echo a 1 ${long}`,
      `/echo id=${long} id=${long}`,
    ];
    for (const [index, line] of lines.entries()) await rig.say(line, { userId: "1", messageId: `${index}` });
    await rig.idle();
    // The platform shows it in small parts.
    const shown = rig.platform.texts().join("").replaceAll("\n", "");
    expect(shown).toContain(`✗ There is no "${short}".Not ${short}?`);
    expect(shown.split(short)).toHaveLength(lines.length + 3);
    expect(shown.length).toBeLessThan(1_500);
  });

  it("that fails is answered with why and what to do", async () => {
    const rig = await start();
    await rig.say("/fire-hook broken", { userId: "1" });
    await rig.idle();
    expect(rig.platform.texts().join("")).toBe("✗ There is no hook.\nLook at /hooks.");
  });
});

describe("who may", () => {
  it("is decided by role; whoami answers everybody, in places that nobody listed too", async () => {
    const platform = new LoopbackPlatform("loop", {
      privateAddress: (at, userId) => ({ ...at, chatId: `dm-${userId}` }),
    });
    const rig = await start({ platforms: [platform], access: { loop: {} } });
    const invoked: unknown[] = [];
    rig.registry.registerVoid(
      "command_invoked",
      ({ command, operator, outcome }) => void invoked.push([command, operator.userId, outcome]),
      { match: { access: "any" } },
    );
    await rig.say("/whoami", { userId: "99" });
    await rig.say("/list", { userId: "99" });
    await rig.say("/list", { userId: "3" });
    await rig.say("/fire-hook x", { userId: "3" });
    await rig.idle();
    expect(platform.texts("room")).toEqual(["99 none", "page 1"]);
    expect(platform.texts("dm-99").join("")).toContain("You have no role here");
    expect(platform.texts("dm-3").join("")).toBe("That needs the role operator; yours is viewer.");
    const audit = await rig.store.audit.list({ limit: 10 });
    expect(audit.map(({ target, operator, outcome }) => [target, operator.userId, outcome]).reverse()).toEqual([
      ["whoami", "99", "done"],
      ["list", "99", "refused"],
      ["list", "3", "done"],
      ["fire-hook", "3", "refused"],
    ]);
    expect(invoked).toEqual(audit.map(({ target, operator, outcome }) => [target, operator.userId, outcome]).reverse());
  });

  it("is told in the group when the person cannot be written to: one line in ten minutes, in words of its own", async () => {
    const platform = new LoopbackPlatform("loop", {
      privateAddress: (at, userId) => ({ ...at, chatId: `dm-${userId}` }),
    });
    platform.script = ({ address }) =>
      address.chatId.startsWith("dm-") ? { kind: "permanent", error: "403 can't initiate conversation" } : undefined;
    const rig = await start({ platforms: [platform] });
    const sending: string[] = [];
    rig.registry.registerVoid("message_sent", ({ message }) => void sending.push(message.text));
    for (const messageId of ["a", "b", "c"]) await rig.say("/fire-hook x", { userId: "3", messageId });
    await rig.say("/list", { userId: "99", messageId: "d" });
    await rig.idle();
    // The platform takes 40 characters a message.
    expect(platform.messages.map(({ text, body }) => [text, body.replyToId])).toEqual([
      ["You may not do that here. To learn more,", "a"],
      [" send me `/whoami` in a direct message.", undefined],
      ["You may not do that here. To learn more,", "d"],
      [" send me `/whoami` in a direct message.", undefined],
    ]);
    expect(sending).toHaveLength(2);
    expect(await rig.store.outbox.counts()).toMatchObject({ held: 0, dead: 0 });
    await rig.clock.advance(10 * 60_000);
    await rig.say("/fire-hook x", { userId: "3", messageId: "e" });
    await rig.idle();
    expect(platform.messages).toHaveLength(6);
  });

  it("is not told in the group when the configuration says so", async () => {
    const platform = new LoopbackPlatform("loop", {
      privateAddress: (at, userId) => ({ ...at, chatId: `dm-${userId}` }),
    });
    platform.script = () => ({ kind: "permanent", error: "403" });
    const rig = await start({ platforms: [platform], gateway: { refuse_openly: false } });
    await rig.say("/list", { userId: "99" });
    await rig.idle();
    expect(platform.requests.map(({ address }) => address.chatId)).toEqual(["dm-99"]);
  });

  it("is nobody when no operator is configured, and never a name", async () => {
    const rig = await start({ operators: {} });
    await rig.say("/list", { userId: "1", username: "owner", displayName: "1" });
    await rig.idle();
    expect(rig.platform.texts().join("")).toContain("You have no role here");
    expect(rig.gateway.identify("loop", "1")).toBeUndefined();
  });

  it("is also said by platform roles, and the highest counts", async () => {
    const rig = await start({ operators: { viewer: ["loop:5"], admin: ["loop:role:mods"] } });
    expect(rig.gateway.identify("loop", "5")).toBe("viewer");
    expect(rig.gateway.identify("loop", "5", ["other", "mods"])).toBe("admin");
    expect(rig.gateway.identify("other", "5", ["mods"])).toBeUndefined();
  });
});

describe("a command in the platform's own form", () => {
  it("is acknowledged privately after it is on disk, and answered through its interaction", async () => {
    const rig = await start();
    const accepted = await rig.receive(slash("fire-hook", { id: "greeter", "dry-run": true }));
    expect(accepted).toEqual({ kind: "accepted", acknowledge: { kind: "defer", isPrivate: true } });
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([{ through: "first", text: '{"id":"greeter","dry-run":true}' }]);
    expect((await rig.receive(slash("fire-hook", { id: "greeter" }))).kind).toBe("duplicate");
  });

  it.each<[string, SendResult, string]>([
    ["is closed", { kind: "interaction-closed", error: "10015" }, "but its answer was given up"],
    ["refuses the answer", { kind: "permanent", error: "50006" }, "but its answer was given up"],
    [
      "may have taken the answer",
      { kind: "ambiguous", error: "500", mayRepeat: false },
      "It is not known whether its answer was posted",
    ],
  ])(
    "leaves a line in the room when its interaction %s and its person takes no direct messages",
    async (_, result, what) => {
      const platform = new LoopbackPlatform("loop", {
        privateAddress: (at, userId) => ({ ...at, chatId: `dm-${userId}` }),
      });
      platform.width = 1_000;
      const closed: SendResult = { kind: "permanent", error: "50007" };
      platform.script = (operation) => {
        if (operation.kind === "create" && operation.interaction) return result;
        return operation.address.chatId.startsWith("dm-") ? closed : undefined;
      };
      const rig = await start({ platforms: [platform] });
      await rig.receive(slash("fire-hook", { id: "greeter" }));
      await rig.idle();
      expect(platform.texts()).toEqual([expect.stringMatching(new RegExp(`^The command ran[.,] ${what}\\. .*outbox`))]);
      expect(platform.requests.some(({ address }) => address.chatId.startsWith("dm-"))).toBe(true);
    },
  );

  it("whose answer stops in the middle, because a part is in doubt, says so to its person", async () => {
    const platform = new LoopbackPlatform("loop", {
      privateAddress: (at, userId) => ({ ...at, chatId: `dm-${userId}` }),
    });
    platform.width = 1_000;
    platform.script = (operation) =>
      operation.kind === "create" && operation.interaction?.first === false
        ? { kind: "ambiguous", error: "Discord answered 500", mayRepeat: false }
        : undefined;
    const rig = await start({ platforms: [platform] });
    const command = slash("fire-hook", { id: "x".repeat(2_500) });
    await rig.receive(command);
    await rig.idle();
    const told = platform.messages.filter(({ chatId }) => chatId.startsWith("dm-"));
    expect(told.map(({ text }) => text)).toEqual([
      expect.stringMatching(
        /^\*\*The command ran. It is not known whether the rest of its answer was posted \(1 of 3 parts were sent\)\.\*\*[\s\S]*500[\s\S]*outbox release d_/,
      ),
    ]);
  });

  it("shows progress in place, not for every step, and its last word is its answer", async () => {
    const slow: Command = {
      ...list,
      name: "slow",
      async run({ progress }) {
        for (let i = 0; i < 20; i++) progress({ text: `step ${i}` });
        await until(() => rig.platform.texts().length === 1);
        for (let i = 20; i < 40; i++) progress({ text: `step ${i}` });
        await rig.clock.advance(1_500);
        return { message: { text: "done" } };
      },
    };
    const rig = await start({ commands: [slow] });
    await rig.receive(slash("slow", {}));
    await rig.idle();
    expect(rig.platform.messages).toMatchObject([{ text: "done", through: "first" }]);
    expect(rig.platform.requests.length).toBeLessThanOrEqual(3);
  });

  it("that was cut off by a crash edits the progress that stands there", async () => {
    const make = (isStuck: boolean): Command => ({
      ...list,
      name: "slow",
      async run({ progress }) {
        if (isStuck) {
          progress({ text: "working" });
          await new Promise(() => {});
        }
        return { message: { text: "done" } };
      },
    });
    const rig = await start({ commands: [make(true)] });
    await rig.receive(slash("slow", {}));
    await until(() => rig.platform.texts().includes("working"));
    await until(async () => (await rig.store.outbox.counts()).sent === 1);
    const next = await restart(rig, { commands: [make(false)] });
    await next.idle();
    expect(next.platform.texts()).toEqual(["done"]);
  });

  it("that hangs is given up in time", async () => {
    const stuck: Command = { ...list, name: "stuck", run: () => new Promise(() => {}) };
    const rig = await start({ commands: [stuck], gateway: { command_timeout: "1m" } });
    await rig.receive(slash("stuck", {}));
    await until(async () => (await rig.store.inbox.get(1))?.attempts === 1);
    await until(async () => (await rig.gateway.status()).lanes.active === 1);
    await rig.clock.advance(61_000);
    await rig.idle();
    expect(rig.platform.texts().join("")).toContain("took longer than");
  });
});

describe("a button", () => {
  it("runs its command as whoever presses, in place, after a restart too", async () => {
    const rig = await start();
    await rig.say("/list", { userId: "1" });
    await rig.idle();
    expect(tokenOf(rig).length).toBeLessThanOrEqual(64);
    const next = await restart(rig, { commands });
    const accepted = await next.receive(press(tokenOf(next)));
    expect(accepted.acknowledge).toEqual({ kind: "defer-update" });
    await next.idle();
    expect(next.platform.texts()).toEqual(["page 2"]);
    await next.receive(press(tokenOf(next), "1", "p2"));
    await next.idle();
    expect(next.platform.texts()).toEqual(["page 3"]);
  });

  it("of a message that nobody knew to have arrived proves that it did: it is held no longer, and can be edited", async () => {
    const rig = await start();
    rig.platform.script = (_, n) => (n === 1 ? { kind: "lost" } : undefined);
    const buttons = [[{ label: "ack", action: { kind: "command" as const, line: "/list 2" } }]];
    const cause = { kind: "alert", id: "pager", depth: 0 } as const;
    const id = await rig.gateway.send(messageAddress(messageOf("")), { text: "a page", buttons }, { cause });
    await until(async () => (await rig.store.outbox.get(id))?.status === "held");
    const message = messageOf("", { userId: "7", messageId: rig.platform.messages[0]?.id ?? "" });
    await rig.receive(press(tokenOf(rig), "7", "p1", { message }));
    await rig.idle();
    const { status, parts } = (await rig.store.outbox.get(id)) ?? {};
    expect({ status, parts }).toMatchObject({ status: "sent", parts: [{ messageId: message.messageId }] });
    await rig.gateway.edit(id, { text: "the page, acknowledged" }, { cause });
    await rig.idle();
    expect(rig.platform.messages[0]?.text).toBe("the page, acknowledged");
  });

  it("pressed by a stranger is refused privately, audited, and changes nothing", async () => {
    const rig = await start();
    await rig.say("/list", { userId: "1" });
    await rig.idle();
    const accepted = await rig.receive(press(tokenOf(rig), "99"));
    expect(accepted.acknowledge).toEqual({ kind: "defer", isPrivate: true });
    await rig.idle();
    expect(rig.platform.messages[0]).toMatchObject({ text: "page 1", edits: 0 });
    expect(
      rig.platform.messages
        .slice(1)
        .map(({ text }) => text)
        .join(""),
    ).toContain("You have no role here");
    expect(rig.platform.messages[1]).toMatchObject({ through: "first", visibleTo: "99" });
    expect((await rig.store.audit.list({ limit: 1 }))[0]).toMatchObject({
      outcome: "refused",
      operator: { userId: "99" },
    });
  });

  it("that answered a question about many and expired names the line that asks again", async () => {
    const rig = await start({ gateway: { button_life: "1h" } });
    const action = { kind: "command" as const, line: "/list 2 yes=true selection=b764d9e4af01" };
    const cause = { kind: "command", id: "m1", depth: 0 } as const;
    const question = { text: "Delete 2?", buttons: [[{ label: "Delete 2", action }]] };
    await rig.gateway.send(messageAddress(messageOf("")), question, { cause });
    await rig.idle();
    await rig.clock.advance(3_600_001);
    await rig.receive(press(tokenOf(rig), "1", "p1"));
    await rig.idle();
    expect(rig.platform.texts().join(" ")).toMatch(/has expired\. Type `\/list 2`\s+instead/);
  });

  it("that expired, or was made up, says so privately", async () => {
    const rig = await start({ gateway: { button_life: "1h" } });
    await rig.say("/list", { userId: "1" });
    await rig.idle();
    await rig.clock.advance(3_600_001);
    const token = tokenOf(rig);
    await rig.receive(press(token, "1", "p1"));
    await rig.receive(press("made.up", "1", "p2"));
    const forged = `${token.split(".")[0]}x.${token.split(".")[1]}`;
    await rig.receive(press(forged, "1", "p3"));
    await rig.idle();
    expect(rig.platform.texts().join(" ")).toMatch(/has expired\. Type `\/list[^`]*`\s+instead/);
    // Two notes, of the same parts.
    expect(rig.platform.texts().filter((text) => text.startsWith("Nothing was done"))).toHaveLength(2);
  });

  it("that says something says it as the person, through all the hooks", async () => {
    const rig = await start({
      hooks: (registry) =>
        void registry.registerClaiming("inbound_claim", ({ message }) => ({
          handled: true,
          reply: `${message.userId}: ${message.text}`,
        })),
    });
    await rig.gateway.send(
      { platform: "loop", botId: "bot", chatId: "room" },
      { text: "choose", buttons: [[{ label: "yes", action: { kind: "say", text: "yes please" } }]] },
      { cause: { kind: "api", id: "t", depth: 0 } },
    );
    await rig.idle();
    await rig.receive(press(tokenOf(rig), "42"));
    await rig.idle();
    expect(rig.platform.texts()).toEqual(["choose", "42: yes please"]);
  });

  it("that calls no command is logged once when its message goes out, whoever sends it", async () => {
    const log: LogLine[] = [];
    const rig = await start({ logger: logTo(log) });
    const unknown = (line: string) => [[{ label: "go", action: { kind: "command" as const, line } }]];
    for (const line of ["/lst 2", "/lst 3", "/no-such-thing", "/list 2"])
      await rig.gateway.send(
        { platform: "loop", botId: "bot", chatId: "room" },
        { text: line, buttons: unknown(line) },
        { cause: { kind: "hook", id: "plugin:p", depth: 1 } },
      );
    await rig.idle();
    expect(rig.platform.texts()).toHaveLength(4);
    expect(log.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
      "A button of a message calls /lst, and there is no such command: a press does nothing. Did you mean /list?",
      "A button of a message calls /no-such-thing, and there is no such command: a press does nothing.",
    ]);
    expect(log.find(({ level }) => level === "warn")?.facts).toMatchObject({ cause: { id: "plugin:p" } });
  });

  it("with a form shows it to who may, and its values become options", async () => {
    const platform = new LoopbackPlatform("loop", { forms: true });
    const form: Command = {
      ...list,
      name: "form",
      run: async () => ({
        message: {
          text: "form",
          buttons: [
            [
              {
                label: "fill in",
                action: {
                  kind: "command",
                  line: "/fire-hook x",
                  form: { title: "Fire", fields: [{ id: "times", label: "Times" }] },
                },
              },
            ],
          ],
        },
      }),
    };
    const rig = await start({ commands: [form, fireHook], platforms: [platform] });
    await rig.say("/form", { userId: "1" });
    await rig.idle();
    const token = tokenOf(rig);
    expect((await rig.receive(press(token, "99", "p0"))).acknowledge).toEqual({ kind: "defer", isPrivate: true });
    expect((await rig.receive(press(token, "1", "p1"))).acknowledge).toMatchObject({ kind: "form", token });
    await rig.receive(press(token, "1", "p2", { values: { times: "3" } }));
    await rig.idle();
    expect(rig.platform.texts()).toContain('{"id":"x","times":3}');
  });
});

describe("over HTTP and the CLI", () => {
  it("commands run with the same checks and are on record", async () => {
    const rig = await start();
    const operator = { platform: "http", userId: "1", role: "owner" as const };
    expect(await rig.gateway.invoke({ line: "/fire-hook greeter --dry-run", operator })).toMatchObject({
      message: { text: '{"id":"greeter","dry-run":true}' },
    });
    expect(await rig.gateway.invoke({ name: "fire-hook", options: { id: "a", times: 2 }, operator })).toMatchObject({
      message: { text: '{"id":"a","times":2}' },
    });
    expect(await rig.gateway.invoke({ line: "fire-hok x", operator })).toMatchObject({
      outcome: "failed",
      message: { text: expect.stringContaining("/fire-hook") },
    });
    expect(await rig.gateway.invoke({ line: "/list", operator: { platform: "http", userId: "2" } })).toMatchObject({
      outcome: "refused",
    });
    expect(await rig.store.audit.list({ limit: 10 })).toHaveLength(3);
  });
});

describe("completion", () => {
  it("offers hooks and points to people with a role, and nothing to others", async () => {
    const rig = await start({
      hooks: (registry) => void registry.registerVoid("message_sent", () => {}, { id: "greeter" }),
    });
    const ask = (userId: string, typed: string) =>
      rig.adapter.context.gateway.complete({
        operator: { platform: "loop", userId },
        command: "fire-hook",
        option: "id",
        typed,
      });
    expect(await ask("3", "gr")).toEqual([{ name: "greeter · message_sent", value: "greeter" }]);
    expect((await ask("3", "message_s")).map(({ value }) => value)).toEqual([
      "message_sending",
      "message_sent",
      "greeter",
    ]);
    expect(await ask("99", "")).toEqual([]);
  });

  it("offers for each action of /outbox the messages to which it applies, and the words that it takes", async () => {
    const rig = await start({ commands: [{ ...outboxCommand.spec, run: async () => ({ message: { text: "" } }) }] });
    const { outbox, inbox } = rig.store;
    const at = { platform: "loop", botId: "bot", chatId: "elsewhere" };
    for (const status of ["held", "dead", "cancelled", "sent"] as const) {
      const cause = { kind: "api" as const, id: "test", depth: 0 };
      await outbox.enqueue([{ id: `d_${status}`, address: at, operation: "send", message: { text: "x" }, cause }], 1);
      await outbox.finish(`d_${status}`, status, "", 1);
    }
    const message = messageOf("x");
    const { id } = await inbox.accept({ kind: "message", eventId: "e1", message }, "loop:bot:elsewhere", 1, false);
    await inbox.dead(id, "handling failed", 1);
    const ask = async (action?: string) =>
      (
        await rig.adapter.context.gateway.complete({
          operator: { platform: "loop", userId: "3" },
          command: "outbox",
          option: "id",
          typed: "",
          given: action === undefined ? undefined : { action },
        })
      ).map(({ value }) => value);
    expect(await ask("release")).toEqual(["d_held", "all", "held"]);
    expect(await ask("retry")).toEqual(["d_dead", `m${id}`, "all", "dead", "inbox"]);
    const purge = await ask("purge");
    expect(purge.slice(0, 4)).toEqual(["d_dead", `m${id}`, "d_held", "d_cancelled"]);
    expect(purge).toContain("waiting");
    expect(purge).not.toContain("sent");
    expect(await ask("show")).toEqual(["d_held", "d_dead", `m${id}`, "d_cancelled"]);
    expect(await ask("list")).toContain("suppressed");
    expect(await ask("list")).not.toContain("d_held");
    expect(await ask()).toEqual(expect.arrayContaining(["d_held", "suppressed"]));
  });
});

it("the answer to a command that is typed in a group goes before the copies that wait for the group's limit", async () => {
  const platform = new LoopbackPlatform("loop", { limits: { perSecond: 1_000, perGroupPerMinute: 2 } });
  const rig = await start({ platforms: [platform] });
  const at = { platform: "loop", botId: "bot", chatId: "-group" };
  for (const text of ["1", "2", "3", "4"])
    await rig.gateway.send(at, { text }, { cause: { kind: "api", id: "test", depth: 0 } });
  await until(() => platform.texts("-group").length === 2, "a full minute");
  await rig.say("/whoami", { chatId: "-group", userId: "1" });
  await until(async () => (await rig.store.outbox.counts()).sending === 2, "both waiting for the next minute");
  expect((await rig.gateway.status()).pauses).toMatchObject([{ key: "loop:bot:-group", isOwnLimit: true }]);
  await until(async () => {
    await rig.clock.advance(1_000);
    return platform.texts("-group").length === 5;
  }, "all sent");
  expect(platform.texts("-group")).toEqual(["1", "2", "1 owner", "3", "4"]);
  expect((await rig.gateway.status()).pauses).toEqual([]);
});

it.each([
  ["a refusal", "/fire-hook x", "3", "You may not do that here. "],
  ["a refusal of a person without a role", "/list", "99", "You may not do that here. "],
  ["a question", "/ask", "1", "This command asks a question "],
  ["an answer that a hook withheld", "/whoami", "1", "The answer was withheld "],
])("the line in a full group that stands in for %s goes before the copies, too", async (_, line, userId, words) => {
  const platform = new LoopbackPlatform("loop", {
    limits: { perSecond: 1_000, perGroupPerMinute: 2 },
    privateAddress: (at, id) => ({ ...at, chatId: `dm-${id}` }),
  });
  platform.script = ({ address }) =>
    address.chatId.startsWith("dm-") ? { kind: "permanent", error: "403 can't initiate conversation" } : undefined;
  platform.width = 4_000;
  const ask: Command = {
    ...whoami,
    name: "ask",
    run: async () => ({ message: { text: "Really?" }, outcome: "refused", isQuestion: true }),
  };
  const rig = await start({ platforms: [platform], commands: [...commands, ask] });
  rig.registry.registerModifying("message_sending", ({ message }) =>
    message.text.startsWith("1 owner") ? { cancel: true } : undefined,
  );
  const at = { platform: "loop", botId: "bot", chatId: "-group" };
  for (const text of ["1", "2", "3", "4"])
    await rig.gateway.send(at, { text }, { cause: { kind: "api", id: "test", depth: 0 } });
  await until(() => platform.texts("-group").length === 2, "a full minute");
  await rig.say(line, { chatId: "-group", userId });
  await until(async () => (await rig.store.outbox.counts()).sending === 2, "both waiting for the next minute");
  await until(async () => {
    await rig.clock.advance(5_000);
    return platform.texts("-group").length === 5;
  }, "all sent");
  expect(platform.texts("-group")).toEqual(["1", "2", expect.stringContaining(words), "3", "4"]);
});
