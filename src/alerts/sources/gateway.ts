/**
 * Alerts about the gateway itself: a platform that stays away, a damaged database, messages that could not be delivered and wait for an
 * operator, new messages that are held back.
 */
import type { AlertSignal } from "../../domain/alerts/alert-signal.js";
import type { Clock } from "../../lib/time/clock.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { AlertsConfig } from "../config.js";

export interface GatewayFacts {
  adapters: readonly {
    platform: string;
    phase: string;
    since: number;
    awaySince?: number | undefined;
    reason?: string;
  }[];
  outbox: { dead: number; held: number };
  inbox: { dead: number };
  heldBack?: { forMs: number; unfinished: number; most?: { conversation: string; messages: number } } | undefined;
  store: { problem: { message: string; hint?: string } | undefined };
}

interface Deps {
  config(): AlertsConfig["watch_gateway"];
  status(): Promise<GatewayFacts>;
  /**
   * The messages that wait for an operator, in sentences; how many of them are pages that call for no one; and when the last of the others
   * was given up (ms since the epoch).
   */
  lostMessages(): Promise<{ sentences: string[]; answered: number; newestAt: number }>;
  nameOf(conversation: string): string;
  /** `newestAt`: when the newest part of the problem began. People are called again for what began after they were called. */
  raiseOwn(signal: Omit<AlertSignal, "episode" | "at">, newestAt?: number): Promise<void>;
  clock: Clock;
}

const CHECK_EVERY_MS = 30_000;
const MIN_CHECK_MS = 1_000;

export function watchGateway({ config, status, lostMessages, nameOf, raiseOwn, clock }: Deps): {
  processDue(): Promise<number>;
} {
  let undeliveredSince: number | undefined;

  async function checkPlatform(facts: GatewayFacts["adapters"][number]): Promise<void> {
    const { platform, phase, since, awaySince = since, reason } = facts;
    if (phase === "off") return;
    // Each attempt to connect is a phase of its own.
    const awayMs = clock.now() - awaySince;
    const isAway = phase !== "online";
    if (isAway && awayMs < config().offline_after) return;
    await raiseOwn({
      fingerprint: `gateway:platform:${platform}`,
      state: isAway ? "firing" : "resolved",
      severity: "high",
      title: `${platform} is away`,
      reason: isAway ? `${phase}${reason ? `: ${reason}` : ""}` : "it is online again",
      source: { kind: "gateway", id: platform },
      labels: { kind: "platform", platform },
    });
  }

  async function checkLetters({ outbox, inbox }: GatewayFacts): Promise<void> {
    const now = clock.now();
    const count = outbox.dead + outbox.held + inbox.dead;
    if (count === 0) undeliveredSince = undefined;
    else undeliveredSince ??= now;
    if (undeliveredSince !== undefined && now - undeliveredSince < config().undelivered_after) return;
    const counts = [
      outbox.dead > 0 && `${outbox.dead} given up`,
      outbox.held > 0 && `${outbox.held} held`,
      inbox.dead > 0 && `${inbox.dead} not handled`,
    ].filter((part) => part !== false);
    const lost = count > 0 ? await lostMessages() : { sentences: [], answered: 0, newestAt: 0 };
    const since = `${counts.join(", ")}, the oldest for more than ${formatDuration(config().undelivered_after)}`;
    const signal = {
      fingerprint: "gateway:letters",
      // A page that others got in place of it, or whose alert an operator has, is no reason to page people.
      state: count === 0 ? ("resolved" as const) : count > lost.answered ? ("firing" as const) : ("warned" as const),
      severity: "warning" as const,
      title: "Messages wait for an operator",
      reason: count === 0 ? "none is left" : [since, ...lost.sentences].join(". "),
      source: { kind: "gateway" as const, id: "outbox" },
      runbook: "/outbox list",
      labels: { kind: "letters" },
    };
    await raiseOwn(signal, lost.newestAt);
  }

  async function checkInbound({ heldBack }: GatewayFacts): Promise<void> {
    if (heldBack && heldBack.forMs < config().undelivered_after) return;
    const most = heldBack?.most;
    await raiseOwn({
      fingerprint: "gateway:inbound",
      state: heldBack ? "firing" : "resolved",
      severity: "high",
      title: "New messages are held back",
      reason: heldBack
        ? `${heldBack.unfinished} messages wait to be handled${most ? `, ${most.messages} of them in ${nameOf(most.conversation)}` : ""}; new ones wait on their platforms until some are handled`
        : "new messages are taken again",
      source: { kind: "gateway", id: "inbox" },
      runbook: "/status",
      labels: { kind: "inbound" },
    });
  }

  async function checkStore({ problem }: GatewayFacts["store"]): Promise<void> {
    await raiseOwn({
      fingerprint: "gateway:store",
      state: problem ? "firing" : "resolved",
      severity: "critical",
      title: "The database is damaged",
      reason: problem ? `${problem.message}. ${problem.hint ?? ""}`.trim() : "no damage is known",
      source: { kind: "gateway", id: "store" },
      labels: { kind: "store" },
    });
  }

  return {
    async processDue() {
      const facts = await status();
      await checkStore(facts.store);
      for (const adapter of facts.adapters) await checkPlatform(adapter);
      await checkLetters(facts);
      await checkInbound(facts);
      const soonest = Math.min(config().offline_after, config().undelivered_after) / 2;
      return clock.now() + Math.min(CHECK_EVERY_MS, Math.max(MIN_CHECK_MS, soonest));
    },
  };
}
