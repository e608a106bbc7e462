/**
 * Fields of a CEL condition that a payload may lack, where no `has(…)` protects them: a condition has no answer for a payload without the
 * field.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { JsonSchema } from "../../lib/validation/json-schema.js";
import { type Field, fieldOf, isNode, partsOf, type Scope, scopeOf, visitScoped } from "./condition-field.js";
import { parseCondition } from "./impossible-condition.js";

export interface UnguardedField {
  /** As the condition has it: `payload.message.threadId`. */
  readonly name: string;
  /** The part that may be absent: the field itself, or what holds it. */
  readonly absent: string;
  /** `payload.threadId == "5"` is meant to be false without the field; any other use may be meant to be true. */
  readonly isEqual: boolean;
  /** The field is used only where `has(…)` has found that it is not there: `has(payload.threadId) || payload.threadId == "5"`. */
  readonly isNeverThere: boolean;
}

/** Each once. A condition that cannot be parsed has none, because compiling it reports that. */
export function unguardedFields(source: string, variables: Readonly<Record<string, JsonSchema>>): UnguardedField[] {
  const ast = parseCondition(source);
  if (ast === undefined) return [];
  const scope = scopeOf(variables);
  const holders = new Set<ASTNode>();
  const equal = new Set<ASTNode>();
  const askedFor = new Set<string>();
  /** The holders of fields that are asked for: to ask for a field of an absent holder has no answer either. */
  const askedIn: Field[] = [];
  visitScoped(ast, scope, (node, at) => {
    if (node.op === "==") for (const side of node.args) equal.add(side);
    if (node.op === "." || node.op === "[]") holders.add(node.args[0]);
    const [tested] = node.op === "call" && node.args[0] === "has" ? node.args[1] : [];
    if (tested === undefined) return;
    holders.add(tested); // asked for, not used
    const asked = fieldOf(tested, at);
    if (asked) askedFor.add(asked.name);
    const holder = tested.op === "." || tested.op === "[]" ? fieldOf(tested.args[0], at) : undefined;
    if (holder) askedIn.push(holder);
  });
  const found = new Map<string, UnguardedField>();
  for (const { name, optional, problem } of askedIn)
    if (optional !== undefined && problem === undefined && !askedFor.has(optional))
      found.set(name, { name, absent: optional, isEqual: false, isNeverThere: false });
  visitKnowing(ast, scope, { there: askedOfItems(ast, scope), absent: new Set() }, (node, at, { there, absent }) => {
    if ((node.op !== "." && node.op !== "[]") || holders.has(node)) return;
    const field = fieldOf(node, at);
    if (field?.optional === undefined || field.problem !== undefined) return;
    const names = namesOf(node, at);
    if (names.some((name) => there.has(name))) return;
    const isNeverThere = names.some((name) => absent.has(name));
    const before = found.get(field.name);
    found.set(field.name, {
      name: field.name,
      absent: field.optional,
      isEqual: equal.has(node) && !isNeverThere && (before?.isEqual ?? true),
      isNeverThere: isNeverThere || before?.isNeverThere === true,
    });
  });
  return [...found.values()];
}

/** The results of `has(…)` for fields, where a part of the condition counts. */
interface Known {
  readonly there: ReadonlySet<string>;
  readonly absent: ReadonlySet<string>;
}

/** A part of `&&`, `||` and `?:` counts only where the others do not decide alone, in any order of writing. */
function visitKnowing(
  node: unknown,
  scope: Scope,
  known: Known,
  see: (node: ASTNode, scope: Scope, known: Known) => void,
): void {
  const visit = (part: unknown, at: Scope, more?: Known) =>
    visitKnowing(part, at, more ? both(known, more) : known, see);
  if (Array.isArray(node)) for (const one of node) visit(one, scope);
  if (!isNode(node)) return;
  see(node, scope, known);
  if (node.op === "&&" || node.op === "||") {
    const [left, right] = node.args;
    visit(left, scope, knownWhen(right, node.op === "&&", scope));
    visit(right, scope, knownWhen(left, node.op === "&&", scope));
  } else if (node.op === "?:") {
    const [asked, yes, no] = node.args;
    visit(asked, scope);
    visit(yes, scope, knownWhen(asked, true, scope));
    visit(no, scope, knownWhen(asked, false, scope));
  } else for (const [part, at] of partsOf(node, scope)) visit(part, at);
}

const NOTHING: Known = { there: new Set(), absent: new Set() };

/** The fields that are known to be there, or not, when the node is true, or false. */
function knownWhen(node: ASTNode, isTrue: boolean, scope: Scope): Known {
  if (node.op === "!_") return knownWhen(node.args, !isTrue, scope);
  if (node.op === "&&" || node.op === "||") {
    const [left, right] = node.args.map((one) => knownWhen(one, isTrue, scope)) as [Known, Known];
    return (node.op === "&&") === isTrue ? both(left, right) : common(left, right);
  }
  const [tested] = node.op === "call" && node.args[0] === "has" ? node.args[1] : [];
  if (tested === undefined) return NOTHING;
  if (isTrue) return { there: new Set(namesOf(tested, scope)), absent: NOTHING.absent };
  return { there: NOTHING.there, absent: new Set(namesOf(tested, scope).slice(0, 1)) };
}

const both = (one: Known, other: Known): Known => ({
  there: new Set([...one.there, ...other.there]),
  absent: new Set([...one.absent, ...other.absent]),
});
const common = (one: Known, other: Known): Known => ({
  there: new Set([...one.there].filter((name) => other.there.has(name))),
  absent: new Set([...one.absent].filter((name) => other.absent.has(name))),
});

/**
 * Fields that are asked for of the items of a list, or compared with something: the effect on the rest of the condition is not followed.
 */
function askedOfItems(ast: ASTNode, scope: Scope): Set<string> {
  const names = new Set<string>();
  visitScoped(ast, scope, (node, at) => {
    if (node.op !== "rcall" && node.op !== "==" && node.op !== "!=") return;
    visitScoped(node.op === "rcall" ? node.args[2] : node.args, at, (inner, within) => {
      const [tested] = inner.op === "call" && inner.args[0] === "has" ? inner.args[1] : [];
      if (tested !== undefined) for (const name of namesOf(tested, within)) names.add(name);
    });
  });
  return names;
}

/** `payload.message.threadId` and `payload.message`: asking for a field asks for its holder. */
function namesOf(node: ASTNode, scope: Scope): string[] {
  const field = fieldOf(node, scope);
  if (field?.optional === undefined) return [];
  const holder = node.op === "." || node.op === "[]" ? namesOf(node.args[0], scope) : [];
  return [field.name, ...holder];
}
