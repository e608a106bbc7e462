/** SIGKILL around announcements: none is missed, none is made twice, whatever step it was at. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { gatewayProcess, TOKEN } from "../../support/gateway-process.js";
import { jsonLines } from "../../support/lines.js";
import { until } from "../../support/until.js";

const PER_LIFE = 8;
/** A hook at quality:sla. */
const TAKES_MS = 60;
const CUSTOMER = "the-token-of-a-customer-1";

interface Noted {
  phase: "before" | "after";
  dispatchId: string;
  attempt: number;
  entityId: string;
  status: string;
}

/** A dispatch begins and ends with a line. */
const isRunning = (lines: readonly Noted[]) =>
  lines.some(
    ({ phase, dispatchId }) =>
      phase === "before" && !lines.some((one) => one.phase === "after" && one.dispatchId === dispatchId),
  );

/** Every violation is announced once over so many kills, and no warning twice. */
export async function announcedOnce(kills: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-sla-kill-"));
  const log = join(folder, "sla.jsonl");
  const rooms = Array.from({ length: kills * PER_LIFE }, (_, i) => `room${i}`);
  const gateway = await gatewayProcess({
    folder,
    env: { CUSTOMER_TOKEN: CUSTOMER },
    config: {
      web: {
        access: { chats: ["*"], mention: "always" },
        rooms: rooms.map((id) => ({ id, name: id })),
        people: [{ id: "2", name: "Ada", token_env: "CUSTOMER_TOKEN" }],
      },
      plugins: [
        {
          module: resolve(import.meta.dirname, "../../fixtures/plugins/sla-log.mjs"),
          critical: true,
          config: { log, takesMs: TAKES_MS },
        },
      ],
      sla: {
        after_start: "0s",
        policies: [{ id: "first", for: "conversation", measure: "first_response", target: "400ms", warn_at: ["50%"] }],
      },
    },
  });
  const noted = (): Noted[] => jsonLines(log);
  const say = async (room: string) => {
    const answer = await fetch(`${gateway.url}/api/rooms/${room}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${CUSTOMER}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "help", nonce: randomUUID() }),
    });
    expect(answer.ok, await answer.text()).toBe(true);
  };
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  try {
    for (let life = 0; life < kills; life++) {
      await gateway.start();
      await gateway.ready();
      for (const room of rooms.slice(life * PER_LIFE, (life + 1) * PER_LIFE)) await say(room);
      // At some step between the first warning and the last announcement.
      const sofar = noted().length;
      const lines = Math.floor(random() * PER_LIFE * 3);
      await until(() => noted().length >= sofar + lines, "some runs", 2_000).catch(() => {});
      // Every other time while a hook runs.
      if (life % 2 === 0) await until(() => isRunning(noted().slice(sofar)), "a hook that runs");
      else await pause(random() * 2 * TAKES_MS);
      await gateway.kill();
    }
    await gateway.start();
    await gateway.ready();
    const violated = () => noted().filter(({ phase, status }) => phase === "after" && status === "violated");
    await until(() => new Set(violated().map(({ entityId }) => entityId)).size === rooms.length, "all being told");
    const { data } = (await (
      await fetch(`${gateway.url}/api/command`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ line: "/sla list overdue limit=200" }),
      })
    ).json()) as { data: { total: number } };
    expect(data.total).toBe(rooms.length);
  } finally {
    await gateway.kill();
  }

  const all = noted();
  const attempts = new Map<string, number[]>();
  for (const { dispatchId, attempt } of all) attempts.set(dispatchId, [...(attempts.get(dispatchId) ?? []), attempt]);
  // A dispatch that a crash cut off is done again, and says so; none is begun twice as if it were new.
  for (const [dispatchId, tries] of attempts)
    expect(tries, dispatchId).toEqual([...new Set(tries)].sort((a, b) => a - b));
  for (const status of ["violated", "warning"])
    for (const phase of ["before", "after"]) {
      const ids = new Set(
        all.filter((one) => one.status === status && one.phase === phase).map(({ dispatchId }) => dispatchId),
      );
      const entities = new Set(
        all.filter((one) => one.status === status && one.phase === phase).map(({ entityId }) => entityId),
      );
      expect(ids.size, `${status} ${phase}`).toBe(entities.size);
    }
  const repeated = [...attempts.values()].filter(({ length }) => length > 1).length;
  expect(repeated).toBeGreaterThan(0);
  console.log(`${all.length} runs of ${attempts.size} dispatches, ${repeated} done again after a kill`);
  rmSync(folder, { recursive: true, force: true });
}
