/** What becomes of a file between two looks, and when the second look is due. */
import { describe, expect, it } from "vitest";
import { createBatches } from "../../../src/automations/triggers/watch/batches.js";
import { dispatchIdOf, operationOf } from "../../../src/automations/triggers/watch/change.js";
import { selectionOf } from "../../../src/automations/triggers/watch/selection.js";
import type { FileSnapshot } from "../../../src/domain/automation.js";

const file = (sizeBytes: number, mtimeMs = 1, ctimeMs = mtimeMs): FileSnapshot => ({
  path: "/a",
  sizeBytes,
  mtimeMs,
  ctimeMs,
});

describe("merging", () => {
  it("is created, modified, deleted or nothing by what was known and what is there", () => {
    expect(operationOf(undefined, file(2), false)).toBe("created");
    expect(operationOf(undefined, undefined, true)).toBeUndefined();
    expect(operationOf(file(1), undefined, true)).toBe("deleted");
    expect(operationOf(file(1), file(2), false)).toBe("modified");
    expect(operationOf(file(1), file(1, 2), false)).toBe("modified");
    expect(operationOf(file(1), file(1), false)).toBeUndefined();
  });

  it("takes a file that was gone in between for another, and one whose rights changed for the same", () => {
    expect(operationOf(file(1, 1, 1), file(1, 1, 9), true)).toBe("modified");
    expect(operationOf(file(1, 1, 1), file(1, 1, 9), false)).toBeUndefined();
    expect(operationOf(file(1, 1, 1), file(1, 1, 1), true)).toBeUndefined();
  });

  it("has one id for one change, whoever finds it", () => {
    const change = { path: "/a", operation: "modified" as const, before: file(1, 1), now: file(1, 2) };
    expect(dispatchIdOf("w", [change])).toBe(dispatchIdOf("w", [{ ...change }]));
    const ids = [
      dispatchIdOf("w", [change]),
      dispatchIdOf("v", [change]),
      dispatchIdOf("w", [{ ...change, now: file(1, 2, 3) }]),
      dispatchIdOf("w", [{ ...change, before: file(1, 1, 3) }]),
      dispatchIdOf("w", [{ ...change, path: "/b" }]),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("the quiet time", () => {
  it("begins anew with every touch, for each file on its own, and not for ever", () => {
    const batches = createBatches({ as: "file", debounceMs: 1000 });
    expect(batches.touch("/a", { at: 0, wasDeleted: false })).toEqual({ batch: "/a", dueAt: 1000 });
    expect(batches.touch("/a", { at: 900, wasDeleted: true })).toEqual({ batch: "/a", dueAt: 1900 });
    expect(batches.touch("/b", { at: 950, wasDeleted: false })).toEqual({ batch: "/b", dueAt: 1950 });
    for (let at = 1000; at < 30_000; at += 500) batches.touch("/a", { at, wasDeleted: false });
    expect(batches.dueAt("/a")).toBe(20_000);
    expect([...batches.take("/a")]).toEqual([["/a", true]]);
    expect(batches.dueAt("/a")).toBeUndefined();
  });

  it("is one for all files of a folder watch", () => {
    const batches = createBatches({ as: "folder", debounceMs: 1000 });
    batches.touch("/a", { at: 0, wasDeleted: false });
    const { batch, dueAt } = batches.touch("/b", { at: 500, wasDeleted: false });
    expect(dueAt).toBe(1500);
    expect([...batches.take(batch).keys()]).toEqual(["/a", "/b"]);
  });
});

describe("what a path selects", () => {
  const of = (pattern: string, ...ignore: string[]) => selectionOf(pattern, ignore, "/srv/site");

  it("looks no deeper than the glob says", () => {
    expect(of("posts/*.md")).toMatchObject({ root: "/srv/site/posts", depth: 0 });
    expect(of("posts/*/index.md")).toMatchObject({ root: "/srv/site/posts", depth: 1 });
    expect(of("posts/**/*.md").depth).toBe(Number.POSITIVE_INFINITY);
    expect(of("posts").depth).toBe(Number.POSITIVE_INFINITY);
    expect(of("../other/*.md").root).toBe("/srv/other");
    expect(of("/etc/hosts").root).toBe("/etc/hosts");
  });

  it("selects by the glob, everything in a folder, and nothing that is ignored", () => {
    const posts = of("posts/**/*.md", "**/drafts/**", "posts/old/**");
    expect(posts.selects("/srv/site/posts/a.md")).toBe(true);
    expect(posts.selects("/srv/site/posts/x/y/a.md")).toBe(true);
    expect(posts.selects("/srv/site/posts/a.txt")).toBe(false);
    expect(posts.selects("/srv/site/posts/x/drafts/a.md")).toBe(false);
    expect(posts.ignores("/srv/site/posts/x/drafts")).toBe(true);
    expect(posts.selects("/srv/site/posts/old/a.md")).toBe(false);
    expect(posts.selects("/srv/site/postscript/a.md")).toBe(false);
    expect(of("posts").selects("/srv/site/posts/.hidden/a")).toBe(true);
  });
});
