/** Files of a delivery that its readers did not get: a line of text replaces each of them. */
import type { LostFile } from "../../lib/files/lost-file.js";
import type { Delivery } from "../store.js";

type Lossy = Pick<Delivery, "lostFiles" | "parts">;

/** Files that were lost before the delivery was sent, and files that its platform did not get. */
export function lostFilesOf({ lostFiles = [], parts }: Lossy): LostFile[] {
  return [...lostFiles, ...parts.flatMap((part) => part.lostFiles ?? [])];
}

/** True for a copy whose original had no text, when none of its files arrived or it had none. */
export function isNothingLeft(copy: Lossy & Pick<Delivery, "sight" | "frozen" | "message">): boolean {
  if (copy.sight?.text !== "") return false;
  const { attachments = [] } = copy.frozen ?? copy.message ?? {};
  return attachments.length <= lostFilesOf({ parts: copy.parts }).length;
}
