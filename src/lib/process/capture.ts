/** Keeps the start and the end of a stream; the middle of a long stream is counted and dropped. */
import type { Readable } from "node:stream";

export interface Capture {
  /** The text that was kept, with a note between its start and its end when there was more. */
  text(): string;
  isCut(): boolean;
}

/** Reads the stream to its end, so that the writer never waits; calls `onFlood` when more than `floodBytes` have come. */
export function captureOutput(
  stream: Readable | null,
  maxBytes: number,
  floodBytes: number,
  onFlood: () => void,
): Capture {
  const headLimit = Math.ceil(maxBytes / 2);
  const tailLimit = maxBytes - headLimit;
  const head: Buffer[] = [];
  const tail: Buffer[] = [];
  let headBytes = 0;
  let tailBytes = 0;
  let total = 0;

  stream?.on("data", (chunk: Buffer) => {
    total += chunk.length;
    if (total > floodBytes) onFlood();
    const forHead = chunk.subarray(0, headLimit - headBytes);
    if (forHead.length > 0) {
      head.push(forHead);
      headBytes += forHead.length;
    }
    const rest = chunk.subarray(forHead.length);
    if (rest.length === 0) return;
    tail.push(rest);
    tailBytes += rest.length;
    while (tail.length > 1 && tailBytes - (tail[0] as Buffer).length >= tailLimit)
      tailBytes -= (tail.shift() as Buffer).length;
  });
  // A pipe that breaks has ended; its exit shows how the program ended.
  stream?.on("error", () => {});

  return {
    isCut: () => total > maxBytes,
    text() {
      const end = Buffer.concat(tail);
      if (total <= maxBytes) return Buffer.concat([...head, end]).toString("utf8");
      const last = end.subarray(Math.max(0, end.length - tailLimit));
      const first = trimEnd(Buffer.concat(head));
      return `${first.toString("utf8")}\n[… ${total - headBytes - last.length} bytes cut …]\n${trimStart(last).toString("utf8")}`;
    },
  };
}

/** Without a character that was cut in two. */
function trimEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes.length - end < 3 && isContinuation(bytes[end - 1])) end--;
  const lead = bytes[end - 1] ?? 0;
  const wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.length - end + 1 < wanted ? bytes.subarray(0, end - 1) : bytes;
}

function trimStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;
