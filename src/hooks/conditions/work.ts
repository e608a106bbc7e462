/**
 * The work of a condition. It is evaluated in the process of the gateway, and nothing ends it from outside. Each part of a loop is a
 * step each time, the items that a function or an operator goes through are more steps, and a condition that needs too many has no
 * answer.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { HookgateError } from "../../lib/errors.js";
import { OVER_ITEMS, visitScoped } from "./condition-field.js";

/** docs/limits.md has how long that takes. */
const MAX_STEPS = 5_000_000;
const CHARACTERS_A_STEP = 16;
/** Comparisons of characters: at worst, a search for a part of a text compares each of the one with each of the other. */
const COMPARISONS_A_STEP = 200;
const ITEMS_A_STEP = 4;
/** Items of a list in which a text is looked for. */
const TEXTS_A_STEP = 25;
const KEY_STEPS = 2;
/** A time of day in a zone is computed with its calendar. */
const ZONE_STEPS = 1_500;

const TOO_MUCH = new HookgateError({
  code: "CONDITION_TOO_MUCH_WORK",
  message:
    "it takes too much work for this payload: do less for each item of a list, write a shorter pattern, or decide in a program (run.shell, run.module)",
});

/** `thrown`: by an evaluation. */
export const isTooMuchWork = (thrown: unknown): boolean =>
  thrown === TOO_MUCH || (thrown instanceof Error && thrown.cause === TOO_MUCH);

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
    const listed = writtenOut(node);
    if (listed !== undefined) intercept(node, "evaluate", () => listed);
    if (WHOLE_VALUES.has(op))
      intercept(node, "handle", (left, right) => {
        valueSteps(left, true);
        valueSteps(right, true);
      });
    if (op === "in") intercept(node, "handle", isIn);
    if (op !== "call" && op !== "rcall") return;
    intercept(node, "handle", (given) => callSteps(node.args[0], given as unknown[]));
    if (op !== "rcall" || !OVER_ITEMS.has(node.args[0])) return;
    for (const part of node.args[2].slice(1)) {
      let steps = 0;
      visitScoped(part, {}, (one) => {
        steps += 1 - (writtenOut(one)?.length ?? 0);
      });
      intercept(part, "evaluate", () => spend(steps));
    }
  });
}

/** The items of a list that the condition writes out: it is made once, and not at each evaluation. */
function writtenOut({ op, args }: ASTNode): unknown[] | undefined {
  if (op !== "list" || args.length === 0 || args.some((item) => item.op !== "value")) return undefined;
  return args.map((item) => item.args);
}

/** A text in a list or among the keys of a map: the engine's own search is a hundred times as fast as the library's. */
function isIn(left: unknown, right: unknown): boolean | undefined {
  if (typeof left !== "string" || typeof right !== "object" || right === null) return undefined;
  if (Array.isArray(right)) {
    spend(right.length / TEXTS_A_STEP);
    return right.includes(left);
  }
  return Object.getPrototypeOf(right) === Object.prototype ? Object.hasOwn(right, left) : undefined;
}

/** Operators that may go through all that their values hold. */
const WHOLE_VALUES: ReadonlySet<string> = new Set("== != < <= > >= in +".split(" "));

type Method = (one: unknown, two: unknown, three: unknown, four: unknown) => unknown;

/** `before`: counts, and may give the answer itself. The library gives a node other methods when it has checked it. */
function intercept(
  node: ASTNode,
  method: "evaluate" | "handle",
  before: (one: unknown, two: unknown) => unknown,
): void {
  let run: Method = Reflect.get(node, method);
  const counted: Method = (one, two, three, four) => before(one, two) ?? run.call(node, one, two, three, four);
  Object.defineProperty(node, method, {
    configurable: true,
    get: () => counted,
    set: (made: Method) => {
      run = made;
    },
  });
}

const COMPARES_ONCE = /^(starts|ends)With$/;
const SEARCHES = /^(contains|(lastI|i)ndexOf)$/;

/** `given`: the value that it is called on, and its arguments. */
function callSteps(name: string, given: readonly unknown[]): void {
  const [first, second] = given;
  if (typeof first === "string" && typeof second === "string" && (COMPARES_ONCE.test(name) || SEARCHES.test(name))) {
    spend(COMPARES_ONCE.test(name) ? second.length / CHARACTERS_A_STEP : searchSteps(first, second));
    return;
  }
  for (const one of given) valueSteps(one, name === "join");
  if (name === "duration" && typeof first === "string") spend(first.length ** 2 / COMPARISONS_A_STEP);
  if (second === undefined) return;
  if (name.startsWith("get")) spend(ZONE_STEPS);
  if (typeof second !== "string") return;
  if (Array.isArray(first)) spend((first.length * second.length) / CHARACTERS_A_STEP);
  if (typeof first !== "string") return;
  spend(searchSteps(first, second));
  if (name === "split") spend(first.length);
}

/** At worst, each character of the one is compared with each of the other. */
const searchSteps = (text: string, part: string) =>
  (text.length + Math.max(0, text.length - part.length) * part.length) / COMPARISONS_A_STEP;

/** The library looks at the first item of a list at least, and at all keys and the first value of a map. */
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
