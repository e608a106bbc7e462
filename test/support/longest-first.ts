/**
 * The order of the test files: those that are known to take long begin first, so that no worker is left with one of them when the
 * others have finished. (Vitest knows how long each took, but only where it ran before; a fresh machine has forgotten.)
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LONG = [
  "automations/triggers/product",
  "alerts/kill",
  "flow/sla-alerts",
  "orchestrator/kill",
  "orchestrator/every-veto",
  "faults/kill",
  "orchestrator/missions/kill",
  "automations/run",
  "lib/process",
  "http/page",
  "automations/recovery",
  "adapters/discord/connection",
  "automations/outside-kill",
  "automations/flow-kill",
  "orchestrator/every-way",
  "cli/live",
  "alerts/sla/kill",
  "alerts/sla/scale",
  "alerts/urging",
  "automations/reload",
  "automations/triggers/files",
  "flow/configured-hooks",
  "orchestrator/missions/around",
  "lib/markdown/discord",
  "alerts/storm",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const name = relative("test", moduleId).replace(/\.test\.ts$/, "");
      return LONG.includes(name) ? LONG.indexOf(name) : LONG.length;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
