/** The result that a test run reports. */
export interface Tally {
  readonly runner: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Names of the failed tests, as far as they were printed. */
  readonly failures: readonly string[];
}

/** Reads the output of one runner: a tally for each summary in it, none when it is another runner's. */
export type TallyReader = (output: string) => Tally[];

/** Adds all tallies: a green summary never hides a red one beside it. */
export function sumTallies(tallies: readonly Tally[]): Tally {
  return {
    runner: [...new Set(tallies.map((one) => one.runner))].join("+"),
    passed: tallies.reduce((sum, one) => sum + one.passed, 0),
    failed: tallies.reduce((sum, one) => sum + one.failed, 0),
    skipped: tallies.reduce((sum, one) => sum + one.skipped, 0),
    failures: [...new Set(tallies.flatMap((one) => one.failures))],
  };
}

/** The number before a word: `3 passed`. 0 when it is not there. */
export function numberBefore(text: string, word: string): number {
  return Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
}

/** The first group of every match. */
export function every(output: string, pattern: RegExp): string[] {
  return [...output.matchAll(pattern)].map((match) => (match[1] as string).trim());
}
