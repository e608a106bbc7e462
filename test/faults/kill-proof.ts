/**
 * The kill proof: people write on all three platforms, the platforms refuse, drop and delay, the system clock moves backward and forward, and
 * the gateway ends at random moments: by SIGKILL, by SIGTERM, and by messages that crash it. Then everything is counted (`kill-count.ts`).
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Place } from "../flow/platform.js";
import { readiness, type Stack, startStack } from "../flow/stack.js";
import { TOKEN } from "../support/gateway-process.js";
import { until } from "../support/until.js";
import { type Counts, count, inDoubt, NAMES, type PlatformName, type Written } from "./kill-count.js";

const CLOCK = resolve(import.meta.dirname, "../fixtures/step-clock.mjs");
/** Twice this is less than `gateway.ttl`: no delivery may expire because of a step. */
const MAX_OFFSET_MS = 6 * 3_600_000;
/** How the process ends when the flow plugin exits or aborts. */
const CRASHED: readonly unknown[] = [7, "SIGABRT"];

export type Ending = "SIGKILL" | "SIGTERM" | "crash";

export interface KillReport extends Counts {
  endings: Record<Ending, number>;
  clockSteps: { backward: number; forward: number };
  seconds: number;
  /** Ends of the process that nothing explains, such as a stop with an exit code. */
  badEndings: string[];
}

export interface KillOptions {
  /** How often the gateway gets each signal, and how many messages crash it. */
  plan: Record<Ending, number>;
  /** `gateway.inbox_attempts`: how often one message crashes the gateway before it becomes a dead letter. */
  attempts: number;
  /** Messages a platform for each life of the process. */
  perLife: number;
  onEnding?: (endings: KillReport["endings"], messages: number) => void;
}

interface Run {
  stack: Stack;
  written: Written[];
  /** Messages that no platform has taken yet. */
  writing: Set<Promise<void>>;
}

export async function killProof({ plan, attempts, perLife, onEnding }: KillOptions): Promise<KillReport> {
  const startedAt = Date.now();
  const clock = steppingClock();
  const stack = await startStack({
    config: { gateway: { retry_first: "50ms", retry_max: "500ms", inbox_attempts: attempts, outbox_attempts: 100 } },
    env: clock.env,
  });
  const { gateway, telegram } = stack;
  // Alerts reach the owner only in a chat that the owner opened.
  telegram.people.says("hello", { userId: telegram.userId, dm: true });
  const run: Run = { stack, written: [], writing: new Set() };
  const endings = { SIGKILL: 0, SIGTERM: 0, crash: 0 };
  const badEndings: string[] = [];
  const heldByStop = new Set<string>();
  const ended = async (wanted: Ending) => {
    const how = await gateway.ending();
    const ending = endingOf(how);
    if (ending) endings[ending]++;
    if (ending !== wanted && ending !== "crash") badEndings.push(`${how} instead of ${wanted}`);
    onEnding?.(endings, run.written.length);
    return ending;
  };
  try {
    const wanted = shuffled(plan);
    for (let lives = 0, isFirst = true; wanted.length > 0; isFirst = false) {
      const next = wanted.at(-1) as Ending;
      const before = inDoubt(gateway.folder);
      if (!isFirst) await gateway.start();
      for (let n = 0; n < perLife; n++) for (const name of NAMES) writeSoon(run, name, Math.random() * 900);
      trouble(stack, next);
      // Some are killed during their start.
      const isUp = (next !== "SIGKILL" || Math.random() > 0.15) && (await upOrGone(stack));
      await sleep(Math.random() * 350);
      if (isUp && ++lives % 2 === 0) await stepNoticed(stack, clock);
      await sleep(Math.random() * 350);
      await end(run, next);
      const ending = await ended(next);
      if (ending === next || next === "crash") wanted.pop();
      if (ending === "SIGTERM") for (const id of inDoubt(gateway.folder)) if (!before.has(id)) heldByStop.add(id);
    }
    stack.discord.faults.clear();
    stack.telegram.faults.clear();
    do await gateway.start();
    while (!(await isSettled(run)) && (await ended("crash")));
    if ((await gateway.stop()) !== 0) badEndings.push("an exit code at the last stop");
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    return { endings, clockSteps: clock.steps, seconds, badEndings, ...(await count(stack, run.written, heldByStop)) };
  } finally {
    await stack.stop();
    clock.remove();
  }
}

function shuffled(plan: Record<Ending, number>): Ending[] {
  const all = (Object.keys(plan) as Ending[]).flatMap((ending) => Array<Ending>(plan[ending]).fill(ending));
  const ranked = all.map((ending) => ({ ending, rank: Math.random() }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ ending }) => ending);
}

function endingOf(how: number | string | null): Ending | undefined {
  if (how === "SIGKILL") return "SIGKILL";
  if (how === 0) return "SIGTERM";
  return CRASHED.includes(how) ? "crash" : undefined;
}

/** Ends the gateway this way, unless a message crashes it before. */
async function end(run: Run, ending: Ending): Promise<void> {
  const { gateway } = run.stack;
  if (ending === "SIGKILL") await gateway.kill();
  else if (ending === "SIGTERM") await gateway.stop();
  else {
    writeSoon(
      run,
      NAMES[Math.floor(Math.random() * NAMES.length)] as PlatformName,
      0,
      Math.random() < 0.5 ? "exit" : "abort",
    );
    await until(() => !gateway.running(), "the crash");
  }
}

/** True when all platforms are online; false when the process ended before, or a platform takes too long. */
async function upOrGone({ gateway }: Stack): Promise<boolean> {
  const isUp = () =>
    readiness(gateway.url)
      .then(({ ready }) => ready)
      .catch(() => false);
  await until(async () => !gateway.running() || (await isUp()), "the start").catch(() => {});
  return gateway.running();
}

/** The clock of the gateway's process, set to and fro by up to some hours. */
function steppingClock() {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-soak-clock-"));
  const file = join(folder, "offset");
  let offsetMs = 0;
  const set = (ms: number) => {
    offsetMs = ms;
    // Never half written.
    writeFileSync(`${file}.new`, String(ms));
    renameSync(`${file}.new`, file);
  };
  set(0);
  const steps = { backward: 0, forward: 0 };
  return {
    env: { LOG_LEVEL: "info", HOOKGATE_TEST_CLOCK: file, NODE_OPTIONS: `--import=${CLOCK}` },
    steps,
    /** Backward and forward in turn. Gives what undoes it. */
    step() {
      const before = offsetMs;
      const way = steps.backward > steps.forward ? "forward" : "backward";
      const sign = way === "forward" ? 1 : -1;
      // Small steps, too.
      set(before + sign * Math.round(Math.max(2_000, (MAX_OFFSET_MS - sign * before) * Math.random() ** 4)));
      steps[way]++;
      return () => {
        set(before);
        steps[way]--;
      };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Undone when a crash is quicker than the store: a step between two lives looks like time that passed. */
async function stepNoticed({ gateway }: Stack, { step }: ReturnType<typeof steppingClock>): Promise<void> {
  // Only the end of a long output is kept.
  const before = gateway.output().slice(-2_000);
  const isNoticed = () => gateway.output().split(before).at(-1)?.includes("keep their length after the clock") === true;
  const undo = step();
  await until(() => !gateway.running() || isNoticed(), "the step being noticed");
  if (!isNoticed()) undo();
}

let serial = 0;

function writeSoon(run: Run, name: PlatformName, delayMs: number, crash?: "exit" | "abort"): void {
  const writing = write(run, name, delayMs, crash).finally(() => run.writing.delete(writing));
  run.writing.add(writing);
}

async function write({ stack, written }: Run, name: PlatformName, delayMs: number, crash?: string): Promise<void> {
  const platform = stack.platforms[name];
  const place = [...platform.places, platform.thread][Math.floor(Math.random() * 3)] as Place;
  await sleep(delayMs);
  const key = `k${++serial}`;
  // Some handlers take their time, so that a kill cuts them off.
  const plain = Math.random() < 0.3 ? `slow ${Math.round(Math.random() * 400)} ${key}` : `echo ${key}`;
  const text = crash ? `crash ${crash} ${key}` : plain;
  const messageId = name === "web" ? await writeOnWeb(stack, place, text) : await platform.say(place, "guest", text);
  written.push({ key, platform: name, place, messageId, isCrashing: crash !== undefined });
}

/** As the page does it: the same nonce until the server says that the message is safe. */
async function writeOnWeb(stack: Stack, place: Place, text: string): Promise<string> {
  const nonce = randomUUID();
  let last = "no answer";
  return until(
    async () => {
      const answer = await fetch(`${stack.gateway.url}/api/rooms/${place.chatId}/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ text, nonce, threadId: place.threadId || undefined }),
      }).catch(() => undefined);
      if (!answer?.ok) {
        last = answer ? `${answer.status} ${await answer.text().catch(String)}` : "no answer";
        return void (await sleep(20));
      }
      return String(((await answer.json()) as { message: { id: number } }).message.id);
    },
    () => `the web chat taking "${text}" (last: ${last})`,
    120_000,
  );
}

/** Before a stop, no answer of Telegram is dropped: what is in doubt afterwards is the stop's doing. */
function trouble({ discord, telegram }: Stack, next: Ending): void {
  const chance = 0.08;
  discord.faults.clear();
  telegram.faults.clear();
  const discordSends = { method: "POST", path: "/messages$", times: 50, chance };
  discord.fail({ ...discordSends, action: { kind: "rate-limit", retryAfterS: 0.1, scope: "user" } });
  discord.fail({ ...discordSends, action: { kind: "drop-before" } });
  discord.fail({ ...discordSends, action: { kind: "drop-after" } });
  discord.fail({ ...discordSends, action: { kind: "status", status: 503 } });
  const telegramSends = { method: "sendMessage", times: 50, chance };
  telegram.fail({ ...telegramSends, action: { kind: "rate-limit", retryAfterS: 1 }, chance: 0.03 });
  telegram.fail({ ...telegramSends, action: { kind: "slow", delayMs: 40 } });
  if (next === "SIGTERM") telegram.fail({ ...telegramSends, action: { kind: "slow", delayMs: 400 }, chance: 0.3 });
  else telegram.fail({ ...telegramSends, action: { kind: "drop-after" }, chance: 0.02 });
  telegram.fail({ method: "getUpdates", times: 3, chance, action: { kind: "drop-after" } });
}

/** True when nothing unfinished is left in inbox and outbox; false when the process ended before. */
async function isSettled({ stack, writing }: Run): Promise<boolean> {
  const { gateway } = stack;
  let quiet = 0;
  await upOrGone(stack);
  await until(
    async () => {
      if (!gateway.running()) return true;
      await sleep(200);
      const text = await fetch(`${gateway.url}/metrics`)
        .then((answer) => answer.text())
        .catch(() => "");
      const rows = [
        ...text.matchAll(
          /^hookgate_(inbox_rows|outbox_deliveries)\{status="(waiting|running|deferred|sending)"\} (\d+)/gm,
        ),
      ];
      const isIdle = writing.size === 0 && rows.length > 0 && rows.every(([, , , n]) => n === "0");
      quiet = isIdle ? quiet + 1 : 0;
      return quiet >= 10;
    },
    "everything being settled",
    180_000,
  );
  return gateway.running();
}
