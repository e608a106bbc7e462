/** Ten thousand alerts at once: each is kept, the chat is told in a few messages, and one press answers them all. */
import { expect, it } from "vitest";
import { ANN, MINUTE, OPS, ROOM, signal, watch } from "./watch.js";

const STORM = 10_000;

it("a storm of 10,000 alerts is grouped and rate-limited; nothing is lost, the chat is not flooded", async () => {
  const config = (to: string) => ({
    routes: { default: { to: [to], remind: { every: "10m", times: 2 } } },
    destinations: { [to]: { per_minute: 6 } },
  });
  const on = await watch(config(ROOM));
  const startedAt = performance.now();
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
  const raisedMs = performance.now() - startedAt;
  await on.settle();
  await on.advance(10_000);
  const toldMs = performance.now() - startedAt;
  const cards = on.posted();
  const requests = on.platform.requests.length;

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
  const remindAt = performance.now();
  await on.advance(12 * MINUTE);
  const remindedMs = performance.now() - remindAt;
  const reminders = on.posted().length - before;
  expect(reminders).toBeGreaterThan(0);
  expect(reminders).toBeLessThanOrEqual(7);

  const rest = /"\/ack (ac_\w+)"/.exec(JSON.stringify(cards.map(({ body }) => body.buttons)))?.[1] as string;
  const ackAt = performance.now();
  const { changed } = await on.alerts.act(rest, { kind: "ack" }, ANN);
  const ackedMs = performance.now() - ackAt;
  expect(changed).toBeGreaterThan(STORM * 0.9);
  await on.advance(10_000);
  expect(on.posted().length).toBe(before + reminders);

  // The same settings once more are nothing; others take all of them along, as quietly as they came.
  const reloadAt = performance.now();
  await on.reload(config(ROOM));
  const reloadedMs = performance.now() - reloadAt;
  expect(on.posted().length).toBe(before + reminders);
  const moveAt = performance.now();
  await on.reload(config(OPS));
  await on.advance(70_000);
  const movedMs = performance.now() - moveAt;
  const moved = on.posted(OPS);
  expect(moved.length).toBeLessThanOrEqual(7);
  expect(on.posted().length).toBe(before + reminders);
  const [{ id = "" } = {}] = await on.alerts.list({ open: true, limit: 1 });
  expect((await store.alerts.placesOf(id)).filter(({ cardId }) => cardId !== undefined)).toMatchObject([
    { destination: OPS },
  ]);
  console.log(
    `storm: ${STORM} alerts raised in ${Math.round(raisedMs)} ms (${Math.round((STORM / raisedMs) * 1000)}/s), told after ${Math.round(toldMs)} ms in ${cards.length} messages (${requests} requests); ` +
      `${reminders} reminder messages (${Math.round(remindedMs)} ms); one press acknowledged ${changed} in ${Math.round(ackedMs)} ms; ` +
      `a reload looked through them in ${Math.round(reloadedMs)} ms; another route moved them in ${moved.length} messages (${Math.round(movedMs)} ms)`,
  );
}, 240_000);
