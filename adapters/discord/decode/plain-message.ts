/** Checks the common kind of message in place: zod copies the data that it reads, and takes ten times as long. */

import { isRecord } from "../../../src/lib/record.js";
import { type MessagePayload, messagePayload } from "./payloads.js";

export function readMessage(data: unknown): MessagePayload {
  return isPlainMessage(data) ? data : messagePayload.parse(data);
}

const SNOWFLAKE = /^\d{1,20}$/;

/** A message of words and mentions that a person wrote. False for a message that has more, or is broken: zod reads those. */
export function isPlainMessage(data: unknown): data is MessagePayload {
  if (!isRecord(data)) return false;
  return (
    isId(data.id) &&
    isId(data.channel_id) &&
    isOptional(data.guild_id, isId) &&
    typeof data.type === "number" &&
    Number.isFinite(data.type) &&
    typeof data.content === "string" &&
    isUser(data.author) &&
    isOptional(data.member, isMember) &&
    isOptional(data.webhook_id, isId) &&
    isNullish(data.edited_timestamp, isText) &&
    isOptional(data.mentions, areUsers) &&
    isOptional(data.mention_roles, areIds) &&
    hasNothingElse(data)
  );
}

function hasNothingElse(data: Record<string, unknown>): boolean {
  const { attachments } = data;
  return (
    (attachments === undefined || (Array.isArray(attachments) && attachments.length === 0)) &&
    data.sticker_items === undefined &&
    data.poll === undefined &&
    data.message_reference === undefined &&
    (data.referenced_message === undefined || data.referenced_message === null) &&
    data.message_snapshots === undefined
  );
}

function isUser(value: unknown): boolean {
  return (
    isRecord(value) &&
    isId(value.id) &&
    isText(value.username) &&
    isNullish(value.global_name, isText) &&
    (value.bot === undefined || typeof value.bot === "boolean")
  );
}

function isMember(value: unknown): boolean {
  return isRecord(value) && isNullish(value.nick, isText) && areIds(value.roles) && isOptional(value.user, isUser);
}

const isText = (value: unknown) => typeof value === "string";
const isId = (value: unknown) => typeof value === "string" && SNOWFLAKE.test(value);
const areIds = (value: unknown) => Array.isArray(value) && value.every(isId);
const areUsers = (value: unknown) => Array.isArray(value) && value.every(isMentioned);
const isMentioned = (one: unknown) =>
  isRecord(one) && isId(one.id) && isOptional(one.username, isText) && isNullish(one.global_name, isText);

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isNullish(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value);
}
