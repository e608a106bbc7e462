/** The queries and actions of commands, the console and reports on SLA clocks. */
import type { SlaAnnouncement, SlaClock, SlaFilter, SlaStore } from "../../domain/alerts/sla.js";
import type { Clock } from "../../lib/time/clock.js";
import { type ClockView, describe, type PolicyView, viewOf } from "./desk-views.js";
import { type Extension, standOf } from "./extend.js";
import type { Policy } from "./policies/policies.js";
import { type Attainment, attainmentOf } from "./report.js";

export interface SlaDesk {
  list(filter: SlaFilter): Promise<{ clocks: ClockView[]; total: number }>;
  /** By the clock's id, the beginning of that id, or the id or the name of its entity. */
  find(id: string): Promise<ClockView[]>;
  announcements(clockId: string): Promise<SlaAnnouncement[]>;
  policies(): Promise<PolicyView[]>;
  report(fromMs: number, toMs: number): Promise<Attainment[]>;
  /** More time for the entity of an open clock. Undefined when there is none. Throws SLA_MOVED, SLA_NOT_LATER, SLA_PAUSED. */
  extend(clockId: string, extension: Extension): Promise<ClockView | undefined>;
  /** People's extension of the clock so far; goes into buttons as `was`. */
  standOf(clock: SlaClock): number;
  /** The desired share of met targets, 0 to 1. */
  goal(): number;
  /** Ends a conversation, as answered. False when it is not open. */
  close(caseId: string, by: string): Promise<boolean>;
  /** An operator takes a conversation. False when it is not open. */
  claim(caseId: string, by: string): Promise<boolean>;
}

export interface DeskDeps {
  store: SlaStore;
  policies(): readonly Policy[];
  extend(clock: SlaClock, extension: Extension): Promise<SlaClock>;
  goal: SlaDesk["goal"];
  close: SlaDesk["close"];
  claim: SlaDesk["claim"];
  clock: Clock;
}

/** The limit of open clocks that are searched for a name. */
const NAMED = 1_000;

export function createDesk({ store, policies, extend, goal, close, claim, clock }: DeskDeps): SlaDesk {
  const view = (one: SlaClock) =>
    viewOf(
      one,
      policies().find(({ id }) => id === one.policyId),
      clock.now(),
    );
  /** Open clocks of entities with this name, or with these words in their name. */
  async function byTitle(words: string): Promise<SlaClock[]> {
    const wanted = words.trim().toLowerCase();
    if (wanted === "") return [];
    const open = await store.list({ state: "open", limit: NAMED });
    const named = open.filter(({ entity }) => entity.title.toLowerCase() === wanted);
    return named.length > 0 ? named : open.filter(({ entity }) => entity.title.toLowerCase().includes(wanted));
  }

  return {
    async list(filter) {
      const [clocks, total] = await Promise.all([store.list(filter), store.count(filter)]);
      return { clocks: clocks.map(view), total };
    },
    async find(id) {
      const exact = await store.get(id);
      if (exact) return [view(exact)];
      const [open, ended] = await Promise.all(
        (["open", "ended"] as const).map((state) => store.list({ entityId: id, state, limit: 20 })),
      );
      const found = [...(open ?? []), ...(ended ?? [])];
      return (found.length > 0 ? found : await byTitle(id)).map(view);
    },
    announcements: (clockId) => store.announcements(clockId),
    policies: () =>
      Promise.all(
        policies().map(async (policy) => ({
          ...describe(policy),
          open: await store.count({ policyId: policy.id, state: "open" }),
          overdue: await store.count({ policyId: policy.id, state: "overdue" }),
        })),
      ),
    report: (fromMs, toMs) => attainmentOf(store, policies(), fromMs, toMs),
    async extend(clockId, extension) {
      const found = await store.get(clockId);
      if (!found || found.state === "ended") return undefined;
      return view(await extend(found, extension));
    },
    standOf,
    goal,
    close,
    claim,
  };
}
