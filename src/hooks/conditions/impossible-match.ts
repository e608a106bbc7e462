/** Fields in a matcher that payloads never have: such a hook would never fire, and its author would not notice. */
import { PLATFORMS, platformProblem } from "../../domain/chat/platform.js";
import { type JsonSchema, mayHave, schemaAt } from "../../lib/validation/json-schema.js";
import { type Issue, suggestion } from "../../lib/validation/schema-issues.js";
import type { HookPoint } from "../point.js";
import { type Matcher, mayNameOwnPlatforms } from "../registration/matcher.js";
import { payloadSchema } from "../registration/payload-schema.js";
import { conditionProblems, EMOJI, ID_WITHOUT_PLATFORM, requiredValues, valuesOf } from "./impossible-condition.js";
import { patternProblem } from "./impossible-pattern.js";

/** Where the fields of a matcher are looked for in a payload; see `hooks/registration/matcher.ts`. */
const PLACES: Readonly<Partial<Record<keyof Matcher, readonly string[]>>> = {
  tools: ["toolName"],
  agents: ["agentId", "agent", "assignTo", "task.assignTo", "task.agent", "personalityId"],
  crews: ["crewId", "task.crewId"],
  severities: ["severity"],
  platforms: ["platform", "message.platform", "address.platform", "operator.platform", "at.platform"],
  chats: ["chatId", "message.chatId", "address.chatId", "operator.chatId", "at.chatId"],
  users: ["userId", "message.userId", "address.userId", "operator.userId", "at.userId"],
  hooks: ["hookId"],
  watches: ["watchId"],
};

/** Gives one issue for each field of a matcher, with its path from `match` on. The matcher has been compiled, or will be. */
export function impossibleMatches(match: Matcher, point: HookPoint): Issue[] {
  const payload = payloadSchema(point);
  const issues: Issue[] = [];
  for (const [field, places] of Object.entries(PLACES))
    if (match[field as keyof Matcher] !== undefined && !places.some((place) => mayHave(payload, place.split("."))))
      issues.push({
        path: ["match", field],
        message: `no payload of ${point.name} carries ${places.join(" or ")}, so this never matches`,
      });
  issues.push(...valueIssues(match, payload));
  match.tools?.forEach((pattern, index) => {
    const problem = patternProblem(pattern);
    if (problem !== undefined) issues.push({ path: ["match", "tools", index], message: problem });
  });
  if (match.when !== undefined) {
    const seen = seenPayload(point, match.access);
    const problems = whenProblems(match.when, seen, point.example);
    issues.push(...(problems.length > 0 ? problems : contradictions(match, seen, point)));
  }
  for (const field of ["chats", "users"] as const)
    match[field]?.forEach((text, index) => {
      const [platform = ""] = text.split(":");
      if (!text.includes(":") || match.platforms === undefined || match.platforms.includes(platform)) return;
      if ([platform, ...match.platforms].some((one) => platformProblem(one) !== undefined)) return;
      const message = `${text} is not of ${match.platforms.join(" or ")}, which match.platforms asks for, so this never matches`;
      issues.push({ path: ["match", field, index], message });
    });
  if (point.name === "message_deleted" && match.platforms?.every((platform) => platform === "telegram"))
    issues.push({ path: ["match", "platforms"], message: "Telegram reports no deletions, so this never matches" });
  return issues;
}

/** The values that `match.when` needs in each case, and that the point or `match.platforms` excludes. */
function contradictions({ when = "", platforms }: Matcher, payload: JsonSchema, { name: point }: HookPoint): Issue[] {
  const isEdit = IS_EDIT[point];
  return requiredValues(when, { payload }).flatMap(({ name, values }): Issue[] => {
    const problem = (message: string) => [{ path: ["match", "when"], message }];
    if (name === "payload.message.isEdit" && isEdit !== undefined && !values.includes(isEdit))
      return problem(
        isEdit
          ? `${name} is always true at ${point}, so this never matches: remove it`
          : `${name} is never true at ${point}, so this never matches: edits are at message_edited`,
      );
    if (!OWN_PLATFORM.includes(name) || platforms === undefined) return [];
    if (values.some((value) => typeof value !== "string" || platforms.includes(value))) return [];
    if (platforms.some((one) => platformProblem(one) !== undefined)) return [];
    return problem(`${name} is ${platforms.join(" or ")}, which match.platforms asks for, so this never matches`);
  });
}

const IS_EDIT: Readonly<Record<string, boolean>> = {
  message_received: false,
  inbound_claim: false,
  message_edited: true,
};
/** `match.platforms` looks at `payload.platform`, and at that of the message where there is none. */
const OWN_PLATFORM = ["payload.platform", "payload.message.platform"];

/** Values that are none of those that the payload can have there. Platforms have a check of their own. */
function valueIssues(match: Matcher, payload: JsonSchema): Issue[] {
  return (["severities", "agents", "crews", "hooks", "watches"] as const).flatMap((field) => {
    const places = (PLACES[field] ?? []).flatMap((place) => schemaAt(payload, place.split(".")) ?? []);
    const values = places.map(valuesOf);
    if (places.length === 0 || values.includes(undefined)) return [];
    const known = values.flatMap((some) => some ?? []);
    const plain = (text: string) => (field === "severities" ? text.toLowerCase() : text);
    return (match[field] ?? []).flatMap((wanted, index): Issue[] => {
      if (known.some((one) => plain(one) === plain(wanted))) return [];
      const message = `no payload has "${wanted}" there, so this never matches${suggestion(wanted, known)}`;
      return [{ path: ["match", field, index], message }];
    });
  });
}

/**
 * With the platforms that there are as the values of every field `platform`, and ids without a platform in every field `userId` and
 * `chatId`, and emoji that are no words.
 */
function withPlatforms(payload: JsonSchema, { name }: HookPoint): JsonSchema {
  if (mayNameOwnPlatforms(name)) return payload;
  let made = limited.get(payload);
  if (made === undefined) {
    made = limitPlatforms(payload);
    limited.set(payload, made);
  }
  return made;
}

const limited = new WeakMap<JsonSchema, JsonSchema>();
const PLATFORM = { type: "string", enum: PLATFORMS };
const PLAIN_ID = { type: "string", pattern: ID_WITHOUT_PLATFORM };
const PLAIN_EMOJI = { type: "string", pattern: EMOJI };

function limitPlatforms(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf } = schema;
  const limit = (field: string, one: JsonSchema) => {
    if (one.type !== "string") return limitPlatforms(one);
    if (field === "emoji") return PLAIN_EMOJI;
    return field === "platform" ? PLATFORM : field === "userId" || field === "chatId" ? PLAIN_ID : one;
  };
  return {
    ...schema,
    properties: properties
      ? Object.fromEntries(Object.entries(properties).map(([field, one]) => [field, limit(field, one)]))
      : schema.properties,
    items: typeof items === "object" && !Array.isArray(items) ? limitPlatforms(items as JsonSchema) : schema.items,
    anyOf: anyOf ? anyOf.map(limitPlatforms) : schema.anyOf,
  };
}

/** The payloads that a hook sees, with the values that some fields have there. */
export function seenPayload(point: HookPoint, access: Matcher["access"]): JsonSchema {
  const payload = withPlatforms(payloadSchema(point), point);
  const isNarrowed = access !== "any" && payload.properties?.access !== undefined;
  return isNarrowed ? { ...payload, properties: { ...payload.properties, access: ALLOWED } } : payload;
}

/** The problem of a comparison with such a payload, with what to do about it. */
export function deniedUnseen(problem: string): string {
  return problem.replace(IS_DENIED, "the hook does not see denied messages, so $1: add `access: any`");
}

/** Other mistakes of the expression are found when it is compiled. */
function whenProblems(source: string, payload: JsonSchema, example: unknown): Issue[] {
  return conditionProblems(source, { payload }, { payload: example }).map((message) => ({
    path: ["match", "when"],
    message: deniedUnseen(message),
  }));
}

const ALLOWED = { type: "string", enum: ["allowed"] };
const IS_DENIED = /(\w+\.access is never "denied"): it is one of allowed$/;
