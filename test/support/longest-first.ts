/**
 * The order of the test files: those that are known to take long begin first, so that no worker is left with one of them when the
 * others have finished. (Vitest knows how long each took, but only where it ran before; a fresh machine has forgotten.)
 * `FILE_ORDER_SEED=7` gives another order, to find a file that depends on another one.
 */
import { relative } from "node:path";
import { crc32 } from "node:zlib";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LONG = [
  "cli/data-files",
  "cli/check",
  "orchestrator/kill",
  "orchestrator/attempts",
  "automations/triggers/product",
  "flow/alert-actions",
  "alerts/reach",
  "alerts/called-off",
  "alerts/kill-steps",
  "alerts/offline",
  "alerts/urging",
  "cli/live",
  "flow/explain-cut-off",
  "flow/every-command",
  "cli/restore-hold",
  "alerts/shifts",
  "flow/configured-hooks",
  "flow/sla-alerts",
  "http/page",
  "faults/kill",
  "faults/poison",
  "orchestrator/every-veto",
  "flow/tasks",
  "orchestrator/every-way",
  "flow/discord-refusals",
  "lib/markdown/discord",
  "orchestrator/every-transition",
  "automations/outside-kill",
  "automations/torn-files",
  "orchestrator/missions/kill",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShared = ({ project }: TestSpecification) => (project.name === "shared" ? 1 : 0);
    const place = ({ moduleId }: TestSpecification) => {
      const name = relative("test", moduleId).replace(/\.test\.ts$/, "");
      return LONG.includes(name) ? LONG.indexOf(name) : LONG.length;
    };
    const seed = process.env.FILE_ORDER_SEED;
    const order =
      seed === undefined ? place : ({ moduleId }: TestSpecification) => crc32(`${seed} ${relative("test", moduleId)}`);
    // Files that share a process follow each other: a worker gives it up as soon as it gets a file of another kind.
    return (await super.sort(files)).sort((a, b) => isShared(a) - isShared(b) || order(a) - order(b));
  }
}
