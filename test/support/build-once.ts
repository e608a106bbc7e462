/** Before all tests: the compiled product is up to date, because some tests start it as a real process. */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

export default function buildOnce(): void {
  execFileSync("npm", ["run", "--silent", "build"], { cwd: resolve(import.meta.dirname, "../.."), stdio: "inherit" });
}
