/** The words of reminders and escalations: as one text, and by the names that the history has for them. */
import type { NoticeWords } from "./alert.js";

export function noticeText({ sentences, copy }: NoticeWords): string {
  const own = sentences.join(". ");
  return copy === undefined ? own : [`${own} ${copy.where}`, ...copy.sentences].join(". ");
}

export const noticeSentences = ({ sentences, copy }: NoticeWords): readonly string[] => [
  ...sentences,
  ...(copy?.sentences ?? []),
];

/** The words of a notice, without its place and time. */
export const noticeWords = ({ sentences, step, sentTo, waitedSince, copy }: NoticeWords): NoticeWords => ({
  sentences,
  step,
  sentTo,
  waitedSince,
  copy,
});

/**
 * The notice was posted in a private chat: it mentions no one, and notifies its person. Its copies are in other chats, and notify the
 * people whom they mention.
 */
export const isPrivatePage = ({ sentTo, copy }: Pick<NoticeWords, "sentTo" | "copy">): boolean =>
  sentTo !== undefined && copy === undefined;
