import { describe } from "vitest";
import { type CrowdedPlatform, describeCrowd, NEVER_MS } from "../crowd.js";
import { startAdapter } from "./harness.js";

describe("a crowd on Telegram", () => {
  describeCrowd(start, { kind: "retry", afterMs: 7000, scope: "chat" });
});

async function start(): Promise<CrowdedPlatform> {
  const { fake, adapter, at, stop } = await startAdapter({ config: { request_timeout: "10s" } });
  const platform: CrowdedPlatform = {
    adapter,
    at,
    hang: (times) => fake.fail({ method: "sendMessage", times, action: { kind: "slow", delayMs: NEVER_MS } }),
    refuse: (retryAfterS) => fake.fail({ method: "sendMessage", action: { kind: "rate-limit", retryAfterS } }),
    onSend: () => {},
    texts: () =>
      fake.callsOf("sendMessage").flatMap(({ status, payload }) => (status === 200 ? `${payload.text}` : [])),
    stop,
  };
  fake.onCall = ({ kind }) => {
    if (kind === "send") platform.onSend();
  };
  return platform;
}
