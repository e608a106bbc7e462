/** The file that DATABASE_URL names. */
import { fileURLToPath } from "node:url";

/** `file:data/hookgate.db` is relative to the working directory; `file:///srv/hookgate.db` is absolute. */
export function databaseFile(url: string): string {
  return url.startsWith("file://") ? fileURLToPath(url) : url.slice("file:".length);
}
