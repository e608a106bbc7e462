/** The setting that all timed triggers share: whether a time that was missed while the gateway was down is made good. */
import { z } from "zod";

export const catchUp = z
  .boolean()
  .default(true)
  .describe("Whether a time missed while the gateway was down is made good: once, at once.");
