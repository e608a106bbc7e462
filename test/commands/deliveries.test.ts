/** Single deliveries as operators see and decide them. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { shortenMessage } from "../../src/domain/long-message.js";
import type { DeliveryPart, NewDelivery } from "../../src/domain/store.js";
import { type Desk, openDesk } from "./desk.js";

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

const at = { platform: "web", botId: "web", chatId: "lobby" };
const delivery = (id: string, text = "hello"): NewDelivery => ({
  id,
  address: at,
  operation: "send",
  message: { text },
  cause: { kind: "reply", id: "m1", depth: 0 },
});
const now = () => desk.clock.now();
const part = (index: number): DeliveryPart => ({
  index,
  operation: "create",
  part: { text: `part ${index}`, body: {} },
  nonce: `n${index}`,
  status: "waiting",
  attempts: 0,
});

describe("a message that was shortened", () => {
  it("is explained as such", async () => {
    const message = { text: "x".repeat(34_000) };
    await desk.store.outbox.enqueue([delivery("d_long", message.text)], now());
    await desk.store.outbox.freeze("d_long", shortenMessage(message), [part(0)], []);
    await desk.store.outbox.partSent("d_long", 0, "100", now());
    expect((await desk.say("/hooks why d_long")).shown).toContain("shortened: it had 34,000 characters");
    expect((await desk.say("/outbox show d_long")).shown).toContain(
      "The message was shortened: it had 34,000 characters.",
    );
  });
});
