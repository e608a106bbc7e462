/** `run: chat`: posts a message at one or more addresses, through the outbox. A run that is repeated posts nothing twice. */
import { type Address, formatAddress } from "../../../domain/chat/address.js";
import { shortenMessage } from "../../../domain/chat/long-message.js";
import type { OutboundMessage } from "../../../domain/chat/message.js";
import { errorMessage, HookgateError } from "../../../lib/errors.js";
import type { Handler, HandlerResult } from "../../handler.js";
import { placeOf, whyNoPlace } from "../../outgoing/chat-address.js";
import type { RunContext } from "../../run-context.js";
import { cleanLabel, commandProblems, wantedProblems } from "./buttons.js";
import { addressProblem, type ChatOptions, chatOptions, isEmpty } from "./options.js";
import { findThread } from "./thread.js";

export const chatHandler: Handler<ChatOptions> = {
  name: "chat",
  summary: "Sends a message or a card to chats.",
  decidesNothing: true,
  maySkip: true,
  options: chatOptions,
  chats: ({ to }) =>
    typeof to === "string" ? [{ path: ["to"], text: to }] : to.map((text, index) => ({ path: ["to", index], text })),
  forChat: ["text", "card.text", "card.fields.value"],
  places: ["card.url", "buttons.url"],
  buttons: ["buttons"],
  missing: ({ buttons }, { commands, hooksAndPoints }) => commandProblems(buttons, commands, hooksAndPoints),
  async run(options, context) {
    const message = messageOf(options);
    const rendered = preview(message);
    if (isEmpty(options)) return { kind: "skipped", by: "empty", reason: "the message is empty", rendered };
    const [wrong] = (message.buttons ?? []).flat().flatMap((one) => wantedProblems(one, true));
    if (wrong !== undefined)
      return { kind: "failed", error: `a button: ${wrong.message}`, isRetryable: false, rendered };
    // A value that is not there leaves the card without a link.
    const cardUrl = message.card?.url && addressProblem(message.card.url);
    if (cardUrl) return { kind: "failed", error: `card.url: ${cardUrl}`, isRetryable: false, rendered };
    if (context.dryRun) return { kind: "decided", decision: { kind: "pass" }, rendered, output: { dryRun: true } };
    const said: Said[] = [];
    for (const to of addressesOf(options, context)) said.push(await say(to, message, options, context));
    return { ...conclude(said), rendered, output: { said: said.map(({ retryable: _retryable, ...shown }) => shown) } };
  },
};

interface Said {
  to: string;
  /** The delivery that posts the message; of an edit, the delivery that posted it first. */
  delivery?: string;
  edited?: boolean;
  /** The delivery that edits it. */
  edit?: string;
  /** The thread of the message. */
  thread?: string;
  /** Why the message went to the chat itself, where a thread was wanted. */
  noThread?: string;
  error?: string;
  retryable?: boolean;
}

/** Each chat once, after templates are filled in, however it is spelled. */
function addressesOf(
  { to }: ChatOptions,
  { event, reach }: RunContext,
): { text: string; place: Address | undefined }[] {
  const found = new Map<string, { text: string; place: Address | undefined }>();
  for (const text of typeof to === "string" ? [to] : to) {
    const written = placeOf(text, event);
    const place = written && reach.currentAddress(written);
    found.set(place ? formatAddress(place) : text, { text, place });
  }
  return [...found.values()];
}

async function say(
  { text, place }: { text: string; place: Address | undefined },
  message: OutboundMessage,
  options: ChatOptions,
  context: RunContext,
): Promise<Said> {
  if (!place) return { to: text, error: whyNoPlace(text) };
  const to = formatAddress(place);
  try {
    const found = await findThread(place, options, context);
    const thread = found && !("refused" in found) ? found : undefined;
    const at = thread ?? place;
    const facts = {
      to,
      thread: thread && formatAddress(thread),
      noThread: found && "refused" in found ? found.refused : undefined,
    };
    const edited = options.update ? await editLast(at, message, context) : undefined;
    if (edited !== undefined) return { ...facts, ...edited, edited: true };
    const { reach, cause, runId } = context;
    const delivery = await reach.send(at, message, { cause, once: `${runId}:${formatAddress(at)}` });
    if (options.update) await reach.remember(lastSaid(at), delivery);
    return { ...facts, delivery };
  } catch (error) {
    const retryable = error instanceof HookgateError && error.retryable;
    return { to, error: errorMessage(error), retryable };
  }
}

const lastSaid = (at: Address) => `said:${formatAddress(at)}`;

/** The delivery whose message gets the new words, and the edit of it; undefined when there is none that can be edited (any more). */
async function editLast(
  at: Address,
  message: OutboundMessage,
  { reach, cause }: RunContext,
): Promise<{ delivery: string; edit: string } | undefined> {
  const last = await reach.recall(lastSaid(at));
  if (typeof last !== "string") return undefined;
  try {
    return { delivery: last, edit: await reach.edit(last, message, { cause }) };
  } catch (error) {
    // The delivery was swept away, or posted before the store was moved: the message is posted again.
    if (error instanceof HookgateError && error.code === "DELIVERY_UNKNOWN") return undefined;
    throw error;
  }
}

function messageOf({ text = "", card, buttons, silent, mentions }: ChatOptions): OutboundMessage {
  return shortenMessage({
    text,
    card,
    buttons: buttons?.map((row) => row.map((one) => ({ ...one, label: cleanLabel(one.label) }))),
    silent,
    mentions,
  });
}

function preview({ text, card }: OutboundMessage): string {
  const fields = card?.fields?.map(({ name, value }) => `${name}: ${value}`) ?? [];
  return [text, card?.title, card?.text, ...fields, card?.footer]
    .filter((part) => part !== undefined && part !== "")
    .join("\n");
}

function conclude(said: readonly Said[]): HandlerResult {
  const wrong = said.filter(({ error }) => error !== undefined);
  if (wrong.length === 0) return { kind: "decided", decision: { kind: "pass" } };
  const error = wrong.map(({ to, error: why }) => `${to}: ${why}`).join("; ");
  return { kind: "failed", error, isRetryable: wrong.some(({ retryable }) => retryable) };
}
