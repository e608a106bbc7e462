/**
 * Alerts about the gateway itself: a platform that stays away, a damaged database, messages that could not be delivered and wait for an
 * operator, new messages that are held back.
 */
import type { Alert } from "../../domain/alerts/alert.js";
import { parseAddress } from "../../domain/chat/address.js";
import type { Store } from "../../domain/store.js";
import type { AlertsConfig } from "../config.js";
import { reopenWithinOf, stepsEndOf } from "../steps/route.js";
import { type LostMessages, lostMessages } from "../tell/pages/lost-messages.js";
import type { Telling } from "../tell/telling.js";

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
  status(): Promise<GatewayFacts>;
  store: Pick<Store, "inbox" | "outbox">;
}

const CHECK_EVERY_MS = 30_000;
const MIN_CHECK_MS = 1_000;
/** The last step is taken by then. */
const STEP_MS = 60_000;

export class GatewayWatch {
  readonly #telling: Telling;
  readonly #deps: Deps;
  /** When messages that wait for an operator were first seen; undefined while there are none. */
  #undeliveredSince: number | undefined;

  constructor(telling: Telling, deps: Deps) {
    this.#telling = telling;
    this.#deps = deps;
  }

  async processDue(): Promise<number> {
    const facts = await this.#deps.status();
    await this.#checkStore(facts.store);
    for (const adapter of facts.adapters) await this.#checkPlatform(adapter);
    await this.#checkLetters(facts);
    await this.#checkInbound(facts);
    const { offline_after, undelivered_after } = this.#config;
    const soonest = Math.min(offline_after, undelivered_after) / 2;
    return this.#telling.clock.now() + Math.min(CHECK_EVERY_MS, Math.max(MIN_CHECK_MS, soonest));
  }

  /** The current one: a reload changes it. */
  get #config(): AlertsConfig["watch_gateway"] {
    return this.#telling.config.watch_gateway;
  }

  async #checkPlatform(facts: GatewayFacts["adapters"][number]): Promise<void> {
    const { platform, phase, since, awaySince = since, reason } = facts;
    if (phase === "off") return;
    // Each attempt to connect is a phase of its own.
    const awayMs = this.#telling.clock.now() - awaySince;
    const isAway = phase !== "online";
    if (isAway && awayMs < this.#config.offline_after) return;
    await this.#telling.raiseOwn({
      fingerprint: `gateway:platform:${platform}`,
      state: isAway ? "firing" : "resolved",
      severity: "high",
      title: `${platform} is away`,
      reason: isAway ? `${phase}${reason ? `: ${reason}` : ""}` : "it is online again",
      source: { kind: "gateway", id: platform },
      labels: { kind: "platform", platform },
    });
  }

  async #checkLetters({ outbox, inbox }: GatewayFacts): Promise<void> {
    const { clock, store, raiseOwn } = this.#telling;
    const now = clock.now();
    const count = outbox.dead + outbox.held + inbox.dead;
    if (count === 0) this.#undeliveredSince = undefined;
    else this.#undeliveredSince ??= now;
    if (this.#undeliveredSince !== undefined && now - this.#undeliveredSince < this.#config.undelivered_after) return;
    const counts = [
      outbox.dead > 0 && `${outbox.dead} given up`,
      outbox.held > 0 && `${outbox.held} held`,
      inbox.dead > 0 && `${inbox.dead} not handled`,
    ].filter((part) => part !== false);
    const nothing: LostMessages = { sentences: [], answered: 0, newestAt: 0 };
    const lost = count > 0 ? await lostMessages(this.#telling, this.#deps.store) : nothing;
    const waiting = `${counts.join(", ")}${sinceOf(lost, count)}`;
    const signal = {
      fingerprint: "gateway:letters",
      // A page that others got in place of it, or whose alert an operator has, is no reason to page people.
      state: count === 0 ? ("resolved" as const) : count > lost.answered ? ("firing" as const) : ("warned" as const),
      severity: "warning" as const,
      title: "Messages wait for an operator",
      reason: count === 0 ? "none is left" : [waiting, ...lost.sentences].join(". "),
      source: { kind: "gateway" as const, id: "outbox" },
      runbook: "/outbox list",
      labels: { kind: "letters" },
    };
    const known = await store.latest(signal.fingerprint);
    // New work: an alert that an operator has, or whose steps are done, would call no one for it. One that a rule keeps quiet stays so.
    const isMore = known !== undefined && signal.state === "firing" && isMoreDue(known, lost.newestAt, this.#telling);
    if (isMore) await raiseOwn({ ...signal, state: "resolved", reason: "more messages wait: a new alert follows" });
    await raiseOwn(isMore ? { ...signal, isMore } : signal);
  }

  async #checkInbound({ heldBack }: GatewayFacts): Promise<void> {
    if (heldBack && heldBack.forMs < this.#config.undelivered_after) return;
    const most = heldBack?.most;
    await this.#telling.raiseOwn({
      fingerprint: "gateway:inbound",
      state: heldBack ? "firing" : "resolved",
      severity: "high",
      title: "New messages are held back",
      reason: heldBack
        ? `${heldBack.unfinished} messages wait to be handled${most ? `, ${most.messages} of them in ${this.#nameOf(most.conversation)}` : ""}; new ones wait on their platforms until some are handled`
        : "new messages are taken again",
      source: { kind: "gateway", id: "inbox" },
      runbook: "/status",
      labels: { kind: "inbound" },
    });
  }

  #nameOf(conversation: string): string {
    const at = parseAddress(conversation);
    return (at && this.#telling.placeName?.(at)) ?? conversation;
  }

  async #checkStore({ problem }: GatewayFacts["store"]): Promise<void> {
    await this.#telling.raiseOwn({
      fingerprint: "gateway:store",
      state: problem ? "firing" : "resolved",
      severity: "critical",
      title: "The database is damaged",
      reason: problem ? `${problem.message}. ${problem.hint ?? ""}`.trim() : "no damage is known",
      source: { kind: "gateway", id: "store" },
      labels: { kind: "store" },
    });
  }
}

/**
 * Messages were lost after this alert was raised, and people are called again for them: not while its steps are taken, and not sooner than
 * an alert that comes back keeps its card. `newestAt`: when the last message was given up.
 */
function isMoreDue(known: Alert, newestAt: number, telling: Telling): boolean {
  const { state, signal } = known;
  if (signal.state !== "firing" || (state !== "firing" && state !== "acked" && state !== "snoozed")) return false;
  const stepsMs = state === "firing" ? stepsEndOf(known, telling) + STEP_MS : 0;
  const waitMs = Math.max(reopenWithinOf(known, telling), stepsMs);
  return newestAt > signal.at && telling.clock.now() - signal.at >= waitMs;
}

/** A time and no length, which would be wrong an hour later. */
function sinceOf({ oldestAt }: LostMessages, count: number): string {
  if (oldestAt === undefined || !Number.isFinite(oldestAt)) return "";
  return `, ${count === 1 ? "since" : "the oldest since"} ${new Date(oldestAt).toISOString()}`;
}
