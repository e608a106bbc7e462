/** A part of hookgate.yaml that a page shows is taken as it is: each setting in it is one that the gateway knows. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configSchema } from "../../src/config/schema.js";

const ROOT = resolve(import.meta.dirname, "../..");
const SECTIONS = new Set(Object.keys(configSchema.shape));
const PAGES = [
  "README.md",
  "SECURITY.md",
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

/** Those with a section of the configuration among their keys: a single definition of a hook (`id`, `on`, `run`) has none. */
function blocksOf(page: string): [place: string, block: object][] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].flatMap(({ index, 1: source = "" }) => {
    const block: unknown = parse(source);
    const isPart = typeof block === "object" && block !== null && Object.keys(block).some((key) => SECTIONS.has(key));
    return isPart ? [[`${page}:${text.slice(0, index).split("\n").length}`, block]] : [];
  });
}

describe("the parts of hookgate.yaml in the pages", () => {
  const blocks = PAGES.flatMap(blocksOf);

  it("are found", () => {
    expect(blocks.length).toBeGreaterThanOrEqual(8);
  });

  it.each(blocks)("%s has no setting that the gateway does not know", (_, block) => {
    expect(configSchema.safeParse(block).error?.issues ?? []).toEqual([]);
  });
});
