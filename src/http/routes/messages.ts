/** Writing in the web chat. A `nonce` that the page chooses makes a repeated request the same request. */
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { type HttpDeps, needWeb, personRoute } from "../route.js";
import { roomParams } from "./rooms.js";

const message = z.object({ message: z.coerce.number().int().positive() });
const nonce = z.string().regex(/^[\w-]{8,64}$/, "expected 8 to 64 letters, digits, _ or -");
const threadId = z
  .string()
  .regex(/^\d{1,15}$/)
  .optional();
/** A single emoji, as a platform would send it: pictographs, flags and key caps, with their joiners. */
const emoji = z
  .string()
  .max(40)
  .regex(/^(\p{Extended_Pictographic}|\p{Emoji_Component}|\p{Regional_Indicator})+$/u, "expected an emoji");

/** A program of a hook, when it is one that writes, deletes, reacts or presses in a person's name. */
async function writerOf({ causeOf }: HttpDeps, request: FastifyRequest) {
  const cause = await causeOf(request);
  return cause && { writtenBy: { runId: cause.id, depth: cause.depth } };
}

export const messageRoutes = [
  personRoute({
    method: "POST",
    path: "/api/rooms/:room/messages",
    counts: "messages",
    summary:
      "`{ text, nonce, threadId?, replyToId?, uploads? }`: posts a message; answers when the message is on disk.",
    params: roomParams,
    body: z.strictObject({
      text: z.string(),
      nonce,
      threadId,
      replyToId: z.number().int().positive().optional(),
      uploads: z.array(z.string()).max(10).default([]),
    }),
    async handle(deps, { person, params, body, request, reply }) {
      const web = needWeb(deps);
      const attachments = await Promise.all(body.uploads.map((id) => deps.uploads.take(person.id, id)));
      const { text, threadId, replyToId } = body;
      reply.code(201);
      return {
        message: await web.say(person, {
          roomId: params.room,
          text,
          attachments,
          nonce: body.nonce,
          ...(await writerOf(deps, request)),
          threadId,
          replyToId,
        }),
      };
    },
  }),
  personRoute({
    method: "POST",
    path: "/api/rooms/:room/commands",
    counts: "messages",
    summary: "`{ name, options, nonce, threadId? }`: runs an operator command with named options in the room.",
    params: roomParams,
    body: z.strictObject({
      name: z.string().min(1).max(64),
      options: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      nonce,
      threadId,
    }),
    async handle(deps, { person, params, body, request, reply }) {
      const { threadId, ...given } = body;
      reply.code(201);
      return {
        message: await needWeb(deps).command(person, {
          roomId: params.room,
          ...given,
          ...(await writerOf(deps, request)),
          threadId,
        }),
      };
    },
  }),
  personRoute({
    method: "PATCH",
    path: "/api/messages/:message",
    counts: "messages",
    summary: "`{ text, nonce }`: edits a message of the current user.",
    params: message,
    body: z.strictObject({ text: z.string(), nonce }),
    async handle(deps, { person, params, body, request }) {
      const { writtenBy } = (await writerOf(deps, request)) ?? {};
      return { message: await needWeb(deps).edit(person, params.message, body.text, body.nonce, writtenBy) };
    },
  }),
  personRoute({
    method: "DELETE",
    path: "/api/messages/:message",
    counts: "messages",
    summary: "Deletes a message of the current user.",
    params: message,
    async handle(deps, { person, params, request }) {
      const { writtenBy } = (await writerOf(deps, request)) ?? {};
      return { message: await needWeb(deps).remove(person, params.message, writtenBy) };
    },
  }),
  personRoute({
    method: "PUT",
    path: "/api/messages/:message/reactions",
    counts: "messages",
    summary: "`{ emoji, on }`: adds or removes a reaction of the current user.",
    params: message,
    body: z.strictObject({ emoji, on: z.boolean() }),
    async handle(deps, { person, params, body, request }) {
      const { writtenBy } = (await writerOf(deps, request)) ?? {};
      return { message: await needWeb(deps).react(person, params.message, body.emoji, body.on, writtenBy) };
    },
  }),
  personRoute({
    method: "POST",
    path: "/api/messages/:message/press",
    counts: "messages",
    summary:
      "`{ token, nonce, values? }`: presses a button, or sends its form in. Answers with a form when there is one.",
    params: message,
    body: z.strictObject({
      token: z.string().min(1).max(200),
      nonce,
      values: z.record(z.string(), z.string().max(10_000)).optional(),
    }),
    async handle(deps, { person, params, body, request }) {
      const { values, ...pressing } = body;
      const acknowledge = await needWeb(deps).press(person, {
        messageId: params.message,
        ...pressing,
        ...(await writerOf(deps, request)),
        values,
      });
      return acknowledge.kind === "form" ? { form: acknowledge.form, token: acknowledge.token } : {};
    },
  }),
];
