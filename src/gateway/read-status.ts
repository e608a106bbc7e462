/** Reads the status that `status.ts` describes from the parts of the gateway. */
import { formatAddress, parseAddress } from "../domain/chat/address.js";
import { readQueue } from "../domain/deliveries/outbox-queue.js";
import type { Pause } from "../domain/store.js";
import { formatDuration, MINUTE_MS } from "../lib/time/duration.js";
import type { Conversations } from "./conversations.js";
import type { Deps } from "./deps.js";
import type { Parking } from "./outbound/parking.js";
import type { Outbound } from "./outbound/sending.js";
import type { Ignored } from "./people/ignored.js";
import { listeningOf } from "./people/listening.js";
import type { Pressure } from "./pressure.js";
import type { AdapterStatus, GatewayStatus, Turns } from "./status.js";

export interface StatusSources extends Pick<Deps, "store" | "adapters" | "access" | "clock" | "config"> {
  isRunning: boolean;
  /** Undefined before the start. */
  outbound: Pick<Outbound, "pauses" | "outages" | "limiter"> | undefined;
  conversations: Conversations;
  parking: Parking;
  pressure: Pressure;
  ignored: Ignored;
  turns: Turns | undefined;
  /** How many people with a role a platform has. */
  peopleOn(platform: string): number;
}

export async function readStatus(sources: StatusSources): Promise<GatewayStatus> {
  const { store, adapters, access, clock, isRunning, outbound, conversations, parking, ignored, turns, peopleOn } =
    sources;
  const now = clock.now();
  const [inbox, outbox, heldBack] = await Promise.all([
    store.inbox.counts(),
    store.outbox.counts(),
    heldBackOf(sources),
  ]);
  const route = sources.config.default_route;
  const hasRoute = typeof route === "object" && "plugin" in route;
  const pauses = outbound?.pauses;
  const limits = ownLimits(sources);
  const shown = await Promise.all(adapters.status().map((state) => withOutage(state, now, sources)));
  return {
    running: isRunning,
    adapters: shown.map((state) => {
      const pause = pauses?.ofPlatform(state.platform, now);
      return {
        ...state,
        pausedUntil: pause?.until,
        pauseReason: pause?.reason,
        listening: listeningOf(state.platform, access[state.platform], peopleOn(state.platform)),
        conversationsWaiting: parking.waiting(state.platform),
      };
    }),
    inbox,
    outbox,
    heldBack,
    ignored: ignored.counts(),
    lanes: withTurns(conversations.handling, turns),
    turns,
    routed: hasRoute && inbox.running + inbox.deferred > 0 ? await conversations.routed(clock.monotonic()) : [],
    sending: { ...conversations.sending, waiting: conversations.sending.waiting + limits.length },
    pauses: [
      ...(pauses?.lasting(now) ?? []),
      ...limits,
      ...(inbox.deferred > 0 ? await conversations.putOffs(now) : []),
    ],
  };
}

/** Messages that wait for their turn, one per lane. */
function withTurns({ active, waiting }: GatewayStatus["lanes"], turns: Turns | undefined): GatewayStatus["lanes"] {
  const messages = turns?.waiting.filter((id) => id.startsWith("m")).length ?? 0;
  return { active, waiting: waiting + messages };
}

/** Groups in which messages wait for their place in the minute. */
function ownLimits({ outbound, adapters, clock }: StatusSources): Pause[] {
  const nowMs = clock.monotonic();
  return (outbound?.limiter.waiting(nowMs) ?? []).flatMap(({ queue, at }) => {
    const address = parseAddress(readQueue(queue).conversation);
    if (address === undefined) return [];
    const { platform, botId, chatId } = address;
    const perMinute = adapters.get(platform)?.traits.limits.perGroupPerMinute;
    return {
      key: formatAddress({ platform, botId, chatId }),
      until: clock.now() + at - nowMs,
      askedMs: Math.max(MINUTE_MS, at - nowMs),
      reason: `at most ${perMinute} messages a minute go to a group (${platform}.limits.per_group_per_minute); the next one goes then`,
      isOwnLimit: true,
    };
  });
}

/** Changes the state of a platform that is connected and takes no messages. */
async function withOutage<S extends Pick<AdapterStatus, "platform" | "phase" | "reason" | "hint">>(
  state: S,
  now: number,
  { store, outbound }: StatusSources,
): Promise<S> {
  const outage = state.phase === "online" ? outbound?.outages.of(state.platform) : undefined;
  if (!outage) return state;
  const open = await store.outbox.openOf(state.platform);
  const waiting = `${open} ${open === 1 ? "message waits" : "messages wait"}`;
  return {
    ...state,
    reason: `it has taken no messages for ${formatDuration(Math.max(0, now - outage.since))} (${outage.error}); ${waiting}`,
    hint:
      open === 0
        ? "The next message will show whether it takes messages again."
        : "Hookgate tries one message at a time. It sends the others in order when the platform takes messages again.",
  };
}

/** Whether platforms are held back, and which conversation has most of the waiting messages. */
async function heldBackOf({ store, conversations, pressure }: StatusSources): Promise<GatewayStatus["heldBack"]> {
  const { held } = pressure;
  if (!held) return undefined;
  const longest = await store.inbox.longestLane();
  if (!longest) return held;
  const conversation = conversations.laneOf(longest.lane).conversation.address;
  return { ...held, most: { conversation, messages: longest.rows } };
}
