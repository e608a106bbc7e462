/** The table of transitions: what it promises as a whole. */
import { expect, it } from "vitest";
import { isEnded, mayBecome, TASK_STATUSES, TASK_TRANSITIONS } from "../../src/domain/orchestrator/task.js";

it("reaches every state from a new task, and from every state that is not over an end", () => {
  const reach = (from: readonly (typeof TASK_STATUSES)[number][]) => {
    const found = new Set(from);
    for (const status of found) for (const next of TASK_TRANSITIONS[status]) found.add(next);
    return found;
  };
  expect([...reach(["draft"])].sort()).toEqual([...TASK_STATUSES].sort());
  for (const status of TASK_STATUSES.filter((one) => !isEnded(one))) {
    expect(reach([status]), status).toContain("done");
    expect(mayBecome(status, "cancelled"), status).toBe(true);
  }
});

it("lets a person try again what is over, except what is done", () => {
  expect(TASK_TRANSITIONS.done).toEqual([]);
  expect(mayBecome("failed", "pending") && mayBecome("cancelled", "pending")).toBe(true);
});

it("has no way from a state to itself, and starts nothing that was not assigned", () => {
  for (const status of TASK_STATUSES) expect(mayBecome(status, status), status).toBe(false);
  const starting = TASK_STATUSES.filter((status) => mayBecome(status, "in_progress"));
  expect(starting).toEqual(["assigned"]);
});
