/** `/pauses [list|lift]`: the waits that platforms asked for, and how to end a wrong one. */
import type { CommandAnswer, CommandContext } from "../src/gateway/commands.js";
import { formatDuration } from "../src/lib/time/duration.js";
import { answer, badUsage, commandButton, missing, notFound, word } from "./answer.js";
import { defineCommand } from "./define.js";
import type { CommandDeps } from "./deps.js";
import { code, count, plain } from "./show/text.js";
import { conversationText } from "./who.js";

/** This limit keeps the answer within one message; `--json` has all pauses. */
const MAX_SHOWN = 20;

export const pauses = defineCommand({
  name: "pauses",
  group: "messages",
  summary: "Platforms and chats that are not sent to for a while; ends such a pause",
  role: "viewer",
  actions: {
    list: { summary: "Pauses in force", run: list },
    lift: { summary: "End a pause now", role: "operator", run: lift },
  },
  options: [{ name: "id", summary: "lift: the pause, as /pauses lists it, or all", type: "string", words: ["all"] }],
});

async function list(deps: CommandDeps): Promise<CommandAnswer> {
  const now = deps.clock.now();
  const lasting = (await deps.status()).pauses.filter(({ until }) => until > now);
  return answer({
    text: [
      lasting.length === 0 ? "**Nothing is paused.**" : `**${count(lasting.length, "pause")}**`,
      lasting
        .slice(0, MAX_SHOWN)
        .map(
          ({ key, until, askedMs, reason }) =>
            `- ${conversationText(deps, key)} for ${formatDuration(until - now)} more of ${formatDuration(askedMs)}: ${plain(reason, 160)}`,
        )
        .join("\n"),
      lasting.length > MAX_SHOWN && `… and ${lasting.length - MAX_SHOWN} more`,
    ],
    data: { pauses: lasting },
    buttons: [
      [
        ...lasting
          .slice(0, 3)
          .flatMap(({ key, isOwnLimit }, index) =>
            isOwnLimit ? [] : commandButton(`Lift ${index + 1}`, `/pauses lift ${word(key)}`),
          ),
        ...(lasting.filter(({ isOwnLimit }) => !isOwnLimit).length > 1
          ? [commandButton("Lift all", "/pauses lift all", "danger")]
          : []),
      ],
    ],
  });
}

async function lift(deps: CommandDeps, context: CommandContext): Promise<CommandAnswer> {
  const { id } = context.options;
  const key = typeof id === "string" ? id.trim() : "";
  if (key === "") throw missing("which pause, or all", "/pauses lists them.", "id");
  const before = (await deps.status()).pauses;
  const lifted = await deps.liftPauses(key === "all" ? undefined : key);
  if (lifted.length === 0 && key !== "all") {
    if (before.some((one) => one.key === key && one.isOwnLimit))
      throw badUsage(`${key} waits for a limit of the settings, which ends by itself.`, "/pauses names the setting.");
    const known = (await deps.status()).pauses.map((pause) => pause.key);
    throw notFound("pause", key, known, "/pauses lists them.", "id");
  }
  const limits = key === "all" ? before.filter(({ isOwnLimit }) => isOwnLimit) : [];
  const isAny = (isPutOff: boolean) =>
    before.some((one) => lifted.includes(one.key) && (one.isPutOff === true) === isPutOff);
  return answer({
    text: [
      lifted.length === 0
        ? limits.length === 0 && "Nothing is paused."
        : `${count(lifted.length, "pause")} lifted: ${lifted
            .slice(0, MAX_SHOWN)
            .map((one) => conversationText(deps, one))
            .join(", ")}.`,
      limits.length > 0 &&
        `${limits.map((one) => conversationText(deps, one.key)).join(", ")} ${limits.length === 1 ? "waits" : "wait"} for a limit of the settings, which ends by itself. ${code("/pauses")} names the setting.`,
      isAny(false) && "What waited is sent now; the platform may refuse it again.",
      isAny(true) && "The message that a hook put off is offered to the hooks again now; a hook may put it off again.",
    ],
    data: { lifted },
  });
}
