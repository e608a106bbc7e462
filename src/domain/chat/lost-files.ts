/** Files of a delivery that its readers did not get: a line of text stands for each. */
import type { LostFile } from "../../lib/files/lost-file.js";
import type { Delivery } from "../store.js";

type Lossy = Pick<Delivery, "lostFiles" | "parts">;

/** Those that were lost before it was sent, and those that its platform was not given. */
export function lostFilesOf({ lostFiles = [], parts }: Lossy): LostFile[] {
  return [...lostFiles, ...parts.flatMap((part) => part.lostFiles ?? [])];
}

/** A copy of a message without words, of which nothing but those lines arrived; or of one that had no files either. */
export function isNothingLeft(copy: Lossy & Pick<Delivery, "sight" | "frozen" | "message">): boolean {
  if (copy.sight?.text !== "") return false;
  const { attachments = [] } = copy.frozen ?? copy.message ?? {};
  return attachments.length <= lostFilesOf({ parts: copy.parts }).length;
}
