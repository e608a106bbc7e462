/** Alerts about undelivered messages, for operators of whom one cannot be written to: the whole product, the real clients. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../support/until.js";
import { invoke, type Stack, startStack } from "./stack.js";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ config: { alerts: { watch_gateway: { undelivered_after: "1s" } } } });
});
afterAll(() => stack.stop());

const total = async (status: string) =>
  ((await invoke(stack.gateway.url, `/outbox list ${status}`)).data as { total?: number }).total ?? 0;

it("an alert about a dead letter that does not reach an operator is no dead letter itself", async () => {
  const { telegram, platforms } = stack;
  const description = "Bad Request: message text is broken";
  telegram.fail({ method: "sendMessage", action: { kind: "refuse", status: 400, description } });
  await platforms.telegram.say(platforms.telegram.places[0], "guest", "echo lost");
  await until(async () => (await total("dead")) === 1, "the dead letter");
  // Telegram lets nobody be written to directly who did not write first.
  const owner = Number(platforms.telegram.ownerRef.split(":")[1]);
  const alerts = () => telegram.callsOf("sendMessage").filter(({ payload }) => Number(payload.chat_id) === owner);
  await until(() => alerts().length > 0, "the alert to the operator");
  await until(async () => (await total("cancelled")) > 0, "the alert being settled");
  expect(await total("dead")).toBe(1);
  const { text } = await invoke(stack.gateway.url, "/status");
  expect(text).toContain("1 message waits for an operator");
});
