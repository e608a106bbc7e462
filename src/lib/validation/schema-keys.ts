/** Which keys a zod schema knows, for suggestions and for lists of settings. */
import { z } from "zod";

interface Unwrapped {
  inner: z.core.$ZodType;
  description: string | undefined;
  fallback: unknown;
  transformed: boolean;
}

/** Looks through defaults, optionals and transforms. */
export function unwrap(schema: z.core.$ZodType): Unwrapped {
  let inner = schema;
  let description: string | undefined;
  let fallback: unknown;
  let transformed = false;
  for (let depth = 0; depth < 20; depth++) {
    description ??= z.globalRegistry.get(inner)?.description;
    if (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) {
      fallback ??= inner.def.defaultValue;
      inner = inner.def.innerType;
    } else if (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.def.innerType;
    else if (inner instanceof z.ZodPipe) {
      transformed ||= inner.def.out instanceof z.ZodTransform;
      // A preprocess has its schema behind it, a transform before it.
      inner = inner.def.in instanceof z.ZodTransform ? inner.def.out : inner.def.in;
    } else break;
  }
  return { inner, description, fallback, transformed };
}

/** The keys that may be at a path (list indexes allowed), for suggestions; empty when any may. */
export function keysAt(schema: z.core.$ZodType, path: readonly (string | number)[]): string[] {
  const { inner } = unwrap(schema);
  if (inner instanceof z.ZodUnion) return [...new Set(inner.def.options.flatMap((option) => keysAt(option, path)))];
  const [step, ...rest] = path;
  if (step === undefined) return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
  if (inner instanceof z.ZodObject) {
    const child: z.core.$ZodType | undefined = inner.shape[step];
    return child ? keysAt(child, rest) : [];
  }
  if (inner instanceof z.ZodArray) return keysAt(inner.def.element, rest);
  if (inner instanceof z.ZodRecord) return keysAt(inner.def.valueType, rest);
  return [];
}
