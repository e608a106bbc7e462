/** Our own ids, kept on disk because a resumed session does not tell them. */
import { z } from "zod";
import type { Self } from "./decode/message.js";

const stored = z.object({ botId: z.string(), applicationId: z.string(), botName: z.string() });

/** Undefined when absent or of another version. */
export function parseSelf(text: string | undefined): Self | undefined {
  if (text === undefined) return undefined;
  try {
    return stored.parse(JSON.parse(text));
  } catch {
    return undefined; // a new session tells them again
  }
}
