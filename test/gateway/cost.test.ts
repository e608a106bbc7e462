/** What a message costs on its way through both flows, where it can be counted. */
import { afterEach, expect, it, vi } from "vitest";
import { startRig } from "./rig.js";

const MESSAGES = 400;
const CHATS = 100;

afterEach(() => {
  vi.restoreAllMocks();
});

it("looks for a conversation by its name once, and once for its limits", async () => {
  let settled = () => {};
  const rig = await startRig({
    observe: { deliverySettled: () => settled() },
    hooks: (registry) => {
      registry.registerClaiming("inbound_claim", ({ message }) => ({ handled: true, reply: { text: message.text } }));
    },
  });
  // Told by the last answer, and not by asking again and again, which would count.
  const flood = () =>
    new Promise<void>((resolve) => {
      let answered = 0;
      settled = () => void (++answered === MESSAGES && resolve());
      for (let i = 0; i < MESSAGES; i++) void rig.say(`hello ${i}`, { chatId: `c${i % CHATS}` });
    });
  await flood();

  let lookUps = 0;
  for (const [method, original] of [
    ["get", Map.prototype.get],
    ["set", Map.prototype.set],
    ["delete", Map.prototype.delete],
    ["has", Map.prototype.has],
  ] as const)
    vi.spyOn(Map.prototype, method).mockImplementation(function (this: Map<unknown, unknown>, ...args: unknown[]) {
      if (typeof args[0] === "string" && args[0].startsWith("loop:bot:c")) lookUps++;
      return Reflect.apply(original, this, args);
    });
  await flood();
  vi.restoreAllMocks();

  // The conversation, and its limit.
  expect(lookUps / MESSAGES).toBeLessThanOrEqual(2.5);
});
