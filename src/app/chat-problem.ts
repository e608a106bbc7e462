/** Whether anything can be posted to a chat, as far as the gateway knows. */
import { PLATFORMS, type PlatformName } from "../domain/platform.js";
import { nearest } from "../lib/nearest.js";

/** Why nothing can be posted there; undefined when it can, as far as one knows. Only the web chat's rooms are known. */
export function chatProblem(
  text: string,
  on: readonly PlatformName[],
  rooms: ReadonlySet<string> | undefined,
): string | undefined {
  const [platform = "", , room = ""] = text.split(":");
  if (!PLATFORMS.some((known) => known === platform)) return undefined;
  const isOff = !on.some((one) => one === platform);
  if (platform !== "web" || rooms === undefined || rooms.has(room) || room.startsWith("dm-"))
    return isOff ? `${text} cannot be reached: ${platform} is off` : undefined;
  const near = nearest(room, rooms);
  return `there is no room "${room}" in the web chat${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
}
