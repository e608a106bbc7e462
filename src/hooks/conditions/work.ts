/**
 * The work of a condition. It is evaluated in the process of the gateway, and nothing ends it from outside. Each part of a loop is a step each
 * time, what a function or an operator goes through is more of them, and a condition that needs too many has no answer.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { HookgateError } from "../../lib/errors.js";
import { OVER_ITEMS, visitScoped } from "./condition-field.js";

/** About 0.3 seconds. */
const MAX_STEPS = 3_000_000;
const CHARACTERS_A_STEP = 16;
/** Of characters. A search for a part of a text compares each of the one with each of the other at worst. */
const COMPARISONS_A_STEP = 200;
const ITEMS_A_STEP = 4;
const KEY_STEPS = 2;
/** A time of day in a zone is computed with its calendar. */
const ZONE_STEPS = 500;

const TOO_MUCH = new HookgateError({
  code: "CONDITION_TOO_MUCH_WORK",
  message:
    "it takes too much work for this payload: do less for each item of a list, write a shorter pattern, or decide in a program (run.shell, run.module)",
});

let stepsLeft = Number.POSITIVE_INFINITY;

/** Throws when the evaluation takes too many steps, also where `||` or `exists` has an answer without the part that took them. */
export function withinBudget(evaluate: () => unknown): unknown {
  stepsLeft = MAX_STEPS;
  try {
    const answer = evaluate();
    spend(0);
    return answer;
  } finally {
    stepsLeft = Number.POSITIVE_INFINITY;
  }
}

export function spend(steps: number): void {
  stepsLeft -= steps;
  if (stepsLeft < 0) throw TOO_MUCH;
}

/** Lets a condition count its steps each time it is evaluated. */
export function countSteps(ast: ASTNode): void {
  visitScoped(ast, {}, (node) => {
    const { op } = node;
    if (WHOLE_VALUES.has(op))
      intercept(node, "handle", (left, right) => {
        valueSteps(left, true);
        valueSteps(right, true);
      });
    if (op !== "call" && op !== "rcall") return;
    intercept(node, "handle", (given) => callSteps(node.args[0], given as unknown[]));
    if (op !== "rcall" || !OVER_ITEMS.has(node.args[0])) return;
    for (const part of node.args[2].slice(1)) {
      let steps = 0;
      visitScoped(part, {}, () => steps++);
      intercept(part, "evaluate", () => spend(steps));
    }
  });
}

/** Operators that may go through all that their values hold. */
const WHOLE_VALUES: ReadonlySet<string> = new Set("== != < <= > >= in +".split(" "));

type Method = (one: unknown, two: unknown, three: unknown, four: unknown) => unknown;

/** The library gives a node other methods when it has checked it. */
function intercept(node: ASTNode, method: "evaluate" | "handle", count: (one: unknown, two: unknown) => void): void {
  let run: Method = Reflect.get(node, method);
  const counted: Method = (one, two, three, four) => {
    count(one, two);
    return run.call(node, one, two, three, four);
  };
  Object.defineProperty(node, method, {
    get: () => counted,
    set: (made: Method) => {
      run = made;
    },
  });
}

/** `given`: what it is called on, and its arguments. */
function callSteps(name: string, given: readonly unknown[]): void {
  for (const one of given) valueSteps(one, name === "join");
  const [first, second] = given;
  if (name === "duration" && typeof first === "string") spend(first.length ** 2 / COMPARISONS_A_STEP);
  if (second === undefined) return;
  if (name.startsWith("get")) spend(ZONE_STEPS);
  if (typeof second !== "string") return;
  if (Array.isArray(first)) spend((first.length * second.length) / CHARACTERS_A_STEP);
  if (typeof first !== "string") return;
  spend((Math.max(0, first.length - second.length) * second.length) / COMPARISONS_A_STEP);
  if (name === "split") spend(first.length);
}

/** Of a list, the library looks at the first item at least, and of a map at all keys and the first value. */
function valueSteps(value: unknown, isWhole: boolean): void {
  if (typeof value === "string") spend(value.length / (isWhole ? COMPARISONS_A_STEP : CHARACTERS_A_STEP));
  else if (ArrayBuffer.isView(value)) spend(value.byteLength / CHARACTERS_A_STEP);
  else if (Array.isArray(value)) {
    if (isWhole) spend(value.length / ITEMS_A_STEP);
    for (const item of isWhole ? value : value.slice(0, 1)) valueSteps(item, isWhole);
  } else if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value);
    spend(keys.length * KEY_STEPS);
    for (const key of isWhole ? keys : keys.slice(0, 1)) valueSteps(Reflect.get(value, key), isWhole);
  }
}
