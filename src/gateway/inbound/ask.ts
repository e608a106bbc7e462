/** Asks for the fields of a form one after the other, where the platform has no forms: each is a message that is replied to. */
import type { Form, InboundMessage, Prompt } from "../../domain/chat/message.js";
import type { NewDelivery } from "../../domain/store.js";
import { formatDuration } from "../../lib/time/duration.js";
import type { LaneRow } from "../conversation.js";
import { causeOf, type Inbound, messageAddress, newDelivery, referenceTo, urgencyOfAnswer } from "./receiving.js";
import { senderOf } from "./sender.js";

export type Asking = Pick<Prompt, "form" | "line" | "values">;

/** The fields without an answer yet. */
export function openFields({ form, values }: Asking): Form["fields"] {
  return form.fields.filter(({ id }) => values[id] === undefined);
}

/** `message`: the press, or the answer before. In a group the person is named, so that only theirs is the box to answer in. */
export function ask(row: LaneRow, message: InboundMessage, asking: Asking, inbound: Inbound): NewDelivery {
  const { clock, config } = inbound;
  const { userId, isDm } = message;
  const [field] = openFields(asking);
  const { form, line, values } = asking;
  const ways = [
    "Reply to this message",
    field?.value && `(\`${field.value}\` for instance)`,
    field?.required ? "" : "or reply `-` for none",
  ];
  const label = field?.label ?? "";
  const question = `**${form.title}**: ${label}${label.endsWith("?") ? "" : "?"}\n${ways.filter(Boolean).join(" ")}; \`/cancel\` in reply ends it. Open for ${formatDuration(config.prompt_life)}.`;
  return newDelivery(
    row,
    "q",
    {
      address: messageAddress(message),
      operation: "send",
      cause: causeOf(row, "command"),
      visibleTo: userId,
      answers: { role: senderOf(message, inbound).operator.role },
      urgency: urgencyOfAnswer(message),
      message: {
        text: isDm ? question : `<@${userId}|${nameOf(message)}> ${question}`,
        replyToId: isDm ? undefined : referenceTo(row, message),
        mentions: isDm ? undefined : { users: [userId] },
        prompt: { userId, form, line, values, until: clock.now() + config.prompt_life },
      },
    },
    inbound,
  );
}

const nameOf = ({ displayName, username, userId }: InboundMessage) =>
  (displayName ?? username ?? userId).replace(/[<>|\n\\`*_~[\]]/g, "").slice(0, 64) || userId;
