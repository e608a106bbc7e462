/** `/sla extend` and `/sla close`: a person gives more time, or reports that a conversation has ended. */
import type { ClockView } from "../../src/alerts/sla/desk-views.js";
import { SLA_MEASURE_NAMES } from "../../src/domain/alerts/sla.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration } from "../../src/lib/time/duration.js";
import { localTimezone } from "../../src/lib/time/timezone.js";
import { actorOf, needAlerts } from "../alerts/need.js";
import { answer, badUsage, missing, notFound, word } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, plain } from "../show/text.js";
import { readWhenAndWhy, WHEN_FORMS } from "../show/when.js";
import { clockData, clocksNamed, deskOf, dueText } from "./texts.js";

const MAX_NAMED = 10;

/** By a length of time, or until a moment. A clock with a deadline of its own gets another deadline; the others get more working time. */
export async function extendClock(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { expected } = context.options;
  const { clock } = await openClock(deps, context.options.id);
  const zone = (await deskOf(deps).find(clock.id))[0]?.timezone ?? deps.alerts?.timezone() ?? localTimezone();
  const { when, reason } = readWhenAndWhy(context.options, deps.clock.now(), zone);
  const extended = await deskOf(deps).extend(clock.id, {
    ...(when.kind === "length"
      ? { byMs: when.ms }
      : { toAt: when.kind === "at" ? when.at : needAlerts(deps).nextBusinessHour() }),
    was: typeof expected === "number" ? expected : undefined,
    reason,
    by: actorOf(context),
  });
  if (!extended) throw notFound("open clock", clock.id, [], "`/sla list` shows them.", "id");
  return {
    ...answer({
      text: [`✓ **${plain(extended.clock.entity.title)}** has more time: due ${dueText(extended)}.`],
      data: { clock: clockData(extended) },
    }),
    isNote: true,
  };
}

async function openClock(deps: CommandDeps, given: unknown): Promise<ClockView> {
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "") throw missing("which clock", `\`/sla list\` shows them; \`/sla extend ID 2h\`.`, "id");
  const open = (await clocksNamed(deps, id)).filter(({ clock }) => clock.state !== "ended");
  const [first] = open;
  if (first !== undefined && open.length === 1) return first;
  if (first === undefined)
    throw notFound(
      "open clock",
      id,
      [],
      `\`/sla list\` shows those that are open. Then \`/sla extend ID 2h\`. ${WHEN_FORMS}`,
      "id",
    );
  const named = open
    .slice(0, MAX_NAMED)
    .map(({ clock }) => `- ${plain(clock.entity.title, 60)}, ${SLA_MEASURE_NAMES[clock.measure]} ${code(clock.id)}`);
  const more = open.length > MAX_NAMED ? `\n- and ${open.length - MAX_NAMED} more: \`/sla list\`` : "";
  throw badUsage(
    `"${plain(id, 60)}" is the name of ${open.length} open clocks: give the id of one.`,
    `${named.join("\n")}${more}`,
  );
}

export async function closeConversation(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const id = typeof context.options.id === "string" ? context.options.id.trim() : "";
  if (id === "") throw missing("which conversation", "`/sla list` shows them.", "id");
  const { platform, userId, displayName } = context.operator;
  const clocks = (await deskOf(deps).find(id)).filter(({ clock }) => clock.entity.type === "conversation");
  const titles = new Map(clocks.map(({ clock: { entity } }) => [entity.id, entity.title]));
  if (titles.size > 1)
    throw badUsage(
      `${titles.size} conversations have "${plain(id, 60)}" in their name: name one.`,
      [...titles].map(([one, title]) => `${plain(title, 60)} ${code(one)}`).join(", "),
    );
  const [caseId = id] = titles.keys();
  const { by: firstWord, reason: rest } = context.options;
  const reason = [firstWord, rest].filter((part) => typeof part === "string" && part !== "").join(" ");
  const waiting = clocks.find(({ clock: { state, entity } }) => state !== "ended" && entity.status === "waiting");
  if (waiting !== undefined && reason === "")
    throw badUsage(
      `${plain(waiting.clock.entity.title, 120)} still waits for an answer (${formatDuration(waiting.usedMs)}).`,
      `If it ends without one, give the reason: \`/sla close ${word(caseId)} called back by phone\`.`,
    );
  const name = displayName ?? `${platform}:${userId}`;
  if (!(await deskOf(deps).close(caseId, reason === "" ? name : `${name}: ${reason}`)))
    throw notFound("open conversation", id, [], "`/sla list` shows them.", "id");
  const given = answer({
    text: [
      `✓ The conversation ${titles.has(caseId) ? `with ${plain(titles.get(caseId) ?? "", 120)} ` : ""}${waiting === undefined ? "is resolved" : "is closed without an answer"}. ${code(caseId)}`,
    ],
    data: { closed: caseId },
  });
  return { ...given, isNote: true };
}
