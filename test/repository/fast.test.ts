/** Tuned code has one address, `src/fast/`, where each file names the benchmark that shows its gain. Elsewhere nothing is written for nanoseconds. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const FAST = join("src", "fast");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const filesIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
const fast = filesIn(FAST);
const others = ["src", "adapters", "commands"].flatMap(filesIn).filter((file) => !file.startsWith(FAST));

const DECLARED_FIELD = /^\s+(?:(?:private|protected|public|readonly) )*declare (?!module|global)/;
/** In a comment. */
const NANOSECONDS = /(?:\/\/|\/?\*).*(?:\b(?:ns\b|(?:nano|micro)seconds?\b)|µs\b)/i;

const linesWith = (pattern: RegExp) => (file: string) =>
  read(file)
    .split("\n")
    .filter((line) => pattern.test(line))
    .map((line) => `${file}: ${line.trim()}`);

it("every file of src/fast names a benchmark that exists at its top, and has its row in the README", () => {
  expect(fast.length).toBeGreaterThan(15);
  const readme = read(join(FAST, "README.md"));
  for (const file of fast) {
    const benchmarks = /^\/\*\*.*?\bBenchmark: (.*?)\. ?$/ms.exec(read(file).split("*/")[0] ?? "")?.[1] ?? "";
    const named = [...benchmarks.matchAll(/bench\/[\w-]+\.ts/g)].map(([path]) => path);
    const row = readme
      .split("\n")
      .find((line) => line.startsWith(`| \`${file.slice(FAST.length + 1).replace(/\/.*/, "/")}\``));
    expect([file, named.length > 0, named.filter((path) => !existsSync(join(ROOT, path)))]).toEqual([file, true, []]);
    expect([file, named.filter((path) => row?.includes(path) !== true)]).toEqual([file, []]);
  }
});

it("no class field is declared: the compiler's setting makes that unnecessary", () => {
  expect([...fast, ...others].flatMap(linesWith(DECLARED_FIELD))).toEqual([]);
});

it("no comment outside src/fast argues with nanoseconds or microseconds", () => {
  expect(others.length).toBeGreaterThan(500);
  expect(others.flatMap(linesWith(NANOSECONDS))).toEqual([]);
});
