/** Options of the `chat` handler. */
import { z } from "zod";
import { button, buttonAction, card, cardField, form, outboundMessage } from "../../../domain/chat/message.js";
import { isBlank } from "../../../lib/markdown/clean.js";
import { timezone } from "../../../lib/time/timezone.js";
import { isWebAddress } from "../../../lib/web-address.js";
import { chatAddress } from "../../outgoing/chat-address.js";
import { serverProblem } from "../../outgoing/fields.js";
import { isTemplate } from "../../template/is-template.js";
import { linkAddresses } from "../../template/links.js";
import { wantedProblems } from "./buttons.js";

/** A setting in a definition is used or refused. */
const [commandAction, sayAction] = buttonAction.options;
const writtenForm = form.extend({ fields: z.array(form.shape.fields.element.strict()).min(1).max(5) }).strict();
const writtenCard = card.extend({ fields: z.array(cardField.strict()).optional() }).strict();
const writtenButton = button
  .omit({ token: true })
  .extend({
    action: z
      .discriminatedUnion("kind", [
        commandAction.omit({ isFilledIn: true }).extend({ form: writtenForm.optional() }).strict(),
        sayAction.strict(),
      ])
      .optional(),
  })
  .strict();

const allowed = outboundMessage.shape.mentions.unwrap().shape;
const mentions = z.strictObject({
  users: allowed.users.describe("Ids of people. The text has `<@ID>` for each, also on Telegram."),
  roles: allowed.roles.describe("Ids of roles on Discord. The text has `<@&ID>` for each."),
  everyone: allowed.everyone.describe("Yes lets `@everyone` and `@here` in the text notify, on Discord only."),
});

const chatForm = z.strictObject({
  to: z
    .union([chatAddress, z.array(chatAddress).min(1).max(50)])
    .default("here")
    .describe("Addresses (platform:bot:chat[:thread]), or here: the conversation that the event is about."),
  text: z
    .string()
    .optional()
    .describe(
      "Markdown, also in values: `{{ event.path | plain }}` shows a value as it is. A link inside a value is shown as it was written, with its address.",
    ),
  card: writtenCard.optional().describe("A framed block: title, text, url, tone, fields, footer."),
  buttons: z.array(z.array(writtenButton)).optional().describe("Rows of buttons."),
  silent: z.boolean().optional().describe("Without a sound."),
  mentions: mentions.optional().describe("Whom the mentions in the text may notify. Default: no one."),
  thread: z
    .enum(["none", "run", "day"])
    .default("none")
    .describe(
      "A thread for each run or each day, where the platform can; in the chat itself where it cannot. On Discord, a thread that was deleted is opened again by the next message.",
    ),
  timezone: timezone
    .optional()
    .describe(
      "The time zone in which a day of `thread: day` starts, such as Europe/Berlin. Default: the machine's zone.",
    ),
  update: z
    .boolean()
    .default(false)
    .describe("Edits the last message of this hook at an address, instead of posting a new one."),
});

export const chatOptions = chatForm
  .refine(({ text, card: frame }) => text !== undefined || frame !== undefined, {
    path: ["text"],
    message: "expected a text, a card or both",
  })
  .superRefine((options, context) => {
    const { text, card: frame, buttons = [] } = options;
    const refuse = (message: string, ...path: (string | number)[]) =>
      context.addIssue({ code: "custom", message, path });
    if ((text !== undefined || frame !== undefined) && isEmpty(options))
      refuse(
        "the message is empty: it needs a text, or a card with a title, a text or a field that is not empty",
        text === undefined ? "card" : "text",
      );
    for (const [text, ...path] of [
      [options.text, "text"],
      [frame?.title, "card", "title"],
      [frame?.text, "card", "text"],
    ] as const) {
      const [written] = SINGLE_BRACES.exec(text ?? "") ?? [];
      if (written !== undefined)
        refuse(`people would read "${written}" as it is written: templates have two braces, "{${written}}"`, ...path);
    }
    for (const [text, ...path] of [
      [options.text, "text"],
      [frame?.text, "card", "text"],
      ...(frame?.fields ?? []).map(({ value }, index) => [value, "card", "fields", index, "value"] as const),
    ] as const)
      for (const { address, whole } of linkAddresses(text ?? "")) {
        const server = serverProblem(whole);
        if (server !== undefined) refuse(`the link to ${address}: ${server}`, ...path);
      }
    const { url } = frame ?? {};
    const cardUrl = url === undefined ? undefined : OPEN_ADDRESS.test(url) ? serverProblem(url) : addressProblem(url);
    if (cardUrl !== undefined) refuse(cardUrl, "card", "url");
    if (options.timezone !== undefined && options.thread !== "day")
      refuse("only the days of `thread: day` have a time zone: remove it, or set thread: day", "timezone");
    if (options.update && options.thread === "run")
      refuse("each run has a thread of its own, so no message is edited: remove it, or set thread: day", "update");
    for (const field of ["users", "roles"] as const)
      options.mentions?.[field]?.forEach((id, index) => {
        if (!isTemplate(id) && !IS_ID.test(id))
          refuse(`expected a number, as platforms identify ${field}, got "${id}"`, "mentions", field, index);
      });
    for (const { path, message } of silentMentions(options)) refuse(message, "mentions", ...path);
    for (const [row, several] of buttons.entries())
      for (const [index, one] of several.entries()) {
        const server = one.url && serverProblem(one.url);
        if (server) refuse(server, "buttons", row, index, "url");
        for (const { path, message } of wantedProblems(one)) refuse(message, "buttons", row, index, ...path);
      }
  });
export type ChatOptions = z.output<typeof chatForm>;

/** An address with a value that decides about it: the server is before the value, or the address starts with the value. */
const OPEN_ADDRESS = /^(?:https?:.*)?\{[{%]/is;

/** `{event.message.text}` */
const SINGLE_BRACES = /(?<!\{)\{\s*(?:event|payload)\.[\w.]+\s*\}(?!\})/;

/** For an address without templates, or whose templates are filled in. */
export function addressProblem(url: string): string | undefined {
  return isWebAddress(url) ? undefined : `expected an address that starts with https: or http:, got "${url}"`;
}

/** As Discord and Telegram write ids of people and roles. */
const IS_ID = /^\d+$/;

/** Mentions that are allowed and that the message does not have: they notify no one. A template may fill in something. */
function silentMentions(options: ChatOptions): { path: (string | number)[]; message: string }[] {
  const { users = [], roles = [], everyone } = options.mentions ?? {};
  const written = partsOf(options).join("\n");
  if (isTemplate(written)) return [];
  const missing = (path: (string | number)[], mention: string, ...others: string[]) =>
    [mention, ...others].some((one) => written.includes(one))
      ? []
      : [{ path, message: `the text has no ${mention}, so this notifies no one: add it to the text` }];
  return [
    ...users.flatMap((id, at) =>
      IS_ID.test(id) ? missing(["users", at], `<@${id}>`, `<@!${id}>`, `tg://user?id=${id}`) : [],
    ),
    ...roles.flatMap((id, at) => (IS_ID.test(id) ? missing(["roles", at], `<@&${id}>`) : [])),
    ...(everyone === true ? missing(["everyone"], "@everyone", "@here") : []),
  ];
}

/** The message has nothing that a reader would see. A template may fill in something. */
export function isEmpty(options: Pick<ChatOptions, "text" | "card">): boolean {
  return partsOf(options).every((part) => part === undefined || isBlank(part));
}

function partsOf({ text, card: frame }: Pick<ChatOptions, "text" | "card">): (string | undefined)[] {
  return [text, frame?.title, frame?.text, ...(frame?.fields?.map(({ value }) => value) ?? [])];
}
