/**
 * Conditions whose time grows faster than the payload, as a loop in a loop over the text of a message does: one long message would stop the
 * whole process. What is refused: work on the whole payload that is done again for each item of a list.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { isNode, OVER_ITEMS } from "./condition-field.js";

/** How large a value can be: as the condition writes it; as one item of the list of the loop around it; as the payload. */
type Size = "fixed" | "item" | "whole";
type Sizes = Readonly<Record<string, Size>>;
interface Place {
  readonly sizes: Sizes;
  /** The loop around it, as it is written: `all(word, …)`. Loops over lists that the condition writes out do not count. */
  readonly loop?: string;
}

const ORDER: readonly Size[] = ["fixed", "item", "whole"];
const FIXED_OPS: ReadonlySet<string> = new Set("value == != < <= > >= in && || !_ -_ - * / %".split(" "));
/** Calls with a result that is not longer than a number. */
const FIXED_CALLS =
  /^(contains|startsWith|endsWith|matches|size|(lastI|i)ndexOf|all|exists|exists_one|has|int|uint|double|bool|timestamp|duration|type|get[A-Z]\w*)$/;
/** Calls that take no longer than their smaller side needs. */
const QUICK_CALLS = /^(startsWith|endsWith|get[A-Z]\w*)$/;

/** The first of them, as a sentence with its position and what to write. */
export function slowProblem(ast: ASTNode): string | undefined {
  return problemIn(ast, { sizes: {} });
}

function problemIn(node: unknown, place: Place): string | undefined {
  if (Array.isArray(node)) return firstOf(node, (one) => problemIn(one, place));
  if (!isNode(node)) return undefined;
  const at = (problem: string | undefined) =>
    problem === undefined ? undefined : `at character ${node.range.start + 1}, ${problem}`;
  const own = at(ownProblem(node, place));
  if (own !== undefined || node.op !== "rcall") return own ?? problemIn(node.args, place);
  const [, holder, parameters] = node.args;
  const inner = within(node, place);
  return problemIn(holder, place) ?? problemIn(parameters, inner) ?? at(copyProblem(node, place, inner));
}

function firstOf<T>(all: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

const instead = (loop: string) =>
  `again for each item of ${loop}, so a long text stops the gateway: move it out of the loop, write \`item in list\` for a list of at most some hundred items, or decide in a program (run.shell, run.module)`;

function ownProblem(node: ASTNode, place: Place): string | undefined {
  const { sizes, loop } = place;
  const isWhole = (one: ASTNode | undefined) => one !== undefined && sizeOf(one, sizes) === "whole";
  if (node.op === "+" && loop !== undefined && node.args.some(isWhole))
    return `+ joins a value of the payload ${instead(loop)}`;
  if (node.op === "in" && loop !== undefined && isWhole(node.args[1]) && isMade(node.args[1]))
    return `\`in\` makes its list ${instead(loop)}`;
  if (node.op === "call" && loop !== undefined && node.args[0] !== "has" && node.args[1].some(isWhole))
    return `${node.args[0]}(…) reads a value of the payload ${instead(loop)}`;
  if (node.op !== "rcall") return undefined;
  const [call, holder, [first]] = node.args;
  if (call === "matches" && first !== undefined && sizeOf(first, sizes) !== "fixed")
    return `matches(…) takes its pattern from the payload, so a long pattern stops the gateway: write the pattern out`;
  if (call === "join" && first !== undefined && holder.op !== "list" && sizeOf(first, sizes) !== "fixed")
    return `join(…) repeats a value of the payload, so a long text stops the gateway: write the separator out`;
  if (loop !== undefined && isWhole(holder) && !QUICK_CALLS.test(call))
    return `${shown(node)} goes through a value of the payload ${instead(loop)}`;
  return undefined;
}

/** `map(word, payload.text)`: its result is the text as many times as there are words. */
function copyProblem(node: ASTNode, place: Place, inner: Place): string | undefined {
  if (node.op !== "rcall" || node.args[0] !== "map" || inner.loop === place.loop) return undefined;
  const result = node.args[2].at(-1);
  if (result === undefined || sizeOf(result, inner.sizes) !== "whole") return undefined;
  return `${shown(node)} copies a value of the payload once for each item, so a long text stops the gateway: keep to what the item has`;
}

/** What names mean in the parameters of the call. */
function within(node: ASTNode, place: Place): Place {
  if (node.op !== "rcall") return place;
  const [call, holder, [first, second]] = node.args;
  if (first?.op !== "id" || second === undefined) return place;
  const { sizes } = place;
  if (call === "bind") return { ...place, sizes: { ...sizes, [first.args]: sizeOf(second, sizes) } };
  if (!OVER_ITEMS.has(call)) return place;
  const size = sizeOf(holder, sizes);
  if (size === "fixed" || holder.op === "list") return { ...place, sizes: { ...sizes, [first.args]: size } };
  // To the items of an inner loop, an item of the outer one is what the payload is to that.
  const outer = Object.entries(sizes).map(([name, one]) => [name, one === "item" ? "whole" : one] as const);
  return { sizes: { ...Object.fromEntries(outer), [first.args]: "item" }, loop: shown(node) };
}

function sizeOf(node: ASTNode, sizes: Sizes): Size {
  if (FIXED_OPS.has(node.op)) return "fixed";
  if (node.op === "id") return (Object.hasOwn(sizes, node.args) ? sizes[node.args] : undefined) ?? "whole";
  if (node.op === "call") return FIXED_CALLS.test(node.args[0]) ? "fixed" : largest(node.args[1], sizes);
  if (node.op === "?:") return largest(node.args.slice(1), sizes);
  if (node.op === "list" || node.op === "map" || node.op === "+") return largest(node.args.flat(), sizes);
  if (node.op === "." || node.op === ".?" || node.op === "[]" || node.op === "[?]") return sizeOf(node.args[0], sizes);
  if (node.op !== "rcall") return "whole";
  const [call, holder, parameters] = node.args;
  if (FIXED_CALLS.test(call)) return "fixed";
  if (call === "bind") return largest(parameters.slice(2), within(node, { sizes }).sizes);
  // A loop gives items of its list, or what `map` makes of them.
  return isLoop(node) ? sizeOf(holder, sizes) : largest([holder, ...parameters], sizes);
}

const largest = (nodes: readonly ASTNode[], sizes: Sizes): Size =>
  ORDER[Math.max(0, ...nodes.map((one) => ORDER.indexOf(sizeOf(one, sizes))))] ?? "whole";

const isLoop = (node: ASTNode) => node.op === "rcall" && OVER_ITEMS.has(node.args[0]) && node.args[2].length > 1;

/** A list that is made anew each time, not a field. */
const isMade = (node: ASTNode): boolean =>
  node.op !== "id" && ((node.op !== "." && node.op !== ".?" && node.op !== "[]") || isMade(node.args[0]));

/** `all(word, …)`. */
function shown(node: ASTNode): string {
  if (node.op !== "rcall") return "";
  const [call, , [first]] = node.args;
  return isLoop(node) && first?.op === "id" ? `${call}(${first.args}, …)` : `${call}(…)`;
}
