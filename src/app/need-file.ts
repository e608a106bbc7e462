/**
 * A gateway that read its settings from a file does not go on with the defaults when that file is lost: an editor, a full disk or a
 * deployment that stopped halfway leaves an empty file, or none. A link to nothing is refused where it is read.
 */
import type { LoadedConfig } from "../config/load.js";
import { HookgateError } from "../lib/errors.js";

/** Throws CONFIG_INVALID when `next` is a lost file and `inForce` is none. */
export function needFile(next: LoadedConfig, inForce: LoadedConfig): void {
  const { file } = inForce;
  if (file === undefined || (next.file !== undefined && !(next.isBlank && !inForce.isBlank))) return;
  const message =
    next.file === undefined
      ? `${file} was removed. Put it back; to use the defaults, write a file with a comment (#) alone.`
      : `${file} is empty. Write the settings again; a line with a comment (#) alone means the defaults.`;
  throw new HookgateError({ code: "CONFIG_INVALID", message });
}
