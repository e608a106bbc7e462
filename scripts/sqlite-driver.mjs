/**
 * Part of `npm ci`: on Node 20, compiles (or downloads) the binary of better-sqlite3 12. npm is told to run no script of better-sqlite3
 * itself, because it would compile version 13, too, whose package brings its binaries. Newer Node versions have nothing to do here.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const NAME = "better-sqlite3-node20";
const require = createRequire(import.meta.url);

if (process.versions.node.startsWith("20.") && !isReady()) {
  const { status } = spawnSync("npm", ["explore", NAME, "--", "npm", "run", "install"], { stdio: "inherit" });
  if (status !== 0 || !isReady()) {
    console.error(
      "The SQLite driver for Node 20 cannot be compiled: install Python 3, make and a C++ compiler, or use Node 24.",
    );
    process.exit(1);
  }
}

function isReady() {
  try {
    new (require(NAME))(":memory:").close();
    return true;
  } catch {
    return false;
  }
}
