/** `/sla extend` and `/sla close`: a person gives more time, or says that a conversation is over. */
import type { CommandAnswer, CommandContext } from "../../src/gateway/commands.js";
import { formatDuration, parseDuration } from "../../src/lib/duration.js";
import { answer, badUsage, missing, notFound } from "../answer.js";
import type { CommandDeps } from "../deps.js";
import { code, plain } from "../text.js";
import { clockData, deskOf, dueText } from "./texts.js";

export async function extendClock(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  context.need("operator");
  const { id, by } = context.options;
  const ms = typeof by === "string" ? parseDuration(by) : undefined;
  if (by === undefined || ms === undefined || ms <= 0)
    throw badUsage(
      by === undefined ? "Missing: how much more time." : `\`by\` is a length of time such as 2h, not "${String(by)}".`,
      "Try `/sla extend ID 2h`.",
    );
  if (typeof id !== "string") throw missing("which clock", "`/sla list` shows them.", "id");
  const extended = await deskOf(deps).extend(id.trim(), ms);
  if (!extended) throw notFound("open clock", id, [], "`/sla list` shows them.", "id");
  return answer({
    text: [`**${plain(extended.clock.entity.title)}** has ${formatDuration(ms)} more: due ${dueText(extended)}.`],
    data: { clock: clockData(extended) },
  });
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
