/** Posts, edits and deletes the gateway's messages. A nonce posts once, even when the answer to the request is lost. */

import type { SendOperation, SendResult } from "../../src/domain/chat/adapter.js";
import type { WebChatMessage, WebChatStore } from "../../src/domain/store.js";
import type { InTurnByKey } from "../../src/lib/concurrency/in-turn.js";
import { errorMessage, HookgateError } from "../../src/lib/errors.js";
import type { Clock } from "../../src/lib/time/clock.js";
import { readBody } from "./body.js";
import { decodeBody } from "./encode.js";
import type { Feed } from "./feed.js";
import { type FileAccess, withKeptFiles } from "./files.js";
import type { Rooms } from "./rooms.js";

export interface OutboundDeps {
  store: WebChatStore;
  rooms: Rooms;
  feed: Feed;
  /** Changes of a message read it before they write it: one after the other for each message. */
  changes: InTurnByKey<number>;
  clock: Clock;
  files: FileAccess;
}

type Create = Extract<SendOperation, { kind: "create" }>;
type Edit = Extract<SendOperation, { kind: "edit" }>;

export async function send(deps: OutboundDeps, operation: SendOperation, signal: AbortSignal): Promise<SendResult> {
  try {
    if (operation.kind === "delete" || !operation.part.hasFile) return await perform(deps, operation);
    const row = operation.kind === "edit" ? await deps.store.get(Number(operation.messageId)) : undefined;
    const before = (row && readBody(row).attachments) ?? [];
    const prepared = await withKeptFiles(operation, before, deps.files, signal);
    if ("kind" in prepared) return prepared;
    operation.fetch?.onEnd();
    const { part, lostFiles } = prepared;
    const result = await perform(deps, { ...operation, part });
    return result.kind === "sent" && lostFiles.length > 0 ? { ...result, lostFiles } : result;
  } catch (error) {
    // Every write here may be repeated: a post by its nonce, the others by their nature.
    if (error instanceof HookgateError && !error.retryable) return { kind: "permanent", error: error.message };
    return { kind: "retry", error: errorMessage(error), scope: "bot" };
  }
}

async function perform(deps: OutboundDeps, operation: SendOperation): Promise<SendResult> {
  const result = await write(deps, operation);
  if (result.kind === "sent") deps.feed.wake("messages");
  return result;
}

function write(deps: OutboundDeps, operation: SendOperation): Promise<SendResult> {
  switch (operation.kind) {
    case "create":
      return create(deps, operation);
    case "edit":
      return edit(deps, operation.messageId, operation);
    case "delete":
      return remove(deps, operation.messageId);
  }
}

async function create(deps: OutboundDeps, operation: Create): Promise<SendResult> {
  const { address, part, nonce, interaction } = operation;
  const room = await deps.rooms.find(address.chatId);
  if (!room) return { kind: "permanent", error: `there is no room "${address.chatId}"` };
  const { replyToId, ...body } = decodeBody(part);
  const visibleTo = operation.visibleTo ?? (interaction?.isPrivate ? interaction.token : undefined);
  const posted = await deps.store.post(
    {
      roomId: room.id,
      threadId: address.threadId,
      replyToId,
      // In one's own direct conversation everything is private already.
      visibleTo: visibleTo === undefined || (room.isDm && room.ownerId === visibleTo) ? undefined : visibleTo,
      text: part.text,
      body,
      at: deps.clock.now(),
    },
    `gateway:${nonce}`,
  );
  return { kind: "sent", messageId: String(posted.message.id) };
}

function edit(deps: OutboundDeps, messageId: string, { part }: Pick<Edit, "part">): Promise<SendResult> {
  return change(deps, messageId, async (row) => {
    const { reactions } = readBody(row);
    const { replyToId: _, ...body } = decodeBody(part);
    return deps.store.edit(row.id, {
      text: part.text,
      body: { ...body, reactions: reactions ?? body.reactions },
      at: deps.clock.now(),
    });
  });
}

function remove(deps: OutboundDeps, messageId: string): Promise<SendResult> {
  return change(deps, messageId, (row) => deps.store.remove(row.id, deps.clock.now()));
}

function change(
  deps: OutboundDeps,
  messageId: string,
  apply: (row: WebChatMessage) => Promise<object | undefined>,
): Promise<SendResult> {
  const id = Number(messageId);
  return deps.changes.run(id, async () => {
    const row = Number.isSafeInteger(id) ? await deps.store.get(id) : undefined;
    if (!row || row.deletedAt !== undefined) return { kind: "gone", error: `message ${messageId} is gone` };
    if (row.userId !== undefined) return { kind: "permanent", error: `message ${messageId} was written by a person` };
    return (await apply(row)) ? { kind: "sent", messageId } : { kind: "gone", error: `message ${messageId} is gone` };
  });
}
