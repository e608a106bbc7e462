/** `match` of a policy: CEL over what is watched. */
import { z } from "zod";
import type { WatchedEntity } from "../../../domain/watched.js";
import { compileCondition, type JsonSchema } from "../../../hooks/predicate.js";
import { once } from "../../../lib/on-first-use.js";

const entity = z.object({
  type: z.enum(["task", "mission", "conversation"]),
  id: z.string(),
  title: z.string(),
  status: z.string(),
  createdAt: z.number(),
  startedAt: z.number().optional(),
  deadline: z.number().optional(),
  pausedFor: z.string().optional(),
  owner: z.string().optional(),
  link: z.string().optional(),
  lastWords: z.string().optional(),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

const schema = once(() => z.toJSONSchema(entity, { io: "output" }) as JsonSchema);

/** Throws a `HookgateError` for bad syntax and for a field that nothing watched has. A fact that is not there does not match. */
export function compileMatch(source: string): (entity: WatchedEntity) => boolean {
  const holds = compileCondition(source, { entity: schema() }, "match");
  return (watched) => holds({ entity: watched }) === true;
}
