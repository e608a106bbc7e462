import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { failureOf, oneStep, ownFolder, refusals } from "./gathering.js";

const { path: top, remove } = ownFolder("file-steps");
const folder = join(top, "hooks");
const at = { folder };
mkdirSync(join(folder, "docs/deep"), { recursive: true });
mkdirSync(join(top, "hooks-private"));
writeFileSync(join(top, "secret.txt"), "not for hooks");
writeFileSync(join(top, "hooks-private/secret.txt"), "not for hooks");
writeFileSync(join(folder, "note.md"), "# Note\n");
writeFileSync(join(folder, "empty.txt"), " \n");
writeFileSync(join(folder, "data.json"), '{"a":[1,2]}');
writeFileSync(join(folder, "docs/a.md"), "a");
writeFileSync(join(folder, "docs/deep/b.md"), "bb");
writeFileSync(join(folder, "docs/deep/c.txt"), "ccc");
symlinkSync(join(top, "secret.txt"), join(folder, "link-out"));
symlinkSync(top, join(folder, "folder-out"));
symlinkSync("note.md", join(folder, "link-in"));
symlinkSync("nothing", join(folder, "link-to-nothing"));
symlinkSync(folder, join(folder, "docs/loop"));
execFileSync("/bin/sh", ["-c", "mkfifo pipe"], { cwd: folder });
afterAll(remove);

describe("read_file", () => {
  it("brings the text of a file, its size, and its value where it is JSON", async () => {
    expect(await oneStep({ read_file: { path: "note.md" } }, at)).toMatchObject({
      value: { path: "note.md", text: "# Note\n", json: null, sizeBytes: 7, truncated: false },
      text: "# Note\n",
      isEmpty: false,
    });
    expect((await oneStep({ read_file: { path: "data.json" } }, at)).value.json).toEqual({ a: [1, 2] });
  });

  it("is empty for a file of blanks, and has no word for being ok", async () => {
    const result = await oneStep({ read_file: { path: "empty.txt" } }, at);
    expect(result.isEmpty).toBe(true);
    expect(result).not.toHaveProperty("isOk", expect.anything());
  });

  it("keeps within its bytes, between characters", async () => {
    writeFileSync(join(folder, "long.txt"), "ä".repeat(1000));
    const result = await oneStep({ read_file: { path: "long.txt", max_bytes: 101 } }, at);
    expect(result.value).toMatchObject({ text: "ä".repeat(50), truncated: true, sizeBytes: 2000 });
    expect(result.text).toContain("1899 bytes cut");
  });

  it("reads nothing above the folder that a template's path begins with, whatever a value says", async () => {
    const path = "docs/{{ event.name }}";
    const named = (name: string) => ({ folder, event: { name } });
    expect((await oneStep({ read_file: { path } }, named("deep/b.md"))).text).toBe("bb");
    for (const name of ["../note.md", "deep/../../note.md", "..\\note.md"])
      expect(await failureOf({ read_file: { path } }, named(name))).toContain(
        'a value leads out of the folder, with ".."',
      );
    expect((await oneStep({ read_file: { path: "docs/../{{ event.name }}" } }, named("note.md"))).text).toBe(
      "# Note\n",
    );
    for (const step of [{ list_files: { path } }, { file_diff: { path: "note.md", against: path } }])
      expect(await failureOf(step, named(".."))).toContain("a value leads out of the folder");
  });

  it("reads nothing by a link out of the folder that a template's path begins with", async () => {
    mkdirSync(join(folder, "linked/own"), { recursive: true });
    writeFileSync(join(folder, "linked/own/a.md"), "own");
    symlinkSync("../note.md", join(folder, "linked/out.md"));
    symlinkSync("../docs", join(folder, "linked/docs"));
    symlinkSync("own/a.md", join(folder, "linked/in.md"));
    const path = "linked/{{ event.name }}";
    const named = (name: string) => ({ folder, event: { name } });
    expect((await oneStep({ read_file: { path } }, named("in.md"))).text).toBe("own");
    expect(await failureOf({ read_file: { path } }, named("out.md"))).toContain("is outside of");
    expect(await failureOf({ file_diff: { path: "note.md", against: path } }, named("out.md"))).toContain(
      "is outside of",
    );
    expect(await failureOf({ file_diff: { path, against: "note.md" } }, named("out.md"))).toContain("is outside of");
    expect(await failureOf({ list_files: { path } }, named("docs"))).toContain("is outside of");
    // A link that the definition itself names is followed.
    expect((await oneStep({ read_file: { path: "linked/docs/{{ event.name }}" } }, named("deep/b.md"))).text).toBe(
      "bb",
    );
    rmSync(join(folder, "linked"), { recursive: true });
  });

  it("reads nothing that is the gateway's own", async () => {
    writeFileSync(join(folder, ".env"), "HOOKGATE_TOKEN=secret");
    const failure = await failureOf({ read_file: { path: "{{ event.name }}" } }, { folder, event: { name: ".env" } });
    expect(failure).toBe(".env is of Hookgate itself, and no hook reads it");
  });

  it("follows a link inside of its folder", async () => {
    expect((await oneStep({ read_file: { path: "link-in" } }, at)).value.path).toBe("note.md");
  });

  it.each([
    ["..", "../secret.txt"],
    [".. in disguise", "docs/../../secret.txt"],
    ["a whole path", "/etc/passwd"],
    ["a folder whose name begins alike", "../hooks-private/secret.txt"],
    ["a link to a file outside", "link-out"],
    ["a link to a folder outside", "folder-out/secret.txt"],
  ])("refuses %s", async (_, path) => {
    expect(await failureOf({ read_file: { path } }, at)).toContain("is outside of");
  });

  it("refuses what a template makes of it, too", async () => {
    const event = { file: join(top, "secret.txt") };
    expect(await failureOf({ read_file: { path: "{{ event.file }}" } }, { ...at, event })).toContain("is outside of");
    expect(
      await failureOf({ read_file: { path: "{{ event.file }}" } }, { ...at, event: { file: "note.md\0.txt" } }),
    ).toContain("outside");
  });

  it("reads elsewhere when the definition says so, and only there", async () => {
    expect((await oneStep({ read_file: { path: "secret.txt", root: ".." } }, at)).text).toBe("not for hooks");
    expect(await failureOf({ read_file: { path: "../x", root: ".." } }, at)).toContain("is outside of");
    expect(refusals({ read_file: { path: "x", root: "{{ event.root }}" } })).toEqual(["a root is no template"]);
  });

  it("shows no path of the machine in what went wrong", async () => {
    const steps = [
      { read_file: { path: "missing.md" } },
      { read_file: { path: "docs/missing.md" } },
      { read_file: { path: join(top, "secret.txt") } },
      { read_file: { path: "link-to-nothing" } },
      { read_file: { path: "missing.txt", root: ".." } },
      { list_files: { path: "nowhere", root: top } },
      { list_files: { path: "note.md" } },
      { git_diff: { repo: "nowhere" } },
      { git_diff: {} },
    ];
    const said = await Promise.all(steps.map((step) => failureOf(step, at)));
    expect(said.join("\n")).not.toMatch(/(?<![\w.:/])\/\w/);
    expect(said.slice(0, 2)).toEqual(["there is no missing.md", "there is no docs/missing.md"]);
  });

  it("fails for what is not there, and is not empty then", async () => {
    expect(await failureOf({ read_file: { path: "missing.md" } }, at)).toContain("there is no");
    expect(await failureOf({ read_file: { path: "link-to-nothing" } }, at)).toContain("is a link to nothing");
  });

  it("does not wait for a pipe, and reads no folder", async () => {
    expect(await failureOf({ read_file: { path: "pipe" } }, at)).toBe("pipe is no file");
    expect(await failureOf({ read_file: { path: "docs" } }, at)).toBe("docs is no file");
  });
});

describe("list_files", () => {
  it("lists what matches, by name, with sizes", async () => {
    const result = await oneStep({ list_files: { glob: "docs/**/*.md" } }, at);
    expect(result.value).toMatchObject({ paths: ["docs/a.md", "docs/deep/b.md"], count: 2, truncated: false });
    expect(result.value.files).toMatchObject([{ sizeBytes: 1 }, { sizeBytes: 2 }]);
    expect(result.text).toBe("docs/a.md\ndocs/deep/b.md");
  });

  it("starts in a folder, leaves out what is ignored, and takes several patterns", async () => {
    const result = await oneStep({ list_files: { path: "docs", glob: ["*.md", "**/*.txt"], ignore: ["a.*"] } }, at);
    expect(result.value.paths).toEqual(["deep/c.txt"]);
  });

  it("names links and does not follow them, so that it ends", async () => {
    const { value } = await oneStep({ list_files: { limit: 10_000 } }, at);
    expect(value.paths).toContain("docs/loop");
    expect(value.paths).toContain("folder-out");
    expect((value.paths as string[]).filter((path) => path.includes("secret"))).toEqual([]);
  });

  it("is empty when nothing matches", async () => {
    expect((await oneStep({ list_files: { glob: "docs/deep/" } }, at)).text).toBe("docs/deep/b.md\ndocs/deep/c.txt");
    expect(await oneStep({ list_files: { glob: "*.nothing" } }, at)).toMatchObject({
      isEmpty: true,
      value: { count: 0 },
    });
  });

  it("says that there is more than it may list", async () => {
    expect((await oneStep({ list_files: { limit: 1 } }, at)).value).toMatchObject({ truncated: true });
    expect((await oneStep({ list_files: { max_bytes: 100, glob: "**" } }, at)).isEmpty).toBe(false);
  });

  it("fails for a folder that is not there, or outside", async () => {
    expect(await failureOf({ list_files: { path: "nowhere" } }, at)).toContain("there is no");
    expect(await failureOf({ list_files: { path: "folder-out" } }, at)).toContain("is outside of");
  });
});

describe("file_diff", () => {
  it("compares two files", async () => {
    writeFileSync(join(folder, "old.txt"), "one\ntwo\nthree\n");
    writeFileSync(join(folder, "new.txt"), "one\n2\nthree\nfour\n");
    const result = await oneStep({ file_diff: { path: "new.txt", against: "old.txt" } }, at);
    expect(result.value).toMatchObject({ added: 2, removed: 1, changed: true, truncated: false });
    expect(result.text).toContain("--- old.txt\n+++ new.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n");
    writeFileSync(join(folder, "same.txt"), "one\ntwo\nthree\n");
    expect(await oneStep({ file_diff: { path: "same.txt", against: "old.txt" } }, at)).toMatchObject({ isEmpty: true });
  });

  it("compares a file with itself at the last run, and a second attempt with what the first one did", async () => {
    const watched = join(folder, "watched.txt");
    const notes = new Map<string, unknown>();
    const run = (runId: string, dryRun = false) =>
      oneStep({ file_diff: { path: "watched.txt" } }, { ...at, runId, dryRun, notes });
    writeFileSync(watched, "first\n");
    expect(await run("r1")).toMatchObject({ isEmpty: true, value: { isFirst: true, changed: false } });
    expect(await run("r2")).toMatchObject({ isEmpty: true, value: { isFirst: false } });
    writeFileSync(watched, "second\n");
    expect(await run("test", true)).toMatchObject({ value: { added: 1 } });
    expect(await run("r3")).toMatchObject({ value: { added: 1, removed: 1 } });
    expect(await run("r3")).toMatchObject({ value: { added: 1, removed: 1 } });
    expect(await run("r4")).toMatchObject({ isEmpty: true });
  });

  it("says that files differ when there is too much to compare in time", async () => {
    const words = (seed: number) => Array.from({ length: 60_000 }, (_, i) => (i * seed) % 9973).join("\n");
    writeFileSync(join(folder, "x.txt"), words(7919));
    writeFileSync(join(folder, "y.txt"), words(6007));
    const started = performance.now();
    const result = await oneStep({ file_diff: { path: "x.txt", against: "y.txt" } }, at);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(result).toMatchObject({ isEmpty: false, value: { changed: true } });
  });

  it("fails for a file that is missing or too large", async () => {
    writeFileSync(join(folder, "large.bin"), Buffer.alloc(1_000_001));
    expect(await failureOf({ file_diff: { path: "missing", against: "old.txt" } }, at)).toContain("there is no");
    expect(await failureOf({ file_diff: { path: "large.bin", against: "old.txt" } }, at)).toContain(
      "no more than 1000000",
    );
  });
});
