/** Comparisons and conditions of a template whose result never changes, because of values that a field can never have. */
import { inWords, typesOf, valueProblem } from "../../hooks/conditions/impossible-condition.js";
import { isOfTypes, type JsonSchema, propertiesOf } from "../../lib/validation/json-schema.js";

/** The field that a path leads to. */
export interface NamedField {
  /** The name that the template uses. */
  readonly name: string;
  readonly schema: JsonSchema;
  /** Where the references of the schema lead. */
  readonly root: JsonSchema;
  /** The field is always there, unless reading it fails the run. */
  readonly isSure: boolean;
  readonly isOfStep?: true;
}

/** Why the result of this comparison with a written value is always the same. */
export function comparisonProblem(field: NamedField | undefined, operator: string, value: unknown): string | undefined {
  const isLiteral = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (field === undefined || !isLiteral) return undefined;
  const { name, schema, root } = field;
  const known = [...(typesOf(schema) ?? [])];
  const isOf = (...types: string[]) => known.length > 0 && known.every((type) => types.includes(type));
  const sizeOf = `${name}.size > 0`;
  const trimmed = `{% assign out = ${name} | strip %}, and compare out with`;
  if (operator === "==" || operator === "!=") return valueProblem(field, value, sizeOf, trimmed);
  if (operator === "contains") {
    if (isOf("number", "boolean", "object"))
      return `${name} is ${inWords(new Set(known))}, and contains is for text and lists`;
    const { items } = propertiesOf(schema, root);
    return items && valueProblem({ name: `${name}[…]`, schema: items }, value);
  }
  // The library takes a text with a number in it for the number.
  const isText = typeof value === "string" && Number.isNaN(Number(value));
  const isNever = isOf("array") || (isText && isOf("number", "boolean"));
  return isNever ? valueProblem(field, value, sizeOf) : undefined;
}

/** Why the field alone is the same condition at every run: only false and nothing are false in a template. */
export function conditionProblem(field: NamedField | undefined): string | undefined {
  if (field === undefined || !field.isSure) return undefined;
  const { name, schema, root, isOfStep } = field;
  const isOf = (...types: string[]) => isOfTypes(schema, root, (type) => types.includes(type));
  if (isOf("array")) return `${name} is a list, which counts as true also when it is empty: write ${name}.size > 0`;
  if (isOf("number", "integer"))
    return `${name} is a number, which counts as true also when it is 0: write ${name} > 0`;
  if (!isOfStep) return undefined;
  if (isOf("string")) return `${name} is text, which counts as true also when it is empty: write ${name} != ""`;
  return isOf("object") ? `${name} is a group of fields, which always counts as true: compare one of them` : undefined;
}
