import { describe, expect, it, onTestFinished } from "vitest";
import { outcomeOf } from "../../../adapters/discord/rest/outcome.js";
import { ExchangeError } from "../../../src/fast/exchange.js";
import { startFakeDiscord } from "../../fakes/discord/server.js";
import { type CrowdedPlatform, describeCrowd, NEVER_MS } from "../crowd.js";
import { startRig } from "./rig.js";

describe("a crowd on Discord", () => {
  // What its body says, with the margin for clocks that differ; and the header that says whose limit it is.
  describeCrowd(start, { kind: "retry", afterMs: 7050, scope: "bot" });
});

it.each([
  ["the network is gone", "read EHOSTUNREACH", "EHOSTUNREACH"],
  ["no connection came", "no connection within 10000 ms", undefined],
])("that %s means nothing was written, unless a line broke that stood", (_what, message, code) => {
  const outcome = (isWritten: boolean) =>
    outcomeOf(new ExchangeError(message, isWritten, code), { repeat: "by-nonce", isInteraction: false, isPlain: true });
  const why = code ?? message;
  expect(outcome(false)).toMatchObject({ kind: "retry", scope: "bot", error: `Discord cannot be reached (${why})` });
  expect(outcome(true)).toMatchObject({ kind: "ambiguous", error: `no answer from Discord (${why})` });
});

async function start(): Promise<CrowdedPlatform> {
  const fake = await startFakeDiscord();
  const rig = await startRig(fake, { options: { requestTimeoutMs: 10_000 } });
  onTestFinished(async () => {
    await rig.stop();
    await fake.stop();
  });
  const path = "/messages$";
  const platform: CrowdedPlatform = {
    adapter: rig.adapter,
    at: { platform: "discord", botId: fake.world.bot.id, chatId: fake.channelId },
    hang: (times) => fake.fail({ method: "POST", path, times, action: { kind: "slow", delayMs: NEVER_MS } }),
    refuse: (retryAfterS) =>
      fake.fail({ method: "POST", path, action: { kind: "rate-limit", retryAfterS, scope: "global" } }),
    onSend: () => {},
    texts: () => [...(fake.world.channels.get(fake.channelId)?.messages.values() ?? [])].map(({ content }) => content),
    stop: () => rig.stop(),
  };
  fake.onCall = ({ kind }) => {
    if (kind === "send") platform.onSend();
  };
  return platform;
}
