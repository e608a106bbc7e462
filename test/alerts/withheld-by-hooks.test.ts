/** Hooks may cancel what is posted about an alert. It reaches no one then: the fallback gets it, and an alert shows that hooks withheld it. */
import { expect, it } from "vitest";
import { until } from "../support/until.js";
import { MINUTE, OPS, ROOM, START, type Watch, watch } from "./watch.js";

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
    expect(await titles(on)).toContain(`Hooks withhold reminders and escalations for ${ROOM}`);
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
    expect(await titles(on)).toContain(`Hooks withhold alerts for ${ROOM}`);
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

const withheldEdits: Record<string, (on: Watch) => void> = {
  suppresses: (on) =>
    on.rig.registry.registerClaiming("before_dispatch", ({ editOf }) => ({ handled: editOf !== undefined })),
  cancels: (on) =>
    on.rig.registry.registerModifying("message_sending", ({ editOf }) =>
      editOf === undefined ? null : { cancel: true },
    ),
  "holds by its failure": (on) =>
    on.rig.registry.registerModifying(
      "message_sending",
      ({ editOf }) => {
        if (editOf !== undefined) throw new Error("no edits");
        return null;
      },
      { failurePolicy: "fail-closed" },
    ),
};

it.each(Object.keys(withheldEdits))("an edit of a card that a hook %s opens no alert about its chat", async (how) => {
  const on = await watch({ ...CONFIG, routes: { default: { to: [ROOM], remind: { times: 0 } } } });
  withheldEdits[how]?.(on);
  const { id, signal } = await on.raise();
  await on.advance(MINUTE);
  await on.raise({ ...signal, severity: "critical" });
  await on.advance(MINUTE);
  expect(await on.rig.store.outbox.list({ status: "sent", limit: 10 })).not.toEqual([]);
  expect((await on.rig.store.outbox.list({ limit: 20 })).filter(({ operation }) => operation === "edit")).not.toEqual(
    [],
  );
  expect(await titles(on)).toEqual(["Reply to Bob"]);
  // What the card does not show is shown elsewhere.
  expect(on.posted(OPS)).toHaveLength(1);
  expect((await on.alerts.history(id)).map(({ event }) => event)).toContain("undelivered");
});

it("a digest that a hook withholds opens an alert that names hooks", async () => {
  const on = await watch({
    ...CONFIG,
    digests: [{ title: "Morning", cron: "0 11 * * *", timezone: "UTC", to: [ROOM] }],
  });
  on.rig.registry.registerModifying("message_sending", ({ chatId }) => (chatId === "room" ? { cancel: true } : null));
  await on.advance(61 * MINUTE);
  expect(await titles(on)).toEqual([`Hooks withhold alerts for ${ROOM}`]);
});

const MIA = {
  fingerprint: "replies:mia",
  title: "Reply to Mia",
  source: { kind: "sla", id: "clock2", policyId: "replies" },
};

/** Withholds what is about Mia; gives how often it was asked about that, and may let it pass. */
function withholdMia(on: Watch) {
  const guard = { asked: 0, isOff: false };
  on.rig.registry.registerModifying("message_sending", ({ message: { text, card }, chatId }) => {
    if (!`${text} ${card?.title ?? ""}`.includes("Mia") || chatId !== "room") return null;
    guard.asked++;
    return guard.isOff ? null : { cancel: "Mia is a test account" };
  });
  return guard;
}

const ownState = async (on: Watch, kind = "undelivered") =>
  (await on.rig.store.alerts.latest(`alerts:${kind}:${ROOM}`))?.state;
const QUIET = { routes: { default: { to: [ROOM], remind: { times: 0 } } }, fallback: [OPS] };

it("an alert that hooks withhold alerts stays open when another alert arrives there, and ends with the withheld alert", async () => {
  const on = await watch(QUIET);
  withholdMia(on);
  const { signal } = await on.raise(MIA);
  await on.raise();
  await on.advance(MINUTE);
  expect(on.posted()).toHaveLength(1);
  expect(await ownState(on)).toBe("firing");
  await on.alerts.test((await on.rig.store.alerts.latest(`alerts:undelivered:${ROOM}`))?.id ?? "");
  await on.settle();
  expect(await ownState(on)).toBe("firing");
  await on.raise({ ...signal, state: "resolved" });
  await on.settle();
  const own = await on.rig.store.alerts.latest(`alerts:undelivered:${ROOM}`);
  expect(own).toMatchObject({
    state: "resolved",
    signal: { reason: "each alert that hooks withheld there was posted there later, or has ended" },
  });
});

it("an alert that hooks withhold alerts ends when the withheld alert is posted there", async () => {
  const on = await watch(QUIET);
  const guard = withholdMia(on);
  const { signal } = await on.raise(MIA);
  guard.isOff = true;
  await on.advance(MINUTE);
  expect(await ownState(on)).toBe("firing");
  await on.raise({ ...signal, severity: "critical" });
  await on.advance(MINUTE);
  expect(on.posted()).toHaveLength(1);
  expect(await ownState(on)).toBe("resolved");
});

it("hooks are asked again about a withheld card when its alert changes, and not each time the card is drawn", async () => {
  const on = await watch(QUIET);
  const guard = withholdMia(on);
  const { signal } = await on.raise({
    ...MIA,
    clock: { name: "first response", dueAt: START, targetMs: MINUTE, elapsedMs: MINUTE, percentUsed: 1 },
  });
  await on.advance(20 * MINUTE);
  expect(guard.asked).toBe(1);
  const known = await on.rig.store.alerts.latest(signal.fingerprint);
  expect(known && (await on.alerts.isPostedNowhere(known))).toBe(false);
  await on.raise({ ...signal, severity: "critical" });
  await on.advance(20 * MINUTE);
  expect(guard.asked).toBe(2);
});

it("a reminder that hooks withhold keeps its alert open until one is posted there", async () => {
  const on = await watch({ ...QUIET, routes: { default: { to: [ROOM], remind: { every: "10m", times: 2 } } } });
  let isOff = false;
  on.rig.registry.registerModifying("message_sending", ({ message: { text } }) =>
    text.includes("Mia") && !isOff ? { cancel: "no reminders" } : null,
  );
  await on.raise(MIA);
  await on.advance(11 * MINUTE);
  expect(await ownState(on, "unsaid")).toBe("firing");
  await on.raise();
  await on.advance(MINUTE);
  expect(await ownState(on, "unsaid")).toBe("firing");
  isOff = true;
  await on.advance(10 * MINUTE);
  expect(await ownState(on, "unsaid")).toBe("resolved");
});

it("an alert that hooks withhold everywhere is marked as posted in no chat", async () => {
  const on = await watch(QUIET);
  on.rig.registry.registerModifying("message_sending", ({ message: { text, card } }) =>
    `${text} ${card?.title ?? ""}`.includes("Mia") ? { cancel: true } : null,
  );
  const lost = await on.raise(MIA);
  const told = await on.raise();
  expect(await on.alerts.isPostedNowhere(lost)).toBe(true);
  expect(await on.alerts.isPostedNowhere(told)).toBe(false);
  expect(JSON.stringify(await on.alerts.details(lost.id, ROOM))).toContain("In no chat");
});
