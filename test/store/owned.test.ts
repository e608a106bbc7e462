/** A data folder, a database or a login token that another user of the machine made is not trusted. */
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { checkMachine } from "../../src/cli/doctor/machine.js";
import { openStore } from "../../src/store/open.js";
import { runCli } from "../cli/run-cli.js";
import { afterTest } from "../support/clean-up.js";
import { storeOptions, temporaryFolder } from "./support/open-test-store.js";

const OTHER = 54_321;
const PLANTED = "planted-token-0123456789abcdefghijklmnop";

/** Only root can give files away. For another user, its own files belong to somebody else as soon as it seems to have another id. */
function giveAway(...paths: string[]): void {
  const user = process.getuid?.() ?? 0;
  if (user === 0) for (const path of paths) chownSync(path, OTHER, -1);
  else {
    const spy = vi.spyOn(process, "geteuid").mockReturnValue(user + 1);
    afterTest(() => spy.mockRestore());
  }
}

async function usedFolder(): Promise<{ database: string; token: string; folder: string }> {
  const folder = join(temporaryFolder(), "data");
  mkdirSync(folder);
  const database = join(folder, "hookgate.db");
  const store = await openStore(storeOptions(database));
  store.consoleToken();
  await store.close();
  return { database, token: join(folder, "hookgate.token"), folder };
}

const ownerOf = (database: string) =>
  checkMachine(`file:${database}`, undefined).filter(({ name }) => name === "file owner");

test("a start refuses a login token that belongs to another user, and `doctor` reports it", async () => {
  const { database, token } = await usedFolder();
  writeFileSync(token, PLANTED);
  giveAway(token);
  const refused = { code: "STORE_FOREIGN_OWNER", hint: expect.stringContaining("chown -R") };
  await expect(openStore(storeOptions(database))).rejects.toMatchObject(refused);
  expect(readFileSync(token, "utf8")).toBe(PLANTED);
  expect(ownerOf(database)).toMatchObject([{ detail: expect.stringContaining("belongs to another user") }]);
});

test("a start refuses a database that belongs to another user", async () => {
  const { database } = await usedFolder();
  giveAway(database);
  await expect(openStore(storeOptions(database))).rejects.toMatchObject({
    code: "STORE_FOREIGN_OWNER",
    message: expect.stringContaining("hookgate.db belongs to another user"),
  });
});

test("a start refuses a folder of another user in which other things are, and leaves it to its owner", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "notes.txt"), "");
  giveAway(folder);
  const owner = statSync(folder).uid;
  const database = join(folder, "hookgate.db");
  await expect(openStore(storeOptions(database))).rejects.toMatchObject({
    code: "STORE_FOREIGN_OWNER",
    message: expect.stringContaining(`${folder} belongs to another user`),
  });
  expect(statSync(folder).uid).toBe(owner);
});

test("an empty folder of another user, such as a volume, becomes root's own, and any other user refuses it", async () => {
  const database = join(temporaryFolder(), "hookgate.db");
  giveAway(dirname(database));
  const isRoot = process.getuid?.() === 0;
  const opened = await openStore(storeOptions(database)).catch((error: unknown) => error);
  if (isRoot) await (opened as Awaited<ReturnType<typeof openStore>>).close();
  else expect(opened).toMatchObject({ code: "STORE_FOREIGN_OWNER" });
  expect(statSync(dirname(database)).uid).toBe(process.getuid?.());
});

test("a login token that others may write is not taken, and stays as it is", async () => {
  const { database, token } = await usedFolder();
  chmodSync(token, 0o664);
  await expect(openStore(storeOptions(database))).rejects.toMatchObject({
    code: "STORE_FOREIGN_OWNER",
    hint: expect.stringContaining("chmod 600"),
  });
  const { err } = await runCli(["check"], { cwd: temporaryFolder(), env: { DATABASE_URL: `file:${database}` } });
  expect(err).toContain("other users of this machine may write the login token");
  chmodSync(token, 0o600);
  await (await openStore(storeOptions(database))).close();
});
