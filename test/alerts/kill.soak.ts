/** SIGKILL of the product while it raises, tells, escalates and acknowledges: no alert is announced twice, none is missed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { openSqlite } from "../../src/store/driver.js";
import { compiled } from "../support/compiled.js";
import { freePort } from "../support/gateway-process.js";
import { until } from "../support/until.js";

const COUNT = 40;
const KILLS = 8;

let child: ChildProcess | undefined;
let folder = "";
afterEach(async () => {
  child?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

interface Shown {
  text: string;
  card?: { title: string };
}

it("killed at random moments, each alert has one card and one escalation, which show how it ended", async () => {
  folder = mkdtempSync(join(tmpdir(), "hookgate-alerts-"));
  const port = await freePort();
  const program = await compiled(join(import.meta.dirname, "kill-child.ts"));
  let output = "";
  const start = () => {
    output = "";
    child = spawn(process.execPath, [program, folder, String(COUNT), String(port)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    return child;
  };
  const gone = (one: ChildProcess) => new Promise<void>((done) => one.once("exit", () => done()));

  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  let killedMidway = 0;
  for (let n = 0; n < KILLS; n++) {
    const one = start();
    await until(() => output.includes("ready"), "the product being up");
    await new Promise((resolve) => setTimeout(resolve, random() * 500));
    if (!output.includes("raised")) killedMidway++;
    one.kill("SIGKILL");
    await gone(one);
  }
  expect(killedMidway).toBeGreaterThan(0);
  start();
  await until(() => output.includes("raised"), "all being raised");
  const messages = async (): Promise<Shown[]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/rooms/general/messages?limit=200`, {
      headers: { authorization: "Bearer the-token-of-the-owner-0001" },
    });
    return ((await answer.json()) as { messages: Shown[] }).messages;
  };
  const wordOf = (n: number) => (n % 8 >= 4 ? "Resolved" : n % 4 >= 2 ? "Acknowledged by" : "Firing since");
  const isCardOf = (n: number) => (one: Shown) => one.card?.title.endsWith(`Fault ${n}.`) === true;
  const numbers = Array.from({ length: COUNT }, (_, n) => n);
  await until(async () => {
    const all = await messages();
    // What is over before it could be told need not be told.
    return numbers.every((n) => {
      const cards = all.filter(isCardOf(n));
      return (n % 8 >= 4 && cards.length === 0) || cards.some(({ text }) => text.includes(wordOf(n)));
    });
  }, "every card showing how it ended");
  const database = openSqlite(join(folder, "test.db"), { readonly: true });
  const saying = database.prepare<[string], { status: string | null }>(
    `SELECT d.status FROM alert_notices n JOIN alerts a ON a.id = n.alert_id LEFT JOIN deliveries d ON d.id = n.delivery_id
     WHERE a.fingerprint = ? AND n.kind = 'escalation' AND n.is_sent`,
  );
  const isEscalated = (n: number) => n % 4 < 2 && n % 8 < 4;
  const isSaid = (n: number) => saying.all(`f${n}`).some(({ status }) => status === "sent");
  await until(() => numbers.filter(isEscalated).every(isSaid), "every escalation being said");
  const all = await messages();
  for (const n of numbers) {
    const cards = all.filter(isCardOf(n)).length;
    expect(cards, `cards of ${n}`).toBeLessThanOrEqual(1);
    if (n % 8 < 4) expect(cards, `cards of ${n}`).toBe(1);
    // Several at once are said in one message. One that was taken by somebody before it could be said may be dropped.
    const said = saying.all(`f${n}`).map(({ status }) => status);
    expect(said.length, `escalations of ${n}`).toBeLessThanOrEqual(1);
    if (isEscalated(n)) expect(said, `escalations of ${n}`).toEqual(["sent"]);
  }
  database.close();
  const escalations = all.filter(({ text, card }) => card === undefined && text.includes("Escalated"));
  expect(new Set(escalations.map(({ text }) => text)).size).toBe(escalations.length);
}, 240_000);
