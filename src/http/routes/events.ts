/** Live changes, as server-sent events. */
import { z } from "zod";
import { needWeb, personRoute } from "../route.js";
import { streamChanges } from "../stream.js";

const seq = z.coerce.number().int().nonnegative();

export const eventRoutes = [
  personRoute({
    method: "GET",
    path: "/api/events",
    summary:
      "Server-sent events `message`, `rooms`, `reset`, `heartbeat`; goes on after `Last-Event-ID` or `?after=SEQ`.",
    query: z.object({ after: seq.optional() }),
    async handle(parts, { person, query, request, reply }) {
      const port = needWeb(parts);
      const resumed = seq.safeParse(request.headers["last-event-id"] ?? undefined);
      const after = resumed.success ? resumed.data : query.after;
      const page = parts.streams.open(person.id);
      reply.hijack();
      const headers = { ...reply.getHeaders(), "content-type": "text/event-stream", "cache-control": "no-store" };
      // A stream that has ended leaves no idle connection behind, which a stop would wait for.
      for (const [name, value] of Object.entries({ ...headers, connection: "close", "x-accel-buffering": "no" }))
        if (value !== undefined) reply.raw.setHeader(name, value);
      reply.raw.writeHead(200);
      await streamChanges({
        port,
        person,
        response: reply.raw,
        after,
        clock: parts.clock,
        signal: AbortSignal.any([parts.stopping, page.signal]),
      }).finally(() => page.close());
    },
  }),
];
