/** The title of a task or a mission: 1 to 300 characters in one line. */
import { z } from "zod";
import { shownName } from "../../lib/text/person-name.js";

/** Line breaks become spaces; control characters and signs that turn the direction of the text are left out. */
export const title = z
  .string()
  .overwrite((text) => shownName(text) ?? "")
  .min(1, "it needs a title")
  .max(300);
