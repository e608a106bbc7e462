/** The files of a Telegram message. They have no address, only a `file_id`. Pure. */
import type { Attachment } from "../../../src/domain/chat/message.js";
import type { OwnKind } from "../files.js";
import type { FilePayload, MessagePayload } from "../payloads.js";

export function attachmentsOf(payload: MessagePayload): Attachment[] {
  const { photo, document, audio, voice, video, video_note: note, animation, sticker } = payload;
  const found: Attachment[] = [];
  const largest = photo?.toSorted((a, b) => area(b) - area(a))[0];
  if (largest) found.push(attachment("image", "photo", largest, "image/jpeg"));
  if (sticker) found.push(stickerOf(sticker));
  if (animation) found.push(attachment("video", "animation", animation, "video/mp4"));
  // An animation also comes as a document, for clients that do not know animations.
  else if (document)
    found.push(attachment(typeOf(document.mime_type), "document", document, "application/octet-stream"));
  if (audio) found.push(attachment("audio", "audio", audio, "audio/mpeg"));
  if (voice) found.push(attachment("audio", "voice", voice, "audio/ogg"));
  if (video) found.push(attachment("video", "video", video, "video/mp4"));
  if (note) found.push(attachment("video", "video_note", note, "video/mp4"));
  return found;
}

function area({ width = 0, height = 0 }: { width?: number | undefined; height?: number | undefined }): number {
  return width * height;
}

function typeOf(mimeType: string | undefined): Attachment["type"] {
  const family = mimeType?.split("/")[0];
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}

/** Still stickers are images; animated ones are vector files that no other platform shows. */
function stickerOf(sticker: NonNullable<MessagePayload["sticker"]>): Attachment {
  if (sticker.is_video) return attachment("video", "sticker", sticker, "video/webm");
  if (sticker.is_animated) return attachment("file", "sticker", sticker, "application/x-tgsticker");
  return attachment("image", "sticker", sticker, "image/webp");
}

function attachment(type: Attachment["type"], kind: OwnKind, file: FilePayload, mimeType: string): Attachment {
  return {
    type,
    kind,
    ref: file.file_id,
    id: file.file_unique_id,
    url: "",
    mimeType: file.mime_type ?? mimeType,
    filename: file.file_name,
    sizeBytes: file.file_size,
  };
}
