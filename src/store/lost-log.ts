/**
 * Finds out whether the write-ahead log lost commits since the last run. SQLite stops reading its log at the first damaged frame and
 * drops the rest without a word (https://www.sqlite.org/walformat.html#recovery).
 */
import { readFileSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const LITTLE_ENDIAN = 0x377f0682;
const BIG_ENDIAN = 0x377f0683;

/** What the log of a database that no one has open contains. */
export type LogState = { kind: "missing" } | { kind: "read"; lostCommits: number };

export function readLog(file: string): LogState {
  let log: Buffer;
  try {
    log = readFileSync(file);
  } catch {
    return { kind: "missing" }; // opening the database reports a log that is there and cannot be read
  }
  return log.length < HEADER_BYTES ? { kind: "missing" } : { kind: "read", lostCommits: countLostCommits(log) };
}

/** Commits of the log's current generation after its first damaged frame. That frame itself may be one that a kill cut off. */
function countLostCommits(log: Buffer): number {
  const magic = log.readUInt32BE(0);
  const sum = magic === BIG_ENDIAN ? sumBigEndian : sumLittleEndian;
  const header = sum(log, 0, 24, [0, 0]);
  let isSound = magic === LITTLE_ENDIAN || magic === BIG_ENDIAN;
  isSound &&= header[0] === log.readUInt32BE(24) && header[1] === log.readUInt32BE(28);
  let checksum = header;
  let lost = 0;
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    // Frames of an earlier generation have other salts: they are left-overs.
    const isCurrent = log.compare(log, 16, 24, at + 8, at + 16) === 0;
    if (isSound) {
      checksum = sum(log, at + FRAME_HEADER_BYTES, at + frameBytes, sum(log, at, at + 8, checksum));
      isSound = isCurrent && checksum[0] === log.readUInt32BE(at + 16) && checksum[1] === log.readUInt32BE(at + 20);
    } else if (isCurrent && log.readUInt32BE(at + 4) !== 0) lost++;
  }
  return lost;
}

type Checksum = readonly [number, number];

function sumLittleEndian(log: Buffer, from: number, to: number, [first, second]: Checksum): Checksum {
  let a = first;
  let b = second;
  for (let at = from; at < to; at += 8) {
    a = (a + log.readUInt32LE(at) + b) >>> 0;
    b = (b + log.readUInt32LE(at + 4) + a) >>> 0;
  }
  return [a, b];
}

function sumBigEndian(log: Buffer, from: number, to: number, [first, second]: Checksum): Checksum {
  let a = first;
  let b = second;
  for (let at = from; at < to; at += 8) {
    a = (a + log.readUInt32BE(at) + b) >>> 0;
    b = (b + log.readUInt32BE(at + 4) + a) >>> 0;
  }
  return [a, b];
}
