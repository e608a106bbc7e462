/** The upload of a part: its fields and files, and the lighter upload when Discord refuses the files or the card. */
import type { SendOperation, SendResult } from "../../../src/domain/chat/adapter.js";
import { errorMessage } from "../../../src/lib/errors.js";
import type { LostFile } from "../../../src/lib/files/lost-file.js";
import { isTemporary, whyNotFetched } from "../../../src/lib/outgoing/file-bytes.js";
import type { UploadedFile } from "../caller.js";
import type { Channels } from "../channels.js";
import { isPlainText, type PartBody, partBody, withoutLinks } from "../encode.js";
import { CONTENT_MAX } from "../format.js";
import { type FileAccess, readFiles } from "./files.js";
import { fileRefusal, isCardRefused, isOfButtons, type Sent } from "./outcome.js";

export interface Upload {
  body: PartBody;
  isPlain: boolean;
  /** Discord's fields only. */
  request: Record<string, unknown>;
  /** The signal ends an upload with files that was given up. */
  extra: { files?: UploadedFile[]; signal?: AbortSignal };
  /** A lighter upload of the same part keeps this list. */
  lostFiles?: LostFile[];
}

export function plainText(body: Record<string, unknown>): Upload | undefined {
  if (!isPlainText(body)) return undefined;
  if (body.replyToId === undefined) return { body, isPlain: false, request: body, extra: {} };
  const { replyToId: _reply, ...request } = body;
  return { body, isPlain: false, request, extra: {} };
}

/** Reads the files; those that cannot be read become lines of text, at the last attempt also those that may be had later. */
export async function prepare(
  access: FileAccess,
  { kind, part: { body: raw }, isLastAttempt = false, fetch }: Extract<SendOperation, { kind: "create" | "edit" }>,
  signal: AbortSignal,
): Promise<Upload | SendResult> {
  const parsed = partBody.safeParse(raw);
  if (!parsed.success) return { kind: "permanent", error: `a stored part does not parse: ${parsed.error.message}` };
  const body = parsed.data;
  const { attachments, replyToId: _reply, plain, ...request } = body;
  const isKept = kind === "edit" && attachments?.every((file) => file.isKept) === true;
  if (!attachments?.length || isKept) return { body, isPlain: plain === true, request, extra: {} };
  try {
    const limits = { isLastAttempt, withinMs: fetch?.withinMs ?? Number.POSITIVE_INFINITY, signal };
    const { files, missing } = await readFiles(attachments, access, limits);
    fetch?.onEnd();
    const content = withLines(
      request.content,
      missing.map(({ line }) => line),
    );
    return {
      body,
      isPlain: plain === true,
      request: { ...request, content },
      extra: files.length > 0 ? { files, signal } : { signal },
      lostFiles: missing.map(({ lost }) => lost),
    };
  } catch (error) {
    if (isTemporary(error) && !signal.aborted) {
      const why = `a file could not be fetched: ${whyNotFetched(error)}`;
      return { kind: "retry", error: why, afterMs: error.retryAfterMs, scope: "file" };
    }
    return { kind: "retry", error: `attachments could not be read (${errorMessage(error)})`, scope: "chat" };
  }
}

const withLines = (content: unknown, lines: readonly string[]) =>
  [content, ...lines].filter(Boolean).join("\n").slice(0, CONTENT_MAX);

/** Adds the lost files to the result of a message that was sent without them. */
export const without = (lost: readonly LostFile[] = [], result: SendResult): SendResult =>
  lost.length > 0 && result.kind === "sent" ? { ...result, lostFiles: lost } : result;

export function traitsOf({ isPlain, request }: Upload): Pick<Sent, "isPlain" | "hasEmbed"> {
  return { isPlain, hasEmbed: request.embeds !== undefined };
}

/** Without its files, and a note for each, when Discord refused them: a message is not lost to its attachment. */
function withoutFiles(upload: Upload, error: unknown): Upload | undefined {
  const { files, signal } = upload.extra;
  const refusal = files && fileRefusal(error);
  if (refusal === undefined || !files) return undefined;
  const notes = files.map(({ name }) => `[file: ${name} could not be attached: ${refusal.why}]`);
  upload.lostFiles?.push(...files.map(({ name }) => ({ name, ...refusal })));
  const content = withLines(upload.request.content, notes);
  return {
    ...upload,
    body: { ...upload.body, attachments: [], content },
    request: { ...upload.request, content },
    extra: { signal },
  };
}

/** The upload without what Discord refused: its files, or buttons of which none is a link (see plainPart for those). */
export function lighter(upload: Upload, error: unknown): Upload | undefined {
  return withoutFiles(upload, error) ?? withoutButtons(upload, error);
}

function withoutButtons(upload: Upload, error: unknown): Upload | undefined {
  const { components, ...body } = upload.body;
  if (!components || withoutLinks(components).links.length > 0 || !isOfButtons(error)) return undefined;
  const { components: _, ...rest } = upload.request;
  const content = withLines(rest.content, ["[the buttons could not be attached]"]);
  return { ...upload, body: { ...body, content }, request: { ...rest, content } };
}

export const CARD_REFUSED: SendResult = {
  kind: "format",
  error: "the bot needs the permission Embed Links (Discord refused a card with 50013 in the last ten minutes)",
};

export function isCardKnownRefused(channels: Channels, chatId: string, { isPlain, request }: Upload): boolean {
  return request.embeds !== undefined && !isPlain && !channels.mayEmbedIn(chatId);
}

/** Each refusal counts towards Discord's ban, so the next card is text at once. */
export function noteCard(channels: Channels, chatId: string, { isPlain, request }: Upload, error: unknown): void {
  if (request.embeds !== undefined && !isPlain && isCardRefused(error)) channels.noteNoEmbeds(chatId);
}

/**
 * An edit replaces everything: parts that the new version lacks are removed. So is an upload that is not listed, by its index:
 * https://docs.discord.com/developers/resources/message#edit-message
 */
export function whole({ body: { attachments }, request, extra: { files = [] } }: Upload): Record<string, unknown> {
  const { flags: _flags, ...rest } = request; // notifications cannot be suppressed after the fact
  const isKept = attachments === undefined || (attachments.length > 0 && attachments.every((file) => file.isKept));
  const listed = files.map(({ name }, i) => ({ id: String(i), filename: name }));
  return { embeds: [], components: [], ...rest, attachments: isKept ? undefined : listed };
}
