/** Time zones by their IANA name. */
import { z } from "zod";

export const timezone = z
  .string()
  .refine(isTimezone, { error: ({ input }) => `there is no time zone "${String(input)}"` });

export function localTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
