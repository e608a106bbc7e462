/** The report of the running gateway: platforms, waiting work, hooks that never fired or fail. */
import { z } from "zod";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { callGateway } from "../call-gateway.js";
import type { Finding } from "./finding.js";

const listeningData = z.object({ text: z.string(), isNothing: z.boolean(), hint: z.string().optional() });

const statusData = z.object({
  adapters: z.array(
    z.object({
      platform: z.string(),
      phase: z.string(),
      reason: z.string().optional(),
      listening: listeningData.optional(),
    }),
  ),
  ignored: z.array(z.object({ platform: z.string(), reason: z.string(), count: z.number() })).default([]),
  inbox: z.object({ dead: z.number() }),
  outbox: z.object({ dead: z.number(), held: z.number() }),
  hooks: z.object({
    total: z.number(),
    failing: z.array(z.string()),
    neverFired: z.array(z.string()),
    alwaysSkipped: z.array(z.object({ id: z.string(), runs: z.number(), reason: z.string() })).default([]),
    problems: z.array(z.object({ message: z.string() })),
  }),
  plugins: z.array(z.object({ module: z.string(), reason: z.string().optional() })),
  problems: z.array(z.string()).default([]),
  store: z.object({
    ok: z.boolean(),
    error: z.string().optional(),
    remarks: z.array(z.string()).default([]),
    journal: z.string().optional(),
  }),
});

export async function checkLive(): Promise<Finding[]> {
  try {
    const parsed = statusData.safeParse((await callGateway({ name: "status", options: {} })).data);
    return parsed.success
      ? findingsOf(parsed.data)
      : [
          {
            name: "gateway",
            state: "warning",
            detail: "it runs, but did not report its state",
            hint: "It may be of another version.",
          },
        ];
  } catch (error) {
    if (error instanceof HookgateError && error.code === "NOT_RUNNING")
      return [
        {
          name: "gateway",
          state: "warning",
          detail: "it does not run here, so its hooks were not looked at",
          hint: "`npx hookgate start` starts it.",
        },
      ];
    return [
      {
        name: "gateway",
        state: "bad",
        detail: errorMessage(error),
        hint: error instanceof HookgateError && error.hint ? error.hint : undefined,
      },
    ];
  }
}

function findingsOf({
  adapters,
  ignored,
  inbox,
  outbox,
  hooks,
  plugins,
  problems,
  store,
}: z.infer<typeof statusData>): Finding[] {
  const findings: Finding[] = [{ name: "gateway", state: "ok", detail: "it runs" }];
  for (const { platform, listening } of adapters)
    if (listening)
      findings.push({
        name: platform,
        state: listening.isNothing ? "warning" : "ok",
        detail: `listens to ${listening.text}`,
        hint: listening.hint,
      });
  for (const { platform } of adapters) {
    const reasons = ignored
      .filter((one) => one.platform === platform)
      .map(({ reason, count }) => `${count} (${reason})`);
    if (reasons.length > 0)
      findings.push({ name: platform, state: "ok", detail: `messages ignored since the start: ${reasons.join(", ")}` });
  }
  for (const { platform, phase, reason } of adapters)
    if (phase !== "online")
      findings.push({
        name: platform,
        state: phase === "offline" ? "bad" : "warning",
        detail: `${phase}${reason ? `: ${reason}` : ""}`,
      });
  if (!store.ok) findings.push({ name: "store", state: "bad", detail: store.error ?? "it cannot be written" });
  for (const detail of [...store.remarks, ...(store.journal ? [store.journal] : [])])
    findings.push({ name: "store", state: "warning", detail });
  for (const { module, reason } of plugins)
    if (reason !== undefined) findings.push({ name: "plugins", state: "bad", detail: `${module}: ${reason}` });
  if (problems.length > 0)
    findings.push({
      name: "in force",
      state: "bad",
      detail: `the running gateway's configuration has problems:\n${problems.join("\n")}`,
      hint: "Fix them; `npx hookgate hooks broken` shows what is left.",
    });
  const waiting = inbox.dead + outbox.dead + outbox.held;
  if (waiting > 0)
    findings.push({
      name: "outbox",
      state: "warning",
      detail: `${waiting} messages wait for an operator`,
      hint: "`npx hookgate outbox` lists them.",
    });
  if (hooks.failing.length > 0)
    findings.push({
      name: "hooks",
      state: "warning",
      detail: `failing in 24 h: ${hooks.failing.join(", ")}`,
      hint: "`npx hookgate runs failed` shows how.",
    });
  if (hooks.neverFired.length > 0)
    findings.push({
      name: "hooks",
      state: "warning",
      detail: `never fired: ${hooks.neverFired.join(", ")}`,
      hint: "`npx hookgate hooks why ID` shows why.",
    });
  for (const { id, runs, reason } of hooks.alwaysSkipped)
    findings.push({
      name: "hooks",
      state: "ok",
      detail: `${id} was started ${runs === 1 ? "once" : `${runs} times`} and always skipped (${reason})`,
    });
  for (const { message } of hooks.problems) findings.push({ name: "hooks", state: "bad", detail: message });
  if (hooks.failing.length + hooks.neverFired.length + hooks.alwaysSkipped.length + hooks.problems.length === 0)
    findings.push({ name: "hooks", state: "ok", detail: hooksDetail(hooks.total) });

  return findings;
}

function hooksDetail(total: number): string {
  return total === 0
    ? "none is installed; docs/hooks.md shows how to write one"
    : `${total}; all have fired, and none fails`;
}
