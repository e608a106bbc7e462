/** Who may log in to the web chat, and where its files lie. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Environment } from "../config/env.js";
import { brokenPlatform, type LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import { newToken } from "../lib/id.js";

/** The person behind the console's token. */
export const CONSOLE = { platform: "web", userId: "1", name: "Owner" } as const;

export function peopleOf(
  { problems }: LoadedConfig,
  { config, env }: { config: Config; env: Environment },
  consoleToken: string,
) {
  // Checked with the configuration: every token is there and long enough, or there are problems and nobody else logs in.
  const people = brokenPlatform("web", problems) === undefined ? config.web.people : [];
  const others = people.map(({ id, name, token_env }) => ({
    id,
    name,
    token: env.variable(token_env) ?? "",
  }));
  return [{ id: CONSOLE.userId, name: CONSOLE.name, token: consoleToken }, ...others];
}

/** Of an account, `platform:id`, where the configuration says it. */
export function nameIn({ web }: Pick<Config, "web">, ref: string): string | undefined {
  const named = [{ id: CONSOLE.userId, name: CONSOLE.name }, ...web.people];
  return named.find(({ id }) => ref === `${CONSOLE.platform}:${id}`)?.name;
}

/** Beside the web chat's uploads, and swept with them. */
export async function keepFile(folder: string, bytes: Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, newToken(18));
  await writeFile(path, bytes, { flush: true });
  return pathToFileURL(path).href;
}

export function uploadsFolder(databaseUrl: string): string {
  return join(dirname(resolve(databaseUrl.replace(/^file:/, ""))), "uploads");
}
