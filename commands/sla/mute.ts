/** `/sla mute POLICY 8h` and `/sla unmute POLICY`: a silence about all alerts of one policy. */
import type { Silence } from "../../src/domain/alerts/alert.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { actorOf, needAlerts } from "../alerts/need.js";
import { checkSilenceLength } from "../alerts/silence-length.js";
import { answer, commandButton, missing, notFound, word } from "../answer.js";
import type { AlertDesk, CommandDeps } from "../deps.js";
import { code, plain } from "../show/text.js";
import { momentOf, readWhenAndWhy } from "../show/when.js";
import { deskOf, timeText } from "./texts.js";

/** A second press of the same button means the same end. */
const SAME_MS = 60_000;

export async function mutePolicy(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const desk = needAlerts(deps);
  const policy = await needPolicy(deps, context.options.id);
  const now = deps.clock.now();
  const { when, reason = "no reason given" } = readWhenAndWhy(context.options, now, desk.timezone());
  const until = momentOf(when, now, desk);
  checkSilenceLength(until - now);
  const before = muteOf(desk, policy, now);
  if (before !== undefined && before.until > until - SAME_MS)
    return mutedText(before, policy, "is muted already", false, desk);
  const added = await desk.silences.add([matcherOf(policy)], until - now, reason, actorOf(context));
  if (before !== undefined) await desk.silences.expire(before.id);
  return mutedText(added, policy, "is muted", true, desk);
}

export async function unmutePolicy(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const desk = needAlerts(deps);
  const policy = await needPolicy(deps, context.options.id);
  const now = deps.clock.now();
  const before = muteOf(desk, policy, now);
  if (before === undefined)
    return {
      ...answer({
        text: [`${code(policy)} is not muted. \`/silence list\` shows what else keeps alerts quiet.`],
        data: { policy, muted: false },
      }),
      isNote: true,
    };
  await desk.silences.expire(before.id);
  const ago = formatDuration(Math.max(1_000, now - before.from));
  return {
    ...answer({
      text: [`✓ ${code(policy)} is no longer muted. It was muted by ${plain(before.by.name, 60)} ${ago} ago.`],
      data: { policy, muted: false },
    }),
    isNote: true,
  };
}

/** The silence that `/sla mute` has set. */
export function muteOf(desk: Pick<AlertDesk, "silences">, policy: string, now: number): Silence | undefined {
  return desk.silences
    .list()
    .find(
      ({ matchers, endedAt, from, until }) =>
        endedAt === undefined &&
        from <= now &&
        now < until &&
        matchers.length === 1 &&
        matchers[0] === matcherOf(policy),
    );
}

const matcherOf = (policy: string) => `policy=${policy}`;

/** `until 2026-11-22 09:00 UTC by Ann: why`. */
export function muteText({ until, by, comment }: Silence, timezone: string): string {
  return `until ${timeText(until, timezone)} by ${plain(by.name, 60)}: ${plain(comment, 160)}`;
}

function mutedText(silence: Silence, policy: string, what: string, changed: boolean, desk: AlertDesk): CommandAnswer {
  const { id, until, by } = silence;
  return {
    ...answer({
      text: [`${changed ? "✓ " : ""}${code(policy)} ${what} ${muteText(silence, desk.timezone())}. ${code(id)}`],
      data: { policy, muted: true, changed, until, by: by.id, silence: id },
      buttons: [[commandButton("Unmute", `/sla unmute ${word(policy)}`)]],
    }),
    isNote: true,
  };
}

async function needPolicy(deps: CommandDeps, given: unknown): Promise<string> {
  const id = typeof given === "string" ? given.trim() : "";
  const known = (await deskOf(deps).policies()).map((one) => one.id);
  if (id === "") throw missing("which policy", "`/sla mute POLICY 8h`; `/sla policies` shows them.", "id");
  if (known.includes(id)) return id;
  throw notFound("policy", id, known, "`/sla policies` shows them.", "id");
}
