/** A card of which nobody knows whether it arrived: nothing is said for certain, and it is posted anew until its chat works again. */
import { expect, it } from "vitest";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { MINUTE, OPS, ROOM, watch } from "./watch.js";

it.each([
  ["about messages that were not delivered", "letters"],
  ["about a customer", "reply"],
])("a card %s", async (_, kind) => {
  const loop = new LoopbackPlatform("loop");
  let isSilent = true;
  loop.script = ({ address: { chatId } }) =>
    isSilent && chatId === "room" ? { kind: "ambiguous", error: "502 Bad Gateway" } : undefined;
  const escalate = [{ after: "7m", mention: ["loop:7"] }];
  const on = await watch(
    { routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } }, fallback: [OPS] },
    loop,
  );
  const { id } = await on.raise({ labels: { kind } });
  const inRoom = () => loop.requests.filter((one) => one.address.chatId === "room");
  const own = async () =>
    (await on.alerts.list({ limit: 20 })).filter(({ signal }) => signal.labels.destination === ROOM);
  await on.advance(50_000);
  await on.raise({ labels: { kind }, title: "Reply to Bob and Eve" });
  expect(inRoom()).toHaveLength(1);
  expect(await own()).toEqual([]);
  await on.advance(100_000);
  expect(inRoom().map((one) => one.kind)).toEqual(["create", "create", "create"]);
  // One of them may be in the chat. An operator need not decide about those before it.
  expect(await on.rig.store.outbox.counts()).toMatchObject({ held: kind === "letters" ? 0 : 1, dead: 0 });
  const history = await on.alerts.history(id);
  expect(history.flatMap(({ event, reason }) => (event === "in_doubt" ? [reason] : []))).toEqual([
    `${ROOM} may not have taken the card: it may or may not have arrived: 502 Bad Gateway`,
  ]);
  const { card } = await on.alerts.details(id, OPS);
  expect(card?.fields?.find(({ name }) => name === "History")?.value).toMatch(/> in doubt: loop:bot:room may not/);
  expect(on.posted(OPS)[0]?.text).toContain("Reply to Bob and Eve");
  expect(await own()).toMatchObject([{ state: "firing", signal: { title: `Alerts do not reach ${ROOM}` } }]);

  isSilent = false;
  await on.advance(2 * MINUTE);
  expect(on.posted(ROOM).map(({ text }) => text.includes("Reply to Bob and Eve"))).toEqual([true]);
  expect(await on.rig.store.outbox.counts()).toMatchObject({ held: 0, dead: 0 });
  expect(await own()).toMatchObject([{ state: "resolved" }]);
  await on.advance(3 * MINUTE);
  const pages = on.posted(ROOM).filter(({ text }) => text.includes("Escalated: step 1 of 1"));
  expect(pages.map(({ text }) => [text.includes("<@7"), text.includes("took no alerts")])).toEqual([[true, false]]);
  expect(inRoom().filter((one) => one.kind === "create")).toHaveLength(5);
});

it("a card in doubt is not posted anew when its alert has ended", async () => {
  const loop = new LoopbackPlatform("loop");
  loop.script = () => ({ kind: "ambiguous", error: "502 Bad Gateway" });
  const on = await watch({ routes: { default: { to: [ROOM] } }, fallback: [OPS] }, loop);
  await on.raise();
  await on.raise({ state: "resolved" });
  const before = loop.requests.length;
  await on.advance(5 * MINUTE);
  expect(loop.requests).toHaveLength(before);
});

it("the card of an alert about a chat: its history says so, and no copy is made", async () => {
  const loop = new LoopbackPlatform("loop");
  loop.script = (operation) => {
    if (operation.kind !== "create") return undefined;
    if (operation.address.chatId === "room") return { kind: "permanent", error: "403 Forbidden" };
    return operation.part.text.includes("Alerts do not reach")
      ? { kind: "ambiguous", error: "502 Bad Gateway" }
      : undefined;
  };
  const on = await watch({ routes: { default: { to: [ROOM], remind: { times: 0 } } }, fallback: [OPS] }, loop);
  await on.raise();
  await on.advance(5 * MINUTE);
  const own = (await on.alerts.list({ limit: 20 })).find(({ signal }) => signal.labels.destination === ROOM);
  const lines = (await on.alerts.history(own?.id ?? "")).map(({ event, reason }) => `${event}: ${reason}`);
  expect(lines).toEqual([
    "fire: 403 Forbidden",
    `in_doubt: ${OPS} may not have taken the card: it may or may not have arrived: 502 Bad Gateway`,
  ]);
  const cards = loop.requests.filter((one) => one.kind === "create" && one.part.text.includes("do not reach"));
  expect(new Set(cards.map(({ address }) => address.chatId))).toEqual(new Set(["ops"]));
});
