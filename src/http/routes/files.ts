/** Files of the web chat: up before the message, down with it. */
import { Readable } from "node:stream";
import { z } from "zod";
import { HookgateError } from "../../lib/errors.js";
import { needWeb, personRoute } from "../route.js";
import { openAttachment, UPLOAD_WITHIN_MS } from "../uploads.js";

const MIME = /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/i;
/** Shown in the page. Everything else is offered for download, so that no file can act as a page of ours. */
const INLINE = /^(image\/(png|jpeg|gif|webp|avif)|audio\/(mpeg|ogg|wav|mp4|webm)|video\/(mp4|webm|ogg))$/i;

export const fileRoutes = [
  personRoute({
    method: "POST",
    path: "/api/uploads",
    summary:
      "`?filename=NAME`, the bytes as body: keeps a file; answers with the id to put into `uploads`, or with 507 when the disk is full.",
    takesBytes: true,
    counts: "uploads",
    bodyWithinMs: UPLOAD_WITHIN_MS,
    query: z.object({ filename: z.string().min(1).max(500) }),
    async handle(parts, { person, query, request, reply }) {
      needWeb(parts);
      if (!(request.body instanceof Readable))
        throw new HookgateError({ code: "BODY_INVALID", message: "expected the file's bytes as body" });
      const given = request.headers["content-type"]?.split(";")[0]?.trim() ?? "";
      const mimeType = MIME.test(given) ? given.toLowerCase() : "application/octet-stream";
      const file = await parts.uploads.save(person.id, { filename: query.filename, mimeType, bytes: request.body });
      reply.code(201);
      const { ref: id, filename, sizeBytes, type } = file;
      return { upload: { id, filename, mimeType, sizeBytes, type } };
    },
  }),
  personRoute({
    method: "GET",
    path: "/api/messages/:message/attachments/:index",
    summary: "The bytes of a file in a message, or a redirect to where they are.",
    params: z.object({
      message: z.coerce.number().int().positive(),
      index: z.coerce.number().int().nonnegative(),
    }),
    async handle(parts, { person, params, reply }) {
      const file = await needWeb(parts).attachment(person, params.message, params.index);
      const bytes = await openAttachment(file);
      if (!bytes) {
        if (!/^https?:\/\//i.test(file.url))
          throw new HookgateError({ code: "FILE_NOT_FOUND", message: "this file cannot be fetched from here" });
        return reply.redirect(file.url);
      }
      const isInline = INLINE.test(file.mimeType);
      const name = encodeURIComponent(file.filename ?? "file").replace(
        /['()*]/g,
        (c) => `%${c.charCodeAt(0).toString(16)}`,
      );
      return reply
        .header("content-type", isInline ? file.mimeType : "application/octet-stream")
        .header("content-disposition", `${isInline ? "inline" : "attachment"}; filename*=UTF-8''${name}`)
        .header("content-security-policy", "default-src 'none'; sandbox")
        .header("cache-control", "private, max-age=86400")
        .send(bytes);
    },
  }),
];
