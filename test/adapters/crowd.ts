/**
 * Many sends at once, which a thread of their own makes: each has one outcome, which is true, whatever becomes of the thread.
 * One platform a file, because that thread is the process's, and the last test kills it.
 */
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Adapter, SendOperation, SendResult } from "../../src/domain/adapter.js";
import type { Address } from "../../src/domain/address.js";
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
  const workers: Worker[] = [];
  let isReady = false;
  const note = (worker: Worker) => {
    workers.push(worker);
    worker.once("message", () => {
      isReady = true;
    });
  };
  beforeAll(() => void process.on("worker", note));
  afterAll(() => void process.off("worker", note));

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
  /** Sends most of which are under way and will not be answered: so many that the thread has some of them. */
  const hanging = async (platform: CrowdedPlatform, name: string, signal?: AbortSignal) => {
    let taken = 0;
    let settled = 0;
    platform.onSend = () => taken++;
    platform.hang(HUNG);
    const sends = crowd(platform, name, signal);
    for (const send of sends) void send.then(() => settled++);
    await until(() => taken === CROWD && settled === CROWD - HUNG, "the answers that come");
    return { sends, settled: () => settled };
  };

  /** The thread is there after a first crowd, which has to do without. */
  const crowded = async () => {
    const platform = await start();
    expect(expectTrue(await Promise.all(crowd(platform, "first")), platform)).toMatchObject({ sent: CROWD });
    await until(() => isReady, "the thread");
    return platform;
  };

  it("is sent, each once", async () => {
    const platform = await crowded();
    const outcomes = await Promise.all(crowd(platform, "by the thread"));
    expect(expectTrue(outcomes, platform)).toMatchObject({ sent: CROWD });
    expect(new Set(outcomes.map(({ result }) => result.kind === "sent" && result.messageId)).size).toBe(CROWD);
    expect(workers).toHaveLength(1);
  });

  it("hears when it has to wait, as one alone does", async () => {
    const platform = await crowded();
    const stop = new AbortController();
    const { sends } = await hanging(platform, "hung", stop.signal);
    platform.refuse(7);
    const [one] = await Promise.all(crowd(platform, "refused", undefined, 1));
    expect(one?.result).toMatchObject(refused);
    stop.abort();
    await Promise.all(sends);
  });

  it("is given up at once by a stop that cannot wait", async () => {
    const platform = await crowded();
    const stop = new AbortController();
    const { sends } = await hanging(platform, "given up", stop.signal);
    stop.abort();
    expect(expectTrue(await Promise.all(sends), platform)).toEqual({ sent: CROWD - HUNG, retry: 0, ambiguous: HUNG });
  });

  it("has its outcome when the adapter ends before the answers", async () => {
    const platform = await crowded();
    const { sends } = await hanging(platform, "left behind");
    await platform.stop();
    expect(expectTrue(await Promise.all(sends), platform)).toEqual({ sent: CROWD - HUNG, retry: 0, ambiguous: HUNG });
  });

  it("has its outcome when the thread dies, and the next is sent without it", async () => {
    const platform = await crowded();
    const stop = new AbortController();
    const { sends, settled } = await hanging(platform, "cut off", stop.signal);
    await workers[0]?.terminate();
    await until(() => settled() > CROWD - HUNG, "the outcome of those that the thread had");
    stop.abort(); // for those that it had not
    expect(expectTrue(await Promise.all(sends), platform)).toEqual({ sent: CROWD - HUNG, retry: 0, ambiguous: HUNG });
    expect(expectTrue(await Promise.all(crowd(platform, "next")), platform)).toMatchObject({ sent: CROWD });
    expect(workers).toHaveLength(1);
  });
}
