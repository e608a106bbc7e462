/**
 * Finds out whether the write-ahead log lost commits since the last run. SQLite stops reading its log at the first damaged frame and
 * drops the rest without a word (https://www.sqlite.org/walformat.html#recovery).
 */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { endianness } from "node:os";

export const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const INDEX_HEADERS_BYTES = 96;
const LITTLE_ENDIAN = 0x377f0682;
const BIG_ENDIAN = 0x377f0683;
/** Where the number of the database (`identity.ts`) is on its first page. */
export const MARK_OFFSET = 60;

/** The content of the log of a database that no process has open. */
export type LogState =
  | { kind: "missing"; isEmpty: boolean }
  | {
      kind: "read";
      /** False: SQLite ignores all of the log. */
      isHeaderSound: boolean;
      /** Commits after the first damaged frame. */
      lostCommits: number;
      /**
       * Frames that the index (`-shm`) knows and the log does not have any more: it was cut short. After a power cut the disk may have lost
       * them.
       */
      missingFrames: number;
      /** The numbers of the database in its committed first pages, oldest first. */
      marks: number[];
    };

/** `database`: the path of the database, whose log it is. */
export function readLog(database: string): LogState {
  // The index is read first, so that frames that a running gateway adds meanwhile are in the log.
  const index = readIndexFile(`${database}-shm`);
  let log: Buffer;
  try {
    log = readFileSync(`${database}-wal`);
  } catch {
    return { kind: "missing", isEmpty: false }; // opening the database reports a log that is there and cannot be read
  }
  return log.length < LOG_HEADER_BYTES ? { kind: "missing", isEmpty: true } : examine(log, index);
}

/** Whether the first bytes of a log are a header that SQLite accepts. */
export function isHeaderSound(log: Buffer): boolean {
  const magic = log.readUInt32BE(0);
  if (magic !== LITTLE_ENDIAN && magic !== BIG_ENDIAN) return false;
  const [first, second] = sumOf(log)(log, 0, 24, [0, 0]);
  return first === log.readUInt32BE(24) && second === log.readUInt32BE(28);
}

/** Commits of the log's current generation after its first damaged frame are lost. A kill may have cut off that frame itself. */
function examine(log: Buffer, index: LogIndex | undefined): LogState {
  const sum = sumOf(log);
  const hasHeader = isHeaderSound(log);
  let isSound = hasHeader;
  let checksum: Checksum = [log.readUInt32BE(24), log.readUInt32BE(28)];
  let lostCommits = 0;
  let committed = 0;
  const marks: number[] = [];
  let newMarks: number[] = [];
  const pageBytes = log.readUInt32BE(8);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const isReadable = pageBytes >= 512 && pageBytes <= 65_536;
  for (let at = LOG_HEADER_BYTES, n = 1; isReadable && at + frameBytes <= log.length; at += frameBytes, n++) {
    // Frames of an earlier generation have other salts: they are left-overs.
    const isCurrent = log.compare(log, 16, 24, at + 8, at + 16) === 0;
    const isCommit = log.readUInt32BE(at + 4) !== 0;
    if (isSound) {
      checksum = sum(log, at + FRAME_HEADER_BYTES, at + frameBytes, sum(log, at, at + 8, checksum));
      isSound = isCurrent && checksum[0] === log.readUInt32BE(at + 16) && checksum[1] === log.readUInt32BE(at + 20);
      if (!isSound) continue;
      if (log.readUInt32BE(at) === 1) newMarks.push(log.readUInt32BE(at + FRAME_HEADER_BYTES + MARK_OFFSET));
      if (!isCommit) continue;
      committed = n;
      marks.push(...newMarks);
      newMarks = [];
    } else if (isCurrent && isCommit) lostCommits++;
  }
  const isSameLog = hasHeader && index !== undefined && index.salts.compare(log, 16, 24) === 0;
  const missingFrames = isSameLog ? Math.max(0, index.frames - committed) : 0;
  return { kind: "read", isHeaderSound: hasHeader, lostCommits, missingFrames, marks };
}

/**
 * The facts in the header of an index about its log. The index outlives a process that was killed
 * (https://www.sqlite.org/walformat.html#the_wal_index_header).
 */
export interface LogIndex {
  /** The last frame that was committed; 0 after the log was copied into the database and started again. */
  frames: number;
  /** The least size of the log. */
  logBytes: number;
  salts: Buffer;
}

function readIndexFile(file: string): LogIndex | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    return readIndex(descriptor);
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** `descriptor`: the index of a database, `-shm`. Undefined when it is not written whole. */
export function readIndex(descriptor: number): LogIndex | undefined {
  const index = Buffer.alloc(INDEX_HEADERS_BYTES);
  const read = readSync(descriptor, index, 0, INDEX_HEADERS_BYTES, 0);
  // SQLite writes the header twice, and is killed in between at times.
  if (read < INDEX_HEADERS_BYTES || index.compare(index, 0, 48, 48, 96) !== 0 || index[12] !== 1) return undefined;
  const isLittle = endianness() === "LE";
  const frames = isLittle ? index.readUInt32LE(16) : index.readUInt32BE(16);
  const size = isLittle ? index.readUInt16LE(14) : index.readUInt16BE(14);
  // 1 means the largest size, which does not fit.
  const pageBytes = size === 1 ? 65_536 : size;
  const logBytes = frames === 0 ? 0 : LOG_HEADER_BYTES + frames * (FRAME_HEADER_BYTES + pageBytes);
  return { frames, logBytes, salts: index.subarray(32, 40) };
}

type Checksum = readonly [number, number];

function sumOf(log: Buffer): typeof sumLittleEndian {
  return log.readUInt32BE(0) === BIG_ENDIAN ? sumBigEndian : sumLittleEndian;
}

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
