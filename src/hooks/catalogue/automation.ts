/** The automation family: points about configured hooks (files, times, ends of runs, reloads). */
import { z } from "zod";
import { TIMED_TRIGGERS } from "../../domain/automation.js";
import { ownPoint } from "../point.js";

const change = {
  path: z.string(),
  /** From the folder of the file that defines the hook. */
  relativePath: z.string(),
  operation: z.enum(["created", "modified", "deleted"]),
  /** 0 when it is gone. */
  sizeBytes: z.number(),
};
const example = {
  path: "/srv/site/posts/first.md",
  relativePath: "posts/first.md",
  operation: "modified" as const,
  sizeBytes: 1834,
};

export const fileChanged = ownPoint({
  name: "file.changed",
  model: "void",
  payload: z.object({ ...change, watchId: z.string() }),
  summary:
    "Fires once for every file that a watch saw change, when the file has been quiet for a moment; also for files that changed while the gateway was down.",
  example: { ...example, watchId: "site-check" },
});

export const folderChanged = ownPoint({
  name: "folder.changed",
  model: "void",
  payload: z.object({
    path: z.string(),
    changes: z.array(z.object(change)),
    count: z.number().int(),
    watchId: z.string(),
  }),
  summary: "Fires once for all files of a watch that changed together (`as: folder`).",
  example: { path: "/srv/site/posts", changes: [example], count: 1, watchId: "site-check" },
});

/** Plugins cannot subscribe here: a hook with a `trigger:` of time, or `manual`, is registered here and runs alone. */
export const hookDue = ownPoint({
  name: "hook.due",
  model: "void",
  payload: z.object({
    hookId: z.string(),
    trigger: z.enum([...TIMED_TRIGGERS, "manual"]),
    reason: z.string(),
    /** ISO times; `due` is when it should have run, `lastRun` when it ran before. */
    due: z.string(),
    lastRun: z.string().optional(),
    /** The input from the person who fired it by hand. */
    input: z.record(z.string(), z.unknown()).optional(),
  }),
  summary:
    "Fires when the time of a configured hook has come, or a person fired it. Only that hook is called: nothing else can be registered here. Configured hooks use `trigger:`; plugins use `hook_run_completed`.",
  example: {
    hookId: "night-watch",
    trigger: "cron",
    reason: "cron 0 9 * * * at 2026-01-01T09:00:00Z",
    due: "2026-01-01T09:00:00.000Z",
  },
});

export const hookRunCompleted = ownPoint({
  name: "hook_run_completed",
  model: "void",
  payload: z.object({
    hookId: z.string(),
    runId: z.string(),
    outcome: z.enum(["succeeded", "blocked", "skipped", "failed", "timed_out", "interrupted"]),
    reason: z
      .string()
      .optional()
      .describe("Why it did not succeed; of one that succeeded, which of its tool calls failed."),
    durationMs: z
      .number()
      .optional()
      .describe(
        "The duration of its last attempt; absent when the run never started, or when the process ended while it ran.",
      ),
  }),
  summary:
    "Fires when a run of a configured hook has ended and will not be retried; not for runs that a gate refused. `outcome` is how the run itself ended. Its messages are sent after that, and can still be withheld: `/run ID`, `GET /api/v1/runs` and the query `runs` show what became of them.",
  example: { hookId: "night-watch", runId: "r_1", outcome: "succeeded", durationMs: 1200 },
});

export const configReloaded = ownPoint({
  name: "config.reloaded",
  model: "void",
  payload: z.object({
    file: z.string().optional(),
    hooks: z.number().int(),
    added: z.array(z.string()),
    changed: z.array(z.string()),
    removed: z.array(z.string()),
  }),
  summary: "Fires when a changed configuration was checked and is in force.",
  example: { file: "/srv/hookgate.yaml", hooks: 3, added: ["night-watch"], changed: [], removed: [] },
});

export const automationPoints = [fileChanged, folderChanged, hookDue, hookRunCompleted, configReloaded] as const;
