/** The table of transitions, under any order of what people and sources do: each step holds once, and the history is a chain. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { act, type PersonAction } from "../../src/alerts/act.js";
import { Plan } from "../../src/alerts/plan.js";
import { type Happening, stateAfter, TRANSITIONS } from "../../src/alerts/transitions.js";
import { ALERT_STATES, type Alert, type AlertEvent, isOpen } from "../../src/domain/alerts/alert.js";
import { ANN, HOUR, START, signal } from "./watch.js";

const begun = (changes: Partial<Alert> = {}): Alert => ({
  id: "al_1",
  fingerprint: "f",
  episode: 1,
  state: "firing",
  condition: "firing",
  severity: "high",
  signal: signal(),
  raisedAt: START,
  since: START,
  notes: [],
  reminders: 0,
  steps: 0,
  confirmedAt: START,
  version: 1,
  ...changes,
});

const action: fc.Arbitrary<PersonAction> = fc.oneof(
  fc.constant<PersonAction>({ kind: "ack" }),
  fc.constant<PersonAction>({ kind: "ack", assign: true }),
  fc.integer({ min: 1, max: 3 }).map((hours): PersonAction => ({ kind: "snooze", until: START + hours * HOUR })),
  fc.constant<PersonAction>({ kind: "wake" }),
  fc.constant<PersonAction>({ kind: "assign" }),
  fc.constant<PersonAction>({ kind: "resolve", reason: "done" }),
);

function done(alert: Alert, one: PersonAction): { alert: Alert; events: AlertEvent[] } {
  const plan = new Plan(alert, { now: START, knownPlaces: [], isNew: false });
  act(plan, one, ANN, HOUR);
  plan.change();
  return { alert: plan.alert, events: plan.events };
}

describe("what people do", () => {
  it("holds once: the same again changes nothing, in any order of actions", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 12 }), (actions) => {
        let alert = begun();
        for (const one of actions) {
          alert = done(alert, one).alert;
          const again = done(alert, one);
          expect(again.events).toEqual([]);
          expect({ ...again.alert, version: 0 }).toEqual({ ...alert, version: 0 });
        }
      }),
    );
  });

  it("is a chain in the history: each event begins in the state in which the last one ended", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 12 }), (actions) => {
        let alert = begun();
        for (const one of actions) {
          const { events, alert: next } = done(alert, one);
          let state = alert.state;
          for (const event of events) {
            expect(event.from).toBe(state);
            state = event.to;
          }
          expect(next.state).toBe(state);
          alert = next;
        }
      }),
    );
  });
});

describe("the table", () => {
  it("leads from what is over only to firing, when it broke after all or its policy is back, and everywhere else only to states that are", () => {
    for (const happening of Object.keys(TRANSITIONS) as Happening[])
      for (const state of ALERT_STATES) {
        const next = stateAfter(begun({ state }), happening);
        const isBack = happening === "reopen" || (happening === "resume" && state === "resolved");
        if (!isOpen(state)) expect([happening, state, next]).toEqual([happening, state, isBack ? "firing" : undefined]);
        if (next !== undefined) expect(ALERT_STATES).toContain(next);
      }
  });

  it("leads back to what still holds: an acknowledgement, a snooze, else what the source says", () => {
    const ack = { by: "Ann", at: START };
    const snooze = { by: "Ann", at: START, until: START + HOUR };
    expect(stateAfter(begun({ state: "silenced", ack }), "unsilence")).toBe("acked");
    expect(stateAfter(begun({ state: "silenced", snooze }), "unsilence")).toBe("snoozed");
    expect(stateAfter(begun({ state: "inhibited", condition: "warned" }), "release")).toBe("warned");
  });
});
