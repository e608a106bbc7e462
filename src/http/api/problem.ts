/** Errors of /api/v1, as https://www.rfc-editor.org/rfc/rfc9457 has them. */
import { STATUS_CODES } from "node:http";
import { z } from "zod";
import type { ErrorAnswer } from "../errors.js";

export const PROBLEM_TYPE = "application/problem+json";

export const problem = z.object({
  type: z.string().describe("`urn:hookgate:error:` and the code."),
  title: z.string(),
  status: z.number().int(),
  detail: z.string().describe("For the person who must act."),
  code: z.string().describe("For programs."),
  hint: z.string().optional(),
});

export function problemOf({ status, body: { error } }: ErrorAnswer): z.infer<typeof problem> {
  return {
    type: `urn:hookgate:error:${error.code}`,
    title: STATUS_CODES[status] ?? "Error",
    status,
    detail: error.message,
    code: error.code,
    hint: error.hint,
  };
}
