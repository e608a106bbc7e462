/** The queues in `/status`: their length, the kinds of waiting work, and the causes of the wait. */
import type { EventLoad } from "../../src/automations/ingest/ingest.js";
import type { FailingDeliveries, OutboxStore } from "../../src/domain/store.js";
import type { GatewayStatus } from "../../src/gateway/status.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import type { CommandDeps } from "../deps.js";
import { code, count, plain } from "../show/text.js";
import { conversationText } from "../who.js";

interface Queues {
  gateway: GatewayStatus;
  oldestOpen: number | undefined;
  failing: readonly FailingDeliveries[];
  /** Why background runs that are due wait for a place. */
  heldUp: string | undefined;
  now: number;
}

const MAX_IGNORED = 4;
const MAX_HOOKS = 3;
/** A delivery that is open for longer hides something. */
const SLOW_MS = 120_000;
/** A shorter trouble of a platform is common. */
const FAILING_AFTER_MS = 15_000;

export function queueLines(deps: CommandDeps, { gateway, oldestOpen, failing, heldUp, now }: Queues): string {
  const { inbox, outbox, lanes, sending, ignored } = gateway;
  const openMs = oldestOpen === undefined ? 0 : now - oldestOpen;
  const lines = [
    `in: ${inbox.waiting + inbox.running} open, ${inbox.deferred} put off, ${inbox.dead} dead`,
    `out: ${outbox.waiting + outbox.sending} open${openMs < SLOW_MS ? "" : ` (⚠ the oldest for ${formatDuration(openMs)}: ${code("/outbox list waiting")}, ${code("/outbox list sending")})`}, ${outbox.held} held, ${outbox.dead} dead`,
    `now: ${count(lanes.active, "conversation")} handled (${lanes.waiting} waiting), ${sending.active} sent to (${sending.waiting} waiting)`,
  ];
  lines.push(
    ...runLines(deps.automations?.waitingRuns() ?? new Map()),
    ...(heldUp === undefined
      ? []
      : [`⚠ background runs wait for a place: ${plain(heldUp)}. ${code("/runs running")} lists them`]),
    ...(deps.eventLoad?.() ?? []).flatMap(eventLine),
  );
  if (gateway.heldBack) lines.push(heldBackLine(deps, gateway.heldBack));
  lines.push(...failingLines(failing, now));
  if (ignored.length > 0) lines.push(ignoredLine(ignored));
  const lasting = lastingPauses(gateway, now);
  if (lasting.length > 0)
    lines.push(
      `pauses: ${lasting
        .slice(0, 5)
        .map(({ key, until }) => `${conversationText(deps, key)} ${formatDuration(until - now)}`)
        .join(", ")}${lasting.length > 5 ? ` and ${lasting.length - 5} more` : ""} (${code("/pauses")})`,
    );
  return lines.join("\n");
}

/** Names the hooks with most of the waiting runs. */
function runLines(waiting: ReadonlyMap<string, number>): string[] {
  if (waiting.size === 0) return [];
  const most = [...waiting].sort(([, one], [, other]) => other - one);
  const all = most.reduce((sum, [, runs]) => sum + runs, 0);
  const named = most.slice(0, MAX_HOOKS).map(([id, runs]) => `${runs} of ${code(id)}`);
  const more = most.length > MAX_HOOKS ? ` and of ${count(most.length - MAX_HOOKS, "more hook")}` : "";
  return [`runs: ${all} ${all === 1 ? "waits" : "wait"} to be started, ${named.join(", ")}${more}`];
}

export const isRefused = ({ waiting, maxWaiting }: EventLoad): boolean => waiting >= maxWaiting;

function eventLine(load: EventLoad): string[] {
  const { name, waiting, maxWaiting, refused } = load;
  if (!isRefused(load) && refused === 0) return [];
  const since = `${count(refused, "event")} ${code(name)} ${refused === 1 ? "was" : "were"} refused since the start`;
  const setting = code(`events.${name}.max_waiting`);
  if (!isRefused(load)) return [`${since}, because too many waited (${setting} is ${maxWaiting}); ${waiting} wait now`];
  return [
    `⚠ no more events ${code(name)} are taken: ${waiting} wait, and ${setting} is ${maxWaiting}. ${since}; ${code(`/hooks list event:${name}`)} shows the hooks`,
  ];
}

function heldBackLine(deps: CommandDeps, { forMs, unfinished, most }: NonNullable<GatewayStatus["heldBack"]>): string {
  const where = most ? `, ${most.messages} of them in ${conversationText(deps, most.conversation)}` : "";
  return `⚠ new messages are held back for ${formatDuration(forMs)}: ${count(unfinished, "message")} ${unfinished === 1 ? "waits" : "wait"} to be handled${where}. ${code("/runs")} shows which hooks ran lately`;
}

export const lastingPauses = ({ pauses }: GatewayStatus, now: number) => pauses.filter(({ until }) => until > now);

/** The most frequent reason of each platform, then the most frequent of the rest. */
function ignoredLine(ignored: GatewayStatus["ignored"]): string {
  const platforms = new Set(ignored.map(({ platform }) => platform));
  const first = [...platforms].flatMap((name) => ignored.find(({ platform }) => platform === name) ?? []);
  const others = ignored.filter((one) => !first.includes(one));
  const room = Math.max(0, MAX_IGNORED - first.length);
  const more = others.slice(room).reduce((sum, { count: times }) => sum + times, 0);
  const shown = [...first, ...others.slice(0, room)]
    .map(({ platform, reason, count: times }) => `${times} on ${plain(platform)} (${plain(reason, 60)})`)
    .join(", ");
  return `ignored since the start: ${shown}${more === 0 ? "" : ` and ${more} more for other reasons (${code("npx hookgate doctor")} lists them)`}`;
}

export async function failingDeliveries(
  outbox: Pick<OutboxStore, "failing">,
  now: number,
): Promise<FailingDeliveries[]> {
  return (await outbox.failing()).filter(({ since }) => now - since >= FAILING_AFTER_MS);
}

export function failingText(failing: readonly FailingDeliveries[]): string | undefined {
  const all = failing.reduce((sum, { deliveries }) => sum + deliveries, 0);
  return all === 0 ? undefined : `${count(all, "message")} could not be sent in three tries`;
}

const failingLines = (failing: readonly FailingDeliveries[], now: number): string[] =>
  failing.map(
    ({ platform, deliveries, since, reason }) =>
      `⚠ ${plain(platform)}: ${count(deliveries, "message")} could not be sent in three tries, the oldest for ${formatDuration(now - since)}: ${plain(reason, 80)}. Hookgate tries again (${code("/outbox list waiting")}, ${code("/outbox list sending")})`,
  );
