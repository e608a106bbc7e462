/** Slash commands, button presses and modals as events; typing into an option as a completion query. Pure. */
import {
  type CommandSpec,
  type CompletionQuery,
  namedOption,
  type OptionValue,
  placedOption,
} from "../../../src/domain/chat/command.js";
import type { ActionEvent, CommandEvent, InteractionRef } from "../../../src/domain/chat/event.js";
import type { InboundMessage } from "../../../src/domain/chat/message.js";
import { snowflakeTime } from "../snowflake.js";
import type { Self } from "./message.js";
import { DM_TYPES, type InteractionPayload, THREAD_TYPES, type UserPayload } from "./payloads.js";

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type */
export const InteractionType = { command: 2, component: 3, autocomplete: 4, modal: 5 } as const;

/** A token lives 15 minutes; a minute less leaves time for the answer to travel. */
const TOKEN_LIFE_MS = 14 * 60_000;

interface Around {
  self: Self;
  /** Used where the payload does not name it. */
  parentChatId?: string | undefined;
  receivedAt: number;
  raw?: unknown;
}

export function decodeCommand(
  payload: InteractionPayload,
  around: Around,
  commands: readonly CommandSpec[],
): CommandEvent | undefined {
  const name = payload.data?.name;
  const message = messageOf(payload, around);
  if (name === undefined || !message) return undefined;
  const options: Record<string, OptionValue> = {};
  for (const option of payload.data?.options ?? []) if (option.value !== undefined) options[option.name] = option.value;
  message.text = writtenOut(
    name,
    options,
    commands.find((command) => command.name === name),
  );
  message.isGroupMention = !message.isDm;
  return { kind: "command", eventId: `interaction:${payload.id}`, message, name, options, interaction: refOf(payload) };
}

/** A press, or a modal sent in. Undefined when it carries no token. */
export function decodeAction(payload: InteractionPayload, around: Around): ActionEvent | undefined {
  const token = payload.data?.custom_id;
  const message = messageOf(payload, around);
  if (token === undefined || !message) return undefined;
  const interaction = refOf(payload);
  if (payload.message) message.messageId = payload.message.id;
  const event: ActionEvent = { kind: "action", eventId: `interaction:${payload.id}`, message, token, interaction };
  if (payload.type === InteractionType.modal) event.values = modalValues(payload);
  return event;
}

export function decodeCompletion(payload: InteractionPayload): CompletionQuery | undefined {
  const person = payload.member?.user ?? payload.user;
  const command = payload.data?.name;
  const all = payload.data?.options ?? [];
  const focused = all.find((option) => option.focused);
  if (!person || command === undefined || !focused) return undefined;
  const displayName = payload.member?.nick ?? person.global_name ?? person.username;
  return {
    operator: {
      platform: "discord",
      userId: person.id,
      displayName,
      roleIds: payload.member?.roles,
    },
    command,
    option: focused.name,
    typed: String(focused.value ?? ""),
    given: Object.fromEntries(
      all.flatMap(({ name, value, focused: isFocused }) => (isFocused || value === undefined ? [] : [[name, value]])),
    ),
  };
}

function messageOf(payload: InteractionPayload, around: Around): InboundMessage | undefined {
  const person: UserPayload | undefined = payload.member?.user ?? payload.user;
  const chatId = payload.channel_id ?? payload.channel?.id;
  if (!person || chatId === undefined) return undefined;
  const { channel } = payload;
  const parentChatId =
    channel && THREAD_TYPES.has(channel.type) ? (channel.parent_id ?? undefined) : around.parentChatId;
  const displayName = payload.member?.nick ?? person.global_name ?? undefined;
  return {
    platform: "discord",
    botId: around.self.botId,
    chatId,
    guildId: payload.guild_id,
    parentChatId,
    userId: person.id,
    username: person.username,
    displayName,
    userRoleIds: payload.member?.roles,
    isBot: person.bot || undefined,
    text: "",
    attachments: [],
    isDm: payload.guild_id === undefined || (channel !== undefined && DM_TYPES.has(channel.type)),
    isGroupMention: payload.guild_id !== undefined,
    messageId: payload.id,
    isEdit: false,
    receivedAt: around.receivedAt,
    raw: around.raw,
  };
}

function refOf(payload: InteractionPayload): InteractionRef {
  return {
    id: payload.id,
    token: payload.token,
    expiresAt: snowflakeTime(payload.id) + TOKEN_LIFE_MS,
    isPrivate: false, // the gateway's answer to accept() decides
  };
}

function modalValues(payload: InteractionPayload): Record<string, string> {
  const values: Record<string, string> = {};
  for (const row of payload.data?.components ?? [])
    for (const field of [...(row.components ?? []), ...(row.component ? [row.component] : [])])
      if (field.custom_id !== undefined) values[field.custom_id] = field.value ?? "";
  return values;
}

/** `/hooks show x`: by position while the options come in the declared order, by name after a gap. Free text is last: the rest of the line is part of it. */
function writtenOut(
  name: string,
  options: Record<string, OptionValue>,
  spec: Pick<CommandSpec, "options"> = { options: [] },
): string {
  const words = [`/${name}`];
  const freeText: string[] = [];
  const left = new Set(Object.keys(options));
  for (const option of spec.options) {
    const value = options[option.name];
    if (value === undefined || option.only?.includes(String(options.action)) === false) break;
    (option.rest ? freeText : words).push(placedOption(spec, option, value));
    left.delete(option.name);
    if (option.rest) break;
  }
  for (const key of left) words.push(namedOption(key, options[key] as OptionValue));
  return [...words, ...freeText].join(" ");
}
