/** `match` of a policy: CEL over the watched entity. */
import { WATCHED, type WatchedEntity, type WatchedType } from "../../../domain/alerts/watched.js";
import { conditionProblems } from "../../../hooks/conditions/impossible-condition.js";
import { unguardedFields } from "../../../hooks/conditions/optional-field.js";
import type { FormerChats } from "../../../hooks/registration/matcher.js";
import { compileOver } from "../../../hooks/registration/predicate.js";
import { once } from "../../../lib/concurrency/on-first-use.js";
import { errorMessage } from "../../../lib/errors.js";
import { type JsonSchema, jsonSchemaOf } from "../../../lib/validation/json-schema.js";

const schemas: Readonly<Record<WatchedType, () => JsonSchema>> = {
  task: once(() => jsonSchemaOf(WATCHED.task)),
  mission: once(() => jsonSchemaOf(WATCHED.mission)),
  conversation: once(() => jsonSchemaOf(WATCHED.conversation)),
};

/** A sentence for each problem: bad syntax, a field that no such entity has, a comparison that never holds. */
export function matchProblems(source: string, type: WatchedType): string[] {
  const problems = conditionProblems(source, { entity: schemas[type]() });
  if (problems.length > 0) return problems;
  try {
    compileMatch(source, type);
    return [];
  } catch (error) {
    return [errorMessage(error).replace(/^match: /, "")];
  }
}

export interface MatchAround {
  /** A chat that moved has the id by which the source names it. */
  formerChats?: FormerChats | undefined;
  /** There was no answer for an entity, with the remedy. An entity that lacks a fact compared with `==` is not meant and not reported. */
  unanswered?(entity: WatchedEntity, error: string): void;
}

/** Throws a `HookgateError` for bad syntax and for a field that no watched entity has. A missing fact does not match. */
export function compileMatch(
  source: string,
  type: WatchedType,
  { formerChats, unanswered }: MatchAround = {},
): (entity: WatchedEntity) => boolean {
  const schema = schemas[type]();
  // Also `"group" in entity.facts`, which CEL has for maps only.
  const declared = { ...schema, properties: { ...schema.properties, facts: { type: "object" } } };
  const holds = compileOver(source, { entity: declared }, "match");
  const named = new Set(source.match(/-?\d+/g));
  const asked = once(() => unguardedFields(source, { entity: schema }));
  return (watched) => {
    const answer = holds({ entity: asNamed(watched, named, formerChats) });
    if (answer === true) return true;
    if (answer.error !== undefined) report(watched, answer.error);
    return false;
  };

  function report(watched: WatchedEntity, error: string): void {
    const lacking = asked().find(({ absent }) => error === `No such key: ${absent.split(".").at(-1)}`);
    if (lacking?.isEqual) return;
    const has = lacking && `has(${lacking.absent})`;
    const remedy = `. Write ${has} && … where such a ${type} does not concern the policy, or !${has} || … where it does`;
    unanswered?.(watched, has === undefined ? error : error + remedy);
  }
}

function asNamed(watched: WatchedEntity, named: ReadonlySet<string>, formerChats?: FormerChats): WatchedEntity {
  const { platform, chat } = watched.facts;
  if (typeof platform !== "string" || typeof chat !== "string" || named.has(chat)) return watched;
  const former = formerChats?.({ platform, chatId: chat })?.find((id) => named.has(id));
  return former === undefined ? watched : { ...watched, facts: { ...watched.facts, chat: former } };
}
