/** The fake's REST API: one function that answers a parsed request, with the checks and error codes of the real one. */
import type { APIMessage } from "discord-api-types/v10";
import type { CallKind } from "./calls.js";
import type { FakeGateway } from "./gateway.js";
import { type ApiError, commandsProblem, messageProblem, modalProblem } from "./validate.js";
import { ChannelType, type FakeChannel, type FakeInteraction, type World } from "./world.js";

export interface RestRequest {
  method: string;
  /** Without `/api/v10` and the query. */
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
  /** The parsed JSON when it is no object (a bulk PUT). */
  json: unknown;
  files: { name: string; sizeBytes: number; mimeType: string }[];
}

export interface RestAnswer {
  status: number;
  body?: unknown;
  kind: CallKind;
  messageId?: string;
  deduplicated?: boolean;
}

export interface RestContext {
  world: World;
  gateway: FakeGateway;
  /** How long after its creation an interaction may still be acknowledged. */
  acknowledgeWithinMs: number;
  /** How long its token lives. */
  tokenLifeMs: number;
  nonceLifeMs: number;
  maxFileBytes: number;
  sessionStartRemaining: number;
  /** The files of messages are gone. */
  isCdnEmpty: boolean;
  gatewayUrl(): string;
  onInteractionAnswer(interaction: FakeInteraction, type: number, data: unknown): void;
}

export function isAuthFree(path: string): boolean {
  return path.startsWith("/interactions/") || path.startsWith("/webhooks/") || path.startsWith("/cdn/");
}

export function answer(context: RestContext, request: RestRequest): RestAnswer {
  const [root, a, b, c, d] = request.path.slice(1).split("/").map(decodeURIComponent);
  if (root === "gateway" && a === "bot") return gatewayBot(context);
  if (root === "users" && a === "@me" && b === undefined)
    return ok({ ...context.world.userPayload(context.world.bot) });
  if (root === "users" && a === "@me" && b === "channels") return openDm(context, request);
  if (root === "channels" && a) return channels(context, request, a, b, c);
  if (root === "interactions" && a && b && c === "callback") return callback(context, request, a, b);
  if (root === "webhooks" && a && b) return webhook(context, request, a, b, c === "messages" ? d : undefined);
  if (root === "applications" && a && b === "commands") return commands(context, request);
  if (root === "guilds" && a && b === undefined) return ok(guild(context));
  if (root === "guilds" && b === "members" && c) return member(context, c);
  if (root === "attachments" && a === "refresh-urls") return refreshUrls(request);
  if (root === "cdn") return cdnFile(context, request);
  if (root === "oauth2" && a === "applications" && b === "@me") return ok({ id: context.world.applicationId });
  return failed({ status: 404, code: 0, message: "404: Not Found" });
}

/** https://docs.discord.com/developers/reference#signed-attachment-cdn-urls */
function refreshUrls({ body }: RestRequest): RestAnswer {
  const urls = Array.isArray(body.attachment_urls) ? body.attachment_urls.map(String) : [];
  const refreshed_urls = urls.map((original) => ({ original, refreshed: original.replace(/ex=\w+/, "ex=fresh") }));
  return ok({ refreshed_urls });
}

/** Its links have expired, unless they are fresh. `size`: how long the file is. `status`: the only answer. */
function cdnFile({ isCdnEmpty }: RestContext, { query }: RestRequest): RestAnswer {
  if (query.has("status")) return { status: Number(query.get("status")), kind: "other", body: "Gone." };
  if (query.get("ex") === "fresh" && !isCdnEmpty)
    return ok(query.has("size") ? "x".repeat(Number(query.get("size"))) : "the file");
  return { status: 404, kind: "other", body: "This content is no longer available." };
}

const ok = (body: unknown, kind: CallKind = "other"): RestAnswer => ({ status: 200, body, kind });

export function failed({ status, code, message, errors }: ApiError, kind: CallKind = "other"): RestAnswer {
  return { status, kind, body: { message, code, errors } };
}

const unknownChannel: ApiError = { status: 404, code: 10003, message: "Unknown Channel" };
const unknownMessage: ApiError = { status: 404, code: 10008, message: "Unknown Message" };

function gatewayBot(context: RestContext): RestAnswer {
  return ok({
    url: context.gatewayUrl(),
    shards: 1,
    session_start_limit: {
      total: 1000,
      remaining: context.sessionStartRemaining,
      reset_after: 14_400_000,
      max_concurrency: 1,
    },
  });
}

function openDm({ world }: RestContext, { body }: RestRequest): RestAnswer {
  const user = world.users.get(String(body.recipient_id));
  if (!user) return failed({ status: 400, code: 50033, message: "Invalid Recipient(s)" });
  return ok(world.channelPayload(world.dmWith(user.id)));
}

/** Without its channels and members: https://discord.com/developers/docs/resources/guild#get-guild */
function guild({ world }: RestContext) {
  const { channels: _channels, members: _members, threads: _threads, ...rest } = world.guildPayload();
  return rest;
}

function member({ world }: RestContext, userId: string): RestAnswer {
  const user = world.users.get(userId);
  if (!user) return failed({ status: 404, code: 10013, message: "Unknown User" });
  if (user.isOutside) return failed({ status: 404, code: 10007, message: "Unknown Member" });
  return ok({ ...world.memberPayload(user), user: world.userPayload(user) });
}

function channels(
  context: RestContext,
  request: RestRequest,
  channelId: string,
  part: string | undefined,
  messageId: string | undefined,
): RestAnswer {
  const channel = context.world.channels.get(channelId);
  if (!channel) return failed(unknownChannel, kindOf(request.method, part));
  if (channel.isHidden)
    return failed({ status: 403, code: 50001, message: "Missing Access" }, kindOf(request.method, part));
  if (part === undefined && request.method === "GET") return ok(context.world.channelPayload(channel));
  if (part === undefined && request.method === "PATCH") return changeThread(context, request, channel);
  if (part === "threads" && request.method === "POST") return startThread(context, request, channel);
  if (request.path.endsWith("/threads/archived/public")) return archivedThreads(context, request, channel);
  if (request.path.endsWith("/users/@me/threads/archived/private"))
    return ok({ threads: [], members: [], has_more: false });
  if (part !== "messages") return failed({ status: 404, code: 0, message: "404: Not Found" });
  if (request.path.endsWith("/threads") && messageId) return threadUnder(context, request, channel, messageId);
  if (request.method === "GET") return messageId ? one(channel, messageId) : history(channel, request.query);
  if (request.method === "POST" && messageId === undefined) return create(context, request, channel);
  if (request.method === "PATCH" && messageId) return edit(context, request, channel, messageId, "edit");
  if (request.method === "DELETE" && messageId) return remove(context, channel, messageId, "delete");
  return failed({ status: 405, code: 0, message: "405: Method Not Allowed" });
}

const missingPermissions: ApiError = { status: 403, code: 50013, message: "Missing Permissions" };
const archived: ApiError = { status: 400, code: 50083, message: "Thread is archived" };

/** The one that was closed last comes first. */
function archivedThreads({ world }: RestContext, { query }: RestRequest, parent: FakeChannel): RestAnswer {
  const limit = Number(query.get("limit") ?? 50);
  const before = Date.parse(query.get("before") ?? "9999-01-01T00:00:00Z");
  const all = [...world.channels.values()]
    .filter((one) => one.parentId === parent.id && one.isArchived && (one.archivedAt ?? 0) < before)
    .sort((a, b) => (b.archivedAt ?? 0) - (a.archivedAt ?? 0));
  const threads = all.slice(0, limit).map((one) => ({
    ...world.channelPayload(one),
    thread_metadata: { archived: true, archive_timestamp: new Date(one.archivedAt ?? 0).toISOString() },
  }));
  return ok({ threads, members: [], has_more: all.length > limit });
}

function changeThread({ world }: RestContext, { body }: RestRequest, channel: FakeChannel): RestAnswer {
  if (channel.isLocked) return failed(missingPermissions);
  if (typeof body.archived === "boolean") channel.isArchived = body.archived;
  return ok(world.channelPayload(channel));
}

/** What the bot may not do here, and what state forbids; `isNew`: a message, which reopens a thread that is not locked. */
function placeProblem(channel: FakeChannel, { body, files }: RestRequest, isNew: boolean): ApiError | undefined {
  if (channel.noFiles && files.length > 0) return missingPermissions;
  if (channel.noEmbeds && Array.isArray(body.embeds) && body.embeds.length > 0) return missingPermissions;
  if (channel.isArchived && isNew && !channel.isLocked) channel.isArchived = false;
  return channel.isArchived ? archived : undefined;
}

function kindOf(method: string, part: string | undefined): CallKind {
  if (part !== "messages") return "other";
  return method === "POST" ? "send" : method === "PATCH" ? "edit" : method === "DELETE" ? "delete" : "other";
}

function one(channel: FakeChannel, messageId: string): RestAnswer {
  const message = channel.messages.get(messageId);
  return message ? ok(message) : failed(unknownMessage);
}

/** Newest first, as the real one answers; `after` gives the oldest ones above it. */
function history(channel: FakeChannel, query: URLSearchParams): RestAnswer {
  const limit = Number(query.get("limit") ?? 50);
  if (!(limit >= 1 && limit <= 100)) return failed({ status: 400, code: 50035, message: "Invalid Form Body" });
  const after = query.get("after");
  const before = query.get("before");
  if (channel.noHistory) return ok([]);
  let ids = [...channel.messages.keys()].sort((x, y) => (BigInt(x) < BigInt(y) ? -1 : 1));
  if (after !== null) ids = ids.filter((id) => BigInt(id) > BigInt(after)).slice(0, limit);
  else if (before !== null) ids = ids.filter((id) => BigInt(id) < BigInt(before)).slice(-limit);
  else ids = ids.slice(-limit);
  return ok(ids.reverse().map((id) => channel.messages.get(id)));
}

function fileProblem(context: RestContext, request: RestRequest): ApiError | undefined {
  const tooLarge = request.files.some((file) => file.sizeBytes > context.maxFileBytes);
  return tooLarge ? { status: 413, code: 40005, message: "Request entity too large" } : undefined;
}

/** Since v10 an edit leaves those that it lists, new ones by their index; without a list, all. https://docs.discord.com/developers/resources/message#edit-message */
function isListed({ method, body }: RestRequest, id: string): boolean {
  const listed = body.attachments as { id?: string | number }[] | null | undefined;
  return method !== "PATCH" || listed === undefined || listed?.some((one) => String(one.id) === id) === true;
}

function uploaded(context: RestContext, request: RestRequest): Record<string, unknown>[] {
  const files = request.files.filter((_, i) => isListed(request, String(i)));
  return files.map((file) => ({
    id: context.world.snowflake(),
    filename: file.name,
    size: file.sizeBytes,
    content_type: file.mimeType,
    url: `https://cdn.invalid/${file.name}`,
  }));
}

function create(context: RestContext, request: RestRequest, channel: FakeChannel): RestAnswer {
  const { world } = context;
  if (channel.type === ChannelType.forum)
    return failed({ status: 400, code: 50008, message: "Cannot send messages in a non-text channel" }, "send");
  const problem =
    messageProblem(request.body, request.files.length > 0, false) ??
    fileProblem(context, request) ??
    placeProblem(channel, request, true);
  if (problem) return failed(problem, "send");
  if (channel.noHistory && request.body.message_reference)
    return failed(
      { status: 403, code: 160002, message: "Cannot reply without permission to read message history" },
      "send",
    );
  const { nonce, enforce_nonce, message_reference } = request.body;
  const key = `${channel.id}:${String(nonce)}`;
  if (nonce !== undefined && enforce_nonce === true) {
    const known = world.nonces.get(key);
    const message = known && channel.messages.get(known.messageId);
    if (known && message && Date.now() - known.at < context.nonceLifeMs)
      return { ...ok(message, "send"), messageId: message.id, deduplicated: true };
  }
  const reference = message_reference as { message_id?: string; fail_if_not_exists?: boolean } | undefined;
  const replyToId = reference?.message_id;
  if (replyToId !== undefined && !channel.messages.has(replyToId) && reference?.fail_if_not_exists !== false)
    return failed(
      {
        status: 400,
        code: 50035,
        message: "Invalid Form Body",
        errors: { message_reference: { _errors: [{ code: "REPLIES_UNKNOWN_MESSAGE", message: "Unknown message" }] } },
      },
      "send",
    );
  const message = post(context, request, channel, {
    nonce: nonce === undefined ? undefined : String(nonce),
    replyToId: replyToId === undefined || !channel.messages.has(replyToId) ? undefined : replyToId,
  });
  if (nonce !== undefined) world.nonces.set(key, { messageId: message.id, at: Date.now() });
  return { ...ok(message, "send"), messageId: message.id };
}

/** The bot's own message exists, and the gateway tells the bot so, as the real one does. */
function post(
  context: RestContext,
  request: RestRequest,
  channel: FakeChannel,
  facts: { nonce?: string; replyToId?: string; flags?: number; extra?: Record<string, unknown> },
): APIMessage {
  const { content, embeds, components, flags } = request.body;
  const message = context.world.post(channel, context.world.bot, {
    content: typeof content === "string" ? content : "",
    embeds: (embeds ?? []) as APIMessage["embeds"],
    components: (components ?? []) as NonNullable<APIMessage["components"]>,
    attachments: uploaded(context, request),
    flags: typeof flags === "number" ? flags : 0,
    ...facts,
  });
  if ((message.flags ?? 0) & 64)
    channel.messages.delete(message.id); // ephemeral: no part of the history
  else announce(context, "MESSAGE_CREATE", channel, message);
  return message;
}

function announce(context: RestContext, type: string, channel: FakeChannel, message: object): void {
  const data = channel.guildId === undefined ? message : { ...message, guild_id: channel.guildId };
  context.gateway.dispatch(type, data, { isDm: channel.guildId === undefined, needs: "messages" });
}

function edit(
  context: RestContext,
  request: RestRequest,
  channel: FakeChannel,
  messageId: string,
  kind: CallKind,
): RestAnswer {
  const message = channel.messages.get(messageId);
  if (!message) return failed(unknownMessage, kind);
  if (message.author.id !== context.world.bot.id)
    return failed({ status: 403, code: 50005, message: "Cannot edit a message authored by another user" }, kind);
  const problem =
    messageProblem(request.body, request.files.length > 0, true) ??
    fileProblem(context, request) ??
    placeProblem(channel, request, false);
  if (problem) return failed(problem, kind);
  const { content, embeds, components } = request.body;
  Object.assign(message, {
    content: content === undefined ? message.content : (content ?? ""),
    embeds: embeds === undefined ? message.embeds : (embeds ?? []),
    components: components === undefined ? message.components : (components ?? []),
    attachments: [...message.attachments.filter(({ id }) => isListed(request, id)), ...uploaded(context, request)],
    edited_timestamp: new Date().toISOString(),
  });
  announce(context, "MESSAGE_UPDATE", channel, message);
  return { ...ok(message, kind), messageId };
}

function remove(context: RestContext, channel: FakeChannel, messageId: string, kind: CallKind): RestAnswer {
  if (channel.isArchived) return failed(archived, kind);
  if (!channel.messages.delete(messageId)) return failed(unknownMessage, kind);
  announce(context, "MESSAGE_DELETE", channel, { id: messageId, channel_id: channel.id });
  return { status: 204, kind, messageId };
}

/** A thread under a message: it has the message's id. */
function threadUnder(
  context: RestContext,
  { body: { name } }: RestRequest,
  channel: FakeChannel,
  messageId: string,
): RestAnswer {
  if (!channel.messages.has(messageId)) return failed(unknownMessage);
  if (context.world.channels.has(messageId))
    return failed({ status: 400, code: 160004, message: "A thread has already been created for this message" });
  if (channel.type !== ChannelType.text || typeof name !== "string" || name.length < 1 || name.length > 100)
    return failed({ status: 400, code: 50035, message: "Invalid Form Body" });
  const thread = context.world.addChannel({
    id: messageId,
    type: ChannelType.publicThread,
    name,
    parentId: channel.id,
  });
  context.gateway.dispatch(
    "THREAD_CREATE",
    { ...context.world.channelPayload(thread), newly_created: true },
    { isDm: false, needs: "guilds" },
  );
  return { status: 201, kind: "other", body: context.world.channelPayload(thread) };
}

function startThread(context: RestContext, request: RestRequest, channel: FakeChannel): RestAnswer {
  const first = (request.body.message ?? {}) as Record<string, unknown>;
  const name = request.body.name;
  if (channel.type !== ChannelType.forum || typeof name !== "string" || name.length < 1 || name.length > 100)
    return failed({ status: 400, code: 50035, message: "Invalid Form Body" }, "thread-start");
  const problem = messageProblem(first, request.files.length > 0, false);
  if (problem) return failed(problem, "thread-start");
  const tags = channel.requiredTags;
  const applied: unknown = request.body.applied_tags;
  if (tags && !(Array.isArray(applied) && applied.some((id) => tags.some((tag) => tag.id === id))))
    return failed(
      { status: 400, code: 40067, message: "A tag is required to create a forum post in this channel" },
      "thread-start",
    );
  const id = context.world.snowflake();
  const thread = context.world.addChannel({ id, type: ChannelType.publicThread, name, parentId: channel.id });
  context.gateway.dispatch(
    "THREAD_CREATE",
    { ...context.world.channelPayload(thread), newly_created: true },
    { isDm: false, needs: "guilds" },
  );
  const message = context.world.post(thread, context.world.bot, {
    id,
    content: String(first.content ?? ""),
    embeds: (first.embeds ?? []) as APIMessage["embeds"],
    components: (first.components ?? []) as NonNullable<APIMessage["components"]>,
    attachments: uploaded(context, request),
  });
  announce(context, "MESSAGE_CREATE", thread, message);
  return {
    status: 201,
    kind: "thread-start",
    body: { ...context.world.channelPayload(thread), message },
    messageId: id,
  };
}

/* ── interactions ──────────────────────────────────────────────────────────────────────────────────────────────── */

const AnswerType = { message: 4, defer: 5, deferUpdate: 6, update: 7, choices: 8, modal: 9 } as const;

function callback(context: RestContext, request: RestRequest, id: string, token: string): RestAnswer {
  const interaction = context.world.interactions.get(token);
  const type = Number(request.body.type);
  const data = (request.body.data ?? {}) as Record<string, unknown>;
  const kind: CallKind =
    type === AnswerType.message || type === AnswerType.update || type === AnswerType.modal
      ? "interaction-reply"
      : "other";
  if (!interaction || interaction.id !== id)
    return failed({ status: 404, code: 10062, message: "Unknown interaction" }, kind);
  if (interaction.acknowledged)
    return failed({ status: 400, code: 40060, message: "Interaction has already been acknowledged." }, kind);
  if (Date.now() - interaction.createdAt > context.acknowledgeWithinMs)
    return failed({ status: 404, code: 10062, message: "Unknown interaction" }, kind);
  const problem = callbackProblem(interaction, type, data);
  if (problem) return failed(problem, kind);
  interaction.acknowledged = { at: Date.now(), type, isPrivate: (Number(data.flags ?? 0) & 64) !== 0, data };
  if (type === AnswerType.deferUpdate && interaction.sourceMessageId)
    interaction.originalId = interaction.sourceMessageId;
  let messageId: string | undefined;
  if (type === AnswerType.message) messageId = answerOriginal(context, { ...request, body: data }, interaction).id;
  context.onInteractionAnswer(interaction, type, data);
  return { status: 204, kind, messageId };
}

function callbackProblem(
  interaction: FakeInteraction,
  type: number,
  data: Record<string, unknown>,
): ApiError | undefined {
  const isChoices = interaction.type === 4;
  if (isChoices !== (type === AnswerType.choices)) return { status: 400, code: 50035, message: "Invalid Form Body" };
  if (isChoices && (!Array.isArray(data.choices) || data.choices.length > 25))
    return { status: 400, code: 50035, message: "Invalid Form Body" };
  if (
    isChoices &&
    (data.choices as Record<string, unknown>[]).some(
      (x) => String(x.name).length > 100 || String(x.value).length > 100 || String(x.name).length < 1,
    )
  )
    return { status: 400, code: 50035, message: "Invalid Form Body" };
  if (type === AnswerType.modal && interaction.type === 5)
    return { status: 400, code: 50035, message: "Invalid Form Body" };
  if (type === AnswerType.modal) return modalProblem(data);
  if (type === AnswerType.message) return messageProblem(data, false, false);
  return undefined;
}

function answerOriginal(context: RestContext, request: RestRequest, interaction: FakeInteraction): APIMessage {
  const channel = context.world.channels.get(interaction.channelId) as FakeChannel;
  const isPrivate = interaction.acknowledged?.isPrivate === true;
  const message = post(context, request, channel, {
    flags: isPrivate ? 64 : 0,
    extra: { webhook_id: context.world.applicationId },
  });
  if (isPrivate) context.world.channels.get(interaction.channelId)?.messages.set(message.id, message);
  interaction.originalId = message.id;
  return message;
}

function webhook(
  context: RestContext,
  request: RestRequest,
  applicationId: string,
  token: string,
  messageId: string | undefined,
): RestAnswer {
  const kind: CallKind =
    request.method === "POST"
      ? "follow-up"
      : request.method === "DELETE"
        ? "delete"
        : messageId === "@original"
          ? "original-edit"
          : "edit";
  const interaction = context.world.interactions.get(token);
  if (!interaction || applicationId !== context.world.applicationId)
    return failed({ status: 404, code: 10015, message: "Unknown Webhook" }, kind);
  if (Date.now() - interaction.createdAt > context.tokenLifeMs)
    return failed({ status: 401, code: 50027, message: "Invalid Webhook Token" }, kind);
  if (!interaction.acknowledged) return failed({ status: 404, code: 10015, message: "Unknown Webhook" }, kind);
  const channel = context.world.channels.get(interaction.channelId) as FakeChannel;
  if (request.method === "POST") {
    const problem = messageProblem(request.body, request.files.length > 0, false) ?? fileProblem(context, request);
    if (problem) return failed(problem, kind);
    const message = post(context, request, channel, { extra: { webhook_id: applicationId } });
    if ((message.flags ?? 0) & 64) channel.messages.set(message.id, message);
    // The first one after a deferral takes the place of "thinking…".
    interaction.originalId ??= message.id;
    return { ...ok(message, kind), messageId: message.id };
  }
  if (messageId !== "@original") {
    if (request.method === "PATCH") return edit(context, request, channel, messageId ?? "", kind);
    if (request.method === "DELETE") return remove(context, channel, messageId ?? "", kind);
    return one(channel, messageId ?? "");
  }
  if (request.method === "PATCH") {
    if (interaction.originalId) return edit(context, request, channel, interaction.originalId, kind);
    const problem = messageProblem(request.body, request.files.length > 0, false) ?? fileProblem(context, request);
    if (problem) return failed(problem, kind);
    const message = answerOriginal(context, request, interaction);
    return { ...ok(message, kind), messageId: message.id };
  }
  if (!interaction.originalId) return failed(unknownMessage, kind);
  return request.method === "DELETE"
    ? remove(context, channel, interaction.originalId, kind)
    : one(channel, interaction.originalId);
}

function commands({ world }: RestContext, request: RestRequest): RestAnswer {
  if (request.method === "GET") return ok(world.commands);
  if (request.method !== "PUT") return failed({ status: 405, code: 0, message: "405: Method Not Allowed" });
  const problem = commandsProblem(request.json);
  if (problem) return failed(problem);
  // The real one adds fields and leaves out defaults: what comes back is never byte-equal to what was sent.
  world.commands = (request.json as Record<string, unknown>[]).map((command) => ({
    id: world.snowflake(),
    application_id: world.applicationId,
    version: world.snowflake(),
    default_member_permissions: null,
    nsfw: false,
    dm_permission: true,
    contexts: null,
    integration_types: [0],
    name_localizations: null,
    ...command,
    type: 1,
  }));
  return ok(world.commands);
}
