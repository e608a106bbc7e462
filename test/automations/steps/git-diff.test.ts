import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureOf, oneStep, ownFolder, refusals } from "./gathering.js";

const { path: folder, remove } = ownFolder("git-step");
const at = { folder };
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], {
    cwd: folder,
    encoding: "utf8",
    stdio: "pipe",
    timeout: 20_000,
  });

beforeAll(() => {
  git("init", "-q", "-b", "main");
  writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
  writeFileSync(join(folder, "b.bin"), Buffer.from([0, 1, 2]));
  git("add", ".");
  git("commit", "-q", "-m", "first");
  git("tag", "v1");
});
afterAll(remove);

describe("git_diff", () => {
  it("is empty in a clean tree, and tells branch and commit", async () => {
    const result = await oneStep({ git_diff: {} }, at);
    expect(result).toMatchObject({ isEmpty: true, value: { diff: "", count: 0, branch: "main" } });
    expect(result.value.commit).toBe(git("rev-parse", "HEAD").trim());
  });

  it("shows what changed in the working tree, by file and line, names of any kind and binary files among them", async () => {
    writeFileSync(join(folder, "a.txt"), "one\n2\nthree\n");
    writeFileSync(join(folder, "b.bin"), Buffer.from([0, 9, 9]));
    writeFileSync(join(folder, "new file ä.txt"), "x\n");
    git("add", "-N", "new file ä.txt");
    const { value, text, isEmpty } = await oneStep({ git_diff: {} }, at);
    expect(isEmpty).toBe(false);
    expect(value).toMatchObject({ added: 3, removed: 1, count: 3, truncated: false });
    expect(value.files).toEqual([
      { path: "a.txt", added: 2, removed: 1, isUntracked: false },
      { path: "b.bin", added: null, removed: null, isUntracked: false },
      { path: "new file ä.txt", added: 1, removed: 0, isUntracked: false },
    ]);
    expect(text).toContain("-two\n+2\n+three");
    git("reset", "-q", "--hard", "v1");
  });

  it("shows what is staged, between two revisions, and of some paths only", async () => {
    writeFileSync(join(folder, "a.txt"), "staged\n");
    git("add", "a.txt");
    expect((await oneStep({ git_diff: { staged: true } }, at)).value).toMatchObject({ count: 1, added: 1, removed: 2 });
    expect((await oneStep({ git_diff: {} }, at)).isEmpty).toBe(true);
    git("mv", "a.txt", "moved.txt");
    git("commit", "-q", "-m", "second");
    const between = await oneStep({ git_diff: { from: "v1", to: "{{ event.to }}" } }, { ...at, event: { to: "HEAD" } });
    expect((between.value.files as { path: string }[]).map(({ path }) => path)).toEqual(["a.txt", "moved.txt"]);
    expect((await oneStep({ git_diff: { from: "v1", paths: ["b.bin"] } }, at)).isEmpty).toBe(true);
  });

  it("shows no file outside of the repository, whatever a value says", async () => {
    const range = { from: "{{ event.from }}", to: "{{ event.to }}" };
    const named = (from: string, to: string) => ({ ...at, event: { from, to } });
    for (const [from, to] of [
      ["/dev/null", "/etc/hostname"],
      ["a.txt", "b.bin"],
    ] as const)
      expect(await failureOf({ git_diff: range }, named(from, to))).toMatch(/bad revision|unknown revision/);
    const paths = { git_diff: { from: "v1", paths: ["{{ event.from }}", "{{ event.to }}"] } };
    expect(await failureOf(paths, named("/dev/null", "/etc/hostname"))).toContain("outside of the repository");
    const below = { git_diff: { from: "v1", paths: ["docs/{{ event.from }}"] } };
    expect(await failureOf(below, named("../**", ""))).toContain("a value leads out of the folder");
    expect(await failureOf({ git_diff: { from: "nowhere" } }, at)).toMatch(/bad revision|unknown revision/);
  });

  it("counts files that git does not know only when asked", async () => {
    writeFileSync(join(folder, "stranger.txt"), "x");
    expect((await oneStep({ git_diff: {} }, at)).isEmpty).toBe(true);
    const result = await oneStep({ git_diff: { untracked: true } }, at);
    expect(result).toMatchObject({ isEmpty: false, text: "untracked: stranger.txt\n", value: { count: 1 } });
  });

  it("keeps within its bytes", async () => {
    writeFileSync(join(folder, "moved.txt"), "line\n".repeat(5000));
    const result = await oneStep({ git_diff: { max_bytes: 1000 } }, at);
    expect(result.value.truncated).toBe(true);
    expect(result.text.length).toBeLessThanOrEqual(1000);
    git("reset", "-q", "--hard");
  });

  it("runs nothing that the repository configures, and takes no option for a revision", async () => {
    const trap = join(folder, "trap.sh");
    writeFileSync(trap, `#!/bin/sh\necho "$HOOKGATE_TEST_SECRET" > ${join(folder, "sprung")}\ncat "$1"\n`);
    chmodSync(trap, 0o755);
    writeFileSync(join(folder, ".gitattributes"), "*.txt diff=trap\n");
    for (const name of ["diff.trap.textconv", "diff.trap.command", "diff.external", "core.pager", "core.fsmonitor"])
      git("config", name, trap);
    writeFileSync(join(folder, "moved.txt"), "changed\n");
    expect((await oneStep({ git_diff: {} }, at)).value.count).toBeGreaterThan(0);
    expect(existsSync(join(folder, "sprung"))).toBe(false);
    const evil = { ...at, event: { from: `--output=${join(folder, "written")}` } };
    expect(await failureOf({ git_diff: { from: "{{ event.from }}" } }, evil)).toContain("is no commit");
    expect(existsSync(join(folder, "written"))).toBe(false);
    for (const name of ["diff.trap.textconv", "diff.trap.command", "diff.external", "core.pager", "core.fsmonitor"])
      git("config", "--unset", name);
  });

  it.each([
    ["filter.trap.clean", []],
    ["filter.trap.process", []],
    ["filter.a=b.c.clean", ["filter.a=b.c.required=true"]],
    ["filter.UP.clean", []],
  ])("runs no %s of the repository", async (name, more) => {
    const trap = join(folder, "filter.sh");
    writeFileSync(trap, `#!/bin/sh\ntouch ${join(folder, "filtered")}\ncat\n`);
    chmodSync(trap, 0o755);
    const included = join(folder, "more.gitconfig");
    writeFileSync(included, "");
    git("config", "include.path", included);
    git("config", "--file", included, name, trap);
    for (const one of more) git("config", "--file", included, one.slice(0, one.lastIndexOf("=")), "true");
    writeFileSync(
      join(folder, ".gitattributes"),
      `*.txt filter=${name.slice("filter.".length, name.lastIndexOf("."))}\n`,
    );
    writeFileSync(join(folder, "moved.txt"), `changed for ${name}\n`);
    const { value } = await oneStep({ git_diff: {} }, at);
    expect(value.diff).toContain(`+changed for ${name}`);
    expect(existsSync(join(folder, "filtered"))).toBe(false);
    git("config", "--unset", "include.path");
    rmSync(join(folder, ".gitattributes"));
  });

  describe("of what a repository's configuration names", () => {
    const place = join(folder, "traps");
    const sprung = join(folder, "sprung-later");
    const trap = join(folder, "later.sh");
    const inPlace = (...args: string[]) => git("-C", place, ...args);
    beforeEach(() => {
      rmSync(place, { recursive: true, force: true });
      rmSync(sprung, { force: true });
      mkdirSync(place);
      inPlace("init", "-q", "-b", "main");
      writeFileSync(join(place, "a.txt"), "one\n");
      inPlace("add", ".");
      inPlace("commit", "-q", "-m", "first");
      writeFileSync(trap, `#!/bin/sh\ntouch ${sprung}\nexec cat\n`);
      chmodSync(trap, 0o755);
      writeFileSync(join(place, "a.txt"), "two\n");
    });
    const diff = (own: Record<string, unknown> = {}) => oneStep({ git_diff: { repo: "traps", ...own } }, at);
    /** What git does by itself: the trap is one. */
    const springs = (...args: string[]) => {
      try {
        inPlace(...args);
      } catch {
        // A trap that is no server, and no filter process, makes git fail.
      }
      expect(existsSync(sprung)).toBe(true);
      rmSync(sprung);
    };

    it("refuses a filter whose name it cannot switch off", async () => {
      appendFileSync(join(place, ".git/config"), Buffer.from(`[filter "\xe9"]\nclean = ${trap}\n`, "latin1"));
      writeFileSync(join(place, ".git/info/attributes"), Buffer.from("*.txt filter=\xe9\n", "latin1"));
      springs("diff");
      expect(await failureOf({ git_diff: { repo: "traps" } }, at)).toContain("is not UTF-8");
      expect(existsSync(sprung)).toBe(false);
    });

    it("runs no hook when the index is written", async () => {
      writeFileSync(join(place, ".git/hooks/post-index-change"), `#!/bin/sh\ntouch ${sprung}\n`, { mode: 0o755 });
      const touched = () => {
        writeFileSync(join(place, "a.txt"), "one\n"); // git compares it, and writes the new times down
        utimesSync(join(place, "a.txt"), 1, 1 + Math.random() * 1e6);
      };
      touched();
      springs("diff");
      touched();
      expect((await diff()).value.count).toBe(0);
      expect(existsSync(sprung)).toBe(false);
    });

    it.each([
      ["core.sshCommand", "ssh://127.0.0.1:9/none"],
      ["remote.origin.uploadpack", "file:///none"],
    ])("runs no %s in a partial clone that lacks a file, and says what is missing", async (setting, url) => {
      inPlace("reset", "-q", "--hard");
      const blob = inPlace("rev-parse", "HEAD:a.txt").trim();
      rmSync(join(place, ".git/objects", blob.slice(0, 2), blob.slice(2)), { force: true });
      writeFileSync(join(place, "a.txt"), "changed\n");
      for (const [key, value] of [
        ["core.repositoryformatversion", "1"],
        ["extensions.partialClone", "origin"],
        ["remote.origin.url", url],
        ["remote.origin.promisor", "true"],
        ["protocol.allow", "always"],
        ["protocol.ssh.allow", "always"],
        [setting, trap],
      ] as const)
        inPlace("config", key, value);
      writeFileSync(trap, `#!/bin/sh\ntouch ${sprung}\nexit 1\n`);
      springs("diff");
      expect(await failureOf({ git_diff: { repo: "traps" } }, at)).toContain("partial clone");
      expect(existsSync(sprung)).toBe(false);
    });

    it("runs nothing that a submodule's own configuration names, and shows another commit of it", async () => {
      const inner = join(place, "inner");
      mkdirSync(inner);
      const inInner = (...args: string[]) => inPlace("-C", "inner", ...args);
      inInner("init", "-q", "-b", "main");
      writeFileSync(join(inner, "b.txt"), "one\n");
      writeFileSync(join(inner, ".gitattributes"), "*.txt filter=x diff=x\n");
      inInner("add", ".");
      inInner("commit", "-q", "-m", "inner");
      inPlace("add", "inner");
      inPlace("commit", "-q", "-am", "with inner");
      writeFileSync(join(inner, "b.txt"), "two\n");
      inInner("config", "filter.x.clean", trap);
      springs("diff");
      expect((await diff()).value.count).toBe(0);
      inInner("-c", "filter.x.clean=", "commit", "-q", "-am", "again");
      rmSync(sprung, { force: true });
      inInner("config", "diff.x.textconv", trap);
      inPlace("config", "diff.submodule", "diff");
      springs("diff");
      expect((await diff()).text).toMatch(/-Subproject commit .*\n\+Subproject commit/);
      expect(existsSync(sprung)).toBe(false);
    });
  });

  it("fails for a revision or repository that is not there, and is not empty then", async () => {
    expect(await failureOf({ git_diff: { from: "no-such-branch" } }, at)).toContain("no-such-branch");
    mkdirSync(join(folder, "../plain-folder"), { recursive: true });
    expect(await failureOf({ git_diff: { repo: "/" } }, at)).toMatch(/not a git repository/i);
    expect(await failureOf({ git_diff: { repo: "nowhere" } }, at)).toContain("there is no");
    expect(refusals({ git_diff: { to: "main" } })).toEqual(["`to` needs a `from`"]);
  });
});
