/** What was seen is told at once, written seldom, and never goes back. */
import { expect, it } from "vitest";
import { Ledger } from "../../../adapters/discord/connection/ledger.js";
import { ManualClock } from "../../support/manual-clock.js";
import { MemoryCursors } from "../../support/memory-cursors.js";
import { until } from "../../support/until.js";

const MAX_OFTEN_MS = 200;

function openLedger() {
  const cursors = new MemoryCursors();
  const clock = new ManualClock();
  const ledger = new Ledger(cursors, clock, (error) => {
    throw error;
  });
  return { cursors, clock, ledger };
}

it("a flood is five writes a second for each channel, and one for all of them", async () => {
  const { cursors, clock, ledger } = openLedger();
  for (let id = 1001; id <= 4000; id++) ledger.noteSeen(String(id % 3), String(id));
  await clock.advance(MAX_OFTEN_MS - 1);
  expect(cursors.writes).toBe(0);
  await clock.advance(1);
  await until(() => cursors.writes === 4, "the cursors");
  expect(Object.fromEntries(cursors.map)).toEqual({
    "seen:0": "3999",
    "seen:1": "4000",
    "seen:2": "3998",
    seen: "4000",
  });
  await clock.advance(MAX_OFTEN_MS);
  expect(cursors.writes).toBe(4);
});

it("what is not written yet is told, and what comes late is no news", async () => {
  const { cursors, ledger } = openLedger();
  ledger.noteSeen("1", "90");
  ledger.noteSeen("2", "100");
  ledger.noteSeen("1", "80");
  expect([ledger.get("seen:1"), ledger.get("seen:2"), ledger.get("seen")]).toEqual(["90", "100", "100"]);
  await ledger.flush();
  ledger.noteSeen("1", "85");
  expect(ledger.list("seen:")).toEqual([
    { key: "seen:1", value: "90" },
    { key: "seen:2", value: "100" },
  ]);
  await ledger.flush();
  expect(cursors.writes).toBe(3);
});

it("a channel that is gone is forgotten with what was seen there", async () => {
  const { cursors, ledger } = openLedger();
  ledger.noteSeen("1", "90");
  ledger.note("seen:1", undefined);
  expect(ledger.get("seen:1")).toBe(undefined);
  await ledger.flush();
  expect([...cursors.map]).toEqual([["seen", "90"]]);
});

it("what nobody could tell again after a crash is written at once, with all that was noted before", async () => {
  const { cursors, ledger } = openLedger();
  ledger.noteSeen("1", "90");
  ledger.noteNow("dm:1", "7");
  ledger.noteNow("dm:2", "8");
  await until(() => cursors.map.get("dm:2") === "8", "the second");
  expect([cursors.map.get("dm:1"), cursors.map.get("seen:1")]).toEqual(["7", "90"]);
});
