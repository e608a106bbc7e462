/** The version in package.json, wherever this file was built to. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const manifest = z.object({ name: z.literal("hookgate"), version: z.string() });

export function version(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (let depth = 0; depth < 5; depth++, folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (!existsSync(file)) continue;
    const parsed = manifest.safeParse(JSON.parse(readFileSync(file, "utf8")));
    if (parsed.success) return parsed.data.version;
  }
  return "unknown";
}
