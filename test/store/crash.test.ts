import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { openStore } from "../../src/store/open.js";
import { compiled } from "../support/compiled.js";
import { linesOf } from "../support/lines.js";
import { CHAT, storeOptions, temporaryFolder } from "./support/open-test-store.js";

const KILLS = 5;

/** Runs the child and kills it `afterMs` after it began to write; resolves with what it said. */
async function runAndKill(program: string, file: string, firstNumber: number, afterMs: number): Promise<string[]> {
  const log = `${file}.${firstNumber}.log`;
  const child = spawn(process.execPath, [program, file, log, String(firstNumber)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill("SIGKILL");
  await once(child, "exit");
  return linesOf(log);
}

test("after SIGKILL at any moment: what was acknowledged is there, and nothing is there by half", async () => {
  const file = join(temporaryFolder(), "hookgate.db");
  const program = await compiled(join(import.meta.dirname, "support/crash-child.ts"));
  const acknowledged = { accepted: 0, settled: 0, sent: 0 };
  let unacknowledged = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const said = await runAndKill(program, file, kill * 1_000_000, 20 + kill * 37 + Math.random() * 30);
    // The lock of a killed process is nobody's: the next one opens at once.
    const store = await openStore(storeOptions(file));
    for (const [what, which = ""] of said.map((line) => line.split(" "))) {
      if (what === "accepted") {
        expect(await store.inbox.find(CHAT, `e${which}`)).toBeDefined();
        acknowledged.accepted++;
      } else if (what === "settled") {
        expect(await store.inbox.find(CHAT, `e${which}`)).toMatchObject({ status: "done" });
        acknowledged.settled++;
      } else if (what === "sent") {
        expect(await store.outbox.get(which)).toMatchObject({ status: "sent", parts: [{ messageId: `p${which}` }] });
        expect((await store.outbox.findByMessage(CHAT, `p${which}`))?.id).toBe(which);
        acknowledged.sent++;
      }
    }
    const settledNow = new Set(said.filter((line) => line.startsWith("settled")).map((line) => line.split(" ")[1]));
    for (const row of await store.inbox.list({ limit: 100_000 })) {
      const number = row.event.eventId.slice(1);
      if (Number(number) < kill * 1_000_000) break;
      const replies = await Promise.all(["a", "b"].map((half) => store.outbox.get(`d${number}${half}`)));
      expect(replies.map((reply) => reply !== undefined)).toEqual(Array(2).fill(row.status === "done"));
      if (row.status === "done" && !settledNow.has(number)) unacknowledged++;
      for (const reply of replies)
        if (reply) expect(reply.parts.map((part) => part.status)).toEqual(partsFor(reply.status));
    }
    await store.close();
  }
  const database = openSqlite(file);
  expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  database.close();
  console.log(
    `${KILLS} kills: ${JSON.stringify(acknowledged)} acknowledged and there; ${unacknowledged} more were whole`,
  );
  expect(acknowledged.sent).toBeGreaterThan(100);
}, 120_000);

function partsFor(status: string): string[] {
  return status === "waiting" ? [] : [status];
}
