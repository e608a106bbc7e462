import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { joinSignals } from "../../src/lib/concurrency/signals.js";

test("joined signals fire with the first of them, and leave nothing behind on those that live on", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const joined = joinSignals(one.signal, undefined, two.signal);
  expect(joined.signal.aborted).toBe(false);
  two.abort("enough");
  expect(joined.signal.reason).toBe("enough");
  expect(getEventListeners(one.signal, "abort")).toHaveLength(0);
  expect(joinSignals(one.signal, two.signal).signal.reason).toBe("enough");

  const released = joinSignals(one.signal);
  released.release();
  expect(getEventListeners(one.signal, "abort")).toHaveLength(0);
  one.abort();
  expect(released.signal.aborted).toBe(false);
});
