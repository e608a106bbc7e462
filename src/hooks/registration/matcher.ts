/** Which payloads a registration wants to see. Compiled once, at registration; a bad pattern or predicate is refused there. */
import { RE2JS } from "re2js";
import { z } from "zod";
import { platformProblem } from "../../domain/chat/platform.js";
import { errorMessage, HookgateError } from "../../lib/errors.js";
import { propertiesOf } from "../../lib/validation/json-schema.js";
import { shown } from "../../lib/validation/plain-issues.js";
import { unknownKey } from "../../lib/validation/unknown-key.js";
import { payloadSchema } from "./payload-schema.js";
import { compilePredicate, type Predicate } from "./predicate.js";

/** Fields are AND-combined; inside a list any match will do. A field that the payload does not carry does not match. */
export interface Matcher {
  /** RE2 patterns over the tool's name; the whole name must match, unless the pattern anchors itself with ^ or $. */
  tools?: readonly string[];
  agents?: readonly string[];
  crews?: readonly string[];
  /** Case does not matter. */
  severities?: readonly string[];
  platforms?: readonly string[];
  /** Chat ids, or `platform:id`. A chat covers its threads. */
  chats?: readonly string[];
  /** User ids, or `platform:id`. */
  users?: readonly string[];
  /** Hook ids, at points that are about hooks. */
  hooks?: readonly string[];
  /** Ids of watches, at points that are about files. */
  watches?: readonly string[];
  /** A CEL expression over `payload` that gives yes or no. */
  when?: string;
  /**
   * `any`: also events that a denied person caused. Without this field, a configured hook has `allowed`, and a handler registered in code
   * sees everything.
   */
  access?: "allowed" | "any";
}

export interface CompiledMatcher {
  /** The field that did not match, with the reason; undefined when all do. */
  mismatch(payload: unknown, access: "allowed" | "denied" | undefined): Mismatch | undefined;
}
export interface Mismatch {
  field: keyof Matcher;
  reason: string;
  /** Why `when` has no answer for this payload: it is not known whether the hook is for it. */
  error?: string;
  /** Why: its sender gave it more to work through than a condition may. */
  isTooMuchWork?: boolean;
}

/** The ids that a chat had before its platform gave it another one; undefined when it never moved. */
export type FormerChats = (at: { platform: string; chatId: string }) => readonly string[] | undefined;

type Check = (payload: Facts, access: "allowed" | "denied" | undefined) => Mismatch | undefined;
type Facts = Readonly<Record<string, unknown>>;

const LISTS = ["agents", "crews", "platforms", "chats", "users", "hooks", "watches"] as const;

/** Undefined when the matcher matches everything. Throws a `HookgateError` (HOOK_MATCHER_INVALID) that names the field. */
export function compileMatcher(
  matcher: Matcher | undefined,
  schema: z.ZodType,
  formerChats?: FormerChats,
): CompiledMatcher | undefined {
  if (matcher === undefined) return undefined;
  if (typeof matcher !== "object" || matcher === null || Array.isArray(matcher))
    throw new HookgateError({
      code: "HOOK_MATCHER_INVALID",
      message: `match: expected { … }, got ${shown(matcher)}: leave it out to match everything`,
    });
  const unknown = unknownKey("field", matcher, Object.keys(CARRYING));
  if (unknown !== undefined) throw new HookgateError({ code: "HOOK_MATCHER_INVALID", message: `match: ${unknown}` });
  if (matcher.access !== undefined && matcher.access !== "allowed" && matcher.access !== "any")
    throw matcherError("access", `expected allowed | any, got ${String(matcher.access)}`);
  if (matcher.when !== undefined && typeof matcher.when !== "string")
    throw matcherError("when", `expected a CEL expression as text, got ${typeof matcher.when}`);
  const checks: Check[] = [];
  if (matcher.access === "allowed") checks.push(checkAccess(schema));
  for (const field of LISTS) {
    const wanted = matcher[field];
    if (wanted !== undefined) checks.push(checkList(field, nonEmpty(field, wanted), formerChats));
  }
  if (matcher.severities !== undefined) checks.push(checkSeverities(nonEmpty("severities", matcher.severities)));
  if (matcher.tools !== undefined) checks.push(checkTools(nonEmpty("tools", matcher.tools)));
  if (matcher.when !== undefined) checks.push(checkWhen(compilePredicate(matcher.when, schema)));
  const [only] = checks;
  if (only === undefined) return undefined;
  const isOnly = checks.length === 1; // most have one, and run for every message
  return {
    mismatch(payload, access) {
      const facts = (typeof payload === "object" && payload !== null ? payload : {}) as Facts;
      if (isOnly) return only(facts, access);
      for (const check of checks) {
        const mismatch = check(facts, access);
        if (mismatch !== undefined) return mismatch;
      }
      return undefined;
    },
  };
}

export function matcherError(field: keyof Matcher, message: string, cause?: unknown): HookgateError {
  return new HookgateError({ code: "HOOK_MATCHER_INVALID", message: `match.${field}: ${message}`, cause });
}

function nonEmpty(field: keyof Matcher, wanted: readonly string[]): readonly string[] {
  if (!Array.isArray(wanted)) throw matcherError(field, `expected a list, got ${typeof wanted}`);
  if (wanted.length === 0)
    throw matcherError(field, "an empty list matches nothing; leave the field out to match everything");
  const wrong = wanted.find((one) => typeof one !== "string");
  if (wrong !== undefined) throw matcherError(field, `expected a list of texts, got ${JSON.stringify(wrong)} in it`);
  return wanted;
}

/** A payload has `access` where its point declares it: in the body of an event, a field of that name is the sender's own. */
function checkAccess(schema: z.ZodType): Check {
  const declared = payloadSchema({ payload: schema });
  const isDeclared = propertiesOf(declared, declared).fields.has("access");
  return (payload, access) =>
    (access ?? (isDeclared ? payload.access : undefined)) === "denied"
      ? { field: "access", reason: denialReason(payload) }
      : undefined;
}

/** Also the owner's message is denied, when it is not addressed or its place is not listed: only the payload knows why. */
function denialReason({ access, reason }: Facts): string {
  const why = access === "denied" ? text(reason) : undefined;
  return `the message or its sender was denied${why === undefined ? "" : ` (${why})`}, and the hook sees allowed messages only`;
}

function checkList(field: (typeof LISTS)[number], wanted: readonly string[], formerChats?: FormerChats): Check {
  const set = new Set(wanted);
  const [first] = wanted;
  return (payload) => {
    const has = subjectOf(field, payload);
    if (has === undefined) return { field, reason: `the payload carries no ${singular(field)}` };
    if (has === first || set.has(has)) return undefined;
    if (field === "chats" || field === "users") {
      const platform = subjectOf("platforms", payload);
      const former = field === "chats" && platform !== undefined && formerChats?.({ platform, chatId: has });
      const parent = field === "chats" ? (text(payload.parentChatId) ?? carried(payload, "parentChatId")) : undefined;
      const ids = [has, ...(former || []), ...(parent === undefined ? [] : [parent])];
      if (ids.some((id) => set.has(id) || set.has(`${platform}:${id}`))) return undefined;
    }
    return { field, reason: `${singular(field)} "${has}" is none of ${wanted.join(", ")}` };
  };
}

function checkSeverities(wanted: readonly string[]): Check {
  const set = new Set(wanted.map((severity) => severity.toLowerCase()));
  return ({ severity }) =>
    typeof severity === "string" && set.has(severity.toLowerCase())
      ? undefined
      : {
          field: "severities",
          reason:
            severity === undefined
              ? "the payload carries no severity"
              : `severity "${String(severity)}" is none of ${wanted.join(", ")}`,
        };
}

function checkTools(wanted: readonly string[]): Check {
  const patterns = wanted.map((pattern) => {
    const anchored = pattern.startsWith("^") || pattern.endsWith("$") ? pattern : `^(?:${pattern})$`;
    try {
      return RE2JS.compile(anchored);
    } catch (error) {
      throw matcherError("tools", `"${pattern}" is no RE2 pattern: ${errorMessage(error)}`, error);
    }
  });
  // Tool names are few and come again and again.
  const known = new Map<string, boolean>();
  return ({ toolName }) => {
    if (typeof toolName !== "string") return { field: "tools", reason: "the payload carries no tool name" };
    let matches = known.get(toolName);
    if (matches === undefined) {
      matches = patterns.some((pattern) => pattern.matcher(toolName).find());
      if (known.size >= 1000) known.clear();
      known.set(toolName, matches);
    }
    return matches ? undefined : { field: "tools", reason: `tool "${toolName}" matches none of ${wanted.join(", ")}` };
  };
}

function checkWhen(predicate: Predicate): Check {
  return (payload) => {
    const answer = predicate(payload);
    return answer === true ? undefined : { field: "when", ...answer };
  };
}

const singular = (field: string) => (field === "watches" ? "watch" : field.slice(0, -1));

/** The subject of a payload, wherever its family carries it. */
function subjectOf(field: (typeof LISTS)[number], payload: Facts): string | undefined {
  switch (field) {
    case "platforms":
      return text(payload.platform) ?? carried(payload, "platform");
    case "chats":
      return text(payload.chatId) ?? carried(payload, "chatId");
    case "users":
      return text(payload.userId) ?? carried(payload, "userId");
    case "agents":
      return (
        text(payload.agentId) ??
        named(payload.agent) ??
        text(payload.assignTo) ??
        text(part(payload.task, "assignTo")) ??
        named(part(payload.task, "agent")) ??
        text(payload.personalityId)
      );
    case "crews":
      return text(payload.crewId) ?? text(part(payload.task, "crewId"));
    case "hooks":
      return text(payload.hookId);
    case "watches":
      return text(payload.watchId);
  }
}

const CARRIERS = ["message", "address", "operator", "at"] as const;

function carried(payload: Facts, field: string): string | undefined {
  for (const carrier of CARRIERS) {
    const found = text(part(payload[carrier], field));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The fields of a payload in which a matcher's field may find what it looks for; undefined: in any. */
const CARRYING: Readonly<Record<keyof Matcher, readonly string[] | undefined>> = {
  tools: ["toolName"],
  agents: ["agentId", "agent", "assignTo", "task", "personalityId"],
  crews: ["crewId", "task"],
  severities: ["severity"],
  platforms: ["platform", ...CARRIERS],
  chats: ["chatId", ...CARRIERS],
  users: ["userId", ...CARRIERS],
  hooks: ["hookId"],
  watches: ["watchId"],
  when: undefined,
  access: undefined,
};

/** The first field of a matcher that no payload of the point can carry. */
export function neverCarried(matcher: Matcher, schema: z.ZodType): keyof Matcher | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const { shape, catchall } = schema.def;
  if (catchall !== undefined && !(catchall instanceof z.ZodNever)) return undefined;
  return (Object.keys(matcher) as (keyof Matcher)[]).find(
    (field) => matcher[field] !== undefined && CARRYING[field]?.every((name) => !Object.hasOwn(shape, name)),
  );
}

export const mayNameOwnPlatforms = (point: string): boolean => /^(plugin|event):/.test(point);

/**
 * Platforms that there is no adapter for, each with its place in the matcher. Payloads of plugins and events may name platforms of their
 * own.
 */
export function platformProblems(
  matcher: Matcher,
  point: string,
): { path: [field: keyof Matcher, index: number]; message: string }[] {
  if (mayNameOwnPlatforms(point)) return [];
  // No chat or person of a platform has a colon in its id.
  return (["platforms", "chats", "users"] as const).flatMap((field) =>
    (matcher[field] ?? []).flatMap((text, index) => {
      const message = field === "platforms" || text.includes(":") ? platformProblem(text) : undefined;
      return message === undefined ? [] : [{ path: [field, index], message }];
    }),
  );
}

function part(holder: unknown, field: string): unknown {
  return typeof holder === "object" && holder !== null ? (holder as Facts)[field] : undefined;
}
const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const named = (value: unknown) => text(value) ?? text(part(value, "id")) ?? text(part(value, "name"));
