/** The author of a message whose copy lacks a file is notified once: which file, who did not get it, why, and what to do. */
import { formatAddress } from "../../../domain/chat/address.js";
import { isNothingLeft, lostFilesOf } from "../../../domain/chat/lost-files.js";
import { noticeId } from "../../../domain/chat/openly.js";
import { queueOf } from "../../../domain/deliveries/outbox-queue.js";
import type { Delivery, NewDelivery } from "../../../domain/store.js";
import type { LostFile } from "../../../lib/files/lost-file.js";
import { escapeMarkdown } from "../../../lib/markdown/escape.js";
import { MAX_CORRECTIONS } from "../corrected-with.js";
import type { Outbound } from "../sending.js";
import { privately } from "./notify-asker.js";

/** Before the copy counts as sent: a crash between both loses no note. Of a correction: those that its author does not know yet. */
export async function notifyOfLostFiles(copy: Delivery, out: Outbound): Promise<void> {
  const { mirrors, cause, address, answers } = copy;
  const lost = lostFilesOf(copy);
  if (!mirrors || lost.length === 0) return;
  const known = await knownBefore(copy, out);
  const files = lost.filter(({ id, name, why }) => !known.some((k) => k.id === id && k.name === name && k.why === why));
  if (files.length === 0) return;
  const event = (await out.store.inbox.find(mirrors.address, mirrors.messageId))?.event;
  if (event === undefined || !("message" in event) || event.message.isBot) return;
  const { userId, isDm, messageId } = event.message;
  const directly = privately(mirrors.address, userId, out);
  const isElsewhere = formatAddress(directly) !== formatAddress(mirrors.address);
  const nameAll = (hasRole: boolean) => files.map((file) => nameWithReason(file, hasRole)).join(", ");
  const named = nameAll(answers?.role !== undefined);
  // Customers do not know where the operators read them.
  const readers =
    isDm && answers === undefined ? "the operators" : (out.offers.placeName(address) ?? formatAddress(address));
  const what = files.length === 1 ? "A file of your message was" : `${files.length} files of your message were`;
  const rest = isNothingLeft(copy) ? "Nothing else of the message arrived." : "The rest of the message arrived.";
  const notice: NewDelivery = {
    id: noticeId(`files ${cause.id} ${userId}`),
    address: directly,
    operation: "send",
    message: {
      text: `**${what} not passed on to ${escapeMarkdown(readers)}**: ${named}.\n${rest} ${nextStep(files)}`,
      replyToId: isElsewhere ? undefined : messageId,
    },
    cause,
    expiresAt: out.clock.now() + out.config.ttl,
    visibleTo: userId,
    isCourtesy: true,
    skipsHooks: true,
    openly: isElsewhere
      ? {
          address: mirrors.address,
          message: { text: `Not passed on: ${nameAll(false)}. ${nextStep(files)}`, replyToId: messageId },
          isForEach: true,
        }
      : undefined,
  };
  await out.store.outbox.enqueue([notice], out.clock.now());
  out.wake(queueOf(notice));
}

async function knownBefore({ id, targetId }: Delivery, { store: { outbox } }: Outbound): Promise<LostFile[]> {
  if (targetId === undefined) return [];
  const versions = [await outbox.get(targetId), ...(await outbox.list({ targetId, limit: MAX_CORRECTIONS }))];
  return versions.flatMap((version) => (version && version.id !== id ? lostFilesOf(version) : []));
}

const nameWithReason = ({ name, why, detail = why }: LostFile, hasRole: boolean) =>
  `${escapeMarkdown(name)} (${escapeMarkdown(hasRole ? detail : why)})`;

const nextStep = (files: readonly LostFile[]) =>
  files.some(({ isTooLarge }) => isTooLarge)
    ? "Send a link to the file, or a smaller file."
    : "Send a link to the file, or send the file again.";
