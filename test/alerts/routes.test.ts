/** What holds for an alert that takes several routes, and what its policy says instead of them. */
import { describe, expect, it } from "vitest";
import { openDesk } from "../commands/desk.js";
import { afterTest } from "../support/clean-up.js";
import { ANN, HOUR, MINUTE, OPS, ROOM, START, type Watch, watch } from "./watch.js";

const BOSS = "loop:bot:boss";
/** In messages that are no cards. */
const said = (texts: readonly { text: string }[], part: RegExp) =>
  texts.flatMap(({ text }) => (text.includes("Severity") ? [] : (part.exec(text)?.[0] ?? [])));

describe("an alert of two routes", () => {
  const config = {
    routes: {
      desk: {
        match: ["queue=support"],
        to: [ROOM],
        remind: { every: "10m", times: 2 },
        escalate: [
          { after: "25m", mention: ["ann"] },
          { after: "40m", to: [OPS] },
        ],
        buttons: ["ack", "escalate"],
      },
      boss: {
        match: ["severity=high"],
        to: [BOSS, ROOM],
        remind: { every: "20m", times: 1 },
        escalate: [{ after: "25m", mention: ["ann", "ben"] }],
        buttons: ["resolve"],
      },
    },
    people: { ann: ["loop:7"], ben: ["loop:8"] },
  };

  it("is reminded of and escalated by each in its own way; a chat of both hears it once and calls nobody twice", async () => {
    const on = await watch(config);
    const { id } = await on.raise();
    await on.advance(24 * MINUTE);
    expect(said(on.posted(), /reminder \d of \d/)).toEqual(["reminder 1 of 2", "reminder 2 of 2"]);
    expect(said(on.posted(BOSS), /reminder \d of \d/)).toEqual(["reminder 1 of 1"]);
    await on.advance(2 * MINUTE);
    const calls = on.posted().filter(({ text }) => text.includes("Escalated") && !text.includes("Severity"));
    expect(calls).toHaveLength(1);
    expect(calls[0]?.text).toMatch(/step 1 of 2 of desk[\s\S]*step 1 of 1 of boss/);
    expect(calls[0]?.body.mentions).toEqual({ users: ["7", "8"] });
    expect(on.posted(BOSS).at(-1)?.text).toMatch(/^<@7\|ann> <@8\|ben> [\s\S]*step 1 of 1 of boss[\s\S]*last step/);
    await on.advance(15 * MINUTE);
    expect(on.posted(OPS).at(-1)?.text).toMatch(/step 2 of 2 of desk[\s\S]*last step/);
    // Each card says what its own route does, and has its buttons.
    const labels = (place: string) => JSON.stringify(on.posted(place)[0]?.body.buttons);
    expect(labels(ROOM)).toContain("Acknowledge");
    expect(labels(BOSS)).toContain("More…");
    expect(labels(BOSS)).not.toContain("Acknowledge");
    await on.alerts.act(id, { kind: "ack" }, ANN);
    const before = on.platform.messages.length;
    await on.advance(HOUR);
    expect(on.platform.messages).toHaveLength(before);
  });

  describe("shows what comes next", () => {
    const calls = (after: string) => ({ after, mention: ["loop:7"] });
    const shown = async (on: Watch, place = ROOM) => {
      await on.advance(3_000);
      return /Next: (.*)/.exec(on.posted(place)[0]?.text ?? "")?.[1];
    };
    const details = async (on: Watch, id: string) =>
      (await on.alerts.details(id, ROOM)).card?.fields?.find(({ name }) => name === "Next")?.value;
    const at = (minutes: number) => `<t:${(START + minutes * MINUTE) / 1_000}:f>`;
    const both = (calm: object, loud: object) => ({
      routes: {
        calm: { match: ["queue=support"], to: [ROOM], remind: { times: 0 }, ...calm },
        loud: { match: ["severity=high"], to: [BOSS], remind: { every: "14m", times: 1 }, ...loud },
      },
    });

    it("of every route in the details, of its own on a card; and says of no route that it is the last while the other calls people", async () => {
      const on = await watch(both({ escalate: [calls("5m")] }, { escalate: [{ reminders: 1 }, calls("20m")] }));
      const { id } = await on.raise();
      expect(await shown(on)).toBe(`escalation step 1 of 1 of calm at ${at(5)}.`);
      const ofLoud = `reminder of loud at ${at(14)}, escalation step 1 of 2 of loud after 1 reminder, escalation step 2 of 2 of loud at ${at(20)}`;
      expect(await shown(on, BOSS)).toBe(`${ofLoud}.`);
      expect(await details(on, id)).toBe(`escalation step 1 of 1 of calm at ${at(5)}, ${ofLoud}.`);
      const desk = await openDesk();
      afterTest(() => desk.close());
      desk.deps.alerts = on.alerts;
      expect((await desk.run("alerts", { action: "show", id })).data).toMatchObject({
        coming: [
          { kind: "step", route: "calm", step: 1, at: START + 5 * MINUTE },
          { kind: "reminder", route: "loud", at: START + 14 * MINUTE },
          { kind: "step", route: "loud", step: 1, reminders: 1 },
          { kind: "step", route: "loud", step: 2, at: START + 20 * MINUTE },
        ],
      });
      await on.advance(6 * MINUTE);
      expect(await shown(on)).toBe("no further escalation of calm.");
      expect(await details(on, id)).toBe(`${ofLoud}, no further escalation of calm.`);
      await on.advance(15 * MINUTE);
      for (const place of [ROOM, BOSS]) expect(await shown(on, place)).toBe("no further escalation.");
      expect(await details(on, id)).toBe("no further escalation.");
    });

    it("of all that lead to its chat, although the first of them has nothing to come", async () => {
      const on = await watch(both({}, { to: [ROOM], escalate: [calls("20m")] }));
      const { id } = await on.raise();
      const next = `reminder of loud at ${at(14)}, escalation step 1 of 1 of loud at ${at(20)}.`;
      expect(await shown(on)).toBe(next);
      expect(await details(on, id)).toBe(next);
    });
  });

  describe("that lead to one chat", () => {
    const every = (minutes: number, times: number) => ({ every: `${minutes}m`, times });
    const twice = { reminders: 2, mention: ["loop:7"] };
    const reminders = (on: Watch, place = ROOM) =>
      said(on.posted(place), /\((reminder [^)]*)\)|Escalated: step \d of \d of \w+/);
    const two = (deploys: object, critical: object) => ({
      routes: {
        deploys: { match: ["queue=support"], to: [ROOM], ...deploys },
        critical: { match: ["severity=high"], to: [ROOM], ...critical },
      },
    });
    const coming = async (on: Watch, id: string) =>
      (await on.alerts.coming(id)).map(
        ({ kind, route, at }) => `${kind} ${route.name} ${Math.round((at - START) / MINUTE)}`,
      );

    it("is reminded of by both in one message, and takes the steps that follow after reminders of each", async () => {
      const on = await watch(two({ remind: every(10, 3) }, { remind: every(10, 3), escalate: [twice] }));
      const { id } = await on.raise();
      const [first, second] = ["deploys", "critical"].map((name) => `reminder ${name}`);
      expect(await coming(on, id)).toEqual([`${first} 10`, `${second} 10`, "counted critical 20"]);
      await on.advance(15 * MINUTE);
      expect(reminders(on)).toEqual(["(reminder 1 of 3 of deploys, reminder 1 of 3 of critical)"]);
      expect(await coming(on, id)).toEqual([`${first} 20`, `${second} 20`, "counted critical 20"]);
      await on.advance(HOUR);
      expect(reminders(on).slice(1)).toEqual([
        "Escalated: step 1 of 1 of critical",
        "(reminder 3 of 3 of deploys, reminder 3 of 3 of critical)",
      ]);
      expect(await coming(on, id)).toEqual([expect.stringMatching(/^end critical/)]);
    });

    it("is reminded of by one after the other has used up its reminders, or while it reminds at other times", async () => {
      const on = await watch(two({ remind: every(10, 2) }, { remind: every(15, 3) }));
      await on.raise();
      await on.advance(2 * HOUR);
      expect(reminders(on)).toEqual([
        "(reminder 1 of 2 of deploys)",
        "(reminder 1 of 3 of critical)",
        "(reminder 2 of 2 of deploys)",
        "(reminder 2 of 3 of critical)",
        "(reminder 3 of 3 of critical)",
      ]);
    });

    it("is reminded of in one message when their times meet, though an earlier reminder was a little late", async () => {
      const on = await watch(two({ remind: every(10, 2) }, { remind: every(20, 1) }));
      await on.raise();
      await on.advance(10 * MINUTE - 2_000);
      await on.crash(5_000);
      for (let n = 0; n < 11; n++) await on.advance(MINUTE);
      expect(reminders(on)).toEqual([
        "(reminder 1 of 2 of deploys)",
        "(reminder 2 of 2 of deploys, reminder 1 of 1 of critical)",
      ]);
    });

    it("because a step of one adds the chat of the other, goes on as the other says", async () => {
      const on = await watch(
        two(
          { remind: every(10, 1), escalate: [{ after: "15m", to: [OPS], mention: ["loop:8"] }] },
          { to: [OPS], remind: every(10, 3), escalate: [twice] },
        ),
      );
      const { id } = await on.raise();
      await on.advance(16 * MINUTE);
      expect(await coming(on, id)).toEqual([
        "reminder critical 20",
        "counted critical 20",
        expect.stringMatching(/^end deploys/),
      ]);
      await on.advance(HOUR);
      expect(reminders(on, OPS)).toEqual([
        "(reminder 1 of 3 of critical)",
        "Escalated: step 1 of 1 of deploys",
        "Escalated: step 1 of 1 of critical",
        "(reminder 3 of 3 of critical)",
      ]);
    });
  });

  it("is told by each when its own hold-down is over", async () => {
    const on = await watch({
      routes: {
        now: { match: ["severity=high"], to: [ROOM] },
        later: { match: ["queue=support"], to: [OPS], hold: "5m", escalate: [{ after: "1m", mention: ["loop:7"] }] },
      },
    });
    await on.raise();
    await on.advance(3 * MINUTE);
    expect(on.posted()).toHaveLength(1);
    expect(on.posted(OPS)).toEqual([]);
    await on.advance(3 * MINUTE);
    expect(on.posted(OPS)[0]?.text).toContain("Reply to Bob");
    expect(said(on.posted(OPS), /Escalated: step 1 of 1 of later/)).toHaveLength(1);
  });

  it("takes the next step of both when somebody presses Escalate", async () => {
    const on = await watch(config);
    const { id } = await on.raise();
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.settle();
    expect(said(on.posted(BOSS), /Escalated: step 1 of 1 of boss/)).toHaveLength(1);
    expect(said(on.posted(), /Escalated: step 1 of 2 of desk/)).toHaveLength(1);
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.settle();
    expect(said(on.posted(OPS), /Escalated: step 2 of 2 of desk/)).toHaveLength(1);
    expect(said(on.posted(BOSS), /Escalated/)).toHaveLength(1);
  });
});

describe("reminders of a policy", () => {
  const remind = { every: "10m", times: 1 };

  it("come as often as it says, whatever its route says; and of others as the route says", async () => {
    const on = await watch(
      { routes: { default: { to: [ROOM], remind } } },
      {
        policy: (id) =>
          id === "quiet"
            ? { remind: { times: 0 } }
            : id === "loud"
              ? { remind: { every: 4 * MINUTE, times: 3 } }
              : undefined,
      },
    );
    for (const policyId of ["quiet", "loud", "usual"])
      await on.raise({ fingerprint: policyId, title: `Late ${policyId}`, source: { kind: "sla", id: "c", policyId } });
    await on.advance(15 * MINUTE);
    const of = (name: string) => said(on.posted(), new RegExp(`Late ${name}[\\s\\S]*reminder \\d of \\d`)).length;
    expect([of("quiet"), of("loud"), of("usual")]).toEqual([0, 3, 1]);
  });
});
