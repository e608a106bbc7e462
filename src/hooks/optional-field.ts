/** Fields of a CEL condition that a payload may lack, without `has(…)` before them: a condition has no answer for a payload without the field. */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { JsonSchema } from "../lib/json-schema.js";
import { type Field, fieldOf, type Scope, scopeOf, visitScoped } from "./condition-field.js";
import { parseCondition } from "./impossible-condition.js";

export interface UnguardedField {
  /** As it is written: `payload.message.threadId`. */
  readonly name: string;
  /** What may be absent: the field itself, or what holds it. */
  readonly absent: string;
  /** `payload.threadId == "5"` is meant to be false without the field; any other use may be meant to be true. */
  readonly isEqual: boolean;
}

/** Each once. A condition that cannot be parsed has none, because compiling it reports that. */
export function unguardedFields(source: string, variables: Readonly<Record<string, JsonSchema>>): UnguardedField[] {
  const ast = parseCondition(source);
  if (ast === undefined) return [];
  const scope = scopeOf(variables);
  const guarded = new Set<string>();
  const holders = new Set<ASTNode>();
  const equal = new Set<ASTNode>();
  const askedFor = new Set<string>();
  /** What holds a field that is asked for: asking in what is absent has no answer either. */
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
    for (const name of namesOf(tested, at)) guarded.add(name);
  });
  const found = new Map<string, UnguardedField>();
  for (const { name, optional, problem } of askedIn)
    if (optional !== undefined && problem === undefined && !askedFor.has(optional))
      found.set(name, { name, absent: optional, isEqual: false });
  visitScoped(ast, scope, (node, at) => {
    if ((node.op !== "." && node.op !== "[]") || holders.has(node)) return;
    const field = fieldOf(node, at);
    if (field?.optional === undefined || field.problem !== undefined) return;
    if (namesOf(node, at).some((name) => guarded.has(name))) return;
    const isEqual = equal.has(node) && (found.get(field.name)?.isEqual ?? true);
    found.set(field.name, { name: field.name, absent: field.optional, isEqual });
  });
  return [...found.values()];
}

/** `payload.message.threadId` and `payload.message`: asking for a field asks for what holds it. */
function namesOf(node: ASTNode, scope: Scope): string[] {
  const field = fieldOf(node, scope);
  if (field?.optional === undefined) return [];
  const holder = node.op === "." || node.op === "[]" ? namesOf(node.args[0], scope) : [];
  return [field.name, ...holder];
}
