import fc from "fast-check";
import { expect, it } from "vitest";
import { ALWAYS, type WorkCalendar } from "../../../src/alerts/sla/calendars/calendar.js";
import { calendarConfig } from "../../../src/alerts/sla/calendars/config.js";
import { loadCalendar } from "../../../src/alerts/sla/calendars/load.js";
import { follow } from "../../../src/alerts/sla/clock/follow.js";
import { spanOfWork } from "../../../src/alerts/sla/clock/span.js";
import { slaConfig } from "../../../src/alerts/sla/config.js";
import { createPolicies, type Policy } from "../../../src/alerts/sla/policies/policies.js";
import type { NewAnnouncement, SlaClock } from "../../../src/domain/alerts/sla.js";
import type { WatchedEntity } from "../../../src/domain/alerts/watched.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { at, HOUR, MINUTE, task } from "./rig.js";

const START = at("2026-11-20T08:00:00Z");

interface Life {
  clock: SlaClock | undefined;
  announced: NewAnnouncement[];
}

/** Lives through changes of a task; `attentive`: a look whenever something is due, as when the gateway is up. */
function live(policy: Policy, changes: { minute: number; entity: WatchedEntity }[], attentive: boolean): Life {
  const life: Life = { clock: undefined, announced: [] };
  const look = (entity: WatchedEntity, now: number) => {
    const span = spanOfWork(entity, policy);
    const once = () => span && follow({ known: life.clock, span, policy, entity, now, newId: () => "c_1" });
    const step = once();
    if (!step) return;
    life.clock = step.clock;
    life.announced.push(...step.announced);
    // The same again changes nothing, and says nothing.
    expect(once()).toEqual({ clock: step.clock, announced: [] });
    expect(step.clock.nextAt ?? now + 1).toBeGreaterThan(now);
  };
  let entity = changes[0]?.entity as WatchedEntity;
  for (const change of changes) {
    const until = START + change.minute * MINUTE;
    while (attentive && life.clock?.nextAt !== undefined && life.clock.nextAt < until) look(entity, life.clock.nextAt);
    entity = change.entity;
    look(entity, until);
  }
  return life;
}

it("comes to the same end whether somebody looked all the time or was away between the changes", async () => {
  const office = await loadCalendar(
    "office",
    calendarConfig.parse({ timezone: "Europe/Berlin", hours: { "mon-fri": ["09:00-12:30", "13:30-18:00"] } }),
  );
  const policyOf = (kind: "target" | "deadline", calendar: WorkCalendar) => {
    const config = {
      policies: [
        { id: "p", for: "task", warn_at: ["50%", "30m before"], target: kind === "target" ? "5h" : undefined },
      ],
    };
    const [policy] = createPolicies(slaConfig.parse(config), new Map([["always", ALWAYS]]), { logger: silentLogger });
    return { ...(policy as Policy), calendar };
  };
  fc.assert(
    fc.property(
      fc.constantFrom<["target" | "deadline", WorkCalendar]>(
        ["target", ALWAYS],
        ["target", office],
        ["deadline", office],
      ),
      fc.uniqueArray(fc.integer({ min: 1, max: 4 * 1440 }), { maxLength: 8 }),
      fc.boolean(),
      ([kind, calendar], minutes, isDone) => {
        const policy = policyOf(kind, calendar);
        const base = task({ createdAt: START, deadline: kind === "deadline" ? START + 30 * HOUR : undefined });
        const times = minutes.sort((a, b) => a - b);
        const changes = [
          { minute: 0, entity: base },
          ...times.map((minute, index) => {
            const isLast = index === times.length - 1;
            if (isLast && isDone)
              return { minute, entity: { ...base, status: "done", endedAt: START + minute * MINUTE } };
            return { minute, entity: index % 2 === 0 ? { ...base, pausedFor: "paused" } : base };
          }),
        ];
        const present = live(policy, changes, true);
        const away = live(policy, changes, false);
        const { warned: _p, nextAt: _n, ...known } = present.clock as SlaClock;
        const { warned: _a, nextAt: _m, ...found } = away.clock as SlaClock;
        expect(found).toEqual(known);
        for (const { announced } of [present, away]) {
          expect(new Set(announced.map(({ id }) => id)).size).toBe(announced.length);
          const told = announced.map(({ news, signal }) => news?.status ?? signal.state);
          expect(told.filter((status) => status === "violated").length).toBe(known.violatedAt === undefined ? 0 : 1);
          // Told of the date that held at the end; the outcome keeps an earlier breach.
          if (known.outcome === "met") expect(told).toContain("met");
          else expect(told.includes("met") && known.breachedAt === undefined).toBe(false);
          // Nothing is said after a breach but pauses and the end.
          if (told.includes("violated"))
            expect(
              told.slice(told.indexOf("violated") + 1).every((one) => one === "resolved" || one === "firing"),
            ).toBe(true);
        }
      },
    ),
    { numRuns: 300 },
  );
});
