/** A message as a post in a forum: a thread with a name, which lists show as plain text. */

import { Routes } from "discord-api-types/v10";
import { z } from "zod";
import type { SendResult } from "../../src/domain/chat/adapter.js";
import { boundaryBefore } from "../../src/lib/markdown/graphemes.js";
import { readRich } from "../../src/lib/markdown/message.js";
import type { Caller } from "./caller.js";
import type { Channels } from "./channels.js";
import { MAX_THREAD_NAME, NEUTRAL_TITLE } from "./codes.js";
import type { PartBody } from "./encode.js";
import { Refusal } from "./rest/errors.js";
import { failed, isTitleRefused, sentMessage } from "./rest/outcome.js";
import { lighter, noteCard, traitsOf, type Upload } from "./rest/upload.js";

/** A tag is required to create a forum post in this channel. */
const TAG_REQUIRED = 40067;
/** https://docs.discord.com/developers/reference#message-formatting */
const REFERENCE = /\\?<(?:@[!&]?|#|id:|t:|\/[^:<>]*:|a?:\w+:)[^<>]*>/g;

interface PostContext {
  caller: Caller;
  channels: Channels;
  unauthorized(): void;
}

interface Listed {
  name?: string;
  tags?: string[] | undefined;
}

/** Its first message has the thread's id, which later edits rely on. */
export async function postInForum(
  context: PostContext,
  forumId: string,
  upload: Upload,
  { name = titleOf(upload.body), tags }: Listed = {},
): Promise<SendResult> {
  const body = { name, message: upload.request, applied_tags: tags };
  try {
    return sentMessage(await context.caller.post(Routes.threads(forumId), { body, ...upload.extra }));
  } catch (error) {
    const code = error instanceof Refusal ? error.code : undefined;
    if (code === TAG_REQUIRED && !tags) return postTagged(context, forumId, upload, name);
    if (isTitleRefused(error) && name !== NEUTRAL_TITLE)
      return postInForum(context, forumId, upload, { name: NEUTRAL_TITLE, tags });
    const less = lighter(upload, error);
    if (less) return postInForum(context, forumId, less, { name, tags });
    noteCard(context.channels, forumId, upload, error);
    return failed(context, error, { repeat: "harmful", isInteraction: false, ...traitsOf(upload) });
  }
}

/** The first line with words, of a card its title, without marks, and without references, which lists would show as ids. */
function titleOf({ content, embeds }: PartBody): string {
  const shown = [content, embeds?.[0]?.title, embeds?.[0]?.description];
  for (const line of shown.flatMap((text) => (typeof text === "string" ? text.split("\n") : []))) {
    const words = line.replaceAll(REFERENCE, "").trim();
    const { text } = readRich(words, "markdown", { canLink: () => true });
    const title = shortTitle(text.replace(/\s+/g, " ").trim());
    if (/[\p{L}\p{N}]/u.test(title)) return title;
  }
  return NEUTRAL_TITLE;
}

/** After a word, unless that leaves too little. */
function shortTitle(text: string): string {
  if (text.length <= MAX_THREAD_NAME) return text;
  const space = text.lastIndexOf(" ", MAX_THREAD_NAME - 1);
  const end = space > MAX_THREAD_NAME / 2 ? space : boundaryBefore(text, 0, MAX_THREAD_NAME - 1);
  return `${text.slice(0, end)}…`;
}

const forumTags = z.object({
  available_tags: z.array(z.object({ id: z.string(), moderated: z.boolean().optional() })),
});

/** Posts with the first tag that all members may set; moderated tags need a permission. */
async function postTagged(context: PostContext, forumId: string, upload: Upload, name: string): Promise<SendResult> {
  try {
    const known = forumTags.parse(await context.caller.get(Routes.channel(forumId))).available_tags;
    const tag = known.find(({ moderated }) => !moderated) ?? known[0];
    if (!tag) return { kind: "permanent", error: "the forum requires a tag and defines none" };
    return await postInForum(context, forumId, upload, { name, tags: [tag.id] });
  } catch (error) {
    // Nothing was posted yet.
    return failed(context, error, { repeat: "harmless", isInteraction: false, isPlain: upload.isPlain });
  }
}
