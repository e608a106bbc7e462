/** Hooks may cancel what is posted about an alert. It reaches no one then, as if its chat had refused it: the fallback gets it, and an alert shows that. */
import { expect, it } from "vitest";
import { until } from "../support/until.js";
import { MINUTE, OPS, ROOM, type Watch, watch } from "./watch.js";

const CONFIG = {
  routes: { default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "5s", mention: ["ann"] }] } },
  fallback: [OPS],
  people: { ann: ["loop:7"] },
};

const titles = async (on: Watch) => (await on.alerts.list({ limit: 20 })).map(({ signal: { title } }) => title);
const PAGE = "Escalated: step 1 of 1";

it.each(["ann", 'Dr. Ann "Anna" Miller'])(
  "a page to %s that a hook cancels goes to the fallback, and the history and an alert show that it did not arrive",
  async (name) => {
    const escalate = [{ after: "5s", mention: [name] }];
    const routes = { default: { to: [ROOM], remind: { times: 0 }, escalate } };
    const on = await watch({ routes, fallback: [OPS], people: { [name]: ["loop:7"] } });
    on.rig.registry.registerModifying("message_sending", ({ chatId, message: { text } }) =>
      chatId === "room" && text.includes(PAGE) ? { cancel: "we do not swear" } : null,
    );
    const { id } = await on.raise();
    await on.advance(MINUTE);
    expect(on.posted()).toHaveLength(1);
    const copy = on.posted(OPS).find(({ text }) => text.includes(PAGE));
    expect(copy?.text).toContain(`(it did not arrive at ${ROOM})`);
    expect(copy?.body.mentions).toEqual({ users: ["7"] });
    expect((await on.alerts.history(id)).map(({ event, reason }) => `${event}: ${reason}`)).toContain(
      `undelivered: ${ROOM} did not take "${PAGE} (${name})": we do not swear. A copy goes to ${OPS}`,
    );
    expect(await titles(on)).toContain(`Reminders and escalations do not reach ${ROOM}`);
  },
);

it.each(["message_sending", "before_dispatch"] as const)(
  "a card that a %s hook withholds goes to the fallback",
  async (point) => {
    const on = await watch(CONFIG);
    if (point === "message_sending")
      on.rig.registry.registerModifying(point, ({ chatId }) => (chatId === "room" ? { cancel: true } : null));
    else on.rig.registry.registerClaiming(point, ({ chatId }) => ({ handled: chatId === "room" }));
    await on.raise();
    expect(on.posted()).toEqual([]);
    expect(on.posted(OPS).map(({ text }) => text)).toContainEqual(expect.stringContaining("Reply to Bob"));
    expect(await titles(on)).toContain(`Alerts do not reach ${ROOM}`);
  },
);

it("a page that an operator withdraws while a hook is asked about it goes nowhere else", async () => {
  const on = await watch(CONFIG);
  let asked: string | undefined;
  let decide = () => {};
  on.rig.registry.registerModifying("message_sending", ({ deliveryId, message: { text } }) => {
    if (!text.includes(PAGE)) return null;
    asked = deliveryId;
    return new Promise((resolve) => {
      decide = () => resolve(null);
    });
  });
  await on.raise();
  const advanced = on.advance(MINUTE);
  await on.rig.gateway.cancelRest(await until(() => asked, "the hook being asked"), "withdrawn by Ada");
  decide();
  await advanced;
  expect(on.posted()).toHaveLength(1);
  expect(on.posted(OPS)).toEqual([]);
  expect(await titles(on)).toEqual(["Reply to Bob"]);
});
