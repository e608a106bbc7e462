/** Options of the `chat` handler. */
import { z } from "zod";
import { button, card, outboundMessage } from "../../../domain/message.js";
import { timezone } from "../../../lib/timezone.js";
import { chatAddress } from "../../outgoing/chat-address.js";

export const chatOptions = z
  .strictObject({
    to: z
      .union([chatAddress, z.array(chatAddress).min(1).max(50)])
      .default("here")
      .describe("Addresses (platform:bot:chat[:thread]), or here: the conversation that the event is about."),
    text: z.string().optional().describe("Markdown."),
    card: card.strict().optional().describe("A framed block: title, text, url, tone, fields, footer."),
    buttons: z
      .array(z.array(button.omit({ token: true }).strict()))
      .optional()
      .describe("Rows of buttons."),
    silent: z.boolean().optional().describe("Without a sound."),
    mentions: outboundMessage.shape.mentions.describe("Who may be pinged; nobody by default."),
    thread: z
      .enum(["none", "run", "day"])
      .default("none")
      .describe("A thread for each run or each day, where the platform can; in the chat itself where it cannot."),
    timezone: timezone
      .optional()
      .describe("Where a day of `thread: day` begins, such as Europe/Berlin. Default: the machine's zone."),
    update: z
      .boolean()
      .default(false)
      .describe("Edits what this hook said last at an address, instead of saying more."),
  })
  .refine(({ text, card: frame }) => text !== undefined || frame !== undefined, {
    path: ["text"],
    message: "expected a text, a card or both",
  });
export type ChatOptions = z.output<typeof chatOptions>;
