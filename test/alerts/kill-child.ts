/**
 * Run as a process of its own and killed: the product with its web chat, and a source that raises alerts until each was taken, warns
 * first, lets them fire, acknowledges some and resolves some. What was taken is written to a log before anything else.
 */
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../../src/app.js";
import { readEnvironment } from "../../src/config/env.js";
import { configSchema } from "../../src/config/schema.js";
import type { AlertSignal } from "../../src/domain/alerts/alert-signal.js";
import { silentLogger } from "../../src/lib/logger.js";
import { linesOf } from "../support/lines.js";

const [folder = "", count = "0", port = "0"] = process.argv.slice(2);
const { env } = readEnvironment({
  DATABASE_URL: `file:${join(folder, "test.db")}`,
  HOOKGATE_PORT: port,
  HOOKGATE_TOKEN: "the-token-of-the-owner-0001",
});
const config = configSchema.parse({
  alerts: {
    routes: {
      default: {
        to: ["web:web:general"],
        alone: 1_000,
        remind: { every: "1h", times: 0 },
        escalate: [{ after: "0s" }],
      },
    },
    destinations: { "web:web:general": { per_minute: 100_000 } },
  },
});
const app = await startApp({ config, env, problems: [] }, { version: "0.0.0", logger: silentLogger });
const log = join(folder, "taken.log");
const logFile = openSync(log, "a");
const taken = new Set(linesOf(log));
process.stdout.write("ready\n");

const by = { id: "web:1", name: "Owner", source: "web" };
const AT = 1_767_225_600_000;

/** Four of the ways that an alert can go, by its number. */
async function live(n: number): Promise<void> {
  const signal = (state: AlertSignal["state"]): AlertSignal => ({
    fingerprint: `f${n}`,
    episode: 1,
    state,
    severity: "high",
    title: `Fault ${n}.`,
    reason: `it is ${state}`,
    at: AT,
    source: { kind: "test", id: String(n) },
    labels: {},
  });
  const step = async (name: string, work: () => Promise<unknown>) => {
    if (taken.has(`${n} ${name}`)) return;
    await work();
    writeSync(logFile, `${n} ${name}\n`);
  };
  if (n % 2 === 0) await step("warned", () => app.alerts.raise(signal("warned")));
  await step("firing", () => app.alerts.raise(signal("firing")));
  const [alert] = (await app.alerts.list({ limit: 1_000 })).filter(({ fingerprint }) => fingerprint === `f${n}`);
  if (n % 4 >= 2) await step("acked", () => app.alerts.act(alert?.id ?? "", { kind: "ack" }, by));
  if (n % 8 >= 4) await step("resolved", () => app.alerts.raise(signal("resolved")));
}

for (let n = 0; n < Number(count); n++) await live(n);
process.stdout.write("raised\n");
setInterval(() => {}, 1_000_000);
