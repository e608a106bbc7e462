/** A loaded definition of which only the trigger matters. */
import { join } from "node:path";
import { z } from "zod";
import type { Definition, Trigger } from "../../../../src/automations/definition/definition.js";

export function definition(id: string, trigger: Trigger, folder = "/"): Definition {
  return {
    id,
    enabled: true,
    place: { file: join(folder, "hookgate.yaml") },
    folder,
    trigger,
    point: trigger.kind === "files" ? `${trigger.as}.changed` : "hook.due",
    context: [],
    skipWhen: "any",
    run: {
      handler: {
        name: "nothing",
        summary: "Does nothing.",
        options: z.object({}),
        run: async () => ({ kind: "decided", decision: { kind: "pass" } }),
      },
      rendering: { problems: [], folders: {}, render: () => ({}) },
    },
    execution: "background",
    onFailure: "open",
    cooldownMs: 0,
    concurrency: 1,
    whenBusy: "queue",
    maxQueued: 100,
    keep: {},
    after: [],
    before: [],
    critical: false,
    hash: JSON.stringify(trigger),
    version: () => JSON.stringify(trigger),
    secrets: [],
    chats: [],
    faults: async () => [],
    missing: () => [],
    mayPostIn: () => false,
    ownerOnly: false,
    isIdle: false,
    unexpanded: [],
    leavesRunning: false,
    assignees: [],
  };
}
