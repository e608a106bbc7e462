/** Reads the output of a program, line by line: marks for the card and the result, and the last lines to look at. */
import { withoutUndefined } from "../../lib/without-undefined.js";
import type { Progress } from "./runner.js";

const LAST_LINES = 8;
const LONGEST_LINE = 2_000;
const MAX_FILES = 100;

export interface OutputReader {
  take(text: string, from: "stdout" | "stderr"): void;
  files(): string[];
}

export function outputReader(progress: (shown: Progress) => void): OutputReader {
  const rest = { stdout: "", stderr: "" };
  const last: string[] = [];
  const files: string[] = [];

  function line(text: string, from: "stdout" | "stderr"): Progress {
    const [, percent, now] = from === "stdout" ? (/^::progress\s+(\d{1,3})\s*(.*)$/.exec(text) ?? []) : [];
    if (percent !== undefined)
      return withoutUndefined({ percent: Math.min(100, Number(percent)), now: now || undefined });
    const [, file] = from === "stdout" ? (/^::file\s+(.+)$/.exec(text) ?? []) : [];
    if (file !== undefined) {
      if (files.length < MAX_FILES && !files.includes(file.trim())) files.push(file.trim());
      return {};
    }
    if (text.trim() !== "") last.push(text);
    if (last.length > LAST_LINES) last.shift();
    return {};
  }

  return {
    take(text, from) {
      const lines = (rest[from] + text).split("\n");
      rest[from] = (lines.pop() ?? "").slice(0, LONGEST_LINE);
      let shown: Progress = {};
      for (const one of lines.slice(-200)) shown = { ...shown, ...line(one.slice(0, LONGEST_LINE), from) };
      if (lines.length > 0) progress({ ...shown, output: last.join("\n") });
    },
    files: () => [...files],
  };
}
