/** The nearest known names, for "did you mean". */

/** The candidate with the smallest edit distance, when it is near enough to be a likely slip; else undefined. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  return nearestOf(name, candidates)[0];
}

/** All candidates that are near enough to be a likely slip, the nearest first. */
export function nearestOf(name: string, candidates: Iterable<string>): string[] {
  const wanted = name.toLowerCase();
  // A word of three letters with two wrong ones is another word: "red" is no slip for "bad".
  const limit = Math.max(1, Math.floor(wanted.length / 2.5));
  return (
    [...candidates]
      // At least so many letters differ: comparing a name of thousands of letters with each candidate would take too long.
      .filter((candidate) => Math.abs(candidate.length - wanted.length) <= limit)
      .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
      .filter(({ distance }) => distance <= limit)
      .sort((a, b) => a.distance - b.distance)
      .map(({ candidate }) => candidate)
  );
}

/** Letters to insert, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (previous[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        isSwapped ? (beforePrevious[j - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length] as number;
}
