/** What `npm start` gives to node. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

/** Keeps so much alive that the young generation grows to its bound; prints how large it became, in MB. Both halves count. */
const GROW = `
  const { getHeapSpaceStatistics } = require("node:v8");
  const kept = [];
  let most = 0;
  for (let i = 0; i < 4_000_000; i++) {
    kept[i % 300_000] = { one: i, more: [i, i, i] };
    if (i % 2_000 === 0) most = Math.max(most, getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size);
  }
  console.log(Math.round(most / 2 ** 20));`;

const grownBy = (flags: readonly string[]) =>
  Number(execFileSync(process.execPath, [...flags, "-e", GROW], { encoding: "utf8", env: {} }));

test("npm start gives the gateway a young generation of 32 MB and its other half", () => {
  const { scripts } = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8"));
  const [node, ...words] = scripts.start.split(" ");
  expect([node, words.at(-1)]).toEqual(["node", "start"]);
  const flags = words.filter((word: string) => word.startsWith("--"));
  expect(grownBy(flags)).toBe(64);
});
