/** Events from other systems. The signature is the login: there is no token, and any host name will do. */
import { Readable } from "node:stream";
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { openRoute } from "../route.js";

/** Programs send events whole and at once. */
const BODY_WITHIN_MS = 10_000;

/** Errors under it are answered as application/problem+json. */
export const INGEST_ROOT = "/ingest";

export const ingestRoutes = [
  openRoute({
    method: "POST",
    path: `${INGEST_ROOT}/:name`,
    access: "signed",
    takesBytes: true,
    bodyWithinMs: BODY_WITHIN_MS,
    summary:
      "An event that is declared under `events:`, signed as Standard Webhooks defines it, JSON as body; hooks get a body that is no object as `{ value: <body> }`. 202 when it is on disk, 200 when it was before, 422 when another body came under its id, when it does not match the schema or has a whole number above 2^53, 429 with `Retry-After` when `events.<name>.max_waiting` of its name wait; then it is not stored.",
    params: z.object({ name: z.string() }),
    async handle({ ingest, causeOf }, { params: { name }, request, reply }) {
      if (!ingest)
        throw new HookgateError({ code: "EVENT_UNKNOWN", message: `there is no event "${name.slice(0, 64)}"` });
      const maxBytes = ingest.maxBytes(name);
      if (Number(request.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
      const body = await bytesOf(request.body, maxBytes);
      const { id, isDuplicate } = await ingest.accept({
        name,
        headers: request.headers,
        body,
        causeOf: () => causeOf(request),
      });
      reply.code(isDuplicate ? 200 : 202);
      return { id, status: isDuplicate ? "duplicate" : "accepted" };
    },
  }),
];

async function bytesOf(body: unknown, maxBytes: number): Promise<Buffer> {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (!(body instanceof Readable)) throw new HookgateError({ code: "BODY_INVALID", message: "expected JSON as body" });
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): HookgateError {
  return new HookgateError({ code: "TOO_LARGE", message: `the body is larger than ${maxBytes} bytes` });
}
