/** Background runs and hooks of times among what ends the process, with a supervisor that starts it again: the real product as a process. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { invoke } from "../flow/stack.js";
import { type GatewayProcess, gatewayProcess } from "../support/gateway-process.js";
import { linesOf } from "../support/lines.js";
import { until } from "../support/until.js";
import { lettersOf, ROOMS, say, supervise, textsOf } from "./supervised.js";

/** `files`: modules, by name. */
async function startGateway(config: object, files: Record<string, string>): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-poison-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const gateway = await gatewayProcess({
    folder,
    config: {
      operators: { owner: ["web:1"] },
      web: {
        access: { dms: "everyone", chats: ["*"], mention: "always" },
        rooms: ROOMS.map((id) => ({ id, name: id })),
      },
      plugins: ["./p.mjs"],
      ...config,
    },
  });
  onTestFinished(async () => {
    await gateway.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await gateway.start();
  return gateway;
}

/** Notes each call in the file `calls`. */
const notes = (body: string) => `import { appendFileSync, existsSync } from "node:fs";
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const note = (line) => appendFileSync("calls", line + "\\n");
${body}`;

const callsOf = ({ folder }: GatewayProcess) => linesOf(join(folder, "calls"));

/** Answers after a while, and does orders in the background until the file `go` is there. */
const BACKGROUND = notes(`export default { id: "p", setup({ hooks }) {
  hooks.registerVoid("message_received", async ({ message: { text } }) => {
    if (text.startsWith("leave")) process.exit(11);
    if (!text.startsWith("order")) return;
    note("start " + text);
    while (!existsSync("go")) await sleep(50);
    note("end " + text);
  }, { id: "work", execution: "background", retry: { attempts: 3, backoffMs: 100, idempotent: true } });
  hooks.registerClaiming("inbound_claim", async ({ message: { text } }) => {
    note("claim " + text);
    await sleep(text.startsWith("slow") ? 3000 : 400);
    if (text === "poison") process.abort();
    return { handled: true, reply: { text: "answer to " + text } };
  }, { timeoutMs: 60_000 });
} };`);

it("a message that crashes the process ends no background run of other people", async () => {
  const gateway = await startGateway({}, { "p.mjs": BACKGROUND });
  await gateway.ready();
  let isOver = false;
  const supervised = supervise(gateway, () => isOver);
  const orders = [0, 1, 2].map((n) => `order ${n}`);
  const called = (what: string) => callsOf(gateway).filter((line) => line.startsWith(what));
  try {
    for (const [n, order] of orders.entries()) await say(gateway, ROOMS[n] as string, order, () => isOver);
    await until(() => called("start").length === 3, "all runs being under way");
    await say(gateway, ROOMS[3] as string, "poison", () => isOver);
    await until(async () => (await lettersOf(gateway))?.letters.length === 1, "the dead letter", 180_000);
    writeFileSync(join(gateway.folder, "go"), "");
    await until(() => called("end").length === 3, "the ends of all runs");
    expect(called("claim poison")).toHaveLength(5);
    for (const order of orders) expect(called(`start ${order}`), order).toHaveLength(2);
    expect((await invoke(gateway.url, "/runs interrupted")).text).toContain("No run is interrupted");
  } finally {
    isOver = true;
  }
  await supervised;
}, 300_000);

it("a background run that ends the process takes no message with it, and is the one that ends", async () => {
  const gateway = await startGateway({}, { "p.mjs": BACKGROUND });
  await gateway.ready();
  let isOver = false;
  const supervised = supervise(gateway, () => isOver);
  try {
    await say(gateway, ROOMS[0] as string, "slow", () => isOver);
    await until(() => callsOf(gateway).includes("claim slow"), "the message being handled");
    await say(gateway, ROOMS[1] as string, "leave", () => isOver);
    await until(() => gateway.output().includes('a run of the hook \\"p.work\\" was interrupted'), "its end", 180_000);
    const room = () => textsOf(gateway, ROOMS[0] as string).catch((): string[] => []);
    await until(async () => (await room()).includes("answer to slow"), "the answer to the other message");
    expect(callsOf(gateway).filter((line) => line === "claim slow")).toHaveLength(2);
    expect((await invoke(gateway.url, "/status")).text).toMatch(
      /1 background run of `?p\.work`? does not run again: the gateway ended while it ran/,
    );
    expect((await invoke(gateway.url, "/runs interrupted")).text).toContain("p.work");
    expect(gateway.output()).toContain("attempt 3 of 3");
  } finally {
    isOver = true;
  }
  await supervised;
}, 300_000);

it("hooks of times wait while a message is handled alone", async () => {
  const tick = { id: "tick", trigger: { every: "1s" }, run: { module: { path: "./tick.mjs" } } };
  const gateway = await startGateway(
    { hooks: [tick] },
    {
      "p.mjs": BACKGROUND,
      "tick.mjs": notes('export default () => { if (!existsSync("go")) process.abort(); };'),
    },
  );
  let isOver = false;
  const supervised = supervise(gateway, () => isOver);
  try {
    await say(gateway, ROOMS[0] as string, "slow", () => isOver);
    const room = () => textsOf(gateway, ROOMS[0] as string).catch((): string[] => []);
    const isSettled = async () =>
      (await room()).includes("answer to slow") || ((await lettersOf(gateway))?.inbox.dead ?? 0) > 0;
    await until(isSettled, "the message being answered, or given up", 180_000);
    writeFileSync(join(gateway.folder, "go"), "");
    expect(await until(async () => (await room()).length > 0 && room(), "the room")).toEqual([
      "slow",
      "answer to slow",
    ]);
    expect(callsOf(gateway)).toEqual(Array(3).fill("claim slow"));
  } finally {
    isOver = true;
  }
  await supervised;
}, 300_000);
