/** A customer's message has its copy at a desk, where operators and people without a role answer it. */
import type { Address } from "../../src/domain/chat/address.js";
import { LoopbackPlatform, type Scripted } from "./loopback-adapter.js";
import { messageOf, startRig } from "./rig.js";

export const DESK = { platform: "far", chatId: "desk", userId: "7" };
export const REFUSED = { kind: "permanent", error: "400: strange content" } as const;
export const IN_DOUBT = { kind: "ambiguous", error: "no answer", mayRepeat: false } as const;
export const CLOSED = { kind: "permanent", error: "50007: closed direct messages" } as const;

/** `direct`: what becomes of a message to its author. `idsPerChat`: as on Telegram, where a group that moves is another chat. */
export async function startDesk(direct?: Scripted, idsPerChat = false) {
  const far = new LoopbackPlatform("far", {
    privateAddress: (at: Address, userId: string) => ({ ...at, chatId: `dm-${userId}` }),
    idsPerChat,
  });
  far.width = 1_000;
  far.script = ({ address }) => (address.chatId.startsWith("dm-") ? direct : undefined);
  const near = new LoopbackPlatform("loop");
  near.width = 1_000;
  /** What the guard decides about texts with the word "guarded". */
  const guard: { decides: "fails" | "refuses" | "allows" } = { decides: "allows" };
  const rig = await startRig({
    gateway: { default_route: { forward: "far:bot:desk" }, inbox_attempts: 1 },
    operators: { operator: ["far:7"] },
    platforms: [near, far],
    hooks(registry) {
      registry.registerModifying(
        "message_sending",
        ({ message: { text } }: { message: { text: string } }) => {
          if (text.includes("secret")) return { cancel: "no secrets" };
          if (!text.includes("guarded") || guard.decides === "allows") return null;
          if (guard.decides === "fails") throw new Error("the guard is down");
          return { cancel: "not that" };
        },
        { name: "guard", failurePolicy: "fail-closed" },
      );
      registry.registerClaiming(
        "inbound_claim",
        ({ message: { text } }) => (text.includes("crash") ? Promise.reject(new Error("the shop is down")) : null),
        { name: "shop", failurePolicy: "fail-closed" },
      );
    },
  });
  await rig.say("hello?", { chatId: "dm-5", userId: "5", isDm: true, messageId: "m1" });
  await rig.idle();
  const replyToId = far.messages.at(-1)?.id as string;
  let edits = 0;
  return {
    rig,
    near,
    far,
    guard,
    replyToId,
    async answer(text: string, facts = {}) {
      await rig.say(text, { ...DESK, messageId: "f1", replyToId, ...facts });
      await rig.idle();
    },
    async correct(text: string, facts = {}) {
      const message = messageOf(text, { ...DESK, messageId: "f1", replyToId, ...facts, isEdit: true });
      await rig.receive({ kind: "edited", eventId: `edit:f1:${++edits}`, message });
      await rig.idle();
    },
    async remove(messageId = "f1") {
      const address = { platform: "far", botId: "bot", chatId: "desk" };
      await rig.receive({ kind: "deleted", eventId: `delete:${messageId}`, address, messageId, at: 0 });
      await rig.idle();
    },
    lines: () => far.texts("desk").slice(1),
  };
}
