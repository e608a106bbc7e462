/** Finds the runner that printed an output, and reads its tally. */
import { stripVTControlCharacters } from "node:util";
import { cargo, go } from "./compiled.js";
import { jest, mocha, vitest } from "./javascript.js";
import { pytest, unittest } from "./python.js";
import { sumTallies, type Tally, type TallyReader } from "./tally.js";
import { nodeTest, tap } from "./tap.js";

export const readers = {
  vitest,
  jest,
  mocha,
  "node:test": nodeTest,
  tap,
  pytest,
  unittest,
  go,
  cargo,
} as const satisfies Record<string, TallyReader>;
export type Runner = keyof typeof readers;

/** Everything that the output reports, of this runner or of any. Undefined when no runner is recognised. */
export function readTally(output: string, runner?: Runner): Tally | undefined {
  const text = stripVTControlCharacters(output).replaceAll("\r\n", "\n");
  const used = runner === undefined ? Object.values(readers) : [readers[runner]];
  const tallies = used.flatMap((read) => read(text));
  return tallies.length === 0 ? undefined : sumTallies(tallies);
}
