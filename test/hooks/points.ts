/** Hook points of every model, a registry on them, and a log and a journal to look into. */
import { z } from "zod";
import type { DispatchRecord } from "../../src/domain/journal.js";
import { definePoint } from "../../src/hooks/point.js";
import { HookRegistry, type RegistryOptions } from "../../src/hooks/registry.js";
import type { Logger } from "../../src/lib/logger.js";
import { ManualClock } from "../support/manual-clock.js";

const message = z.object({ text: z.string(), tags: z.array(z.string()) });
const common = { summary: "For tests." };

export const points = [
  definePoint({
    ...common,
    name: "seen",
    model: "void",
    payload: z.object({ n: z.number(), message, access: z.enum(["allowed", "denied"]).optional() }),
    example: { n: 1, message: { text: "hi", tags: ["a"] } },
  }),
  definePoint({
    ...common,
    name: "sending",
    model: "modifying",
    payload: z.object({
      message,
      toolName: z.string().optional(),
      severity: z.string().optional(),
      watchId: z.string().optional(),
    }),
    result: z.object({
      message: message.optional(),
      text: z.string().optional(),
      count: z.number().optional(),
      flag: z.boolean().optional(),
      cancel: z.boolean().optional(),
    }),
    example: { message: { text: "hi", tags: ["a"] } },
  }),
  definePoint({
    ...common,
    name: "claim",
    model: "claiming",
    payload: z.object({ message, platform: z.string().optional(), chatId: z.string().optional() }),
    result: z.object({ handled: z.boolean(), reply: z.string().optional(), reason: z.string().optional() }),
    example: { message: { text: "hi", tags: ["a"] } },
  }),
  definePoint({
    ...common,
    name: "task:create",
    model: "lifecycle",
    payload: z.object({ title: z.string(), maxDuration: z.number().optional(), tags: z.array(z.string()).optional() }),
    example: { title: "deploy" },
  }),
  definePoint({
    ...common,
    name: "pre_agent_start",
    model: "lifecycle",
    phases: ["before"],
    payload: z.object({ agentId: z.string() }),
    example: { agentId: "a" },
  }),
  definePoint({
    ...common,
    name: "turn.pre_policy",
    model: "turn",
    payload: z.object({ turnId: z.string() }),
    example: { turnId: "t" },
  }),
  definePoint({
    ...common,
    name: "turn.post_turn",
    model: "turn",
    payload: z.object({ turnId: z.string() }),
    example: { turnId: "t" },
  }),
  definePoint({
    ...common,
    name: "before_tool_call",
    model: "modifying",
    payload: z.object({ toolName: z.string() }),
    result: z.object({ error: z.string().optional() }),
    example: { toolName: "shell" },
  }),
] as const;

export interface LogLine {
  level: "debug" | "info" | "warn" | "error";
  facts: Record<string, unknown>;
  message: string;
}

export function logTo(lines: LogLine[]): Logger {
  const write = (level: LogLine["level"]) => (facts: object, text?: string) =>
    void lines.push({ level, facts: { ...facts }, message: text ?? "" });
  const logger: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: () => logger,
  };
  return logger;
}

export function setUp(options: Omit<RegistryOptions<typeof points>, "points"> = {}) {
  const log: LogLine[] = [];
  const records: DispatchRecord[] = [];
  const clock = new ManualClock();
  const hooks = new HookRegistry({
    points,
    clock,
    logger: logTo(log),
    journal: { record: (dispatch) => void records.push(dispatch) },
    ...options,
  });
  return { hooks, log, records, clock };
}

export const seen = (n = 1) => ({ n, message: { text: "hi", tags: ["a"] } });
export const sending = () => ({ message: { text: "hi", tags: ["a"] } });

/** A promise to settle by hand. */
export function gate<T = void>() {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

export const never = () => new Promise<never>(() => {});
export const outcomes = (record: DispatchRecord | undefined) =>
  record?.runs.map(({ hookId, outcome }) => [hookId, outcome]);
