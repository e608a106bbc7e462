/** Missions in the product as a process that a test kills and starts again. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mission } from "../../../src/domain/orchestrator/mission.js";
import type { Task } from "../../../src/domain/orchestrator/task.js";
import { openSqlite } from "../../../src/store/driver.js";
import { type GatewayProcess, gatewayProcess } from "../../support/gateway-process.js";
import { linesOf } from "../../support/lines.js";

/** Notes its beginning and its end, with the mission's and the task's name. */
const SCRIPT =
  'read -r task; m=$(echo "$task" | grep -o \'"missionId":"[^"]*"\' | cut -d\\" -f4); echo "+ $m $HOOKGATE_TASK_TITLE" >> work; sleep 0.$(( $$ % 4 )); echo "- $m $HOOKGATE_TASK_TITLE" >> work; echo made > "made-$m"';
const expectations = [{ file: "hookgate.yaml" }, { when: "result.exitCode == 0" }];
export const PLAN = {
  defaults: { assignTo: "work", retryPolicy: { maxRetries: 30 } },
  groups: [
    {
      name: "first",
      tasks: [
        { id: "a1", expectations },
        { id: "a2", dependsOn: ["a1"] },
      ],
      gate: { name: "good", minScore: 0.9 },
    },
    { name: "second", tasks: [{ id: "b1", expectations }, { id: "b2" }] },
  ],
};
export interface KilledMissions extends GatewayProcess {
  lines(file: string): string[];
  /** The column `data` of what a query finds. */
  rows<T>(sql: string): T[];
  missions(): Mission[];
  tasks(): Task[];
  close(): Promise<void>;
}

/** Not started yet. `plugin`: the text of an ES module. */
export async function killedMissions(plugin: string, config: Record<string, unknown> = {}): Promise<KilledMissions> {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-mission-kill-"));
  const gateway = await gatewayProcess({
    folder,
    config: {
      plugins: ["./plugin.mjs"],
      orchestrator: { runners: { work: { shell: { sh: SCRIPT }, concurrency: 6 } }, lease: "2s", max_crashes: 100 },
      ...config,
    },
  });
  mkdirSync(join(folder, "missions"));
  writeFileSync(join(folder, "plugin.mjs"), plugin);
  const rows = <T>(sql: string): T[] => {
    const database = openSqlite(join(folder, "data/hookgate.db"), { readonly: true });
    try {
      return (database.prepare(sql).all() as { data: string }[]).map(({ data }) => JSON.parse(data) as T);
    } finally {
      database.close();
    }
  };
  return {
    ...gateway,
    lines: (file) => linesOf(join(folder, file)),
    rows,
    missions: () => rows<Mission>("SELECT data FROM missions ORDER BY seq"),
    tasks: () => rows<Task>("SELECT data FROM tasks ORDER BY seq"),
    async close() {
      await gateway.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
