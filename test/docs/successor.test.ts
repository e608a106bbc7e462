/** The documents for a successor: each link leads somewhere, and each page keeps to its length. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const pagesIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));
const readmes = [...pagesIn("src"), ...pagesIn("adapters")];
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...pagesIn("docs"), ...readmes];
const lineCount = (file: string) => read(file).trimEnd().split("\n").length;

/** As GitHub makes them of headings. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
const anchorsOf = (file: string) =>
  [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));

it("every link leads to a file and a heading that exist", () => {
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)].map(([, to = "", anchor]) => ({
      page,
      file: to === "" ? page : relative(ROOT, resolve(ROOT, dirname(page), to)),
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(80);
  const broken = links.filter(
    ({ file, anchor }) => !existsSync(join(ROOT, file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor)),
  );
  expect(broken).toEqual([]);
});

it("a README of a folder has at most 60 lines", () => {
  expect(readmes.length).toBeGreaterThan(1);
  expect(readmes.filter((file) => lineCount(file) > 60)).toEqual([]);
});

it("architecture.md has at most 200 lines and a diagram for each of its five flows", () => {
  const text = read("docs/architecture.md");
  expect(lineCount("docs/architecture.md")).toBeLessThanOrEqual(200);
  const flows = text.split(/^## /m).filter((section) => /^Flow \d/.test(section));
  expect(flows.map((flow) => [flow.split("\n")[0], flow.includes("```mermaid")])).toEqual(
    flows.map((flow) => [flow.split("\n")[0], true]),
  );
  expect(flows).toHaveLength(5);
});

it("each file and each test in the table of invariants exists", () => {
  const table = read("docs/architecture.md").split("| invariant | file | test |")[1] ?? "";
  const rows = table
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    .map((line) => line.split("|").slice(1, 4));
  expect(rows.length).toBeGreaterThan(25);
  for (const [invariant, ...cells] of rows)
    for (const cell of cells) {
      const paths = [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);
      expect([invariant, paths.length > 0, paths.filter((path) => !existsSync(join(ROOT, path)))]).toEqual([
        invariant,
        true,
        [],
      ]);
    }
});

it.each([
  "agent",
  "alerts",
  "alerts/sla",
  "automations",
  "fast",
  "gateway",
  "hooks",
  "orchestrator",
  "pending",
  "store",
])("src/%s has a README that architecture.md links to", (folder) => {
  expect(readmes).toContain(`src/${folder}/README.md`);
  expect(read("docs/architecture.md")).toContain(`](../src/${folder}/README.md)`);
});
