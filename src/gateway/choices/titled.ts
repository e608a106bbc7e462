/** How a title or a name is shown in a choice. */
import { shortened } from "../../lib/text/shortened.js";

/** Characters; the id beside it must stay readable. */
const MAX_TITLE = 48;

export function titled(text: string): string {
  return shortened(text.replace(/\s+/g, " ").trim(), MAX_TITLE);
}
