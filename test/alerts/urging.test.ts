/** What is said besides the card: reminders, escalations, digests, the catch-up of many; and what is done when it cannot be said. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { parseAddress } from "../../src/domain/chat/address.js";
import { openDesk } from "../commands/desk.js";
import { LoopbackPlatform } from "../gateway/loopback-adapter.js";
import { afterTest } from "../support/clean-up.js";
import { until } from "../support/until.js";
import { ADMINS, ANN, HOUR, MINUTE, OPS, ROOM, START, signal, type Watch, watch } from "./watch.js";

const route = (more: Record<string, unknown>) => ({ routes: { default: { to: [ROOM], ...more } } });

let server: Server | undefined;
afterEach(() => new Promise<void>((done) => (server ? server.close(() => done()) : done())));

/** Bodies that were POSTed, with their ids. */
async function webhook(
  status: number | (() => number) = 204,
): Promise<{ url: string; taken: { id: unknown; body: Record<string, unknown> }[] }> {
  const taken: { id: unknown; body: Record<string, unknown> }[] = [];
  server = createServer(async (request: IncomingMessage, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    taken.push({ id: request.headers["webhook-id"], body: JSON.parse(text) as Record<string, unknown> });
    response.writeHead(typeof status === "number" ? status : status()).end();
  });
  await new Promise<void>((done) => server?.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/take`, taken };
}

describe("reminders", () => {
  const config = route({ remind: { every: "10m", times: 2 } });

  it("of an alert come in time although another alert fails whenever it is due", async () => {
    const on = await watch(config);
    const bad = await on.raise({ fingerprint: "bad" });
    const { alerts } = on.rig.store;
    const commit = alerts.commit.bind(alerts);
    let refused = 0;
    alerts.commit = async (change) => {
      if (change.alert.id !== bad.id) return commit(change);
      refused++;
      throw new Error("its row is damaged");
    };
    await on.advance(5 * MINUTE + 13_000);
    const good = await on.raise({ fingerprint: "good", title: "Reply to Cy" });
    await on.advance(10 * MINUTE);
    const [reminder] = (await on.alerts.history(good.id)).filter(({ event }) => event === "remind");
    expect(reminder?.at).toBe(good.raisedAt + 10 * MINUTE);
    expect(refused).toBeGreaterThan(5);
    expect(refused).toBeLessThan(20);
  });

  it.each([
    ["fewer of its own policy", "high", "reminder at"],
    ["none, because it is not severe enough", "warning", "no further escalation"],
  ] as const)(
    "%s: a step after more of them is not announced, and card and page say that no step follows",
    async (_, severity, next) => {
      const escalate = [{ after: "1m", mention: ["loop:7"] }, { reminders: 2 }];
      const policy = () => ({ remind: { times: 1 } });
      const on = await watch(route({ remind: { every: "10m", times: 3 }, escalate }), { policy });
      await on.raise({ severity });
      await on.advance(2 * MINUTE);
      expect(on.posted()[0]?.text).toMatch(new RegExp(`Next: ${next}`));
      expect(on.posted()[1]?.text).toMatch(/Escalated: step 1 of 2.*No further step follows by itself/);
      await on.advance(HOUR);
      expect(on.posted()[0]?.text).toContain("Next: no further escalation.");
      const { card } = await on.alerts.details((await on.alerts.list({ limit: 1 }))[0]?.id ?? "", ROOM);
      expect(card?.fields?.find(({ name }) => name === "Next")?.value).toBe("no further escalation.");
    },
  );

  it("are new messages that answer the card and ping nobody, and end", async () => {
    const on = await watch(config);
    await on.raise();
    await on.advance(HOUR);
    const [card, ...said] = on.posted();
    expect(said.map(({ text }) => /reminder \d of \d/.exec(text)?.[0])).toEqual(["reminder 1 of 2", "reminder 2 of 2"]);
    expect(said.map(({ body }) => body.replyToId)).toEqual([card?.id, card?.id]);
    expect(said.some(({ body }) => body.mentions !== undefined)).toBe(false);
  });

  it("are not posted beside the page of a step that follows after them, in the same chat", async () => {
    const escalate = [{ reminders: 1, mention: ["loop:7"] }];
    const on = await watch({ routes: { default: { to: [ROOM, OPS], remind: { every: "10m", times: 2 }, escalate } } });
    await on.raise();
    await on.advance(HOUR);
    for (const chat of [ROOM, OPS])
      expect(on.posted(chat).map(({ text }) => /Escalated: step 1|reminder \d of \d/.exec(text)?.[0])).toEqual([
        undefined,
        "Escalated: step 1",
        "reminder 2 of 2",
      ]);
  });

  it.each([
    ["while it runs", (on: Watch) => on.clock.set(-4 * HOUR)],
    [
      "while it is stopped",
      async (on: Watch) => {
        on.clock.set(-4 * HOUR, false);
        await on.crash();
      },
    ],
  ])("come in their own time when the clock was hours ahead and is set right %s", async (_, setRight) => {
    const on = await watch(config);
    on.clock.set(4 * HOUR);
    const { id } = await on.raise();
    await setRight(on);
    await on.settle();
    await on.advance(11 * MINUTE);
    expect(on.posted().at(-1)?.text).toMatch(/^Not acknowledged for 1\d min.* \(reminder 1 of 2\)/m);
    const alert = await on.alerts.get(id);
    expect(alert?.firedAt).toBeLessThan(on.clock.now());
    expect(alert?.raisedAt).toBeLessThan(on.clock.now());
  });

  it("stop when somebody acknowledges, and begin again when the acknowledgement lapses", async () => {
    const on = await watch(route({ remind: { every: "10m", times: 2 }, ack_for: "30m" }));
    const { id } = await on.raise();
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.advance(25 * MINUTE);
    expect(on.posted()).toHaveLength(1);
    await on.advance(20 * MINUTE);
    expect(on.posted()).toHaveLength(2);
    expect((await on.alerts.history(id)).map(({ event }) => event)).toEqual(["fire", "ack", "lapse", "remind"]);
  });

  it.each([
    ["an acknowledgement", { kind: "ack" }, "Acknowledged by Ann", "Not acknowledged for 10 min (reminder 1 of 2)"],
    ["a snooze", { kind: "snooze", until: START + 40 * MINUTE }, "Snoozed until", "Not acknowledged for 50 min"],
  ] as const)(
    "after %s has ended, older messages show that an operator is needed again",
    async (_, action, held, next) => {
      const escalate = [{ after: "1m", mention: ["loop:7"] }];
      const on = await watch(route({ remind: { every: "10m", times: 2 }, escalate, ack_for: "30m" }));
      const { id } = await on.raise();
      await on.raise({ fingerprint: "b", title: "Reply to Cid" });
      await on.advance(11 * MINUTE);
      const older = () => on.posted().filter(({ text }) => text.includes("Reply to Bob"));
      expect(older()).toHaveLength(3);
      await on.alerts.act(id, action, ANN);
      await on.advance(MINUTE);
      for (const { text } of older()) expect(text).toContain(held);
      await on.advance(START + 43 * MINUTE - on.clock.now());
      expect(older().map(({ text }) => text.includes(held))).not.toContain(true);
      for (const { text } of older().slice(1, 3)) expect(text).toContain("Needs an operator again. Firing since");
      expect(JSON.stringify(older()[1]?.body.buttons)).toContain(`/ack ${id}`);
      // What was posted about an alert that nobody had stays as it was posted.
      expect(JSON.stringify(on.posted().filter(({ text }) => text.includes("Reply to Cid")))).not.toContain("again");
      await on.advance(START + 53 * MINUTE - on.clock.now());
      expect(older().at(-1)?.text).toContain(next);
    },
  );

  it("of warnings and of what is not severe do not come", async () => {
    const on = await watch(config);
    await on.raise({ fingerprint: "a", state: "warned" });
    await on.raise({ fingerprint: "b", severity: "warning" });
    await on.advance(HOUR);
    expect(on.posted()).toHaveLength(2);
  });

  it("after a week down there is one, not one for each that was missed", async () => {
    const on = await watch(route({ remind: { every: "10m", times: 50 } }));
    await on.raise();
    await on.crash(7 * 24 * HOUR);
    await on.settle();
    expect(on.posted().filter(({ text }) => /reminder \d of/.test(text))).toHaveLength(1);
  });
});

it.each([
  ["silenced", {}],
  ["firing", { hold: "30m" }],
])(
  "an alert that has no card yet is escalated by a person (%s): it gets a card, and its people are notified",
  async (state, more) => {
    const on = await watch({ ...route({ escalate: [{ after: "1h", mention: ["loop:7"] }], ...more }) });
    if (state === "silenced") await on.alerts.silences.add(["queue=support"], 20 * MINUTE, "moving", ANN);
    const { id } = await on.raise();
    await on.advance(MINUTE);
    expect(on.posted()).toEqual([]);
    const { note, alerts } = await on.alerts.act(id, { kind: "escalate" }, ANN);
    expect([note, alerts[0]?.state]).toEqual([expect.stringContaining("Step 1 of 1"), state]);
    await on.advance(MINUTE);
    expect(on.posted().map(({ text, body }) => [text.includes("Escalated: step 1 of 1"), body.mentions])).toEqual([
      [false, undefined],
      [true, { users: ["7"] }],
    ]);
    await on.advance(HOUR);
    expect(on.posted().filter(({ text }) => text.includes("Escalated: step"))).toHaveLength(1);
  },
);

describe("escalation", () => {
  const config = {
    ...route({
      remind: { every: "1h", times: 0 },
      escalate: [
        { after: "5m", mention: ["ann"] },
        { after: "15m", to: [OPS], mention: ["loop:role:9", "other:5"] },
      ],
    }),
    people: { ann: ["loop:7", "other:8"] },
  };

  it("is a new message that calls whom it names, by their account on that platform, step by step; and says when it was the last", async () => {
    const on = await watch(config);
    const { id } = await on.raise();
    await on.advance(6 * MINUTE);
    const first = on.posted()[1];
    expect(first?.text).toMatch(/<@7\|ann>[\s\S]*step 1 of 2 \(ann\)/);
    expect(first?.body.mentions).toEqual({ users: ["7"] });
    await on.advance(10 * MINUTE);
    expect(on.posted()).toHaveLength(2);
    const [card, second] = on.posted(OPS);
    expect(card?.text).toContain("Reply to Bob");
    expect(second?.text).toContain("This was the last step");
    expect(second?.body.mentions).toEqual({ roles: ["9"] });
    expect(second?.body.replyToId).toBe(card?.id);
    await on.advance(HOUR);
    expect(on.posted(OPS)).toHaveLength(2);
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.advance(5_000);
    for (const place of [ROOM, OPS]) expect(on.posted(place)[0]?.text).toContain("Acknowledged by Ann");
  });

  it.each([
    ["by itself", async (on: Watch) => on.advance(30 * MINUTE)],
    [
      "because an operator wakes the alert",
      async (on: Watch, id: string) => {
        await on.advance(30 * MINUTE);
        await on.alerts.act(id, { kind: "wake" }, ANN);
        await on.settle();
      },
    ],
  ])("goes on after a snooze that ends %s, with the distances that its steps had", async (how, wait) => {
    const on = await watch(config);
    const { id } = await on.raise();
    await on.advance(2 * MINUTE);
    const length = how === "by itself" ? 30 * MINUTE : 2 * HOUR;
    await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + length }, ANN);
    await wait(on, id);
    const steps = () => [...on.posted(), ...on.posted(OPS)].filter(({ text }) => text.includes("Escalated")).length;
    expect(steps()).toBe(0);
    await on.advance(2 * MINUTE);
    expect(steps()).toBe(0);
    await on.advance(2 * MINUTE);
    expect(steps()).toBe(1);
    await on.advance(7 * MINUTE);
    expect(steps()).toBe(1);
    await on.advance(4 * MINUTE);
    expect(steps()).toBe(2);
  });

  it("may be acknowledged again for another time, which holds from then on", async () => {
    const on = await watch(route({ remind: { times: 0 } }));
    const { id } = await on.raise();
    await on.alerts.act(id, { kind: "ack" }, ANN);
    expect((await on.alerts.act(id, { kind: "ack" }, ANN)).changed).toBe(0);
    const taken = await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + 5 * MINUTE }, ANN);
    expect(taken.changed).toBe(1);
    await on.advance(4 * MINUTE);
    expect(await on.alerts.get(id)).toMatchObject({ state: "acked" });
    await on.advance(2 * MINUTE);
    expect(await on.alerts.get(id)).toMatchObject({ state: "firing" });
  });

  it("is not the last word: the end of a snooze is a new message, and reminders begin anew", async () => {
    const on = await watch(route({ escalate: [{ after: "1m" }], remind: { every: "10m", times: 1 } }));
    const { id } = await on.raise();
    await on.advance(HOUR);
    const before = on.posted().length;
    await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + MINUTE }, ANN);
    await on.advance(2 * MINUTE);
    const added = () => on.posted().slice(before);
    expect(added().map(({ text }) => text)).toEqual([expect.stringContaining("The snooze ended")]);
    await on.advance(HOUR);
    expect(added().map(({ text }) => /The snooze ended|reminder \d of \d/.exec(text)?.[0])).toEqual([
      "The snooze ended",
      "reminder 1 of 1",
    ]);
  });

  it.each([
    ["is acknowledged (it is not)", undefined, ["The snooze ended (Ann snoozed it)"]],
    ["is acknowledged (it is)", { kind: "ack" } as const, []],
  ])("is announced when a silence that is longer than it ends, unless it %s", async (_, action, announced) => {
    const on = await watch({
      ...route({ escalate: [{ after: "1m" }], remind: { times: 0 } }),
      people: { Ann: ["loop:1"] },
    });
    const { id } = await on.raise();
    await on.advance(2 * MINUTE);
    const before = on.posted().length;
    await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + 10 * MINUTE }, ANN);
    await on.alerts.silences.add(["queue=support"], 14 * MINUTE, "moving", ANN);
    await on.advance(13 * MINUTE);
    expect((await on.alerts.get(id))?.state).toBe("silenced");
    expect(on.posted()).toHaveLength(before);
    if (action) await on.alerts.act(id, action, ANN);
    await on.advance(10 * MINUTE);
    expect(
      on
        .posted()
        .slice(before)
        .map(({ text }) => /The snooze ended \(.*?\)/.exec(text)?.[0]),
    ).toEqual(announced);
    expect(
      on
        .posted()
        .slice(before)
        .map(({ body }) => body.mentions),
    ).toEqual(announced.map(() => ({ users: ["1"] })));
  });

  it.each(["escalate", "nothing"])(
    "ends in a message for the person who snoozed an acknowledged alert (%s)",
    async (what) => {
      const escalate = what === "escalate" ? [{ after: "1m" }] : [];
      const on = await watch({ ...route({ escalate }), people: { Ann: ["loop:1", "other:7"] } });
      const { id } = await on.raise();
      await on.advance(2 * MINUTE);
      await on.alerts.act(id, { kind: "ack" }, ANN);
      await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + 15 * MINUTE }, ANN);
      await on.advance(14 * MINUTE);
      const before = on.posted().length;
      await on.advance(2 * MINUTE);
      const added = on.posted().slice(before);
      expect(added.map(({ text }) => text)).toEqual([
        expect.stringContaining("The snooze ended (Ann snoozed it). It is still acknowledged by Ann."),
      ]);
      expect(added[0]?.text).toMatch(/^<@1\|Ann> /);
      expect(added[0]?.body.mentions).toEqual({ users: ["1"] });
      await on.advance(20 * MINUTE);
      expect(on.posted().length).toBe(before + 1);
      expect((await on.alerts.get(id))?.state).toBe("acked");
    },
  );

  /** The snooze of an acknowledged alert ends after 4.5 min, and the acknowledgement after 5: what is said then waits for longer. */
  async function woken(config: Record<string, unknown>, platform?: LoopbackPlatform) {
    const on = await watch({ ...route({ remind: { times: 0 } }), ...config }, platform ? { platform } : {});
    const { id } = await on.raise();
    await on.advance(MINUTE);
    await on.alerts.act(id, { kind: "ack", untilAt: on.clock.now() + 5 * MINUTE }, ANN);
    await on.alerts.act(id, { kind: "snooze", until: on.clock.now() + 4.5 * MINUTE }, ANN);
    await on.advance(4.4 * MINUTE);
    const ended = () => on.posted().filter(({ text }) => text.includes("The snooze ended"));
    return { on, id, ended };
  }

  it("says at its end who has the alert as it is when the message is sent, after a wait for room in the chat", async () => {
    const { on, id, ended } = await woken({ destinations: { [ROOM]: { per_minute: 1 } } });
    await on.raise({ fingerprint: "b", title: "Reply to Ben" });
    await on.advance(MINUTE);
    expect((await on.alerts.get(id))?.state).toBe("firing");
    expect(ended().map(({ text }) => text)).toEqual([expect.stringContaining("The snooze ended (Ann snoozed it).")]);
    expect(ended()[0]?.text).not.toContain("still acknowledged");
  });

  it("says so too after a wait for the end of a pause that came when it was posted", async () => {
    const loop = new LoopbackPlatform("loop", { idempotentCreate: true });
    const tried: string[] = [];
    loop.script = (operation) => {
      if (operation.kind !== "create" || !operation.part.text.includes("The snooze ended")) return undefined;
      tried.push(operation.part.text);
      return tried.length > 1 ? undefined : { kind: "retry", error: "429", afterMs: 2 * MINUTE, scope: "chat" };
    };
    const { on, ended } = await woken({}, loop);
    for (let seconds = 0; seconds < 180; seconds += 5) {
      await on.clock.advance(5_000);
      await on.settle({ isAway: true });
    }
    expect(tried[0]).toContain("It is still acknowledged by Ann.");
    expect(ended().map(({ text }) => text)).toEqual([expect.stringContaining("The snooze ended (Ann snoozed it).")]);
    expect(ended()[0]?.text).not.toContain("still acknowledged");
  });

  it.each([
    ["has no reminders, by its severity", "warning", 3, 1, '"escalation step 2 of 2 at'],
    ["has fewer reminders", "high", 1, 2, '"escalation step 2 of 2 at .*, reminder at'],
    [
      "has so many, later",
      "high",
      3,
      1,
      '"escalation step 2 of 2 at .*, reminder at .*, .* step 1 of 2 after 1 reminder',
    ],
  ] as const)(
    "by reminders holds up no step that has a time: an alert that %s",
    async (_, severity, times, reminders, next) => {
      const escalate = [
        { reminders, to: ["loop:bot:counted"] },
        { after: "15m", to: [OPS] },
      ];
      const on = await watch(route({ remind: { every: "30m", times }, escalate }));
      const { id } = await on.raise({ severity });
      const { card } = await on.alerts.details(id, ROOM);
      expect(JSON.stringify(card)).toMatch(new RegExp(next));
      await on.advance(16 * MINUTE);
      expect(on.posted(OPS).map(({ text }) => text)).toContainEqual(expect.stringContaining("step 2 of 2"));
      await on.advance(3 * HOUR);
      const isReached = times >= reminders && severity === "high";
      expect(on.posted("loop:bot:counted").length > 0).toBe(isReached);
      expect(JSON.stringify((await on.alerts.details(id, ROOM)).card)).not.toContain("step 1 of 2 after");
    },
  );

  it("comes at once when somebody asks for it, and not at all after an acknowledgement", async () => {
    const on = await watch(config);
    const { id } = await on.raise();
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.settle();
    expect(on.posted()).toHaveLength(2);
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.advance(HOUR);
    expect(on.posted(OPS)).toEqual([]);
  });

  it("goes to whoever is on call", async () => {
    const on = await watch({
      ...route({ escalate: [{ mention: ["oncall:support"] }] }),
      people: { ann: ["loop:7"], ben: ["loop:8"] },
      rotas: {
        support: { timezone: "UTC", rotate: { people: ["ann", "ben"], from: "2025-12-25T09:00", every: "7d" } },
        nights: { timezone: "UTC", shifts: [{ from: "22:00", to: "06:00", person: "ann" }] },
      },
    });
    const day = Date.UTC(2026, 0, 1);
    expect(await on.alerts.onCall()).toEqual([
      {
        rota: "support",
        person: "ben",
        until: Date.UTC(2026, 0, 8, 9),
        next: { person: "ann", at: Date.UTC(2026, 0, 8, 9) },
        gaps: [],
      },
      {
        rota: "nights",
        person: undefined,
        until: day + 22 * HOUR,
        next: { person: "ann", at: day + 22 * HOUR },
        gaps: [10, 30, 54].map((from, n) => ({ from: day + from * HOUR, to: day + (22 + n * 24) * HOUR })),
      },
    ]);
    await on.raise();
    expect(on.posted()[1]?.body.mentions).toEqual({ users: ["8"] });
  });

  it("that finds no one to notify says so, is posted at the fallback, and is an alert until someone is", async () => {
    const config = {
      ...route({ escalate: [{ mention: ["oncall:nights"] }] }),
      fallback: [OPS],
      rotas: { nights: { timezone: "UTC", shifts: [{ from: "12:00", to: "06:00", person: "ann" }] } },
    };
    const on = await watch(config);
    await on.raise();
    await on.advance(5_000);
    for (const place of [ROOM, OPS]) {
      const call = on.posted(place).find(({ text }) => text.includes("Escalated"));
      expect(call?.text).toContain("This step notifies none of its people. No one is on call in nights");
      expect(call?.body.mentions).toBeUndefined();
    }
    expect(on.posted()[0]?.text).toContain("Escalation step 1 notified none of its people");
    const own = () =>
      on.posted(OPS).find(({ text }) => text.includes("Escalation step 1 did not notify rota nights: Reply to Bob"));
    expect(own()?.text).toContain("No one is on call in nights");
    const ownId = /al_\w+/.exec(JSON.stringify(own()?.body))?.[0] ?? "none";
    expect((await on.alerts.history(ownId)).map(({ event }) => event)).not.toContain("escalate");
    await on.reload({ ...config, people: { ann: ["loop:7"] } });
    // In short steps: the gateway is looked at every 30 s, and a long step may end just after it was.
    await on.advance(MINUTE);
    // A card that was drawn in this second is edited in the next.
    await on.advance(2_000);
    expect(own()?.text).toContain("this step would notify its people now; it is not posted again");
  });

  it("that finds no account of its person on the platform says so, and is posted at the fallback", async () => {
    const on = await watch({
      ...route({ escalate: [{ mention: ["oncall:support"] }] }),
      fallback: [OPS],
      people: { olaf: ["other:8"] },
      rotas: { support: { timezone: "UTC", rotate: { people: ["olaf"], from: "2025-12-25T09:00", every: "7d" } } },
    });
    expect((await on.alerts.onCall())[0]?.unreached).toEqual([
      { route: "default", step: 1, why: "olaf has no account where these steps are posted" },
    ]);
    await on.raise();
    await on.advance(5_000);
    const call = (place: string) => on.posted(place).find(({ text }) => text.includes("Escalated"))?.text;
    expect(call(ROOM)).toContain(
      `This step notifies none of its people. olaf has no loop account. It is posted in ${OPS} as well`,
    );
    expect(call(OPS)).toContain(
      "This step notifies none of its people. olaf has no loop account. It is posted here as well. This was the last step",
    );
  });

  it("mentions who is next on call where the person on call has no account, and notifies the person in a private chat", async () => {
    const on = await watch(
      {
        ...route({ escalate: [{ mention: ["oncall:support"] }] }),
        fallback: [OPS],
        people: { ann: ["other:7"], ben: ["third:8"], cid: ["loop:9"] },
        rotas: {
          support: {
            timezone: "UTC",
            rotate: { people: ["ann", "ben", "cid"], from: "2026-01-01T09:00", every: "7d" },
          },
        },
      },
      { direct: (ref) => (ref === "other:7" ? parseAddress("loop:bot:dm-ann") : undefined) },
    );
    await on.raise();
    await on.advance(5_000);
    const call = (place: string) => on.posted(place).find(({ text }) => text.includes("Escalated"));
    expect(call(ROOM)?.text).toMatch(
      /ann has no loop account and is notified in a private chat; cid is on call after that and is mentioned as well/,
    );
    expect(call(ROOM)?.body.mentions).toEqual({ users: ["9"] });
    expect(call("loop:bot:dm-ann")?.text).toContain("Sent to ann in a private chat");
    expect(on.posted(OPS)).toEqual([]);
    expect((await on.alerts.onCall())[0]).toMatchObject({
      unreached: undefined,
      standIns: [{ route: "default", step: 1, person: "cid", isInstead: false }],
    });
  });

  it("that a private chat refuses is corrected where it was posted, marked on the card, and not posted there again", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.address.chatId === "dm-ann"
        ? { kind: "permanent", error: "the user did not start the bot" }
        : undefined;
    const on = await watch(
      {
        ...route({ escalate: [{ after: "5s", mention: ["ann"] }] }),
        fallback: [OPS],
        people: { ann: ["other:7"] },
      },
      { platform, direct: (ref) => (ref === "other:7" ? parseAddress("loop:bot:dm-ann") : undefined) },
    );
    await on.raise();
    await on.advance(MINUTE);
    const said = on.posted().map(({ text }) => text);
    expect(said.join()).toContain("The private message to ann did not arrive: the user did not start the bot");
    expect(said[0]).toContain("⚠ Escalation step 1 notified none of its people");
    const result = /Escalated: step 1 of 1\. This step notifies none.*The private message to ann did not arrive/;
    expect(on.posted(OPS).some(({ text }) => result.test(text))).toBe(true);
    const tried = JSON.stringify(
      platform.requests.filter((one) => "address" in one && JSON.stringify(one.address).includes("dm-ann")),
    );
    expect(tried).not.toContain("Alerts do not reach");
  });

  it("reaches a webhook, again until it is taken, under the same id", async () => {
    let status = 500;
    const { url, taken } = await webhook(() => status);
    const on = await watch(route({ escalate: [{ webhook: url }] }));
    await on.raise();
    await until(() => taken.length > 0, "the webhook being called");
    status = 204;
    await on.advance(2 * MINUTE);
    expect(taken).toHaveLength(2);
    expect(taken[0]?.id).toMatch(/^d_/);
    expect(taken[1]).toEqual(taken[0]);
    expect(taken[0]?.body).toMatchObject({ kind: "escalation", alerts: [{ title: "Reply to Bob", state: "firing" }] });
  });
});

describe("a page that goes out late", () => {
  const config = { ...route({ remind: { times: 0 }, escalate: [{ after: "10m", mention: ["loop:7"] }] }) };
  const pages = (on: Watch, place = ROOM) => on.posted(place).filter(({ text }) => text.includes("Escalated"));

  it("because the gateway was not running says how late it is; one that is on time does not", async () => {
    const on = await watch(config);
    await on.raise();
    await on.raise({ fingerprint: "b", title: "Reply to Cid" });
    await on.advance(MINUTE);
    await on.crash(3 * HOUR);
    await on.advance(MINUTE);
    expect(pages(on).map(({ text }) => /This message is .* late.*?due/.exec(text)?.[0])).toEqual(
      Array(2).fill("This message is 2 h 51 min late: the gateway was not running when it was due"),
    );
    await on.raise({ fingerprint: "c", title: "Reply to Dan" });
    await on.advance(11 * MINUTE);
    expect(pages(on).find(({ text }) => text.includes("Reply to Dan"))?.text).not.toContain("late:");
  });

  /** The chat takes nothing for an hour from the first page on. */
  async function pausedChat(): Promise<Watch> {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    let isPaused = true;
    platform.script = (operation) => {
      const isPage = operation.kind === "create" && operation.part.text.includes("Escalated");
      if (!isPaused || !isPage || operation.address.chatId !== "room") return undefined;
      isPaused = false;
      return { kind: "retry", error: "429", afterMs: HOUR, scope: "chat" };
    };
    const on = await watch(config, platform);
    await on.raise();
    await pass(on, 11);
    expect(isPaused).toBe(false);
    return on;
  }

  /** A paused chat is never idle. */
  async function pass(on: Watch, minutes: number): Promise<void> {
    for (let n = 0; n < minutes; n++) {
      await on.clock.advance(MINUTE);
      let calm = 0;
      await until(async () => {
        await on.clock.advance(0);
        const { sending } = await on.rig.gateway.status();
        const { active, waiting } = on.alerts.depth;
        calm = sending.active + sending.waiting + active + waiting === 0 ? calm + 1 : 0;
        return calm > 3;
      }, "everything that can be told being told");
    }
  }

  it("because its chat took nothing is at the fallback in time, and in the chat once, with how late it is", async () => {
    const on = await pausedChat();
    await pass(on, 10);
    await until(() => pages(on, ADMINS).length > 0, "the page at the fallback");
    expect(pages(on)).toEqual([]);
    await pass(on, 60);
    await on.settle();
    expect(pages(on).map(({ text }) => /This message is .* late.*?before/.exec(text)?.[0])).toEqual([
      expect.stringMatching(/is (4\d|5\d|60) min late: it could not be posted before$|is 1 h.* late: it could/),
    ]);
    // The fallback notified its person, who is not notified twice.
    expect(pages(on)[0]?.body.mentions).toBeUndefined();
    expect(pages(on, ADMINS)[0]?.body.mentions).toEqual({ users: ["7"] });
    expect(pages(on, ADMINS)).toHaveLength(1);
    expect((await on.rig.store.outbox.counts()).dead).toBe(0);
  });

  it("is not sent when its alert has ended meanwhile", async () => {
    const on = await pausedChat();
    await pass(on, 30);
    await on.alerts.raise(signal({ state: "resolved", reason: "answered", at: on.clock.now() }));
    await pass(on, 40);
    await on.settle();
    expect(on.posted()[0]?.text).toContain("Resolved");
    expect(pages(on)).toEqual([]);
    expect(on.posted().filter(({ body }) => body.mentions !== undefined)).toEqual([]);
  });
});

describe("many at once", () => {
  it("share a card when there are more than a few of a group; one press acknowledges all", async () => {
    const on = await watch(route({ remind: { every: "10m", times: 3 } }));
    const raise = (n: number) => on.raise({ fingerprint: `replies:${n}`, title: `Reply to ${n}` });
    for (let n = 0; n < 4; n++) await raise(n);
    await on.advance(10_000);
    // A card of one alert has the title of that alert.
    expect(on.posted()[3]?.text).toMatch(/^\W*🗂 🔶 Reply to 3/);
    for (let n = 4; n < 12; n++) await raise(n);
    await on.advance(10_000);
    const cards = on.posted().filter(({ text }) => !text.includes("It fires now"));
    expect(cards).toHaveLength(4);
    expect(cards[3]?.text).toMatch(/9 alerts: policy replies\n[\s\S]*9 firing/);
    const all = JSON.stringify(cards[3]?.body.buttons);
    const line = /\/ack (ac_\w+)/.exec(all)?.[1] as string;
    expect(await on.alerts.act(line, { kind: "ack" }, ANN)).toMatchObject({ changed: 9 });
    await on.advance(10_000);
    expect(on.posted()[3]?.text).toContain("9 acknowledged");
    // Three of their own still fire, and are reminded of apart.
    await on.advance(11 * MINUTE);
    expect(on.posted().filter(({ text }) => /reminder \d of/.test(text))).toHaveLength(3);
  });

  it("that fire and join a posted card are new messages, also when it is acknowledged; those that come together are few", async () => {
    const on = await watch(route({ alone: 1, remind: { times: 0 } }));
    const clock = { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };
    const waiting = (n: number) => ({ fingerprint: `replies:${n}`, title: `Reply to ${n}`, clock });
    const news = () => on.posted().filter(({ text }) => text.includes("Overdue now"));
    await on.raise(waiting(0));
    await on.raise(waiting(1));
    await on.advance(6_000);
    const card = on.posted()[1];
    expect(news()).toEqual([]);
    const id = /\/ack (\w+)/.exec(JSON.stringify(card?.body.buttons))?.[1] as string;
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.raise(waiting(2));
    expect(news().map(({ text, body }) => [/Reply to \d/.exec(text)?.[0], body.replyToId])).toEqual([
      ["Reply to 2", card?.id],
    ]);
    // A warning is a message when it breaks, although the card had one a moment ago.
    await on.raise({ ...waiting(3), state: "warned", severity: "warning" });
    await on.alerts.silences.add(["queue=mute"], HOUR, "quiet", ANN);
    await on.raise({ ...waiting(4), labels: { queue: "mute" } });
    await on.advance(6_000);
    expect(news()).toHaveLength(1);
    await on.raise(waiting(3));
    expect(news().at(-1)?.text).toContain("Reply to 3");
    await on.advance(2 * MINUTE);
    const before = news().length;
    await Promise.all(Array.from({ length: 50 }, (_, n) => on.alerts.raise(signal(waiting(n + 10)))));
    await on.settle();
    await on.advance(2 * MINUTE);
    const since = news().slice(before);
    expect(since.length).toBeLessThan(10);
    const told = since.map(({ text }) => Number(/\*\*(\d+) alerts/.exec(text)?.[1] ?? 1));
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(50);
  });

  it("that fire and join a card are a new message, although that card was reminded of a moment ago", async () => {
    const on = await watch(route({ alone: 0, remind: { every: "10m", times: 1 } }));
    await on.raise();
    await on.advance(11 * MINUTE);
    expect(on.posted().at(-1)?.text).toContain("reminder 1 of 1");
    await on.raise({ fingerprint: "replies:late", title: "Reply to Late" });
    expect(on.posted().at(-1)?.text).toMatch(/Reply to Late[\s\S]*It fires now/);
  });

  it("that come back soon to a posted card are an edit, as they are for a card of their own", async () => {
    const on = await watch(route({ alone: 0, remind: { times: 0 } }));
    const back = { fingerprint: "replies:b", title: "Reply to b" };
    await on.raise();
    await on.raise(back);
    await on.advance(6_000);
    expect(on.posted()).toHaveLength(2);
    await on.raise({ ...back, state: "resolved" });
    await on.raise({ ...back, episode: 2 });
    await on.advance(6_000);
    expect(on.posted()).toHaveLength(2);
    await on.raise({ ...back, episode: 2, state: "resolved" });
    await on.advance(11 * MINUTE);
    await on.raise({ ...back, episode: 3 });
    expect(on.posted()).toHaveLength(3);
  });

  it("are one page, whose button acknowledges those that it lists and none that joined their card later", async () => {
    const on = await watch(
      route({ alone: 1, remind: { times: 0 }, escalate: [{ after: "10m", mention: ["loop:7"] }] }),
    );
    const desk = await openDesk();
    afterTest(() => desk.close());
    desk.deps.alerts = on.alerts;
    const all = [0, 1, 2].map((n) => signal({ fingerprint: `replies:${n}`, title: `Reply to ${n}` }));
    await Promise.all(all.map((one) => on.alerts.raise(one)));
    await on.advance(11 * MINUTE);
    const page = on.posted().find(({ text }) => /\d alerts\*\*.*Escalated/.test(text));
    const listed = page?.text.match(/Reply to \d/g) ?? [];
    expect(listed.length).toBeGreaterThan(1);
    const later = await on.raise({ fingerprint: "replies:9", title: "Reply to 9" });
    const line = /"(\/ack \w+)"/.exec(JSON.stringify(page?.body.buttons))?.[1] as string;
    expect((await desk.say(line)).shown).toContain(`${listed.length} alerts`);
    expect((await on.alerts.get(later.id))?.state).toBe("firing");
    expect((await on.alerts.counts({})).acked).toBe(listed.length);
    expect((await desk.say(line)).shown).toContain("none of these alerts is open and not acknowledged already");
    await expect(desk.say("/ack d_unknown")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("are one page, which says how long each waits, and changes when one of them is answered, acknowledged or snoozed", async () => {
    const on = await watch(
      route({ alone: 9, remind: { times: 0 }, escalate: [{ after: "10m", mention: ["loop:7"] }] }),
    );
    const clock = { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };
    const about = (n: number) => {
      const [id, title] = [`replies:${n}`, `Cus ${n}`];
      const entity = { type: "conversation" as const, id, title, status: "waiting", createdAt: START, facts: {} };
      return { fingerprint: id, title: `${title}: first response overdue`, clock, entity, at: START };
    };
    const ids = await Promise.all([0, 1, 2, 3].map(async (n) => (await on.raise(about(n))).id));
    await on.advance(11 * MINUTE);
    const page = () => on.posted().find(({ text }) => text.includes("**4 alerts**"));
    const waits = (n: number) => `**Cus ${n} waits 1 h 10 min for a first response (target 1 h)**`;
    for (const n of [0, 1, 2, 3]) expect(page()?.text).toContain(waits(n));
    const count = on.posted().length;

    await on.raise({ ...about(0), title: "Cus 0: first response", state: "resolved", reason: "answered by Ben" });
    await on.alerts.act(ids[1] ?? "", { kind: "ack" }, ANN);
    await on.advance(2_000);
    expect(page()?.text).toMatch(/^\*\*4 alerts\*\* · Escalated: step 1 of 1/);
    expect(page()?.text).toMatch(/✅ \*\*Cus 0: first response\*\*\n.*answered by Ben/);
    expect(page()?.text).toMatch(/👀 \*\*Cus 1: first response overdue\*\*\nAcknowledged by Ann/);
    for (const n of [2, 3]) expect(page()?.text).toContain(`🔶 **Cus ${n} waits 1 h 11 min`);
    const labels = [...JSON.stringify(page()?.body.buttons).matchAll(/"label":"([^"]+)"/g)].map(([, label]) => label);
    expect(labels).toEqual(["Acknowledge all", "Show all"]);

    await on.alerts.act(ids[2] ?? "", { kind: "snooze", until: on.clock.now() + HOUR }, ANN);
    await on.advance(2_000);
    expect(page()?.text).toMatch(/💤 \*\*Cus 2: first response overdue\*\*\nSnoozed until/);
    await on.alerts.act(ids[3] ?? "", { kind: "ack" }, ANN);
    await on.advance(2_000);
    expect(on.posted().find(({ text }) => text.includes("Cus 0") && text.includes("Cus 3"))?.body.buttons).toEqual([]);
    expect(on.posted()).toHaveLength(count);
  });

  it("are one reminder; after one press for all it counts how they stand and names a few, and nothing is added", async () => {
    const on = await watch(route({ alone: 0, remind: { every: "10m", times: 1 } }));
    const all = Array.from({ length: 40 }, (_, n) => signal({ fingerprint: `replies:${n}`, title: `Reply to ${n}` }));
    await Promise.all(all.map((one) => on.alerts.raise(one)));
    await on.advance(11 * MINUTE);
    expect(on.posted()).toHaveLength(2);
    const card = /\/ack (ac_\w+)/.exec(JSON.stringify(on.posted()[0]?.body.buttons))?.[1] as string;
    expect(await on.alerts.act(card, { kind: "ack" }, ANN)).toMatchObject({ changed: 40 });
    await on.advance(10_000);
    const [, reminder] = on.posted();
    expect(reminder?.text).toMatch(/^\*\*40 alerts\*\* · 40 acknowledged\n/);
    expect(reminder?.text.match(/Acknowledged by Ann/g)).toHaveLength(5);
    expect(reminder?.text).toMatch(/\nand 35 more: `\/alerts`$/);
    expect(on.posted()).toHaveLength(2);
  });

  describe("that share a card", () => {
    const every = (time: string, more: object = {}) => route({ alone: 0, remind: { every: time, times: 3 }, ...more });
    const raise = (on: Watch, name: string) => on.raise({ fingerprint: name, title: `Reply to ${name}` });
    /** What is new in a chat: whom each message names, with the reminders. */
    const reminders = (on: Watch, place = ROOM) =>
      on.posted(place).flatMap(({ text }) => {
        const parts = text.match(/Reply to \w|reminder \d/g) ?? [];
        return text.includes("(reminder ") ? parts.join().replaceAll(/Reply to |reminder /g, "") : [];
      });
    const next = async (on: Watch, id: string) => {
      const { card } = await on.alerts.details(id, ROOM);
      const seconds = /reminder at <t:(\d+)/.exec(card?.fields?.find(({ name }) => name === "Next")?.value ?? "")?.[1];
      return Number(seconds) * 1_000 - START;
    };
    const to = async (on: Watch, at: number) => on.advance(START + at - on.clock.now());

    it("are all reminded of as often as their route says, at the times that Next shows, in few messages", async () => {
      const on = await watch(every("1h"));
      const a = await raise(on, "a");
      await on.advance(3 * MINUTE);
      const b = await raise(on, "b");
      await on.advance(MINUTE);
      const c = await raise(on, "c");
      for (const hour of [1, 2, 3]) {
        const [first, second] = [HOUR * hour + 30_000, HOUR * hour + 10 * MINUTE + 30_000];
        expect([await next(on, a.id), await next(on, b.id), await next(on, c.id)]).toEqual([first, second, second]);
        const before = reminders(on).length;
        const since = () => reminders(on).slice(before);
        await to(on, first - 1_000);
        expect(since()).toEqual([]);
        await to(on, first);
        expect(since()).toEqual([`a,${hour}`]);
        await to(on, second - 1_000);
        expect(since()).toEqual([`a,${hour}`]);
        await to(on, second);
        expect(since()).toEqual([`a,${hour}`, expect.stringMatching(`^(b,${hour},c|c,${hour},b),${hour}$`)]);
      }
      await on.advance(2 * HOUR);
      expect(reminders(on)).toHaveLength(6);
      for (const { id } of [a, b, c]) {
        const history = await on.alerts.history(id);
        expect(history.flatMap(({ event, reason }) => (event === "remind" ? reason : []))).toEqual([
          "1 of 3",
          "2 of 3",
          "3 of 3",
        ]);
      }
    });

    it("and were due while nothing ran, are one message after the start", async () => {
      const on = await watch(every("5m"));
      for (const name of ["a", "b", "c", "d"]) await raise(on, name);
      await on.advance(6_000);
      await on.crash(HOUR);
      await on.advance(15_000);
      expect(reminders(on)).toHaveLength(1);
      expect(reminders(on)[0]?.split(",").sort()).toEqual(["1", "a", "b", "c", "d"]);
    });

    it("wait in their chat only, and not for an operator who has the alert", async () => {
      const on = await watch({
        routes: { default: { to: [ROOM, OPS], remind: { every: "1h", times: 3 } } },
        destinations: { [OPS]: { quiet: { from: "09:00", to: "10:02", timezone: "UTC" } } },
      });
      await raise(on, "a");
      await on.advance(MINUTE);
      const { id } = await raise(on, "b");
      await on.advance(2 * MINUTE);
      await to(on, HOUR + 2 * MINUTE);
      expect([reminders(on), reminders(on, OPS)]).toEqual([["a,1", "b,1"], ["a,1"]]);
      await on.advance(10 * MINUTE);
      expect(reminders(on, OPS)).toEqual(["a,1", "b,1"]);
      await to(on, 2 * HOUR + 2 * MINUTE);
      await on.alerts.act(id, { kind: "ack" }, ANN);
      await on.advance(20 * MINUTE);
      // The first one about b shows who has it.
      expect(reminders(on, OPS)).toEqual(["a,1", "a,2"]);
    });

    it("though only one alert is on the card, are reminded of in time: after quiet hours, too", async () => {
      const on = await watch({
        ...every("5m"),
        destinations: { [ROOM]: { quiet: { from: "09:00", to: "10:30", timezone: "UTC" } } },
      });
      const { id } = await raise(on, "a");
      await to(on, 31 * MINUTE);
      for (const count of [1, 2, 3]) {
        const due = (30 + 5 * count) * MINUTE;
        expect(await next(on, id)).toBe(due);
        await to(on, due - 1_000);
        expect(reminders(on)).toHaveLength(count - 1);
        await to(on, due + 1_000);
        expect(reminders(on)[count - 1]).toBe(`a,${count}`);
      }
    });
  });

  it("of many groups share one card when more would be said than a chat may get in a minute", async () => {
    const on = await watch({ ...route({}), destinations: { [ROOM]: { per_minute: 4 } } });
    for (let n = 0; n < 10; n++)
      await on.raise({
        fingerprint: `f${n}`,
        title: `Fault ${n}`,
        source: { kind: "sla", id: "x", policyId: `p${n}` },
      });
    await on.advance(10_000);
    expect(on.posted()).toHaveLength(5);
    expect(on.posted()[4]?.text).toMatch(/6 alerts at once/);
  });
});

describe("a chat that has had its messages of a minute", () => {
  it("still names the one alert that comes then, and says of collected escalations how far each is", async () => {
    const on = await watch({
      ...route({ alone: 9, escalate: [{ after: "20s" }, { after: "40s" }] }),
      destinations: { [ROOM]: { per_minute: 1 } },
    });
    await on.raise({ fingerprint: "a", title: "Reply to Ann" });
    await on.raise({ fingerprint: "b", title: "Reply to Ben" });
    expect(on.posted()[1]?.text).toContain("🗂 🔶 Reply to Ben");
    await on.advance(20_000);
    await on.raise({ fingerprint: "c", title: "Reply to Cid" });
    await on.advance(21_000);
    const collected = on.posted().find(({ text }) => /\*\*2 alerts/.test(text) && text.includes("Escalated"));
    expect(collected?.text).toMatch(/Reply to Ben.*step 2 of 2/);
    expect(collected?.text).toMatch(/Reply to Cid.*step 1 of 2/);
  });

  it("gets an escalation at once, although a reminder that was due before it waits", async () => {
    const on = await watch({
      ...route({ alone: 9, remind: { every: "20s", times: 3 }, escalate: [{ after: "25s", mention: ["loop:7"] }] }),
      destinations: { [ROOM]: { per_minute: 1 } },
    });
    await on.raise({ fingerprint: "a", title: "Reply to Ann" });
    await on.advance(24_000);
    const before = on.posted().length;
    await on.advance(3_000);
    expect(
      on
        .posted()
        .slice(before)
        .map(({ text }) => text)
        .join(),
    ).toContain("Escalated");
    expect(on.posted().filter(({ text }) => /reminder 1/.test(text))).toHaveLength(0);
  });
});

describe("a clock that stands still", () => {
  const clock = { name: "resolution", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 };

  it("is not reminded of and not escalated, and is both again when it goes on", async () => {
    const on = await watch(
      route({ remind: { every: "10m", times: 3 }, escalate: [{ after: "15m", mention: ["loop:7"] }] }),
    );
    const said = () => on.posted().filter(({ text }) => /reminder \d|Escalated/.test(text)).length;
    await on.raise({ clock });
    await on.raise({ clock: { ...clock, pausedFor: "pending_customer" }, reason: "the clock is paused" });
    await on.advance(2_000);
    expect(on.posted()[0]?.text).toMatch(
      /resolution, paused \(pending customer\)[\s\S]*Reminders and escalations wait/,
    );
    await on.advance(2 * HOUR);
    expect(said()).toBe(0);
    await on.raise({ clock });
    await on.advance(5 * MINUTE);
    expect(said()).toBe(0);
    await on.advance(12 * MINUTE);
    expect(said()).toBe(2);
  });
});

describe("a reminder", () => {
  it("shows who has waited how long, their words and the buttons of the card", async () => {
    const on = await watch(route({ remind: { every: "10m", times: 3 } }));
    const clock = { name: "first response", dueAt: START, targetMs: 20_000, elapsedMs: 20_000, percentUsed: 1 };
    const entity = {
      ...{ type: "conversation" as const, id: "c", title: "Grace in general on web", status: "waiting" },
      ...{ createdAt: START, link: "https://desk.example.org/c", facts: {} },
      lastWords: "Where is my parcel? hunter2, +49 171 2345678, ann@example.org",
    };
    const { id } = await on.raise({ clock, entity });
    await on.advance(11 * MINUTE);
    const [, said] = on.posted();
    expect(said?.text).toMatch(/Grace in general on web waits 10 min for a first response \(target 20 s\)/);
    expect(said?.text).toMatch(/Where is my parcel\? .{0,3}secret/);
    expect(said?.text).not.toMatch(/2345678|ann@example/);
    expect(said?.text).toContain(id);
    const buttons = (said?.body.buttons ?? []) as { label: string; url?: string }[][];
    expect(buttons.map((row) => row.map(({ label }) => label))).toEqual([
      ["Open chat", "Acknowledge", "Snooze ▾", "More…"],
    ]);
    expect(buttons[0]?.[0]?.url).toBe("https://desk.example.org/c");
    expect(said?.body.replyToId).toBe(on.posted()[0]?.id);
  });
});

describe("a breach", () => {
  const clock = { name: "first response", dueAt: START, targetMs: 20_000, elapsedMs: 20_000, percentUsed: 1 };
  const entity = {
    ...{ type: "conversation" as const, id: "c", title: "Grace", status: "waiting" },
    ...{ createdAt: START, lastWords: "Where is my parcel?", facts: {} },
  };

  it("is a new message that answers the card, with its buttons, once; what is not severe is only edited", async () => {
    const on = await watch(route({ remind: { every: "10m", times: 1 } }));
    await on.raise({ clock, entity, state: "warned", severity: "warning" });
    await on.raise({ clock, entity });
    await on.raise({ fingerprint: "mild", state: "warned", severity: "warning" });
    await on.raise({ fingerprint: "mild", severity: "warning" });
    await on.advance(5 * MINUTE);
    const [card, ...said] = on.posted().filter(({ text }) => text.includes("Grace"));
    expect(said).toHaveLength(1);
    expect(said[0]?.text).toMatch(/Grace waits[\s\S]*Overdue now/);
    expect(said[0]?.body.replyToId).toBe(card?.id);
    expect(JSON.stringify(said[0]?.body.buttons)).toContain("Acknowledge");
    expect(on.posted()).toHaveLength(3);
    await on.advance(6 * MINUTE);
    expect(on.posted()).toHaveLength(4);
  });

  it("that ended used as much time as it did when it ended, in every line and at any later time", async () => {
    const on = await watch(route({ remind: { times: 0 } }));
    const { id } = await on.raise({ clock, entity });
    await on.advance(MINUTE);
    await on.alerts.act(id, { kind: "resolve", reason: "called back" }, ANN);
    const used = async () => {
      const { card } = await on.alerts.details(id, ROOM);
      return card?.fields?.find(({ name }) => name === "Used")?.value;
    };
    expect(await used()).toBe("1 min 20 s of 20 s (400 %)");
    await on.advance(10 * MINUTE);
    expect(await used()).toBe("1 min 20 s of 20 s (400 %)");
  });

  it("that is escalated at once is one message", async () => {
    const on = await watch(route({ remind: { times: 0 }, escalate: [{ mention: ["loop:7"] }] }));
    await on.raise({ state: "warned", severity: "warning" });
    await on.raise();
    await on.advance(MINUTE);
    expect(on.posted()).toHaveLength(2);
    expect(on.posted()[1]?.text).toContain("Escalated: step 1 of 1");
  });

  it("that ends is shown as ended by each message about it, without buttons, also after a crash", async () => {
    const on = await watch(
      route({ remind: { every: "10m", times: 2 }, escalate: [{ after: "12m", mention: ["loop:7"] }] }),
    );
    await on.raise({ clock, entity, state: "warned", severity: "warning" });
    await on.raise({ clock, entity });
    await on.raise({ fingerprint: "other", title: "Reply to Cid" });
    await on.advance(15 * MINUTE);
    const about = () => on.posted().filter(({ text }) => text.includes("Grace"));
    expect(about()).toHaveLength(4);
    on.cut();
    await on.raise({ clock, entity, state: "resolved", reason: "answered by Ann, 15 min late" });
    await on.crash();
    await on.advance(10_000);
    for (const { text, body } of about()) {
      expect(text).toMatch(/Resolved .*answered by Ann, 15 min late/);
      expect(body.buttons ?? []).toEqual([]);
    }
    expect(on.posted().filter(({ text, body }) => text.includes("Cid") && body.buttons === undefined)).toEqual([]);
  });
});

describe("what cannot be told", () => {
  it("at its chat ends when a test message arrives there, also after a restart, which sends one", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    const breaks = () => {
      platform.script = (operation) =>
        operation.address.chatId === "room" ? { kind: "permanent", error: "the bot was removed" } : undefined;
    };
    breaks();
    const on = await watch(route({}), platform);
    await on.raise();
    await on.advance(20_000);
    const own = async () =>
      (await on.rig.store.alerts.latest(`alerts:undelivered:${ROOM}`)) ?? { id: "none", state: "none" };
    const { id } = await own();
    await on.alerts.test(id);
    await on.advance(5_000);
    expect((await own()).state).toBe("firing");
    platform.script = () => undefined;
    await on.alerts.test(id);
    await on.advance(5_000);
    expect((await own()).state).toBe("resolved");
    breaks();
    await on.raise({ fingerprint: "another" });
    await on.advance(20_000);
    expect((await own()).state).toBe("firing");
    platform.script = () => undefined;
    await on.crash();
    await on.advance(5_000);
    expect((await own()).state).toBe("resolved");
  });

  it.each([
    ["the admins", ["loop:bot:dead"], ADMINS],
    ["the chat of the default route where the admins are the fallback", [], ROOM],
  ])("at the fallback is an alert that goes to %s", async (_, fallback, to) => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    const broken = fallback[0] ?? ADMINS;
    platform.script = (operation) =>
      operation.address.chatId === parseAddress(broken)?.chatId
        ? { kind: "permanent", error: "Unknown Channel" }
        : undefined;
    const on = await watch({ routes: { default: { to: [ROOM], escalate: [{ to: [broken] }] } }, fallback }, platform);
    await on.raise();
    await on.advance(10_000);
    expect(on.posted(to).some(({ text }) => text.includes(`Alerts do not reach ${broken}`))).toBe(true);
  });

  it("at its chat is told at the fallback, and that is an alert itself, which ends when it works again", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.address.chatId === "room" ? { kind: "permanent", error: "the bot was removed" } : undefined;
    const on = await watch(route({}), platform);
    const { id } = await on.raise();
    await on.advance(20_000);
    expect(on.posted()).toEqual([]);
    const told = on.posted(ADMINS).map(({ text }) => text);
    expect(told.some((text) => text.includes("Reply to Bob"))).toBe(true);
    expect(told.some((text) => /Alerts do not reach loop:bot:room[\s\S]*the bot was removed/.test(text))).toBe(true);
    expect((await on.alerts.history(id)).map(({ event }) => event)).toContain("undelivered");
    platform.script = () => undefined;
    await on.raise({ state: "resolved", reason: "answered" });
    await on.advance(60_000);
    const after = on.posted(ADMINS).map(({ text }) => text);
    expect(after.some((text) => /Alerts do not reach[\s\S]*Resolved/.test(text))).toBe(true);
  });

  it("at its chat is not ended by an edit of a card that stands there: a new message has to arrive", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    const on = await watch(route({ remind: { times: 0 } }), platform);
    const { id } = await on.raise();
    platform.script = (operation) =>
      operation.kind === "create" && operation.address.chatId === "room"
        ? { kind: "permanent", error: "the bot may not write here" }
        : undefined;
    await on.raise({ fingerprint: "another", title: "Reply to Cid" });
    await on.advance(20_000);
    const own = async () => (await on.rig.store.alerts.latest(`alerts:undelivered:${ROOM}`))?.state;
    expect(await own()).toBe("firing");
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.advance(5_000);
    expect(on.posted()[0]?.text).toContain("Acknowledged by Ann");
    expect(await own()).toBe("firing");
    platform.script = () => undefined;
    await on.raise({ fingerprint: "a third", title: "Reply to Dan" });
    await on.advance(5_000);
    expect(await own()).toBe("resolved");
  });

  it("at its chat is escalated at the fallback once, and is one alert", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.address.chatId === "room" ? { kind: "permanent", error: "the bot was removed" } : undefined;
    const on = await watch(
      route({ remind: { every: "10m", times: 1 }, escalate: [{ after: "15m", mention: ["loop:7"] }] }),
      platform,
    );
    const { id } = await on.raise();
    await on.advance(20 * MINUTE);
    const about = on.posted(ADMINS).filter(({ text }) => text.includes(id));
    expect(about.filter(({ text }) => text.includes("Escalated: step 1 of 1"))).toHaveLength(1);
    expect(about.filter(({ text }) => text.includes("reminder 1 of 1"))).toHaveLength(1);
    const open = await on.alerts.list({ open: true, limit: 10 });
    expect(open.map(({ signal: { title } }) => title).sort()).toEqual([
      "Alerts do not reach loop:bot:room",
      "Reply to Bob",
    ]);
  });

  it("of an escalation, though the card stands there, is told at the fallback", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.kind === "create" &&
      operation.address.chatId === "room" &&
      /^.*Escalated/s.test(operation.part.text) &&
      !/No owner|Owner:/.test(operation.part.text)
        ? { kind: "permanent", error: "it may not mention anybody" }
        : undefined;
    const on = await watch(route({ escalate: [{ after: "5m", mention: ["loop:7"] }] }), platform);
    await on.raise();
    await on.advance(6 * MINUTE);
    expect(on.posted()).toHaveLength(1);
    const told = on.posted(ADMINS);
    expect(told.some(({ text }) => /^(?=[\s\S]*Reply to Bob)[\s\S]*No owner/.test(text))).toBe(true);
    expect(told.some(({ text }) => text.includes("Reminders and escalations do not reach loop:bot:room"))).toBe(true);
    // Whom it calls is called there.
    const call = told.find(({ text }) => text.includes("did not arrive at loop:bot:room"));
    expect(call?.body.mentions).toEqual({ users: ["7"] });
  });

  it("of an escalation is told at the fallback though a kill came between its end and our hearing of it", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    let isLost = false;
    platform.script = (operation) =>
      operation.kind === "create" && operation.address.chatId === "room" && /Escalated/.test(operation.part.text)
        ? isLost
          ? { kind: "permanent", error: "it may not mention anybody" }
          : { kind: "retry", error: "try again", scope: "chat" }
        : undefined;
    const on = await watch(route({ escalate: [{ after: "5m", mention: ["loop:7"] }] }), platform);
    await on.raise();
    for (let minute = 0; minute < 5; minute++) await on.clock.advance(MINUTE);
    const lost = async () => (await on.rig.store.outbox.list({ status: "dead", limit: 1 })).length > 0;
    await until(
      () =>
        platform.requests.some(({ kind, ...more }) => kind === "create" && JSON.stringify(more).includes("Escalated")),
      "the escalation being tried",
    );
    await on.alerts.stop();
    isLost = true;
    await until(async () => {
      await on.clock.advance(1_000);
      return lost();
    }, "the delivery being given up");
    await on.crash();
    await on.advance(10_000);
    const call = on.posted(ADMINS).find(({ text }) => text.includes("did not arrive at loop:bot:room"));
    expect(call?.body.mentions).toEqual({ users: ["7"] });
    expect(on.posted(ADMINS).filter(({ text }) => text.includes("did not arrive"))).toHaveLength(1);
  });

  it("at a webhook for an hour is an alert, which ends with the next that is taken", async () => {
    let status = 500;
    const { url } = await webhook(() => status);
    const config = route({ escalate: [{ webhook: url }], remind: { times: 0 } });
    const on = await watch(config);
    await on.raise();
    await on.advance(62 * MINUTE);
    await on.reload(config);
    const own = async () =>
      (await on.alerts.list({ limit: 10 })).find(({ signal: { title } }) =>
        title.startsWith("Reminders and escalations"),
      );
    expect(await own()).toMatchObject({ state: "firing", signal: { reason: "it answered 500" } });
    status = 204;
    await on.raise({ fingerprint: "replies:c2" });
    await on.advance(MINUTE);
    expect(await own()).toMatchObject({ state: "resolved" });
  });

  it("at a webhook that takes others keeps none of them back", async () => {
    const { url, taken } = await webhook(() => (JSON.stringify(taken.at(-1)).includes("Ann") ? 400 : 204));
    const on = await watch(route({ escalate: [{ webhook: url }], remind: { times: 0 } }));
    await on.raise({ fingerprint: "a", title: "Reply to Ann" });
    await until(() => taken.length === 1, "the first page");
    await on.settle();
    const refused = taken[0]?.id;
    await on.raise({ fingerprint: "b", title: "Reply to Bea" });
    await until(() => taken.at(-1)?.id !== refused, "the second page, without a wait for the first");
    expect(JSON.stringify(taken.at(-1)?.body)).toContain("Reply to Bea");
  });

  it.each([
    [404, 1, "with the answer that it will not be taken: at once"],
    [503, 0, "with an answer that may change: after `fallback_after`"],
  ])("at a webhook (%i) is posted at the fallback", async (status, atOnce) => {
    const { url, taken } = await webhook(() => status);
    const on = await watch(route({ escalate: [{ webhook: url }], remind: { times: 0 } }));
    await on.raise();
    await until(() => taken.length > 0, "the webhook being called");
    await on.settle();
    const host = new URL(url).host;
    const atFallback = () => on.posted(ADMINS).filter(({ text }) => text.includes(`it did not arrive at ${host}`));
    expect(atFallback()).toHaveLength(atOnce);
    await on.advance(6 * MINUTE);
    expect(atFallback()).toHaveLength(1);
    expect(
      on
        .posted()
        .map(({ text }) => text)
        .join(),
    ).toContain(`Escalated: step 1 of 1 (${host})`);
  });

  it("of a reminder is an alert that ends with the next new message there, whatever it is", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    let isMute = true;
    platform.script = (operation) =>
      isMute && operation.kind === "create" && operation.part.text.includes("Not acknowledged for")
        ? { kind: "permanent", error: "no replies here" }
        : undefined;
    const on = await watch(route({ remind: { every: "10m", times: 1 } }), platform);
    await on.raise();
    await on.advance(11 * MINUTE);
    const own = async () =>
      (await on.alerts.list({ limit: 10 })).find(({ signal: { title } }) =>
        title.startsWith("Reminders and escalations"),
      );
    expect(await own()).toMatchObject({ state: "firing" });
    isMute = false;
    await on.raise({ fingerprint: "replies:c2", severity: "info" });
    await on.advance(MINUTE);
    expect(await own()).toMatchObject({ state: "resolved" });
  });

  it("with its formatting is told as plain text", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = ({ kind, ...rest }) =>
      kind === "create" && "part" in rest && JSON.stringify(rest.part.body).includes("*")
        ? { kind: "format", error: "can't parse entities" }
        : undefined;
    const on = await watch(route({ remind: { every: "10m", times: 1 } }), platform);
    await on.raise();
    await on.advance(15 * MINUTE);
    expect(on.posted()).toHaveLength(2);
    expect(on.posted()[1]?.text).toContain("reminder 1 of 1");
  });
});

describe("regular messages", () => {
  it("a digest comes at its time, once, also after a crash, and says what happened", async () => {
    const on = await watch({
      ...route({}),
      digests: [{ cron: "0 11 * * *", timezone: "UTC", to: [OPS], title: "Morning" }],
    });
    await on.raise({
      fingerprint: "a",
      entity: {
        type: "conversation",
        id: "c1",
        title: "Bob",
        status: "waiting",
        createdAt: START,
        lastWords: "Where is it?",
        facts: {},
      },
      clock: { name: "first response", dueAt: START, targetMs: HOUR, elapsedMs: HOUR, percentUsed: 1 },
    });
    const other = { fingerprint: "b", source: { kind: "sla", id: "clock2", policyId: "replies" } };
    await on.raise({ ...other, title: "Reply to Cid" });
    await on.raise({ ...other, state: "resolved", reason: "answered" });
    await on.settle();
    await on.advance(HOUR + MINUTE);
    await on.crash();
    await on.settle();
    expect(on.posted(OPS)).toHaveLength(1);
    expect(on.posted(OPS)[0]?.text).toMatch(
      /Morning: 1 open[\s\S]*Bob waits 2 h for a first response \(target 1 h\).*“Where is it\?”[\s\S]*2 raised, 1 ended/,
    );
  });

  it("a heartbeat in a chat is one message that is kept up to date", async () => {
    const on = await watch({ heartbeat: { every: "5m", to: OPS } });
    await on.settle();
    await on.advance(20 * MINUTE);
    expect(on.posted(OPS)).toHaveLength(1);
    expect(on.posted(OPS)[0]?.edits).toBeGreaterThan(2);
  });

  it("a heartbeat at an address that does not take it is an alert", async () => {
    const { url, taken } = await webhook(500);
    const on = await watch({ heartbeat: { every: "5m", to: url } });
    for (let beat = 1; beat <= 3; beat++) {
      await until(() => taken.length === beat, "a heartbeat");
      await on.settle();
      await on.clock.advance(5 * MINUTE);
    }
    await until(
      () => on.posted(ADMINS).some(({ text }) => text.includes("heartbeat of alerts is not taken")),
      "the alert",
    );
  });
});

describe("the gateway about itself", () => {
  it("tells admins of messages that wait for an operator, and when none is left", async () => {
    const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
    platform.script = (operation) =>
      operation.address.chatId === "room" ? { kind: "permanent", error: "no such chat" } : undefined;
    const on = await watch({ watch_gateway: { undelivered_after: "1m", offline_after: "2m" } }, platform);
    const at = { platform: "loop", botId: "bot", chatId: "room" };
    await on.rig.gateway.send(at, { text: "hello" }, { cause: { kind: "api", id: "x", depth: 0 } });
    await on.advance(3 * MINUTE);
    expect(on.posted(ADMINS)[0]?.text).toMatch(/Messages wait for an operator[\s\S]*1 given up/);
    await on.rig.store.outbox.purge({ status: "dead" });
    await on.advance(3 * MINUTE);
    expect(on.posted(ADMINS)).toHaveLength(1);
    expect(on.posted(ADMINS)[0]?.text).toContain("none is left");
  });
});

const PAGES_OLGA = {
  watch_gateway: { undelivered_after: "1m", offline_after: "2m" },
  routes: {
    default: { to: [ROOM], remind: { times: 0 }, escalate: [{ after: "1m", to: [OPS], mention: ["loop:7"] }] },
  },
  people: { Olga: ["loop:7"] },
  fallback: [ADMINS],
};

it("names the pages among the messages that wait for an operator: whom they called, about what, where", async () => {
  const platform = new LoopbackPlatform("loop", { idempotentCreate: true });
  platform.script = ({ address, ...operation }) =>
    address.chatId === "ops" && JSON.stringify(operation).includes("Escalated")
      ? { kind: "permanent", error: "no such chat" }
      : undefined;
  const on = await watch(PAGES_OLGA, platform);
  const { id } = await on.raise();
  await on.advance(5 * MINUTE);
  const letters = on.posted(ROOM).find(({ text }) => text.includes("Messages wait for an operator"));
  expect(letters?.text).toMatch(/1 given up, since <t:\d+:f/);
  expect(letters?.text.replaceAll("\\", "")).toContain(
    `Not delivered: the page of step 1 to Olga about "Reply to Bob" (${OPS}, ${id})`,
  );
});

it("tells the pages of two steps apart, and copies from pages", async () => {
  const platform = new LoopbackPlatform("loop");
  platform.script = (operation) => {
    if (operation.kind !== "create" || !operation.part.text.includes("Reply to Bob")) return undefined;
    const isLost = operation.part.text.includes("Escalated") && operation.address.chatId !== "room";
    return isLost ? { kind: "ambiguous", error: "502 Bad Gateway" } : undefined;
  };
  const escalate = ["1m", "2m"].map((after) => ({ after, to: [OPS], mention: ["loop:7"] }));
  const on = await watch(
    { ...PAGES_OLGA, routes: { default: { to: [ROOM], remind: { times: 0 }, escalate } } },
    platform,
  );
  const { id } = await on.raise();
  await on.advance(6 * MINUTE);
  const letters = on.posted().find(({ text }) => text.includes("Messages wait for an operator"));
  const pages = letters?.text.match(/(a copy of )?the page of step \d to Olga about "Reply to Bob" \([^,]+/g) ?? [];
  expect(new Set(pages).size).toBe(pages.length);
  expect(pages).toEqual(
    expect.arrayContaining([
      `the page of step 2 to Olga about "Reply to Bob" (${OPS}`,
      `a copy of the page of step 2 to Olga about "Reply to Bob" (${ADMINS}`,
    ]),
  );
  expect(letters?.text.replaceAll("\\", "")).toContain(id);
});

it("of a page of which nobody knows whether it arrived, says no more than that", async () => {
  const platform = new LoopbackPlatform("loop");
  let lost = 0;
  platform.script = ({ address, ...operation }) =>
    address.chatId === "ops" && JSON.stringify(operation).includes("Escalated") && lost++ === 0
      ? { kind: "lost" }
      : undefined;
  const on = await watch(PAGES_OLGA, platform);
  const { id } = await on.raise();
  await on.advance(5 * MINUTE);
  const said = [...on.posted(ADMINS), ...on.posted()].map(({ text }) => text.replaceAll("\\", ""));
  expect(said.join()).toContain(`(it may not have arrived at ${OPS})`);
  expect(said.join()).toContain(
    `Not delivered: the page of step 1 to Olga about "Reply to Bob" (${OPS}, ${id}), which may have arrived`,
  );
  expect(said.join()).not.toContain("it did not arrive");
  expect(said.join()).not.toContain("do not reach");
});

describe("in quiet hours", () => {
  it("no reminder is used up: they come after the end", async () => {
    const on = await watch({
      ...route({ remind: { every: "10m", times: 2 } }),
      destinations: { [ROOM]: { quiet: { from: "10:05", to: "12:00", timezone: "UTC" } } },
    });
    await on.raise();
    await on.advance(2 * HOUR + MINUTE);
    expect(on.posted()).toHaveLength(1);
    await on.advance(30 * MINUTE);
    const said = on.posted().flatMap(({ text }) => /reminder \d of \d/.exec(text)?.[0] ?? []);
    expect(said.slice(-2)).toEqual(["reminder 1 of 2", "reminder 2 of 2"]);
  });

  it("an escalation of what is not severe waits for their end, and is dropped when the alert is over by then", async () => {
    const on = await watch({
      ...route({ escalate: [{ to: [OPS] }] }),
      destinations: { [OPS]: { quiet: { from: "09:00", to: "12:00", timezone: "UTC" } } },
    });
    await on.raise({ fingerprint: "a", title: "Reply to a" });
    await on.raise({ fingerprint: "b", title: "Reply to b" });
    await on.advance(HOUR);
    expect(on.posted(OPS)).toEqual([]);
    await on.raise({ fingerprint: "a", title: "Reply to a", state: "resolved", reason: "answered" });
    await on.advance(HOUR + MINUTE);
    const said = on.posted(OPS).filter(({ text }) => text.includes("Escalated") && !/(No owner|Owner:)/.test(text));
    expect(said).toHaveLength(1);
    expect(said[0]?.text).toContain("Reply to b");
  });

  const quiet = { quiet: { from: "09:00", to: "12:00", timezone: "UTC" } };
  const escalated = (on: Watch, at: string) =>
    on.posted(at).filter(({ text }) => text.includes("Escalated: step") && !text.includes("Owner:"));

  it("a page that a person asks for is posted at once with the card; those that come by themselves wait", async () => {
    const steps = [
      { after: "30m", mention: ["loop:7"] },
      { after: "40m", mention: ["loop:8"] },
      { after: "50m", to: [OPS] },
    ];
    const on = await watch({ ...route({ escalate: steps }), destinations: { [ROOM]: quiet, [OPS]: quiet } });
    const { id } = await on.raise();
    expect(on.posted()).toEqual([]);
    const { note } = await on.alerts.act(id, { kind: "escalate" }, ANN);
    expect(note).toBe("Step 1 of 3 (loop:7).");
    await on.advance(MINUTE);
    expect(on.posted()).toHaveLength(2);
    expect(escalated(on, ROOM).map(({ text }) => text)).toEqual([expect.stringMatching(/<@7[\s\S]*step 1 of 3/)]);
    expect(escalated(on, ROOM)[0]?.text).not.toContain("quiet hours");
    await on.advance(45 * MINUTE);
    expect(on.posted()).toHaveLength(2);
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.advance(MINUTE);
    expect(escalated(on, OPS)).toHaveLength(1);
    expect(on.posted(OPS)).toHaveLength(2);
    await on.advance(2 * HOUR);
    expect(escalated(on, ROOM).map(({ text }) => /step \d/.exec(text)?.[0])).toEqual(["step 1", "step 2"]);
    expect(on.posted().filter(({ text }) => text.includes("🌙"))).toEqual([]);
  });

  it("a page that a person asks for and its chat refuses is posted elsewhere at once", async () => {
    const on = await watch({
      ...route({ escalate: [{ after: "30m", mention: ["loop:7"] }] }),
      fallback: [OPS],
      destinations: { [ROOM]: quiet, [OPS]: quiet },
    });
    const { id } = await on.raise();
    on.platform.script = ({ address: { chatId } }) =>
      chatId === "room" ? { kind: "permanent", error: "no access" } : undefined;
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.advance(MINUTE);
    expect(escalated(on, OPS)).toHaveLength(1);
  });
});

describe("killed right after something was handed to the outbox", () => {
  const config = route({ escalate: [{ after: "5m", mention: ["loop:7"] }] });

  it("a card is posted once, and shows what happened meanwhile", async () => {
    const on = await watch(config);
    on.cut();
    await on.raise();
    await on.raise({ reason: "it is worse now" });
    await on.crash();
    await on.advance(10_000);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.text).toContain("it is worse now");
  });

  it("a change of a card is made once", async () => {
    const on = await watch(config);
    const { id } = await on.raise();
    on.cut();
    await on.alerts.act(id, { kind: "ack" }, ANN);
    await on.advance(2_000);
    await on.crash();
    await on.advance(10_000);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted()[0]?.edits).toBe(1);
  });

  it("an escalation is said once, with whatever else fell due since", async () => {
    const on = await watch(config);
    await on.raise({ fingerprint: "a", title: "Reply to a" });
    await on.advance(4 * MINUTE);
    on.cut(/Escalated/);
    await on.advance(60_500);
    await on.raise({ fingerprint: "b", title: "Reply to b" });
    await on.crash(6 * MINUTE);
    await on.advance(10_000);
    const said = on.posted().filter(({ text }) => text.includes("Escalated") && !/(No owner|Owner:)/.test(text));
    expect(said.map(({ text }) => /Reply to \w/.exec(text)?.[0]).sort()).toEqual(["Reply to a", "Reply to b"]);
  });
});
