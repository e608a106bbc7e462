/** What a message costs the journal, in what can be counted: bytes on the disk, and texts looked up on the gateway's thread. */
import { expect, test, vi } from "vitest";
import { Pack } from "../../../src/fast/pack/pack.js";
import { Packer } from "../../../src/fast/pack/packer.js";
import { recordsOfAFlood } from "../../support/records-of-a-flood.js";

const MESSAGES = 100;

test("the five records of a message take few bytes and few lookups, and are read back as they were", async () => {
  const records = await recordsOfAFlood(MESSAGES);
  expect(records).toHaveLength(MESSAGES * 5);
  const packer = new Packer();
  const lookups = vi.spyOn(Map.prototype, "get");
  for (const record of records) packer.add(record, "usual");
  const looked = lookups.mock.calls.length;
  lookups.mockRestore();
  const pack = new Pack(packer.take());
  // 422 and 37. Before objects had shapes, and records frames: 730 and 200.
  expect(pack.bytes.length / MESSAGES).toBeLessThan(440);
  expect(looked / MESSAGES).toBeLessThan(40);
  records.forEach((record, i) => {
    expect(pack.dispatch(i)).toEqual(record);
  });
});
