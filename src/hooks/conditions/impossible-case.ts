/** Capital letters that a condition looks for in the result of `lowerAscii()`, and small ones in the result of `upperAscii()`. */
import type { ASTNode } from "@marcbachmann/cel-js";
import { lettersOf } from "./impossible-pattern.js";

interface Case {
  /** Changes a text as the call does: letters without a counterpart stay. */
  fold(text: string): string;
  readonly lacks: string;
  readonly remedy: string;
}

const LOWER: Case = { fold: (text) => text.toLowerCase(), lacks: "capital letters", remedy: "lower case" };
const UPPER: Case = { fold: (text) => text.toUpperCase(), lacks: "small letters", remedy: "upper case" };
const SEARCHES: ReadonlySet<string> = new Set(["contains", "startsWith", "endsWith", "matches"]);

/** Gives one sentence for each text. `textsOf`: the texts that a node can be, or that are the items of a list. */
export function caseProblems(node: ASTNode, source: string, textsOf: (node: ASTNode) => readonly string[]): string[] {
  const isPattern = node.op === "rcall" && node.args[0] === "matches";
  return comparisonsOf(node).flatMap(([one, other]) => {
    const made = caseOf(one);
    if (made === undefined) return [];
    const name = source.slice(one.range.start, one.range.end);
    return textsOf(other)
      .filter((text) => isChanged(isPattern ? lettersOf(text) : text, made))
      .map((text) => `${name} has no ${made.lacks}, so those of "${text}" never fit: write them in ${made.remedy}`);
  });
}

const isChanged = (text: string, { fold }: Case): boolean => fold(text) !== text;

function comparisonsOf(node: ASTNode): (readonly [ASTNode, ASTNode])[] {
  if (node.op === "==" || node.op === "!=" || node.op === "in") {
    const [left, right] = node.args;
    const there = [left, right] as const;
    return node.op === "in" ? [there] : [there, [right, left]];
  }
  if (node.op !== "rcall" || !SEARCHES.has(node.args[0])) return [];
  const [, holder, [argument]] = node.args;
  return argument === undefined ? [] : [[holder, argument]];
}

function caseOf(node: ASTNode): Case | undefined {
  if (node.op !== "rcall") return undefined;
  const [call, holder] = node.args;
  if (call === "trim") return caseOf(holder);
  return call === "lowerAscii" ? LOWER : call === "upperAscii" ? UPPER : undefined;
}
