/** The browser of this machine. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

export function browserPath(path = process.env.PATH ?? ""): string {
  const folders = [...path.split(delimiter), "/usr/bin", "/snap/bin"];
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`None of ${NAMES.join(", ")} is installed.`);
  return found;
}
