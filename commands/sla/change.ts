/** `/sla extend` and `/sla close`: a person gives more time, or says that a conversation is over. */
import type { ClockView } from "../../src/alerts/sla/desk-views.js";
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { localTimezone } from "../../src/lib/timezone.js";
import { actorOf, needAlerts } from "../alerts/need.js";
import { answer, badUsage, missing, notFound } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, plain } from "../text.js";
import { readWhenAndWhy, WHEN_FORMS } from "../when.js";
import { clockData, deskOf, dueText } from "./texts.js";

/** By a length of time, or until a moment. What has a deadline of its own gets another; the rest more working time. */
export async function extendClock(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("operator");
  const { was } = context.options;
  const { clock } = await openClock(deps, context.options.id);
  const zone = (await deskOf(deps).find(clock.id))[0]?.timezone ?? deps.alerts?.timezone() ?? localTimezone();
  const { when, reason } = readWhenAndWhy(context.options, deps.clock.now(), zone);
  const extended = await deskOf(deps).extend(clock.id, {
    ...(when.kind === "length"
      ? { byMs: when.ms }
      : { toAt: when.kind === "at" ? when.at : needAlerts(deps).nextBusinessHour() }),
    ...(typeof was === "number" ? { was } : {}),
    ...(reason === undefined ? {} : { reason }),
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

/** By its own id, by that of what it watches, or by that of the alert about it. */
async function openClock(deps: CommandDeps, given: unknown): Promise<ClockView> {
  const id = typeof given === "string" ? given.trim() : "";
  if (id === "") throw missing("which clock", `\`/sla list\` shows them; \`/sla extend ID 2h\`.`, "id");
  const alert = id.startsWith("al_") ? await deps.alerts?.get(id) : undefined;
  const found = await deskOf(deps).find(alert?.signal.source.id ?? id);
  const open = found.filter(({ clock }) => clock.state !== "ended");
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
  const ids = open.map(({ clock }) => `${code(clock.id)} (${clock.measure.replaceAll("_", " ")})`);
  throw badUsage(`It has ${open.length} open clocks: say which.`, ids.join(", "));
}

export async function closeConversation(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("operator");
  const id = typeof context.options.id === "string" ? context.options.id.trim() : "";
  if (id === "") throw missing("which conversation", "`/sla list` shows them.", "id");
  const { platform, userId, displayName } = context.operator;
  const found = (await deskOf(deps).find(id))[0]?.clock.entity;
  const caseId = found?.type === "conversation" ? found.id : id;
  if (!(await deskOf(deps).close(caseId, displayName ?? `${platform}:${userId}`)))
    throw notFound("open conversation", id, [], "`/sla list` shows them.", "id");
  return answer({ text: [`${code(caseId)} is resolved.`], data: { closed: caseId } });
}
