/** Whether a folder is still the one that is watched. Disks give the numbers of removed folders to new ones, sometimes at once. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createIdentities } from "../../../src/automations/triggers/watch/identities.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { until } from "../../support/until.js";

it("a folder with the number of one that was made earlier is another; one in which files change is not", async () => {
  const root = mkdtempSync(join(tmpdir(), "identities-"));
  const replaced: string[] = [];
  const identities = createIdentities(systemClock, (folders) => replaced.push(...folders));
  const [stays, comes] = [join(root, "stays"), join(root, "comes")];
  mkdirSync(stays);
  mkdirSync(comes);
  const { dev, ino, birthtimeMs } = statSync(comes);
  identities.seen(stays, statSync(stays));
  identities.seen(comes, { dev, ino, birthtimeMs: birthtimeMs - 1_000 });
  writeFileSync(join(stays, "file"), "x");
  for (const folder of [stays, comes]) identities.suspect(folder);
  await until(() => replaced.length > 0, "the other folder being seen");
  expect(replaced).toEqual([comes]);
  identities.stop();
  rmSync(root, { recursive: true });
});
