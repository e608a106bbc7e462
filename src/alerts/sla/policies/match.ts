/** `match` of a policy: CEL over what is watched. */
import { z } from "zod";
import type { WatchedEntity } from "../../../domain/watched.js";
import type { FormerChats } from "../../../hooks/matcher.js";
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

/**
 * Throws a `HookgateError` for bad syntax and for a field that nothing watched has. A fact that is not there does not match. A chat that
 * moved has the id by which the source names it.
 */
export function compileMatch(source: string, formerChats?: FormerChats): (entity: WatchedEntity) => boolean {
  const holds = compileCondition(source, { entity: schema() }, "match");
  const named = new Set(source.match(/-?\d+/g));
  return (watched) => holds({ entity: asNamed(watched, named, formerChats) }) === true;
}

function asNamed(watched: WatchedEntity, named: ReadonlySet<string>, formerChats?: FormerChats): WatchedEntity {
  const { platform, chat } = watched.facts;
  if (typeof platform !== "string" || typeof chat !== "string" || named.has(chat)) return watched;
  const former = formerChats?.({ platform, chatId: chat })?.find((id) => named.has(id));
  return former === undefined ? watched : { ...watched, facts: { ...watched.facts, chat: former } };
}
