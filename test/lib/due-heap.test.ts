import fc from "fast-check";
import { expect, test } from "vitest";
import { DueHeap } from "../../src/lib/concurrency/due-heap.js";

test("the first is always the key that falls due first, whatever was put in, moved and taken out", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key: fc.nat(15), dueAt: fc.nat(20) }),
    fc.record({ kind: fc.constant("delete" as const), key: fc.nat(15) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new DueHeap();
      const model = new Map<string, { dueAt: number; order: number }>();
      let order = 0;
      for (const next of steps) {
        const key = `k${next.key}`;
        if (next.kind === "set") {
          heap.set(key, next.dueAt);
          model.set(key, { dueAt: next.dueAt, order: order++ });
        } else {
          heap.delete(key);
          model.delete(key);
        }
        const first = [...model].sort(([, a], [, b]) => a.dueAt - b.dueAt || a.order - b.order)[0];
        expect([heap.size, heap.first?.key, heap.first?.dueAt]).toEqual([model.size, first?.[0], first?.[1].dueAt]);
      }
    }),
  );
});
