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
  expect(history.map(({ reason }) => reason).join()).toContain("may or may not have arrived");
  expect(on.posted(OPS)[0]?.text).toContain("Reply to Bob and Eve");
  const own = (await on.alerts.list({ limit: 20 })).filter(({ signal }) => signal.labels.destination === ROOM);
  expect(own).toEqual([]);

  isSilent = false;
  await on.advance(3 * MINUTE);
  const pages = on.posted(ROOM).filter(({ text }) => text.includes("Escalated: step 1 of 1"));
  expect(pages.map(({ text }) => [text.includes("<@7"), text.includes("took no alerts")])).toEqual([[true, false]]);
  expect(inRoom().filter((one) => one.kind === "create")).toHaveLength(2);
});
