import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { failureOf, oneStep, ownFolder, refusals } from "./gathering.js";

const { path: folder, remove } = ownFolder("git-step");
const at = { folder };
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], { cwd: folder, encoding: "utf8" });

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

  it("fetches nothing that a partial clone lacks", async () => {
    const { path: lacking, remove: removeLacking } = ownFolder("git-lacking");
    onTestFinished(removeLacking);
    const there = (...args: string[]) => execFileSync("git", args, { cwd: lacking, stdio: "pipe" }).toString().trim();
    there("init", "-q", "-b", "main");
    writeFileSync(join(lacking, "a.txt"), "one\n");
    there("add", ".");
    there("-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "one");
    const blob = there("rev-parse", "HEAD:a.txt");
    rmSync(join(lacking, ".git/objects", blob.slice(0, 2), blob.slice(2)));
    const trap = join(lacking, "ssh.sh");
    writeFileSync(trap, `#!/bin/sh\ntouch ${join(lacking, "called")}\n`);
    chmodSync(trap, 0o755);
    for (const [name, value] of [
      ["extensions.partialClone", "origin"],
      ["core.repositoryformatversion", "1"],
      ["remote.origin.promisor", "true"],
      ["remote.origin.url", "ssh://host/path"],
      ["protocol.ssh.allow", "always"],
      ["core.sshCommand", trap],
    ] as const)
      there("config", name, value);
    writeFileSync(join(lacking, "a.txt"), "two\n");
    expect(await failureOf({ git_diff: { repo: lacking } }, at)).not.toBe("");
    expect(existsSync(join(lacking, "called"))).toBe(false);
  });

  it("fails for a revision or repository that is not there, and is not empty then", async () => {
    expect(await failureOf({ git_diff: { from: "no-such-branch" } }, at)).toContain("no-such-branch");
    mkdirSync(join(folder, "../plain-folder"), { recursive: true });
    expect(await failureOf({ git_diff: { repo: "/" } }, at)).toMatch(/not a git repository/i);
    expect(await failureOf({ git_diff: { repo: "nowhere" } }, at)).toContain("there is no");
    expect(refusals({ git_diff: { to: "main" } })).toEqual(["`to` needs a `from`"]);
  });
});
