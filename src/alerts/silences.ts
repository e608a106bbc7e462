/** The rules that keep alerts quiet: silences that people set, and maintenance windows of the configuration. */
import type { Actor, AlertStore, Silence } from "../domain/alerts/alert.js";
import { HookgateError } from "../lib/errors.js";
import { newId } from "../lib/id.js";
import { nextCron } from "../lib/time/cron.js";
import { parseInstant } from "../lib/time/instant.js";
import { localTimezone } from "../lib/time/timezone.js";
import type { WindowConfig } from "./config.js";
import { type Labels, type Matcher, parseMatchers, policyOf } from "./matchers.js";

export interface InForce {
  id: string;
  comment: string;
  until: number;
  /** The person who set it; absent for a maintenance window. */
  by?: string;
  /** The silence is about all alerts of this policy, and nothing else. */
  mutes?: string;
}

/** A maintenance window that is in force, or that starts later. */
export interface MaintenanceWindow {
  matchers: readonly string[];
  comment: string;
  /** The end of the window in force; absent while none is in force. */
  until?: number;
  /** The next start; absent when there is none, or while the window is in force. */
  next?: number;
}

export interface Silences {
  load(): Promise<void>;
  /** Other maintenance windows, computed now and in force once the result is called. */
  prepare(windows: readonly WindowConfig[]): () => void;
  /** The silence or window that keeps an alert with these labels quiet now. */
  find(labels: Labels, now: number): InForce | undefined;
  /** The time when the next silence or window starts or ends. */
  nextChange(now: number): number | undefined;
  list(): readonly Silence[];
  /** Windows of the configuration that are in force or still to come. */
  maintenance(now: number): MaintenanceWindow[];
  add(
    silence: { matchers: readonly string[]; until: number; comment: string; by: Actor },
    now: number,
  ): Promise<Silence>;
  /** Undefined for an unknown silence; unchanged when it has ended already. */
  expire(id: string, now: number): Promise<Silence | undefined>;
}

interface Rule {
  silence: Silence;
  matches: Matcher;
}

export function createSilences(
  store: Pick<AlertStore, "silences" | "saveSilence">,
  windows: readonly WindowConfig[],
): Silences {
  let rules: Rule[] = [];
  let maintenance = parseWindows(windows);
  const remember = (silence: Silence) => {
    rules = [ruleOf(silence), ...rules.filter((one) => one.silence.id !== silence.id)];
  };
  return {
    async load() {
      rules = (await store.silences()).map(ruleOf);
    },
    prepare(given) {
      const next = parseWindows(given);
      return () => {
        maintenance = next;
      };
    },
    find(labels, now) {
      for (const { silence, matches } of rules)
        if (isInForce(silence, now) && matches(labels)) return inForceOf(silence);
      for (const { id, comment, matches, untilOf } of maintenance) {
        const until = untilOf(now);
        if (until !== undefined && matches(labels)) return { id, comment, until };
      }
      return undefined;
    },
    nextChange(now) {
      const edges = [
        ...rules
          .filter(({ silence }) => silence.endedAt === undefined)
          .flatMap(({ silence }) => [silence.from, silence.until]),
        ...maintenance.flatMap(({ untilOf, nextOf }) => [untilOf(now), nextOf(now)]),
      ].filter((at): at is number => at !== undefined && at > now);
      return edges.length === 0 ? undefined : Math.min(...edges);
    },
    list: () => rules.map(({ silence }) => silence),
    maintenance: (now) =>
      maintenance
        .map(({ matchers, comment, untilOf, nextOf }) => {
          const until = untilOf(now);
          return { matchers, comment, until, next: until === undefined ? nextOf(now) : undefined };
        })
        .filter(({ until, next }) => until !== undefined || next !== undefined),
    async add({ matchers, until, comment, by }, now) {
      if (matchers.length === 0)
        throw new HookgateError({
          code: "BAD_MATCHER",
          message: "A silence needs at least one matcher, such as policy=replies.",
        });
      parseMatchers(matchers);
      const silence: Silence = { id: newId("si", now), matchers: [...matchers], from: now, until, comment, by };
      await store.saveSilence(silence);
      remember(silence);
      return silence;
    },
    async expire(id, now) {
      const found = rules.find(({ silence }) => silence.id === id)?.silence;
      if (!found || !isInForce(found, now)) return found;
      const ended = { ...found, endedAt: now };
      await store.saveSilence(ended);
      remember(ended);
      return ended;
    },
  };
}

const parseWindows = (windows: readonly WindowConfig[]) =>
  windows.map((window, index) => ({
    ...windowOf(window, index),
    matchers: window.match,
    matches: parseMatchers(window.match),
  }));

const ruleOf = (silence: Silence): Rule => ({ silence, matches: parseMatchers(silence.matchers) });

export function isInForce({ from, until, endedAt }: Silence, now: number): boolean {
  return endedAt === undefined && from <= now && now < until;
}

function inForceOf({ id, comment, until, by, matchers: [first = "", ...more] }: Silence): InForce {
  const muted = more.length === 0 ? policyOf(first) : undefined;
  return { id, comment, until, by: by.name, mutes: muted };
}

/** `untilOf`: the end of the window that contains now. `nextOf`: the next start. */
function windowOf(
  { comment, from = "", until = "", cron, for: lasting = 0, timezone = localTimezone() }: WindowConfig,
  index: number,
) {
  const id = `maintenance:${index + 1}`;
  if (cron === undefined) {
    // Checked by the schema.
    const begins = parseInstant(from, timezone) ?? 0;
    const ends = parseInstant(until, timezone) ?? 0;
    return {
      id,
      comment,
      untilOf: (now: number) => (begins <= now && now < ends ? ends : undefined),
      nextOf: (now: number) => (begins > now ? begins : undefined),
    };
  }
  const next = (at: number) => nextCron({ cron, timezone }, at);
  return {
    id,
    comment,
    /** The end of the last window that started at most its length ago; windows that overlap are one. */
    untilOf(now: number) {
      let begun: number | undefined;
      for (let at = next(now - lasting); at !== undefined && at <= now; at = next(at)) begun = at;
      return begun === undefined ? undefined : begun + lasting;
    },
    nextOf: next,
  };
}
