/** An owner code in words that are no command: it reaches no other person while it is valid. */
import { expect, it } from "vitest";
import type { ConversationSight } from "../../src/domain/alerts/sla.js";
import { messageOf, type Rig, type RigOptions, startRig } from "./rig.js";

const FORWARD = { gateway: { default_route: { forward: "loop::desk" } } };
const DIRECT = { isDm: true, isGroupMention: false, chatId: "dm-9", userId: "9" };
const HINT = "To become an owner, send me `/claim CODE` as a new direct message.";

async function rigWithCode(options: RigOptions = FORWARD): Promise<{ rig: Rig; code: string }> {
  const rig = await startRig(options);
  rig.platform.width = 1_000;
  return { rig, code: rig.claims.newCode() };
}

const claimOf = (rig: Rig, code: string) => rig.claims.claim("loop:9", "Ann", code);

it("a direct message with the current code is not copied, and its sender learns how to use the code, which stays valid", async () => {
  const { rig, code } = await rigWithCode();
  const spaced = `${code.slice(0, 4)} ${code.slice(4).toLowerCase()}`;
  const typed = [`/clam ${code}`, code, `/claim${code}`, `here is the code ${spaced}`];
  for (const text of typed) await rig.say(text, DIRECT);
  await rig.idle();
  expect(rig.platform.texts("desk")).toEqual([]);
  expect(rig.platform.texts("dm-9")).toEqual(typed.map(() => expect.stringContaining(HINT)));
  expect(await claimOf(rig, code)).toBe("claimed");
});

it("a direct message with the current code is offered to no hook that could pass it on", async () => {
  const far = { platform: "loop", botId: "bot", chatId: "desk" };
  const { rig, code } = await rigWithCode({
    hooks: (registry) => void registry.registerClaiming("inbound_claim", () => ({ handled: true, routeTo: far })),
  });
  await rig.say(`/clam ${code}`, DIRECT);
  await rig.say("hello", DIRECT);
  await rig.idle();
  expect(rig.platform.texts("desk")).toEqual(["**Ada**: hello"]);
});

it("a direct message that is edited to the current code does not change its copy, and is not shown to SLA clocks", async () => {
  const seen: ConversationSight[] = [];
  const seeing = (sight: ConversationSight) => void seen.push(sight);
  const watch = () => ({ isWanted: () => true, hearsHooks: () => false, seen: seeing });
  const { rig, code } = await rigWithCode({ ...FORWARD, watch });
  const message = messageOf("hello", { ...DIRECT, messageId: "m1" });
  await rig.receive({ kind: "message", eventId: "m1", message });
  await rig.idle();
  const text = `/clam ${code}`;
  await rig.receive({ kind: "edited", eventId: "edit:m1:1", message: { ...message, text, isEdit: true } });
  await rig.idle();
  expect(rig.platform.texts("desk")).toEqual(["**Ada**: hello"]);
  expect(rig.platform.texts("dm-9").join("")).toContain(HINT);
  expect(JSON.stringify(seen)).not.toContain(code);
  expect(await claimOf(rig, code)).toBe("claimed");
});

it("a copy with a slip of the code, or a post of a hook with the code, makes the code void", async () => {
  const slip = await rigWithCode();
  const typed = `${slip.code.slice(0, 7)}${slip.code[7] === "A" ? "B" : "A"}`;
  await slip.rig.say(`it is "${typed}"?`, DIRECT);
  await slip.rig.idle();
  expect(slip.rig.platform.texts("desk")).toEqual([`**Ada**: it is "${typed}"?`]);
  expect(await claimOf(slip.rig, slip.code)).toBe("no-code");

  const post = await rigWithCode({ ...FORWARD, beforeStart: postsReceived });
  await post.rig.say(`/clam ${post.code}`, DIRECT);
  await post.rig.idle();
  expect(post.rig.platform.texts("desk")).toEqual([`heard\n/clam ${post.code}`]);
  expect(await claimOf(post.rig, post.code)).toBe("no-code");
});

/** A hook that posts every message in a room, in a card. */
function postsReceived({ registry, gateway }: Rig): void {
  const at = { platform: "loop", botId: "bot", chatId: "desk" };
  registry.registerVoid("message_received", async ({ message }) => {
    await gateway.send(
      at,
      { text: "heard", card: { text: message.text } },
      { cause: { kind: "hook", id: "h", depth: 1 } },
    );
  });
}

it("a code in a room is void however it is written: beside a mention of the gateway, and in an edit", async () => {
  const mention = await rigWithCode();
  await mention.rig.say(`here is the code ${mention.code}`, { isGroupMention: true });
  await mention.rig.idle();
  expect(await claimOf(mention.rig, mention.code)).toBe("no-code");

  const edit = await rigWithCode();
  const message = messageOf(`the code is ${edit.code}`, { messageId: "m1", isGroupMention: false, isEdit: true });
  await edit.rig.receive({ kind: "edited", eventId: "edit:m1:1", message });
  await edit.rig.idle();
  expect(await claimOf(edit.rig, edit.code)).toBe("no-code");
});

it("the conversation that asked for a code may be shown it", async () => {
  const rig = await startRig();
  const at = { platform: "loop", botId: "bot", chatId: "dm-1" };
  const code = rig.claims.newCode("loop:bot:dm-1");
  const options = { cause: { kind: "command" as const, id: "c1", depth: 0 } };
  await rig.gateway.send(at, { text: `New owner code: ${code}` }, options);
  await rig.idle();
  expect(await claimOf(rig, code)).toBe("claimed");
});
