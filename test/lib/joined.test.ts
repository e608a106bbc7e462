import { expect, it } from "vitest";
import { joined } from "../../src/lib/concurrency/joined.js";

it("serves all who ask before it begins with one piece of work, and who asks meanwhile with the next", async () => {
  let count = 0;
  let finish = () => {};
  const ask = joined(async () => {
    const mine = ++count;
    await new Promise<void>((done) => {
      finish = done;
    });
    return mine;
  });
  const first = [ask(), ask(), ask()];
  await Promise.resolve();
  const second = [ask(), ask()];
  finish();
  expect(await Promise.all(first)).toEqual([1, 1, 1]);
  await new Promise(setImmediate);
  finish();
  expect(await Promise.all(second)).toEqual([2, 2]);
});

it("goes on after work that failed", async () => {
  let isBroken = true;
  const ask = joined(async () => {
    if (isBroken) throw new Error("broken");
    return "done";
  });
  await expect(ask()).rejects.toThrow("broken");
  isBroken = false;
  expect(await ask()).toBe("done");
});
