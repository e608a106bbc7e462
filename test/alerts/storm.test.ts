/** Very many alerts at once: each is kept, the chat has a few messages about them, and one press answers them all. `bench/scale.ts` has the figures for ten thousand. */
import { expect, it } from "vitest";
import { ANN, MINUTE, OPS, ROOM, signal, watch } from "./watch.js";

/** More than the pages in which the product reads them. */
const STORM = 1_200;

it("a storm of alerts is grouped and rate-limited; nothing is lost, the chat is not flooded", async () => {
  const config = (to: string) => ({
    routes: { default: { to: [to], remind: { every: "10m", times: 2 } } },
    destinations: { [to]: { per_minute: 6 } },
  });
  const on = await watch(config(ROOM));
  // Of forty policies, so that there are forty groups.
  await Promise.all(
    Array.from({ length: STORM }, (_, n) =>
      on.alerts.raise(
        signal({
          fingerprint: `storm:${n}`,
          title: `Fault ${n}`,
          severity: n % 100 === 0 ? "critical" : "high",
          source: { kind: "sla", id: `clock${n}`, policyId: `policy${n % 40}` },
        }),
      ),
    ),
  );
  await on.settle();
  await on.advance(10_000);
  const cards = on.posted();

  // Every one of them is on a card that stands in the chat.
  const { store } = on.rig;
  expect(await on.alerts.counts({})).toEqual({ firing: STORM });
  let onCards = 0;
  for (const { text } of cards) onCards += Number(/([\d,]+) alerts?\b/.exec(text)?.[1]?.replaceAll(",", "") ?? 1);
  expect(onCards).toBe(STORM);
  expect(await store.alerts.waiting(ROOM, 1)).toEqual([]);
  expect(cards.length).toBeLessThanOrEqual(7);

  // Reminders of all of them fall due together.
  const before = on.posted().length;
  await on.advance(12 * MINUTE);
  const reminders = on.posted().length - before;
  expect(reminders).toBeGreaterThan(0);
  expect(reminders).toBeLessThanOrEqual(7);

  const rest = /"\/ack (ac_\w+)"/.exec(JSON.stringify(cards.map(({ body }) => body.buttons)))?.[1] as string;
  const { changed } = await on.alerts.act(rest, { kind: "ack" }, ANN);
  expect(changed).toBeGreaterThan(STORM * 0.9);
  await on.advance(10_000);
  expect(on.posted().length).toBe(before + reminders);

  // The same settings once more are nothing; others take all of them along, as quietly as they came.
  await on.reload(config(ROOM));
  expect(on.posted().length).toBe(before + reminders);
  await on.reload(config(OPS));
  await on.advance(70_000);
  const moved = on.posted(OPS);
  expect(moved.length).toBeLessThanOrEqual(7);
  expect(on.posted().length).toBe(before + reminders);
  const [{ id = "" } = {}] = await on.alerts.list({ open: true, limit: 1 });
  expect((await store.alerts.placesOf(id)).filter(({ cardId }) => cardId !== undefined)).toMatchObject([
    { destination: OPS },
  ]);
}, 120_000);
