/** Rooms of the web chat and their messages. */
import { z } from "zod";
import { webAddress } from "../../domain/chat/address.js";
import { needWeb, personRoute } from "../route.js";

/** The parameters of a route that names a room. */
export const roomParams = z.object({ room: z.string().min(1).max(100) });

export const roomRoutes = [
  personRoute({
    method: "GET",
    path: "/api/rooms",
    summary:
      "The rooms that the current user can see, with `listens`: `always`, `mention` (only messages that mention the gateway are answered) or `never`; with `takesCopies`, when `gateway.default_route` forwards messages to it; and `seq`, the place from which `/api/events?after=` continues.",
    async handle(parts, { person }) {
      const web = needWeb(parts);
      // First the place in the changes, then the rooms: a change in between is sent twice, never lost.
      const seq = await web.lastSeq();
      const rooms = await web.rooms(person);
      return {
        seq,
        rooms: rooms.map((one) => ({
          ...one,
          takesCopies: parts.gateway.takesCopies(webAddress(one.id)),
          listens: parts.gateway.listens("web", person.id, { chatId: one.id, isDm: one.isDm }),
        })),
      };
    },
  }),
  personRoute({
    method: "POST",
    path: "/api/rooms",
    summary:
      "`{ name }`: adds a room for everyone; one person can add `web.rooms_per_person` rooms (409 `TOO_MANY_ROOMS` after that).",
    perMinute: 30,
    body: z.strictObject({ name: z.string().max(60) }),
    async handle(parts, { person, body, reply }) {
      const created = await needWeb(parts).createRoom(person, body.name);
      reply.code(201);
      return { room: created };
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/rooms/:room/messages",
    summary:
      "`?before=ID&limit=N`: the newest messages before one, threads included, oldest first. Fewer than `limit`, with `more: true`, when they have more than 250 KB.",
    isLong: true,
    params: roomParams,
    query: z.object({
      before: z.coerce.number().int().positive().optional(),
      limit: z.coerce.number().int().min(1).max(200).default(60),
    }),
    async handle(parts, { person, params, query }) {
      return needWeb(parts).history(person, params.room, query.before, query.limit);
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/messages/:message/answers-to",
    summary:
      "For the copy of another message: the `author` to whom a reply is sent, or the `room` where the reply is posted. Empty for any other message.",
    params: z.object({ message: z.coerce.number().int().positive() }),
    async handle(parts, { person, params }) {
      const roomId = await needWeb(parts).roomOf(person, params.message);
      return (await parts.gateway.answersTo(webAddress(roomId), String(params.message))) ?? {};
    },
  }),
];
