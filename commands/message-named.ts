/** The names of a message that people copy: a link or id of its platform, or an id of the gateway as Markdown shows it. */
import type { Address } from "../src/domain/chat/address.js";
import { addressOf } from "../src/domain/chat/event.js";
import { publicMessageId, readMessageLink } from "../src/domain/chat/message-link.js";
import type { CommandDeps } from "./deps.js";

/** The gateway's own id of a message that was named by a link; the text without its marks otherwise. */
export async function messageNamed(deps: CommandDeps, given: unknown): Promise<string> {
  const bare = typeof given === "string" ? withoutMarks(given) : "";
  const of = readMessageLink(bare);
  if (of === undefined) return bare;
  const ids = await idsOf(
    deps,
    of.messageId,
    ({ platform, chatId }) => platform === of.platform && chatId === of.chatId,
  );
  return ids.length === 1 ? (ids[0] ?? bare) : bare;
}

/** As above, also by the platform's id: of a message in this chat, or of the only one in all chats when the person asked in none. */
export async function letterNamed(deps: CommandDeps, at: Address | undefined, given: unknown): Promise<string> {
  const named = await messageNamed(deps, given);
  if (named === "" || /^(m\d|d_)/.test(named)) return named;
  if (at === undefined) {
    const ids = await idsOf(deps, named, () => true);
    return ids.length === 1 ? (ids[0] ?? named) : named;
  }
  const row = await deps.store.inbox.find(at, named);
  return row ? `m${row.id}` : ((await deps.store.outbox.findByMessage(at, named))?.id ?? named);
}

/** The advice for a link that names a group by its public name. */
export function publicLinkText(link: string): string | undefined {
  const messageId = publicMessageId(link);
  return messageId === undefined
    ? undefined
    : `The gateway does not know groups by their public names: name the message in its group by ${messageId}, or reply to it there.`;
}

function withoutMarks(given: string): string {
  const text = given.trim().replace(/^(`+)(.*)\1$/, "$2");
  const link = text.replace(/^<(.*)>$/, "$1");
  return /^https:/i.test(link) ? link.replace(/[?#].*$/, "") : text.trim().replace(/^#(?=(m\d|d_))/i, "");
}

async function idsOf({ store }: CommandDeps, messageId: string, isIn: (at: Address) => boolean): Promise<string[]> {
  const rows = (await store.inbox.findAll(messageId)).filter(({ event }) => isIn(addressOf(event)));
  const deliveries = (await store.outbox.findAllByMessage(messageId)).filter(({ address }) => isIn(address));
  return [...rows.map(({ id }) => `m${id}`), ...deliveries.map(({ id }) => id)];
}
