/** Makes the rows of a list one after another, with other work in between: the source of a row may be as long as a payload. */
import { setImmediate } from "node:timers/promises";

export async function oneByOne<T, Row>(found: readonly T[], make: (one: T) => Promise<Row>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const one of found) {
    rows.push(await make(one));
    await setImmediate();
  }
  return rows;
}
