/**
 * Every path that a template reads, and every comparison in it, from the event, the steps or the times on: names of `for` and `assign`
 * are traced to their origin.
 */
import type { Arguments, ForTag, Liquid, Template, Value, Variable } from "liquidjs";
import { liquid } from "./engine.js";
import { fieldsOf, keepsItems } from "./filters.js";

/** Any item of a list. */
export const ITEM = Symbol("item");
export type Segment = Variable["segments"][number] | typeof ITEM;
/** `["event", "tasks", 0, "title"]`; a segment may be a variable itself. */
export type Path = readonly Segment[];

export const isNested = (segment: unknown): segment is Variable => segment instanceof liquid().Variable;

type Argument = Arguments extends Iterable<infer One> ? One : never;

/** Undefined: the meaning of the name is not known. */
type Names = Map<string, Path | undefined>;

/** A variable beside a value that is written out: `steps[0].status == 503`. */
export interface Comparison {
  readonly path: Path;
  /** `case` compares with `==`. */
  readonly operator: string;
  /** `empty`, `blank` and `nil` are objects of the library. */
  readonly value: unknown;
}

export interface Reads {
  readonly paths: readonly Path[];
  readonly comparisons: readonly Comparison[];
  /** Paths that are a condition, or a part of one with `and`, `or` and `not`, by themselves. */
  readonly conditions: readonly Path[];
}

export function readsOf(engine: Liquid, templates: readonly Template[]): Reads {
  const finder = new ReadsFinder(engine);
  finder.visitAll(templates, new Map());
  const { paths, comparisons, conditions } = finder;
  return { paths, comparisons, conditions };
}

class ReadsFinder implements Reads {
  readonly paths: Path[] = [];
  readonly comparisons: Comparison[] = [];
  readonly conditions: Path[] = [];
  readonly #engine: Liquid;
  /** `assign` and `capture` name something for all that follows. */
  readonly #assigned: Names = new Map();

  constructor(engine: Liquid) {
    this.#engine = engine;
  }

  visitAll(some: readonly Template[], block: Names): void {
    for (const template of some) this.#visit(template, block);
  }

  #visit(template: Template, block: Names): void {
    const read = variablesIn(this.#engine, [...(template.arguments?.() ?? [])]);
    for (const { segments } of read) {
      const path = this.#resolve(segments, block);
      if (path !== undefined) this.paths.push(path);
    }
    for (const value of template.arguments?.() ?? []) {
      const list =
        value instanceof liquid().Value ? this.#resolve(firstPath(this.#engine, value) ?? [], block) : undefined;
      if (list !== undefined)
        this.paths.push(...fieldsOf((value as Value).filters).map((field): Path => [...list, ITEM, ...field]));
      if (value instanceof liquid().Value) this.#readExpression(value, template, block);
    }
    if (template instanceof liquid().CaseTag)
      for (const { values } of template.branches)
        for (const value of values) this.#compare("==", template.value, value, block);
    const isAssign = template instanceof liquid().AssignTag;
    for (const { content } of template.localScope?.() ?? []) {
      const to = isAssign ? this.#resolve(plainPath(this.#engine, givenBy(template)) ?? [], block) : undefined;
      // For a name that is set twice, the run decides which value holds.
      this.#assigned.set(content, this.#assigned.has(content) ? undefined : to);
    }
    const inner = new Map(block);
    for (const name of template.blockScope?.() ?? []) inner.set(name, undefined);
    if (template instanceof liquid().ForTag || template instanceof liquid().TablerowTag) {
      const list = this.#resolve(plainPath(this.#engine, (template as ForTag).collection) ?? [], block);
      inner.set((template as ForTag).variable, list && [...list, ITEM]);
    }
    this.visitAll(childrenOf(template), inner);
  }

  /** The operators of an expression follow their operands, as the library evaluates them. */
  #readExpression(value: Value, { token }: Template, block: Names): void {
    const operands: (Argument | undefined)[] = [];
    for (const one of value.initial.postfix) {
      if (!("operator" in one)) {
        operands.push(one as Argument);
        continue;
      }
      const operator = String(one.operator);
      const right = operands.pop();
      const left = operator === "not" ? undefined : operands.pop();
      if (operator === "and" || operator === "or" || operator === "not")
        for (const side of [left, right]) this.#ask(side, block);
      else this.#compare(operator, left, right, block);
      operands.push(undefined);
    }
    const isCondition = "name" in token && (token.name === "if" || token.name === "unless");
    if (isCondition && value.filters.length === 0) this.#ask(operands.pop(), block);
  }

  #ask(operand: Argument | undefined, block: Names): void {
    const path = this.#resolve(plainPath(this.#engine, operand) ?? [], block);
    if (path !== undefined) this.conditions.push(path);
  }

  #compare(operator: string, left: Argument | undefined, right: Argument | undefined, block: Names): void {
    // Only the left side holds the value that is looked for.
    const sides =
      operator === "contains"
        ? [[left, right]]
        : [
            [left, right],
            [right, left],
          ];
    for (const [one, other] of sides) {
      const path = this.#resolve(plainPath(this.#engine, one) ?? [], block);
      if (path !== undefined && other !== undefined && "content" in other)
        this.comparisons.push({ path, operator, value: other.content });
    }
  }

  /** Undefined when it is not known where the path leads. */
  #resolve(segments: Path, block: Names): Path | undefined {
    const [root, ...rest] = segments;
    if (root === undefined) return undefined;
    if (typeof root !== "string") return segments;
    const names = block.has(root) ? block : this.#assigned;
    if (!names.has(root)) return segments;
    const from = names.get(root);
    return from && [...from, ...rest];
  }
}

/** All values, those of nested blocks, too. */
export function valuesIn(templates: readonly Template[]): Value[] {
  return templates.flatMap((template) => [
    ...[...(template.arguments?.() ?? [])].filter((one) => one instanceof liquid().Value),
    ...valuesIn(childrenOf(template)),
  ]);
}

/** Gives the variables, with those in the brackets of others: `event.tasks[event.index]`. */
function variablesIn(engine: Liquid, given: Argument[]): Variable[] {
  // One template with these arguments and nothing else: the library finds the variables in them.
  const found = engine.analyzeSync([{ arguments: () => given } as unknown as Template], { partials: false });
  return Object.values(found.variables).flat();
}

/** The path of a value that is a variable and nothing else: no range, no literal, no filter that makes something else of it. */
function plainPath(engine: Liquid, value: Argument | undefined): Path | undefined {
  if (value instanceof liquid().Value && !value.filters.every(keepsItems)) return undefined;
  return firstPath(engine, value);
}

/** The path of the variable with which a value starts, before its filters. */
function firstPath(engine: Liquid, value: Argument | undefined): Path | undefined {
  if (value instanceof liquid().Value && value.initial.postfix.length !== 1) return undefined;
  const token = value instanceof liquid().Value ? value.initial.postfix[0] : value;
  if (token === undefined || (token as { kind?: number }).kind !== liquid().TokenKind.PropertyAccess) return undefined;
  return variablesIn(engine, [token as Argument])[0]?.segments;
}

/** The value that an `assign` gives: the library does not declare it. */
const givenBy = (assign: Template) => (assign as unknown as { value: Argument }).value;

/** No tag that is left reads other files, so nothing is waited for. */
export function childrenOf(template: Template): readonly Template[] {
  const children = template.children?.(false, true);
  if (children === undefined) return [];
  let step = children.next();
  while (step.done !== true) step = children.next(step.value);
  return step.value as Template[];
}
