/**
 * Multipart bodies as Telegram's server reads them. grammY writes file names without quotes, spaces included: Node's FormData
 * parser refuses such names, and busboy drops the file; Telegram reads them up to the next semicolon.
 */
import type { Upload } from "./methods.js";

export interface Multipart {
  payload: Record<string, unknown>;
  uploads: Upload[];
}

export function readMultipart(bytes: Buffer, boundary: string): Multipart {
  const found: Multipart = { payload: {}, uploads: [] };
  const mark = Buffer.from(`--${boundary}`);
  let start = bytes.indexOf(mark);
  while (start >= 0) {
    const from = start + mark.length;
    const next = bytes.indexOf(mark, from);
    if (next < 0) break;
    readPart(bytes.subarray(from + 2, next - 2), found);
    start = next;
  }
  return found;
}

function readPart(part: Buffer, { payload, uploads }: Multipart): void {
  const split = part.indexOf("\r\n\r\n");
  if (split < 0) return;
  const headers = part.subarray(0, split).toString("utf8");
  const bytes = part.subarray(split + 4);
  const name = parameter(headers, "name");
  const file = parameter(headers, "filename");
  if (name === undefined) return;
  if (file === undefined) payload[name] = fieldValue(name, bytes.toString("utf8"));
  else {
    const mime = /content-type:\s*([^\r\n]+)/i.exec(headers)?.[1] ?? "application/octet-stream";
    uploads.push({ field: name, name: file, mime, sizeBytes: bytes.length, bytes: Buffer.from(bytes) });
  }
}

function parameter(headers: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^;\\r\\n]*))`, "i").exec(headers);
  return match?.[1] ?? match?.[2]?.trim();
}

/** Objects and booleans travel as text. */
function fieldValue(name: string, text: string): unknown {
  if (name === "caption" || name === "text") return text;
  if (text === "true" || text === "false") return text === "true";
  return /^[[{]/.test(text) ? (JSON.parse(text) as unknown) : text;
}
