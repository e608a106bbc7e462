/** A card of which nobody knows whether it arrived: it is not posted a second time in its chat, and nothing is said for certain. */
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
  const escalate = [{ after: "4m", mention: ["loop:7"] }];
  const on = await watch(
    { routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } }, fallback: [OPS] },
    loop,
  );
  const { id } = await on.raise({ labels: { kind } });
  await on.advance(MINUTE);
  await on.raise({ labels: { kind }, title: "Reply to Bob and Eve" });
  await on.advance(MINUTE);
  const inRoom = () => loop.requests.filter((one) => one.address.chatId === "room");
  expect(inRoom()).toHaveLength(1);
  const history = await on.alerts.history(id);
  expect(history.flatMap(({ event, reason }) => (event === "in_doubt" ? [reason] : []))).toEqual([
    `${ROOM} may not have taken the card: it may or may not have arrived: 502 Bad Gateway`,
  ]);
  const { card } = await on.alerts.details(id, OPS);
  expect(card?.fields?.find(({ name }) => name === "History")?.value).toMatch(/> in doubt: loop:bot:room may not/);
  expect(on.posted(OPS)[0]?.text).toContain("Reply to Bob and Eve");
  const own = (await on.alerts.list({ limit: 20 })).filter(({ signal }) => signal.labels.destination === ROOM);
  expect(own).toEqual([]);

  isSilent = false;
  await on.advance(3 * MINUTE);
  const pages = on.posted(ROOM).filter(({ text }) => text.includes("Escalated: step 1 of 1"));
  expect(pages.map(({ text }) => [text.includes("<@7"), text.includes("took no alerts")])).toEqual([[true, false]]);
  expect(inRoom().filter((one) => one.kind === "create")).toHaveLength(2);
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
  expect(loop.requests.filter((one) => one.kind === "create" && one.part.text.includes("do not reach"))).toHaveLength(
    1,
  );
});
