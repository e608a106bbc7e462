/** Watches of real files, with chokidar, a registry and a store on disk. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Definition, TriggerOf } from "../../../src/automations/definition/definition.js";
import { triggerOptions } from "../../../src/automations/triggers/index.js";
import type { Triggers } from "../../../src/automations/triggers/trigger.js";
import { createTriggers } from "../../../src/automations/triggers/triggers.js";
import { FIRED_SCOPE } from "../../../src/automations/triggers/watch/watch.js";
import type { Store } from "../../../src/domain/store.js";
import { createAttempts } from "../../../src/hooks/attempts.js";
import { HookRegistry } from "../../../src/hooks/registry.js";
import { silentLogger } from "../../../src/lib/logger.js";
import { systemClock } from "../../../src/lib/time/clock.js";
import { Pending } from "../../../src/pending/pending.js";
import { openTestStore } from "../../store/support/open-test-store.js";
import { until } from "../../support/until.js";
import { definition } from "./support/definition.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closers.splice(0).reverse()) await close();
});

async function folderOf(files: Record<string, string> = {}): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "watch-")));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await write(folder, name, text);
  return folder;
}

async function write(folder: string, name: string, text: string): Promise<void> {
  await mkdir(join(folder, name, ".."), { recursive: true });
  await writeFile(join(folder, name), text);
}

/** `watch file operation`, in the order fired. */
interface Watching {
  seen: string[];
  /** Dispatch ids, in the same order. */
  ids: string[];
  batches: { watchId: string; count: number; changes: string[]; path: string }[];
  triggers: Triggers;
  registry: HookRegistry;
  store: Store;
  stop(): Promise<void>;
}

async function watching(
  definitions: readonly Definition[],
  given?: Store,
  bounds?: { maxWatched: number },
): Promise<Watching> {
  const store = given ?? (await openTestStore());
  const registry = new HookRegistry({ logger: silentLogger });
  const seen: string[] = [];
  const ids: string[] = [];
  const batches: Watching["batches"] = [];
  registry.registerVoid("file.changed", ({ watchId, relativePath, operation }, { dispatchId }) => {
    ids.push(dispatchId);
    seen.push(`${watchId} ${relativePath} ${operation}`);
  });
  registry.registerVoid("folder.changed", ({ watchId, count, changes, path }) => {
    batches.push({
      watchId,
      count,
      path,
      changes: changes.map((one) => `${one.relativePath} ${one.operation}`).sort(),
    });
  });
  const triggers = createTriggers(
    {
      store: store.automation,
      registry,
      keyValue: store.keyValue,
      pending: new Pending({ store: store.pending, clock: systemClock, logger: silentLogger }),
      admitDue: () => {
        throw new Error("no timed hook in these tests");
      },
      draftPaused: async () => undefined,
      wasPaused: async () => false,
      cooldownUntil: async () => undefined,
      attempts: createAttempts({ keyValue: store.keyValue, registry, clock: systemClock, logger: silentLogger }),
      held: () => {},
      isOff: () => false,
      clock: systemClock,
      logger: silentLogger,
    },
    bounds,
  );
  closers.push(() => triggers.stop());
  await triggers.sync(definitions);
  return { seen, ids, batches, triggers, registry, store, stop: () => triggers.stop() };
}

function watch(id: string, folder: string, files: Record<string, unknown>): Definition {
  return definition(id, triggerOptions.parse({ files: { debounce: "60ms", ...files } }) as TriggerOf<"files">, folder);
}

const has = (seen: string[], what: string) => until(() => seen.includes(what), what);

describe("a watch of files", () => {
  it("tells what was created, modified and deleted, and fires only for its own files", async () => {
    const folder = await folderOf({ "posts/a.md": "a", "posts/b.txt": "b", "other/c.md": "c" });
    const { seen } = await watching([
      watch("posts", folder, { paths: "posts/**/*.md" }),
      watch("others", folder, { paths: ["other"], operations: ["deleted"] }),
    ]);
    await write(folder, "posts/a.md", "longer");
    await has(seen, "posts posts/a.md modified");
    await write(folder, "posts/deep/er/new.md", "new");
    await has(seen, "posts posts/deep/er/new.md created");
    await write(folder, "posts/b.txt", "not mine");
    await write(folder, "other/c.md", "modified is not asked for");
    await rm(join(folder, "posts/a.md"));
    await has(seen, "posts posts/a.md deleted");
    await rm(join(folder, "other/c.md"));
    await has(seen, "others other/c.md deleted");
    expect(seen.filter((one) => one.includes("b.txt") || one.includes("c.md modified"))).toEqual([]);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it("tells what comes into folders that have just appeared, while the watcher still reads them", async () => {
    const afterMs = [0, 10, 30, 60, 120, 240];
    const full = afterMs.flatMap((late) => Array.from({ length: 700 }, (_, i) => `outside/${late}/${i}.txt`));
    const folder = await folderOf(Object.fromEntries(["posts/a.md", ...full].map((name) => [name, ""])));
    const { seen } = await watching([watch("posts", folder, { paths: "posts/**/*.md" })]);
    await Promise.all(
      afterMs.map(async (late) => {
        await rename(join(folder, `outside/${late}`), join(folder, `posts/${late}`));
        await setTimeout(late);
        await write(folder, `posts/${late}/late.md`, "late");
        await write(folder, `posts/${late}/deep/late.md`, "late");
      }),
    );
    for (const late of afterMs) {
      await has(seen, `posts posts/${late}/late.md created`);
      await has(seen, `posts posts/${late}/deep/late.md created`);
    }
    expect(seen).toHaveLength(2 * afterMs.length);
  });

  it("finds at the start what changed while nobody watched, once", async () => {
    const folder = await folderOf({ "a.md": "a", "b.md": "b", "c.md": "c" });
    const hooks = [watch("notes", folder, { paths: "*.md" })];
    const first = await watching(hooks);
    expect(first.seen).toEqual([]);
    await first.stop();
    await write(folder, "a.md", "longer");
    await rm(join(folder, "b.md"));
    await write(folder, "d.md", "d");

    const second = await watching(hooks, first.store);
    await until(() => second.seen.length === 3, "three changes");
    expect([...second.seen].sort()).toEqual(["notes a.md modified", "notes b.md deleted", "notes d.md created"]);
    await second.stop();
    const third = await watching(hooks, first.store);
    await write(folder, "e.md", "e");
    await has(third.seen, "notes e.md created");
    expect(third.seen).toEqual(["notes e.md created"]);
  });

  it("merges what happens to a file within its quiet time", async () => {
    const folder = await folderOf({ "modified-deleted": "1", "deleted-created": "2" });
    const { seen } = await watching([watch("merge", folder, { paths: ["."], debounce: "1500ms" })]);
    await write(folder, "created-modified", "1");
    await write(folder, "created-modified", "12");
    await write(folder, "created-deleted", "1");
    await rm(join(folder, "created-deleted"));
    await write(folder, "modified-deleted", "12");
    await rm(join(folder, "modified-deleted"));
    await rm(join(folder, "deleted-created"));
    await write(folder, "deleted-created", "another");
    await until(() => seen.length === 3, "three changes");
    await write(folder, "last", "x");
    await has(seen, "merge last created");
    expect([...seen].sort()).toEqual([
      "merge created-modified created",
      "merge deleted-created modified",
      "merge last created",
      "merge modified-deleted deleted",
    ]);
  });

  it("fires once for all files of a folder watch that change together", async () => {
    const folder = await folderOf({ "in/a": "a" });
    const { batches, seen } = await watching([
      watch("batch", folder, { paths: "in", as: "folder", debounce: "1500ms" }),
    ]);
    await write(folder, "in/a", "aa");
    await write(folder, "in/b", "b");
    await write(folder, "in/c/d", "d");
    await until(() => batches.length > 0, "a batch");
    expect(batches).toEqual([
      {
        watchId: "batch",
        count: 3,
        path: join(folder, "in"),
        changes: ["in/a modified", "in/b created", "in/c/d created"],
      },
    ]);
    expect(seen).toEqual([]);
  });

  it("leaves out what is ignored, and .git and node_modules unless they are named", async () => {
    const folder = await folderOf({ ".git/HEAD": "main", "src/a": "a" });
    const { seen } = await watching([
      watch("all", folder, { paths: "." }),
      watch("some", folder, { paths: ["**/*"], ignore: ["src/gen/**", "**/*.tmp"] }),
      watch("head", folder, { paths: ".git/HEAD" }),
    ]);
    await write(folder, "node_modules/x/index.js", "x");
    await write(folder, "src/gen/x", "x");
    await write(folder, "src/x.tmp", "x");
    await write(folder, ".git/HEAD", "a branch");
    await has(seen, "head .git/HEAD modified");
    await write(folder, "src/z", "z");
    await until(() => seen.length >= 7, "seven changes");
    expect([...seen].sort()).toEqual([
      "all src/gen/x created",
      "all src/x.tmp created",
      "all src/z created",
      "head .git/HEAD modified",
      "some .git/HEAD modified",
      "some node_modules/x/index.js created",
      "some src/z created",
    ]);
  });

  it("reads a slash at the end as the folder with all that is in it", async () => {
    const folder = await folderOf({ "src/build/old": "o", "src/sub/build/old": "o" });
    const { seen } = await watching([
      watch("here", folder, { paths: "src", ignore: "build/" }),
      watch("from-the-top", folder, { paths: "src/", ignore: ["./src/build/"] }),
      watch("anywhere", folder, { paths: ["src/**/"], ignore: ["**/build/"] }),
      watch("below", folder, { paths: "src/*/", ignore: "*/build/" }),
    ]);
    for (const name of ["src/build/a", "src/sub/build/b", "src/sub/c", "src/d"]) await write(folder, name, name);
    await until(() => seen.length >= 9, "nine changes");
    expect([...seen].sort()).toEqual([
      "anywhere src/d created",
      "anywhere src/sub/c created",
      "below src/sub/c created",
      "from-the-top src/d created",
      "from-the-top src/sub/build/b created",
      "from-the-top src/sub/c created",
      "here src/d created",
      "here src/sub/build/b created",
      "here src/sub/c created",
    ]);
  });

  it("counts names that start with a dot, for a glob as for a folder", async () => {
    const folder = await folderOf({ ".github/workflows/old.yml": "o", "src/a.yml": "a" });
    const globs = {
      all: "**",
      some: "**/*.yml",
      named: ".github/**/*.yml",
      file: "**/.env",
      dots: "**/.*",
      folder: ".",
    };
    const { seen } = await watching(Object.entries(globs).map(([id, paths]) => watch(id, folder, { paths })));
    await write(folder, ".env", "a");
    await write(folder, ".github/workflows/ci.yml", "b");
    await until(() => seen.length >= 8, "eight changes");
    expect([...seen].sort()).toEqual([
      "all .env created",
      "all .github/workflows/ci.yml created",
      "dots .env created",
      "file .env created",
      "folder .env created",
      "folder .github/workflows/ci.yml created",
      "named .github/workflows/ci.yml created",
      "some .github/workflows/ci.yml created",
    ]);
  });

  it("waits for a folder that is not there, says so, and follows it when it vanishes and comes back", async () => {
    const folder = await folderOf();
    const { seen, triggers } = await watching([watch("later", folder, { paths: "made/by/others/*.csv" })]);
    expect(triggers.problems()).toEqual([
      {
        hookId: "later",
        message: "made/by/others/*.csv is not there yet; it is watched as soon as it is",
        isNote: true,
      },
    ]);
    await write(folder, "made/by/others/1.csv", "1");
    await has(seen, "later made/by/others/1.csv created");
    expect(triggers.problems()).toEqual([]);
    await rm(join(folder, "made"), { recursive: true });
    await has(seen, "later made/by/others/1.csv deleted");
    await until(() => triggers.problems().length === 1, "the problem");
    await write(folder, "made/by/others/2.csv", "2");
    await has(seen, "later made/by/others/2.csv created");
    await write(folder, "made/by/others/2.csv", "22");
    await has(seen, "later made/by/others/2.csv modified");
  });

  it.each<[string, (file: string) => unknown]>([
    [
      "removed and written again, so that the disk may give it the same number",
      (file) => {
        rmSync(file);
        writeFileSync(file, "22");
      },
    ],
    [
      "written in place, and replaced a moment later",
      async (file) => {
        await writeFile(`${file}.new`, "22");
        writeFileSync(file, "1");
        await setTimeout(1);
        renameSync(`${file}.new`, file);
      },
    ],
  ])("goes on with files of which each is %s", async (_how, replace) => {
    const names = Array.from({ length: 12 }, (_, i) => `in/${i}.md`);
    const folder = await folderOf(Object.fromEntries(names.map((name) => [name, "first"])));
    const { registry } = await watching([watch("all", folder, { paths: "in/*.md" })]);
    const seen = new Set<string>();
    registry.registerVoid(
      "file.changed",
      ({ relativePath, sizeBytes }) => void seen.add(`${relativePath} ${sizeBytes}`),
    );
    const haveAll = (size: number) => until(() => names.every((name) => seen.has(`${name} ${size}`)), `size ${size}`);
    for (const name of names) await replace(join(folder, name));
    await haveAll(2);
    for (const text of ["333", "4444"]) {
      for (const name of names) await write(folder, name, text);
      await haveAll(text.length);
    }
  });

  it("sees that a file is replaced by an older one of the same size, also where files are polled", async () => {
    vi.stubEnv("CHOKIDAR_USEPOLLING", "1");
    const folder = await folderOf({ "in/a": "new", old: "old" });
    await utimes(join(folder, "old"), 1, 1);
    const { seen } = await watching([watch("polled", folder, { paths: "in" })]);
    await rename(join(folder, "old"), join(folder, "in/a"));
    await has(seen, "polled in/a modified");
  });

  it("follows a folder that is replaced at once", async () => {
    const folder = await folderOf({ "dist/a.js": "a" });
    const { seen } = await watching([watch("dist", folder, { paths: "dist" })]);
    await write(folder, "next/a.js", "other");
    await write(folder, "next/b.js", "b");
    await rm(join(folder, "dist"), { recursive: true });
    await rename(join(folder, "next"), join(folder, "dist"));
    await has(seen, "dist dist/b.js created");
    await write(folder, "dist/c.js", "c");
    await has(seen, "dist dist/c.js created");
  });

  it("follows a folder inside that is replaced, for every hook that watches it", async () => {
    const folder = await folderOf({ "src/gen/a": "a", "src/b": "b" });
    const hooks = ["one", "two", "three"].map((id) => watch(id, folder, { paths: "src" }));
    const { seen } = await watching(hooks);
    for (let round = 1; round <= 3; round++) {
      await rm(join(folder, "src/gen"), { recursive: true });
      await write(folder, `src/gen/new-${round}`, "n");
      for (const { id } of hooks) await has(seen, `${id} src/gen/new-${round} created`);
      await write(folder, `src/gen/later-${round}`, "l");
      for (const { id } of hooks) await has(seen, `${id} src/gen/later-${round} created`);
    }
  });

  it("watches through a link that is named, and not through links that lie inside", async () => {
    const folder = await folderOf({ "real/a": "a", "elsewhere/b": "b" });
    await symlink(join(folder, "real"), join(folder, "link"));
    await symlink(join(folder, "elsewhere"), join(folder, "real/out"));
    const { seen } = await watching([watch("linked", folder, { paths: "link" })]);
    await write(folder, "elsewhere/b", "bb");
    await write(folder, "real/a", "aa");
    await has(seen, "linked link/a modified");
    expect(seen).toEqual(["linked link/a modified"]);
  });

  it("gives up a tree that is too big, says so, and goes on with the others", async () => {
    const files = Array.from({ length: 60 }, (_, i) => [`big/${i % 6}/${i}`, "x"]);
    const folder = await folderOf({ ...Object.fromEntries(files), "small/a": "a" });
    const hooks = [watch("big", folder, { paths: "big" }), watch("small", folder, { paths: ["small", "big/0"] })];
    const { seen, triggers } = await watching(hooks, undefined, { maxWatched: 50 });
    await until(() => triggers.problems().length > 0, "the problem");
    expect(triggers.problems()).toEqual([
      {
        hookId: "big",
        message: "big has more than 50 files and folders and is not watched: narrow `paths` or add to `ignore`",
      },
    ]);
    await write(folder, "big/0/new", "x");
    await write(folder, "small/a", "aa");
    await until(() => seen.length === 2, "the changes of the small one");
    expect([...seen].sort()).toEqual(["small big/0/new created", "small small/a modified"]);
  });

  it("keeps watches over a reload, ends those that are gone and begins anew where other files are selected", async () => {
    const folder = await folderOf({ "a/1": "1", "b/1": "1" });
    const { seen, triggers, store } = await watching([
      watch("stays", folder, { paths: "a" }),
      watch("moves", folder, { paths: "a" }),
      watch("goes", folder, { paths: "a" }),
    ]);
    await triggers.sync([watch("stays", folder, { paths: "a" }), watch("moves", folder, { paths: "b" })]);
    await write(folder, "a/1", "12");
    await has(seen, "stays a/1 modified");
    await write(folder, "b/1", "12");
    await has(seen, "moves b/1 modified");
    expect(seen).toEqual(["stays a/1 modified", "moves b/1 modified"]);
    const kept = await store.automation.snapshots.watches();
    expect(kept.map((key) => key.split("#")[0]).sort()).toEqual(["moves", "stays"]);
  });

  it("keeps what it knew of a hook that is broken for a while", async () => {
    const folder = await folderOf({ a: "1" });
    const hook = watch("mended", folder, { paths: "a" });
    const { seen, triggers } = await watching([hook]);
    await triggers.sync([], ["mended"]);
    await write(folder, "a", "12");
    await triggers.sync([hook]);
    await has(seen, "mended a modified");
  });

  it("gives the same dispatch id to a change that is found again, and another to every other change", async () => {
    const folder = await folderOf({ a: "1" });
    const hooks = [watch("again", folder, { paths: "a" })];
    const first = await watching(hooks);
    const { automation, keyValue } = first.store;
    const { snapshots } = automation;
    const [key = ""] = await snapshots.watches();
    const before = (await snapshots.get(key)) ?? [];
    const fired: Awaited<ReturnType<typeof keyValue.list>> = [];
    first.registry.registerVoid("file.changed", async () => void fired.push(...(await keyValue.list(FIRED_SCOPE, ""))));
    await write(folder, "a", "12");
    await until(() => fired.length === 1, "the change");
    await first.stop();
    await snapshots.update(key, before, []); // as a crash leaves it before the change is known
    for (const one of fired) await keyValue.set(FIRED_SCOPE, one.key, one.value);
    const second = await watching(hooks, first.store);
    await until(() => second.ids.length === 1, "the change found again");
    expect(second.ids).toEqual(first.ids);
    await write(folder, "a", "123");
    await until(() => second.ids.length === 2, "another change");
    expect(new Set(second.ids).size).toBe(2);
  });
});
