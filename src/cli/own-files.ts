/** The database of this installation and the files beside it, as the environment names them. */
import { readEnvironment } from "../config/env.js";
import { HookgateError } from "../lib/errors.js";
import { type DatabaseFiles, databaseFiles } from "../store/database-file/files.js";

/** Throws CONFIG_INVALID. */
export function ownFiles(): DatabaseFiles {
  const { env, problems } = readEnvironment();
  if (env) return databaseFiles(env.DATABASE_URL);
  throw new HookgateError({
    code: "CONFIG_INVALID",
    message: problems.map(({ variable, message }) => `${variable}: ${message}`).join("; "),
    hint: "`npx hookgate check` lists every problem.",
  });
}
