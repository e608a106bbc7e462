/** Many sends at once: each has one outcome, which is true. */
import { expect, it } from "vitest";
import type { Adapter, SendOperation, SendResult } from "../../src/domain/chat/adapter.js";
import type { Address } from "../../src/domain/chat/address.js";
import { until } from "../support/until.js";

export interface CrowdedPlatform {
  adapter: Adapter;
  at: Address;
  /** So many of the next sends take effect and are never answered. */
  hang(times: number): void;
  /** The next send is refused for so many seconds, as the chat's fault or everybody's. */
  refuse(forS: number): void;
  /** Called when a send has taken effect. */
  onSend: () => void;
  /** The texts of all messages that were posted. */
  texts(): string[];
  stop(): Promise<unknown>;
}

/** For faults: longer than any test. */
export const NEVER_MS = 3_600_000;
const CROWD = 60;
const HUNG = 50;

/** `start` undoes itself when its test has finished. `refused`: what `refuse(7)` comes to. */
export function describeCrowd(start: () => Promise<CrowdedPlatform>, refused: object): void {
  /** Sends under way together, each with a text of its own. */
  const crowd = (
    { adapter, at }: CrowdedPlatform,
    name: string,
    signal = new AbortController().signal,
    count = CROWD,
  ) =>
    Array.from({ length: count }, async (_, i) => {
      const text = `${name} ${i}`;
      const [part] = adapter.encode({ text }, at, { plain: false });
      if (!part) throw new Error("nothing was encoded");
      const operation: SendOperation = { kind: "create", address: at, part, nonce: text };
      return { text, result: await adapter.send(operation, signal) };
    });
  const expectTrue = (outcomes: { text: string; result: SendResult }[], { texts }: CrowdedPlatform) => {
    const posted = texts();
    for (const { text, result } of outcomes) {
      const times = posted.filter((other) => other === text).length;
      expect(times, text).toBeLessThanOrEqual(1);
      if (result.kind === "sent") expect(times, text).toBe(1);
      else if (result.kind === "retry") expect(times, text).toBe(0);
      else expect(result, text).toMatchObject({ kind: "ambiguous" });
    }
    return Object.fromEntries(
      ["sent", "retry", "ambiguous"].map((kind) => [
        kind,
        outcomes.filter(({ result }) => result.kind === kind).length,
      ]),
    );
  };
  /** Sends most of which are under way and will not be answered. */
  const hanging = async (platform: CrowdedPlatform, name: string, signal?: AbortSignal) => {
    let taken = 0;
    platform.onSend = () => taken++;
    platform.hang(HUNG);
    const sends = crowd(platform, name, signal);
    let settled = 0;
    for (const send of sends) void send.then(() => settled++);
    await until(() => taken === CROWD && settled === CROWD - HUNG, "the answers that come");
    return sends;
  };

  it("is sent, each once", async () => {
    const platform = await start();
    const outcomes = await Promise.all(crowd(platform, "each once"));
    expect(expectTrue(outcomes, platform)).toMatchObject({ sent: CROWD });
    expect(new Set(outcomes.map(({ result }) => result.kind === "sent" && result.messageId)).size).toBe(CROWD);
  });

  it("hears when it has to wait, as one alone does", async () => {
    const platform = await start();
    const stop = new AbortController();
    const sends = await hanging(platform, "hung", stop.signal);
    platform.refuse(7);
    const [one] = await Promise.all(crowd(platform, "refused", undefined, 1));
    expect(one?.result).toMatchObject(refused);
    stop.abort();
    await Promise.all(sends);
  });

  it("is given up at once by a stop that cannot wait", async () => {
    const platform = await start();
    const stop = new AbortController();
    const sends = await hanging(platform, "given up", stop.signal);
    stop.abort();
    expect(expectTrue(await Promise.all(sends), platform)).toEqual({ sent: CROWD - HUNG, retry: 0, ambiguous: HUNG });
  });

  it("has its outcome when the adapter ends before the answers", async () => {
    const platform = await start();
    const sends = await hanging(platform, "left behind");
    await platform.stop();
    expect(expectTrue(await Promise.all(sends), platform)).toEqual({ sent: CROWD - HUNG, retry: 0, ambiguous: HUNG });
  });
}
