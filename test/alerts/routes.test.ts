/** What holds for an alert that takes several routes, and what its policy says instead of them. */
import { describe, expect, it } from "vitest";
import { ANN, HOUR, MINUTE, OPS, ROOM, watch } from "./watch.js";

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
    expect(said(on.posted(OPS), /step 1 of 1 of later/)).toHaveLength(1);
  });

  it("takes the next step of both when somebody presses Escalate", async () => {
    const on = await watch(config);
    const { id } = await on.raise();
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.settle();
    expect(said(on.posted(BOSS), /step 1 of 1 of boss/)).toHaveLength(1);
    expect(said(on.posted(), /step 1 of 2 of desk/)).toHaveLength(1);
    await on.alerts.act(id, { kind: "escalate" }, ANN);
    await on.settle();
    expect(said(on.posted(OPS), /step 2 of 2 of desk/)).toHaveLength(1);
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
