/** A hook can stand at every hook point that the product has, in each of its phases, and is run there with what the point gives. */
import { expect, test } from "vitest";
import { catalogue } from "../../src/hooks/catalogue/index.js";
import type { AnyPoint } from "../../src/hooks/signatures.js";
import { liveApp } from "./support/live-app.js";

const points: readonly AnyPoint[] = catalogue;
const places = points
  // Time and people start hooks there; `trigger:` is the way to it.
  .filter(({ name }) => name !== "hook.due")
  .flatMap((point) => {
    // A point that does not wait has no configured hooks before it.
    const all = point.model === "lifecycle" ? point.phases : [undefined];
    const phases = point.isSync ? all.filter((phase) => phase === "after") : all;
    return phases.map((phase) => ({ point, phase }));
  })
  .map((place, index) => ({ ...place, id: `at-${index}` }));

test("every hook point of the catalogue takes a hook, which runs with its payload", async () => {
  const live = await liveApp({
    "note.mjs": `export default (payload, { hookId }) => ({ hookId, keys: Object.keys(payload).sort() });`,
    "hookgate.yaml": `automations: { watch: false }\nhooks:\n${places
      .map(
        ({ id, point, phase }) =>
          `  - { id: ${id}, concurrency: 100, on: "${point.name}", ${phase === undefined ? "" : `phase: ${phase}, `}run: { module: { path: ./note.mjs } } }`,
      )
      .join("\n")}\n`,
  });
  expect(places.length).toBeGreaterThan(20);
  const odd: unknown[] = [];
  for (const { id, point, phase } of places) {
    const run = await live.fire(id, { payload: point.example as Record<string, unknown> });
    const keys = Object.keys(point.payload.parse(point.example) as object).sort();
    const output = JSON.stringify(run.attempts[0]?.output);
    if (
      run.status !== "succeeded" ||
      run.event !== point.name ||
      run.phase !== phase ||
      !output?.includes(JSON.stringify(keys))
    )
      odd.push({ point: point.name, phase, status: run.status, reason: run.statusReason, output });
  }
  expect(odd).toEqual([]);
}, 120_000);
