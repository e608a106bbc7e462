/** A stored message as one person's page sees it. Decides which parts that person may see; holds no state. */
import type { Attachment } from "../../src/domain/chat/message.js";
import type { WebChatMessage, WebRoom } from "../../src/domain/store.js";
import { shownName } from "../../src/lib/text/person-name.js";
import { readBody } from "./body.js";
import type { PageMessage, WebPerson } from "./port.js";

export function maySeeRoom(person: WebPerson, room: WebRoom): boolean {
  return !room.isDm || room.ownerId === person.id;
}

export function maySeeMessage(person: WebPerson, message: WebChatMessage): boolean {
  return message.visibleTo === undefined || message.visibleTo === person.id;
}

export function viewMessage(person: WebPerson, message: WebChatMessage, gatewayName: string): PageMessage {
  const view: PageMessage = {
    id: message.id,
    roomId: message.roomId,
    author:
      message.userId === undefined
        ? { name: gatewayName }
        : { id: message.userId, name: message.userName ?? `Person ${message.userId}` },
    text: message.text,
    html: "",
    at: message.at,
  };
  if (message.threadId !== undefined) view.threadId = message.threadId;
  if (message.visibleTo !== undefined) view.isPrivate = true;
  if (message.deletedAt !== undefined) return { ...view, text: "", isDeleted: true };

  const body = readBody(message);
  view.html = body.html ?? "";
  if (message.replyToId !== undefined) view.replyToId = message.replyToId;
  if (message.editedAt !== undefined) view.editedAt = message.editedAt;
  if (body.nonce !== undefined && message.userId === person.id) view.nonce = body.nonce;
  if (body.card) view.card = body.card;
  if (body.buttons?.length) view.buttons = body.buttons;
  if (body.attachments?.length)
    view.attachments = body.attachments.map((file, index) => ({
      type: file.type,
      filename: fileName(file, index),
      mimeType: file.mimeType,
      sizeBytes: file.sizeBytes,
      url: `/api/messages/${message.id}/attachments/${index}`,
    }));
  if (body.reactions?.length) view.reactions = groupReactions(body.reactions);
  return view;
}

/** No sign in it may turn the direction of the text: `gnp.exe` would read `exe.png`. */
export function fileName({ filename = "", type }: Attachment, index: number): string {
  return shownName(filename) ?? `${type} ${index + 1}`;
}

function groupReactions(reactions: { emoji: string; userId: string }[]): { emoji: string; userIds: string[] }[] {
  const groups = new Map<string, string[]>();
  for (const { emoji, userId } of reactions) groups.set(emoji, [...(groups.get(emoji) ?? []), userId]);
  return [...groups].map(([emoji, userIds]) => ({ emoji, userIds }));
}
