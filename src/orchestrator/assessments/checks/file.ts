/** `file:` checks whether a file is there, and its content. */
import { open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { ExpectationOf } from "../../../domain/orchestrator/expectation.js";
import { type CheckContext, type Found, notSo, so } from "./check.js";
import { checkText } from "./text.js";

/** Only the first bytes of a longer file are read. */
const MAX_BYTES = 4 * 1024 * 1024;

export async function checkFile(expected: ExpectationOf<"file">, { folder }: CheckContext): Promise<Found> {
  const path = resolve(folder, expected.file);
  const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (expected.exists === false)
    return facts === undefined ? so(`${expected.file} is not there`) : notSo(`${expected.file} is there`);
  if (facts === undefined) return notSo(`${expected.file} is not there`);
  if (expected.minBytes !== undefined && facts.size < expected.minBytes)
    return notSo(`${expected.file} has ${facts.size} bytes, not ${expected.minBytes} or more`);
  if (expected.contains === undefined && expected.matches === undefined) return so(`${expected.file} is there`);
  return checkText(await beginning(path, facts.size), expected, expected.file);
}

async function beginning(path: string, sizeBytes: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const bytes = Buffer.alloc(Math.min(sizeBytes, MAX_BYTES));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
