/** A message of any length becomes a message of a bounded number of parts, and says that it was shortened. */
import { describe, expect, it } from "vitest";
import { MAX_CHARACTERS, shortenMessage } from "../../src/domain/chat/long-message.js";
import { type Logger, silentLogger } from "../../src/lib/logger.js";
import { LoopbackPlatform } from "./loopback-adapter.js";
import { startRig } from "./rig.js";

const ROOM = { platform: "loop", botId: "bot", chatId: "room" };
const cause = { kind: "api" as const, id: "test", depth: 0 };
const wide = () => {
  const platform = new LoopbackPlatform();
  platform.width = 2_000;
  return platform;
};

describe("a message that is too long", () => {
  it("is sent shortened, and does not keep its chat busy; the log names it", async () => {
    const warnings: unknown[] = [];
    const logger: Logger = {
      ...silentLogger,
      warn: (...said: unknown[]) => void warnings.push(...said),
      child: () => logger,
    };
    const platform = wide();
    const rig = await startRig({ platforms: [platform], logger });
    const id = await rig.gateway.send(ROOM, { text: "word ".repeat(400_000) }, { cause });
    await rig.gateway.send(ROOM, { text: "next" }, { cause });
    await rig.idle();
    expect(platform.texts().length).toBeLessThanOrEqual(11);
    expect(platform.texts().join("")).toContain("… (shortened: 2,000,000 characters)");
    expect(platform.texts().at(-1)).toBe("next");
    expect(warnings).toContainEqual(expect.objectContaining({ delivery: id, characters: 2_000_000 }));
  });

  it("is shortened after the hooks, and so is the new text of an edit", async () => {
    const platform = wide();
    const rig = await startRig({
      platforms: [platform],
      hooks: (registry) =>
        void registry.registerModifying("message_sending", ({ message }) => ({
          message: { ...message, text: message.text.repeat(30_000) },
        })),
    });
    const id = await rig.gateway.send(ROOM, { text: "x" }, { cause });
    await rig.idle();
    await rig.gateway.edit(id, { text: "yz" }, { cause });
    await rig.idle();
    expect(platform.texts().join("").length).toBeLessThanOrEqual(MAX_CHARACTERS);
    expect(platform.texts().join("")).toMatch(/^yz.*… \(shortened: 60,000 characters\)$/s);
  });

  it("in several messages names the first of them with each of the others, also when it is edited", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    const rig = await startRig({ platforms: [platform] });
    const id = await rig.gateway.send(ROOM, { text: "x".repeat(100) }, { cause });
    await rig.idle();
    const first = platform.messages[0]?.id;
    const named = () => platform.requests.splice(0).map(({ kind, firstMessageId }) => [kind, firstMessageId]);
    expect(named()).toEqual([
      ["create", undefined],
      ["create", first],
      ["create", first],
    ]);
    await rig.gateway.edit(id, { text: "y".repeat(60) }, { cause });
    await rig.idle();
    expect(named()).toEqual([
      ["edit", first],
      ["edit", first],
      ["delete", first],
    ]);
  });

  it("is left alone up to the limit", async () => {
    const platform = wide();
    const rig = await startRig({ platforms: [platform] });
    await rig.gateway.send(ROOM, { text: "x".repeat(MAX_CHARACTERS) }, { cause });
    await rig.idle();
    expect(platform.texts().join("")).toBe("x".repeat(MAX_CHARACTERS));
  });
});

describe("the place of the cut", () => {
  it("is never inside a character, a tag or a code block", () => {
    expect(shortenMessage({ text: "👩".repeat(20_000) }).text.isWellFormed()).toBe(true);
    const html = shortenMessage({
      text: `<b>${'<a href="https://example.com">x</a>'.repeat(2_000)}</b>`,
      format: "html",
    });
    expect(html.text).toMatch(/>x?\n\n… \(shortened: 70,007 characters\)$/);
    expect(shortenMessage({ text: `\`\`\`\n${"code\n".repeat(9_000)}\`\`\`` }).text).toMatch(/\n```\n\n… \(shortened/);
  });

  it("may be in a card: its fields after that are left out", () => {
    const fields = Array.from({ length: 30 }, (_, n) => ({ name: `field ${n}`, value: "v".repeat(1_000) }));
    const { card, text } = shortenMessage({ text: "", card: { title: "All", fields, footer: "the end" } });
    expect(text).toBe("");
    expect(card?.title).toBe("All");
    expect(card?.footer).toBeUndefined();
    expect(card?.fields?.length).toBeLessThan(21);
    expect(card?.fields?.at(-1)?.value).toContain("(shortened: 30,240 characters)");
  });
});
