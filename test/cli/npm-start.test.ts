/** What `npm start` gives to node. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

/** The bound of the whole heap, in MB: a bound of the young generation counts three times. */
const heapLimit = (flags: readonly string[]) =>
  Number(
    execFileSync(
      process.execPath,
      [...flags, "-p", "require('node:v8').getHeapStatistics().heap_size_limit / 2 ** 20"],
      {
        encoding: "utf8",
        env: {},
      },
    ),
  );

test("npm start gives the gateway a young generation of 32 MB", () => {
  const { scripts } = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8"));
  const [node, ...words] = scripts.start.split(" ");
  expect([node, words.at(-1)]).toEqual(["node", "start"]);
  const flags = words.filter((word: string) => word.startsWith("--"));
  expect(heapLimit(flags) - heapLimit(["--max-semi-space-size=16"])).toBe(3 * (32 - 16));
});
