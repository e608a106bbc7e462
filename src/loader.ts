/**
 * Runs the bundle's chunks (dist/src/*.cjs) with the compiled code that an earlier start kept beside them, so that a start neither
 * parses nor compiles. Code that another Node, processor or V8 flag made, that belongs to another text or place, or that is damaged is
 * ignored: the chunk is compiled, and the next start keeps its code. Every entry (the CLI, the package, the journal's writer, example
 * plugins) goes through this one file, and so all of them share the chunks.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

type Exports = Record<string, unknown>;
type Load = (id: string) => unknown;
/** As scripts/as-scripts.mjs wraps it. */
type Chunk = (require: Load, module: { exports: Exports }, url: string, lazy: (id: string) => Promise<unknown>) => void;

interface Loaded {
  exports: Exports;
  script: Script;
  textSum: number;
}

/** Before the code: who made it and where, of which text, and the sum of what follows. V8 itself looks at its own version and the text's length. */
const HEAD_BYTES = 12;
/** With the place, because code remembers the name of its file: what a trace shows, and where a package is imported from. */
const MAKER = crc32(`${process.version} ${process.arch} ${cachedDataVersionTag()} ${import.meta.url}`);

const chunks = new Map<string, Loaded>();
const installed = createRequire(import.meta.url);

/** What a chunk exports, by its file's name. It runs once. */
export function load(name: string): Exports {
  const known = chunks.get(name);
  if (known) return known.exports;
  const text = readFileSync(fileOf(name));
  const textSum = crc32(text);
  const cachedData = readCode(name, textSum);
  const script = new Script(text.toString("latin1"), {
    filename: fileOf(name).href,
    cachedData,
  });
  const module = { exports: {} };
  const run = script.runInThisContext() as Chunk;
  run(required, module, fileOf(name).href, lazy);
  chunks.set(name, { exports: module.exports, script, textSum });
  return module.exports;
}

/**
 * Called when a start has ended: keeps the code of all chunks that are loaded, with every function that has run, unless all of them ran kept
 * code. Who may write a chunk may write its code, so the place needs no protection of its own.
 */
export function keepCode(): void {
  if ([...chunks.values()].every(({ script }) => script.cachedDataRejected === false)) return;
  try {
    for (const [name, { script, textSum }] of chunks) {
      const code = script.createCachedData();
      const head = Buffer.alloc(HEAD_BYTES);
      for (const [index, sum] of [MAKER, textSum, crc32(code)].entries()) head.writeUInt32LE(sum, index * 4);
      writeFileSync(codeOf(name), Buffer.concat([head, code]));
    }
  } catch {
    // A product that its user may not write to, a full disk: later starts compile again, and that is all.
  }
}

function readCode(name: string, textSum: number): Buffer | undefined {
  let whole: Buffer;
  try {
    whole = readFileSync(codeOf(name));
  } catch {
    return undefined; // None is kept yet, or none of a chunk that no start loads.
  }
  if (whole.length <= HEAD_BYTES) return undefined;
  const code = whole.subarray(HEAD_BYTES);
  const isGood = [MAKER, textSum, crc32(code)].every((sum, index) => whole.readUInt32LE(index * 4) === sum);
  return isGood ? code : undefined;
}

function required(id: string): unknown {
  const name = ownName(id);
  return name === undefined ? installed(id) : load(name);
}

async function lazy(id: string): Promise<unknown> {
  const name = ownName(id);
  return name === undefined ? import(id) : load(name);
}

function ownName(id: string): string | undefined {
  return /^\.\/([\w-]+\.cjs)$/.exec(id)?.[1];
}

function fileOf(name: string): URL {
  return new URL(name, import.meta.url);
}

function codeOf(name: string): URL {
  return new URL(`${name}.cache`, import.meta.url);
}
