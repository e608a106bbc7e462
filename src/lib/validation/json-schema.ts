/** Reads a JSON schema for the names in it: which fields a payload can have. Only the parts for names are read; no value is validated. */
import { z } from "zod";

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema | readonly JsonSchema[] | boolean;
  /** The items of a list that are known one by one. */
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
}

/** The JSON schema of the output of a zod schema. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { unrepresentable: "any", io: "output" }) as JsonSchema;
}

export interface Properties {
  readonly fields: ReadonlyMap<string, JsonSchema>;
  /** The fields that every value has. */
  readonly required: ReadonlySet<string>;
  readonly items?: JsonSchema;
  /** Whether other fields than these may be there: then names cannot be checked. */
  readonly isOpen: boolean;
  /** Whether it can be something with fields at all (no plain text or number). */
  readonly isScalar: boolean;
}

const NONE: ReadonlySet<string> = new Set();
const OPEN: Properties = { fields: new Map(), required: NONE, isOpen: true, isScalar: false };
const MAX_REFERENCES = 20;

/** The fields that a value of this schema can have, in any of its forms. */
export function propertiesOf(schema: JsonSchema, root: JsonSchema, references = 0): Properties {
  if (schema.$ref !== undefined) {
    const target = references < MAX_REFERENCES ? resolveReference(schema.$ref, root) : undefined;
    return target === undefined ? OPEN : propertiesOf(target, root, references + 1);
  }
  const { anyOf, oneOf, allOf, ...own } = schema;
  if (anyOf !== undefined || oneOf !== undefined || allOf !== undefined) {
    const read = (form: JsonSchema) => propertiesOf(form, root, references + 1);
    const choices = [anyOf, oneOf].filter((forms) => forms !== undefined);
    const parts = [
      ...(own.properties === undefined ? [] : [own]).concat(allOf ?? []).map(read),
      ...choices.map((forms) => join(forms.filter(({ type }) => type !== "null").map(read), false)),
    ];
    // A part that names no fields (`required: [at]`) opens nothing beside other parts that must hold, too.
    return join(
      parts.filter((part) => part !== OPEN),
      true,
    );
  }
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  if (types === undefined && schema.properties === undefined) return OPEN;
  if (types?.includes("array")) {
    const { items } = schema;
    const one = typeof items === "object" && !Array.isArray(items) ? (items as JsonSchema) : undefined;
    return {
      fields: new Map(),
      required: NONE,
      items: one,
      isOpen: one === undefined,
      isScalar: false,
    };
  }
  if (types !== undefined && !types.includes("object"))
    return { fields: new Map(), required: NONE, isOpen: false, isScalar: true };
  const fields = new Map(Object.entries(schema.properties ?? {}));
  return {
    fields,
    required: new Set(schema.required),
    isOpen: fields.size === 0 || schema.additionalProperties !== false || schema.patternProperties !== undefined,
    isScalar: false,
  };
}

/** `holdAll`: a value has all the forms, not one of them. */
function join(forms: readonly Properties[], holdAll: boolean): Properties {
  if (forms.every((form) => form === OPEN)) return OPEN;
  const fields = new Map<string, JsonSchema>();
  for (const form of forms)
    for (const [field, schema] of form.fields) {
      const known = fields.get(field);
      fields.set(field, known === undefined ? schema : { anyOf: [known, schema] });
    }
  const items = forms.map((form) => form.items).filter((one) => one !== undefined);
  const withFields = forms.filter((form) => !form.isScalar);
  const isIn = (field: string) => (form: Properties) => form.required.has(field);
  const required = [...fields.keys()].filter((field) =>
    holdAll ? forms.some(isIn(field)) : withFields.every(isIn(field)),
  );
  return {
    fields,
    required: new Set(required),
    items: items.length === 0 ? undefined : items.length === 1 ? (items[0] as JsonSchema) : { anyOf: items },
    isOpen: forms.some((form) => form.isOpen),
    isScalar: forms.every((form) => form.isScalar),
  };
}

/** Whether the schema requires of every value a JSON type that fits. */
export function isOfTypes(
  schema: JsonSchema,
  root: JsonSchema,
  fits: (type: string) => boolean,
  references = 0,
): boolean {
  const { $ref, type, allOf, anyOf, oneOf } = schema;
  const target = $ref === undefined || references > MAX_REFERENCES ? undefined : resolveReference($ref, root);
  const isSo = (form: JsonSchema) => isOfTypes(form, root, fits, references + 1);
  const types = typeof type === "string" ? [type] : type;
  if (types?.every(fits) || (target !== undefined && isSo(target))) return true;
  return allOf?.some(isSo) === true || (anyOf ?? oneOf)?.every(isSo) === true;
}

/** The only field of every value; undefined when a value may have others or may lack it. */
export function onlyField(schema: JsonSchema, root: JsonSchema): string | undefined {
  const { fields, required, isOpen } = propertiesOf(schema, root);
  const [name, ...others] = fields.keys();
  return name !== undefined && others.length === 0 && !isOpen && required.has(name) ? name : undefined;
}

function resolveReference(reference: string, root: JsonSchema): JsonSchema | undefined {
  if (reference === "#") return root;
  const [, place, name] = /^#\/(\$defs|definitions)\/(.+)$/.exec(reference) ?? [];
  return place === undefined || name === undefined ? undefined : root[place as "$defs" | "definitions"]?.[name];
}

export function mayHave(root: JsonSchema, path: readonly string[]): boolean {
  return schemaAt(root, path) !== undefined;
}

/** The schema of a field; undefined when no value has the field, `{}` when nothing is known of it. */
export function schemaAt(root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let at = root;
  for (const step of path) {
    const { fields, isOpen } = propertiesOf(at, root);
    const next = fields.get(step);
    if (next === undefined) return isOpen ? {} : undefined;
    at = next;
  }
  return at;
}
